/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans in files: --config of both programs. Owns reading them; what is in them is plan_yaml.c's.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "plan.h"
#include "plan_build.h"

/* As cw_plan_from_yaml takes; one more is read, so that it says so. */
#define MAX_BYTES (1u << 20)

int cw_plan_from_file(struct cw_plan **out, const char *path, char *err)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(MAX_BYTES + 1) : NULL;
	int rc = errno ? -errno : -EIO;
	size_t n = 0;

	*out = NULL;
	if (text) {
		errno = 0;
		n = fread(text, 1, MAX_BYTES + 1, f);
		rc = ferror(f) ? -errno : 0;
	}
	if (f)
		fclose(f);
	if (rc)
		cw_plan_fail(err, rc, "cannot read %s: %s", path, strerror(-rc));
	else
		rc = cw_plan_from_yaml(out, text, n, path, err);
	free(text);
	return rc;
}
