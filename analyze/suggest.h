/* SPDX-License-Identifier: GPL-2.0-only */
/* Which recorded functions hand work to which, by the values that they pass: ready-made hops. */
#ifndef CW_SUGGEST_H
#define CW_SUGGEST_H

#include <sqlite3.h>
#include <stdio.h>
#include "print.h"

/*
 * Print the handoffs found among all recorded calls, the best first, with their evidence, as
 * --async-hop options and as a plan in YAML. JSONL has a record "suggestion" for each of them.
 * Fills temporary tables suggestion and suggestion_member. Returns how many, or a negative errno:
 * of writing, or -EBADMSG having said why.
 */
int cw_suggest_print(sqlite3 *db, enum cw_format format, FILE *out);

#endif
