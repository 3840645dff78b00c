/* SPDX-License-Identifier: GPL-2.0-only */
/* Values of options. A wrong one ends the program with one sentence and status 2. */
#ifndef CW_OPTVALUES_H
#define CW_OPTVALUES_H

#include <argp.h>
#include <stdbool.h>
#include <stdint.h>
#include "modtab.h"

/* Bytes in text such as 4096, 512K, 16M or 2G; 0 when it is not a size. */
uint64_t cw_parse_size(const char *text);

/* name is the option as the user wrote it, with its dashes. */

/* A positive number of units of scale ns each, in ns. */
uint64_t cw_value_scaled(const struct argp_state *st, const char *name, const char *text,
			 double scale);
/* A positive whole number up to max. */
uint64_t cw_value_count(const struct argp_state *st, const char *name, const char *text,
			uint64_t max);
/* A size of at least min bytes. */
uint64_t cw_value_size(const struct argp_state *st, const char *name, const char *text,
		       uint64_t min);
/* A ring's size: a power of two from a page on. */
uint64_t cw_value_ring(const struct argp_state *st, const char *name, const char *text);
/* How to record stacks: fp and none give 0, dwarf[=BYTES] the bytes, a multiple of 8. */
uint32_t cw_value_stack(const struct argp_state *st, const char *name, const char *text);
/* symbols, none or all. */
enum cw_embed cw_value_embed(const struct argp_state *st, const char *name, const char *text);
/* An argument position, 1-8; 0 for auto where that is allowed. */
uint32_t cw_value_arg(const struct argp_state *st, const char *name, const char *text,
		      bool may_auto);
/* A file offset, checked only: it stays text. */
void cw_value_offset(const struct argp_state *st, const char *name, const char *text);

#endif
