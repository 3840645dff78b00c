/* SPDX-License-Identifier: GPL-2.0-only */
/* Why functions and hops did not run: the reasons with the greatest share of their time. */
#ifndef CW_BLOCKED_H
#define CW_BLOCKED_H

#include <sqlite3.h>
#include <stdio.h>
#include "print.h"

#define CW_TOP_REASONS 8

/*
 * Print the top reasons of each hop's work and of each function, at most top of each (0: all);
 * nothing when no scheduler facts were recorded. JSONL has a record "reasons" for each of them.
 * Returns 0 or a negative errno: of writing, or -EBADMSG having said why.
 */
int cw_blocked_print(sqlite3 *db, enum cw_format format, unsigned top, FILE *out);

/*
 * Put temporary views before hop_reason and function_reason, which have the same rows and are quick
 * where there are many: their sums are made once (wait_sums.h). Nothing is done the second time.
 */
int cw_blocked_sums(sqlite3 *db);

/*
 * The same in two steps: what is printed later is what was there at the first, in views of
 * database, such as "main".
 */
int cw_blocked_collect(sqlite3 *db, const char *database);
int cw_blocked_print_collected(sqlite3 *db, enum cw_format format, unsigned top, FILE *out);

#endif
