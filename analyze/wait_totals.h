/* SPDX-License-Identifier: GPL-2.0-only */
/* Sums of times off the CPU, by what they are over, and the tables that cw_wait_sums promises. */
#ifndef CW_WAIT_TOTALS_H
#define CW_WAIT_TOTALS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include "hash.h"

#define CW_WAIT_NONE INT64_MIN /* no place, no thread; NULL in a table */

/* All zero before cw_wait_totals_begin. */
struct cw_wait_totals {
	sqlite3 *db;
	struct cw_htab sums, places, wholes;
	sqlite3_stmt *put_place;
	int64_t episode; /* the one whose parts are added: the caller counts it up */
	int err;         /* of a place that could not be kept; cw_wait_totals_put returns it */
};

/* Make the tables, empty. This and all below: 0 or a negative errno, having said why. */
int cw_wait_tables(sqlite3 *db);
int cw_wait_totals_begin(struct cw_wait_totals *t, sqlite3 *db);

/* ns of one part of the episode; scope and kind are those of wait_sums.h. */
void cw_wait_totals_add(struct cw_wait_totals *t, int64_t scope, int64_t id, int64_t kind,
			int64_t place, int64_t other, int64_t ns);

/* The number of a place of sleep, which offcpu_id is an example of. */
int64_t cw_wait_totals_place(struct cw_wait_totals *t, int64_t sleep, bool unseen,
			     int64_t offcpu_id);

/* A whole call or task of ns, oncpu of them on a CPU. */
void cw_wait_totals_add_whole(struct cw_wait_totals *t, int64_t scope, int64_t id, int64_t ns,
			      int64_t oncpu);

/* Write what was summed up. */
int cw_wait_totals_put(struct cw_wait_totals *t);
void cw_wait_totals_free(struct cw_wait_totals *t);

/* Give places their names, and hide the views, once all is written. */
int cw_wait_name(sqlite3 *db);

/* n values into the parameters of s, which inserts a row. */
int cw_wait_put_row(sqlite3_stmt *s, const int64_t *values, int n);

/* -EBADMSG, having said what db says of its last query. */
int cw_wait_unread(sqlite3 *db);

#endif
