/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans in files. Owns reading them; what is in them is format/plan.h's. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "say.h"

#define MAX_BYTES \
	(1u << 20) /* as cw_plan_from_yaml takes; one more is read, so that it says so \
		    */

int cw_config_read(struct cw_plan **out, const char *path, char *err)
{
	FILE *f = fopen(path, "re");
	char *text = f ? malloc(MAX_BYTES + 1) : NULL;
	int rc = -errno;
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
		snprintf(err, CW_PLAN_ERR, "cannot read %s: %s", path, strerror(-rc));
	else if (text)
		rc = cw_plan_from_yaml(out, text, n, path, err);
	free(text);
	return rc;
}

int cw_config_check(const char *path)
{
	char err[CW_PLAN_ERR] = "";
	struct cw_plan *plan;
	size_t i;
	int rc = cw_config_read(&plan, path, err);

	if (!rc) {
		rc = cw_plan_finish(plan, err);
		if (rc)
			cw_say("%s: %s", path, err);
	} else {
		cw_say("%s", err);
	}
	if (!rc) {
		cw_put(stdout, "%s: valid; %zu function%s", path, plan->nfuncs,
		       plan->nfuncs == 1 ? "" : "s");
		for (i = 0; i < plan->nhops; i++)
			cw_put(stdout, "%s%s -> %s", i ? ", " : "; hops ", plan->hops[i].source,
			       plan->hops[i].target);
		printf("\n");
	}
	cw_plan_free(plan);
	return rc ? 1 : 0;
}
