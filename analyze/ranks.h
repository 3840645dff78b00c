/* SPDX-License-Identifier: GPL-2.0-only */
/* Percentiles and histograms of millions of durations, without SQL's sorts of whole rows. */
#ifndef CW_RANKS_H
#define CW_RANKS_H

#include <sqlite3.h>

/*
 * Add to the temporary tables rank and rank_histogram, made when they are not there, what the query
 * gives. Its columns: id (an integer or NULL), part (text), ns (NULL is counted in rows only), and
 * up to five more whose sums are wanted. of is the name of the query in those tables.
 *	rank(of, id, part, rows, n, avg, p50, p95, p99, max, min, sum, sum1 .. sum5)
 *		in the order of id and part; n counts ns; the p-th percentile is that at place
 *		ceil(p * n / 100), p95 NULL below 20, p99 below 100; sums of nothing are NULL
 *	rank_histogram(of, id, part, lo, n)
 *		how many ns are at least lo and less than the next bound; four bounds an octave
 * Returns 0 or a negative errno, having said why.
 */
int cw_ranks(sqlite3 *db, const char *of, const char *query);

#endif
