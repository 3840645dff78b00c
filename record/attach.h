/* SPDX-License-Identifier: GPL-2.0-only */
/* Attaching uprobes to many places at once where the kernel can (6.6), one by one elsewhere. */
#ifndef CW_ATTACH_H
#define CW_ATTACH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define CW_ATTACH_UPROBE_MULTI 48 /* BPF_TRACE_UPROBE_MULTI */

/* Can this kernel attach many uprobes with one link? */
bool cw_has_uprobe_multi(void);

/*
 * Attach prog_fd to n offsets of the file open at elf_fd; pid 0 for every process. Returns a link
 * descriptor or a negative errno.
 */
int cw_attach_multi(int prog_fd, int elf_fd, const uint64_t *offsets, const uint64_t *cookies,
		    size_t n, bool ret, pid_t pid);

#endif
