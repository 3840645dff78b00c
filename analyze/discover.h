/* SPDX-License-Identifier: GPL-2.0-only */
/* Who woke the thread before each call of a function: candidates for the source of a handoff. */
#ifndef CW_DISCOVER_H
#define CW_DISCOVER_H

#include <sqlite3.h>
#include <stdio.h>
#include "print.h"

struct cw_discover {
	const char *function; /* that receives the work */
	unsigned target_arg;  /* for the template, 1-8 */
	unsigned top;         /* candidates shown */
};

/*
 * Print the ranked candidates over all recorded calls of d->function, with a --async-hop template;
 * JSONL is one record "discover". Returns 0 or a negative errno: of writing, -ENOENT when calls of
 * the function were not recorded, or -EBADMSG, having said why.
 */
int cw_discover_print(sqlite3 *db, enum cw_format format, const struct cw_discover *d, FILE *out);

#endif
