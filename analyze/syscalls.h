/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of the system calls that threads sleep in or wake others from. */
#ifndef CW_SYSCALLS_H
#define CW_SYSCALLS_H

#include <stdbool.h>
#include "rows.h"

/* Is arch, a machine name as uname gives it, a 64-bit ARM? Anything else is taken for x86-64. */
bool cw_arch_is_arm64(const char *arch);

/* Number of a system call; -1 when arch has none of that name. */
int cw_syscall_number(const char *arch, const char *name);

/* Fill syscall_name for arch. */
void cw_syscalls_write(struct cw_rows *rows, const char *arch);

#endif
