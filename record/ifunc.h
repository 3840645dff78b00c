/* SPDX-License-Identifier: GPL-2.0-only */
/* Indirect functions (IFUNC): the implementation that a running process chose. */
#ifndef CW_IFUNC_H
#define CW_IFUNC_H

#include <stdint.h>
#include <sys/types.h>
#include "resolve.h"
#include "target.h"

/*
 * Find where calls of the indirect function fn, called name, of file go in process pid, by the
 * addresses that the dynamic loader filled in. Puts value and offset of the implementation into fn,
 * its size when a symbol says it, and clears ifunc. -ENOENT when no address was filled in yet.
 */
int cw_ifunc_follow(pid_t pid, const struct cw_target_file *file, const char *name,
		    struct cw_func *fn);

#endif
