/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Compressed debug sections, decompressed once for all threads that read a file, and by all of
 * them. libelf does that for each handle, for sections that nobody here asks for, too, and knows
 * zstd from 0.189 on.
 */
#ifndef CW_PLAIN_DEBUG_H
#define CW_PLAIN_DEBUG_H

#include <gelf.h>

struct cw_plain_debug;

/* For one file. NULL: out of memory. Freed after all handles that cw_plain_debug_open gave. */
struct cw_plain_debug *cw_plain_debug_new(void);
void cw_plain_debug_free(struct cw_plain_debug *p);

/*
 * Another handle for the file that elf reads, with the sections of DWARF that names, lines and
 * unwinding are from, none of them compressed. It is the caller's, for elf_end. Any number of
 * threads may ask, each with a handle of its own for the same file: they share the work and return
 * when it is done. NULL: nothing is compressed, or it cannot be had. *why is NULL, or a constant
 * text of what is missing.
 */
Elf *cw_plain_debug_open(struct cw_plain_debug *p, Elf *elf, const char **why);

#endif
