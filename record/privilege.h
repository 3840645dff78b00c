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

/* Does this process have the capability now? cap is CAP_* of linux/capability.h. */
bool cw_have_capability(unsigned int cap);

/*
 * Give up, for good and for threads started from now on, every capability that recording does not
 * go on to need. child: a program that was started must be stopped; files: further files will be
 * made. Returns 0 or a negative errno, with a sentence in err.
 */
int cw_drop_privileges(bool child, bool files, char *err);

/* Say in err what in the kernel is missing: its type information. 0 or -ENOTSUP. */
int cw_check_kernel(char *err);

#endif
