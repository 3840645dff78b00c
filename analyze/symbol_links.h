/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an ELF file says of other files that complete it: a separate debug file, dwz's alternate
 * one, and the symbols it carries compressed. Must not know where those are.
 */
#ifndef CW_SYMBOL_LINKS_H
#define CW_SYMBOL_LINKS_H

#include <stdbool.h>
#include <stddef.h>
#include "symbolize_elf.h"

/* File name in .gnu_debuglink; NULL when there is none. */
const char *cw_elf_debuglink(struct cw_elf *elf);

#define CW_BUILD_ID_TEXT 129 /* bytes of a build id in hexadecimal, with the NUL */

/*
 * File name in .gnu_debugaltlink, and the build id of the file it means; NULL when there is none.
 */
const char *cw_elf_altlink(struct cw_elf *elf, char id[CW_BUILD_ID_TEXT]);

/*
 * Let the debug information of elf find what it refers to in alt, which must outlive its use. Give
 * one always: left alone, libdw takes a file of the right name without comparing build ids.
 */
void cw_elf_set_alternate(struct cw_elf *elf, struct cw_elf *alt);

/* A file in which nothing is found, for want of the right alternate one; NULL without memory. */
struct cw_elf *cw_elf_open_nothing(void);

/*
 * The symbols of functions that .gnu_debugdata holds (MiniDebugInfo), as a file of its own which
 * the caller must free; NULL when there are none, and then *why, a constant text, when they cannot
 * be read.
 */
struct cw_elf *cw_elf_mini_debug(struct cw_elf *elf, const char **why);

#endif
