/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that a running process has mapped executable. Knows nothing of symbols or modules. */
#ifndef CW_MAPPED_H
#define CW_MAPPED_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include "modopen.h"

struct cw_mapped {
	struct cw_mapped_file *files; /* in the order of their addresses; paths are malloc'ed */
	size_t n;
};

/* Each file once. err (CW_ERR bytes) gets one sentence. Ends with cw_mapped_free. */
int cw_mapped_read(struct cw_mapped *m, pid_t pid, char *err);
void cw_mapped_free(struct cw_mapped *m);

/* Open one of them by way of the process, deleted or in another mount namespace. -errno. */
int cw_mapped_open(const struct cw_mapped_file *f);

/* Whether name is this path, or its base name when it has no slash. */
bool cw_mapped_is(const char *path, const char *name);

/* The base name of the first file whose name begins as this one does, up to ".so"; or NULL. */
const char *cw_mapped_like(const struct cw_mapped *m, const char *name);

#endif
