/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Is one recording slower than another? Tests over durations in the order of time, which in a
 * queue are anything but independent of each other.
 */
#ifndef CW_DIFF_STATS_H
#define CW_DIFF_STATS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Durations of one part of one hop in one recording, in the order of time, ns. */
struct cw_series {
	int64_t *ns;
	size_t n, size;
};

/* Append a value; -ENOMEM. Zeroed is empty; ns is free()d by the owner. */
int cw_series_add(struct cw_series *s, int64_t ns);

struct cw_diff_test {
	double p;      /* two-sided; 1 where nothing was tested */
	double effect; /* chance that a value of b exceeds one of a, ties counted half; 0.5 without
			*/
	int blocks;    /* blocks of time a recording was cut into; 0: not tested */
	bool few;      /* too few values to test */
	bool drifts;   /* tested, but so dependent that only a great change would be noticed */
};

/*
 * Test that a and b come from the same distribution. Values are replaced by their ranks among
 * all, each recording is cut into blocks of time, and the blocks are permuted between the two:
 * what a block's values have in common does not count as evidence. When neighbouring blocks
 * resemble each other, they are made longer, and what resemblance is left is taken off the
 * statistic, twice when it is much. The statistic is studentized, so that
 * recordings of different length can be compared. rounds: permutations when they are too many to
 * try all. Returns 0 or -ENOMEM.
 */
int cw_diff_test(const struct cw_series *a, const struct cw_series *b, unsigned int rounds,
		 struct cw_diff_test *out);

/* Holm's adjustment of n p-values in place: those still <= alpha reject with family-wise alpha. */
int cw_diff_holm(double *p, size_t n);

/* Nearest rank: the value at place ceil(percent * n / 100) of sorted values; n > 0. */
int64_t cw_percentile(const int64_t *sorted, size_t n, unsigned int percent);

int cw_compare_ns(const void *a, const void *b); /* for qsort of int64_t */

#endif
