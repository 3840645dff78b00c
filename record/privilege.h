/* SPDX-License-Identifier: GPL-2.0-only */
/* What the recorder is allowed to do, in words. */
#ifndef CW_PRIVILEGE_H
#define CW_PRIVILEGE_H

#include <stdbool.h>

/*
 * Say in err what is missing to load BPF programs and, unless multi, to attach uprobes one by one.
 * Returns 0 when nothing is, else -EPERM.
 */
int cw_check_privilege(bool multi, char *err);

/* Say in err what in the kernel is missing: its type information. 0 or -ENOTSUP. */
int cw_check_kernel(char *err);

#endif
