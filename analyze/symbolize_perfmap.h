/* SPDX-License-Identifier: GPL-2.0-only */
/* Names of code made at run time, as /tmp/perf-PID.map gives them. */
#ifndef CW_SYMBOLIZE_PERFMAP_H
#define CW_SYMBOLIZE_PERFMAP_H

#include <obstack.h>
#include <stddef.h>
#include "symbolize_table.h"

/*
 * Add the lines "START SIZE NAME" (hexadecimal, absolute addresses) of a map to a table; lines that
 * are not so are left out. Names are copied into mem. Returns lines taken, or -ENOMEM.
 */
long cw_perfmap_add(const char *text, size_t size, struct obstack *mem, struct cw_symtab *table);

#endif
