/* SPDX-License-Identifier: GPL-2.0-only */
/* Verdicts of diff on their way from the comparison to the printed page. */
#ifndef CW_DIFF_H
#define CW_DIFF_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include "print.h"

#define CW_DIFF_PARTS 7 /* total, queue, work, oncpu, blocked, runq, preempted */

struct cw_diff {
	sqlite3 *db; /* in memory: hop, and result, a row a part of a hop */
	enum cw_format format;
	bool html;         /* instead of format */
	double min_change; /* least change of a median that is named, as a part of it */
};

/* Open d->db, with its tables empty. 0, or a negative errno having said why. */
int cw_diff_begin(struct cw_diff *d);

/* Say which results are changes, and in which order they are named. */
int cw_diff_rank(struct cw_diff *d);

/* Print all; 0, or a negative errno of writing, or one having said why. */
int cw_diff_print(struct cw_diff *d, const char *const capture[2], FILE *out);

#endif
