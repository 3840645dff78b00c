/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Permutation of time blocks over ranks, and Holm's step-down. Knows numbers, not what they are of.
 * All is repeatable: the permutations come from a generator with a fixed start.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include "diff_stats.h"

#define MOST_BLOCKS  12
#define LEAST_BLOCKS 8
#define PER_BLOCK    5     /* values that make a block */
#define TRY_ALL      13000 /* permutations of 8 and 8 blocks are fewer */
#define RESEMBLE     0.3   /* correlation of neighbouring blocks from which they are too short */
#define DRIFT        0.4   /* and from which only the obvious can be said */

int cw_series_add(struct cw_series *s, int64_t ns)
{
	if (s->n == s->size) {
		size_t size = s->size ? s->size * 2 : 64;
		int64_t *more = reallocarray(s->ns, size, sizeof(*more));

		if (!more)
			return -ENOMEM;
		s->ns = more;
		s->size = size;
	}
	s->ns[s->n++] = ns;
	return 0;
}

int cw_compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

int64_t cw_percentile(const int64_t *sorted, size_t n, unsigned int percent)
{
	size_t place = (n * percent + 99) / 100;

	return sorted[place ? place - 1 : 0];
}

/* ---- ranks -------------------------------------------------------------------------------------
 */

struct ranked {
	int64_t ns;
	size_t at; /* place in a, or past its end in b */
};

static int compare_ranked(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;

	return (x->ns > y->ns) - (x->ns < y->ns);
}

/* Mean ranks of equal values, for a and after it for b. False when all values are the same. */
static bool rank_all(struct ranked *all, size_t n, double *rank)
{
	qsort(all, n, sizeof(*all), compare_ranked);
	for (size_t i = 0, end; i < n; i = end) {
		for (end = i; end < n && all[end].ns == all[i].ns; end++)
			;
		for (size_t j = i; j < end; j++)
			rank[all[j].at] = (double)(i + 1 + end) / 2;
	}
	return all[0].ns != all[n - 1].ns;
}

/* ---- blocks ------------------------------------------------------------------------------------
 */

static void block_means(const double *rank, size_t n, int blocks, double *mean)
{
	for (int b = 0; b < blocks; b++) {
		size_t from = n * (size_t)b / (size_t)blocks;
		size_t to = n * (size_t)(b + 1) / (size_t)blocks;
		double sum = 0;

		for (size_t i = from; i < to; i++)
			sum += rank[i];
		mean[b] = sum / (double)(to - from);
	}
}

static void correlate(const double *x, int n, double *both, double *self)
{
	double mean = 0;

	for (int i = 0; i < n; i++)
		mean += x[i] / n;
	for (int i = 0; i < n; i++) {
		*self += (x[i] - mean) * (x[i] - mean);
		if (i + 1 < n)
			*both += (x[i] - mean) * (x[i + 1] - mean);
	}
}

/* How much a block resembles the next one, over both recordings; estimates from few are too low by
 * 1 in n. */
static double resemblance(const double *x, int blocks)
{
	double both = 0, self = 0;

	correlate(x, blocks, &both, &self);
	correlate(x + blocks, blocks, &both, &self);
	return fmin(fmax(self > 0 ? both / self + 1.0 / blocks : 0, 0), 0.95);
}

/* ---- permutations -------------------------------------------------------------------------------
 */

/* Welch's t of the blocks in mask against the others; half of n are in it. */
static double studentized(const double *x, int n, uint32_t mask)
{
	double sum[2] = {0}, square[2] = {0}, k = n / 2, diff, var;

	for (int i = 0; i < n; i++) {
		int side = (mask >> i) & 1;

		sum[side] += x[i];
		square[side] += x[i] * x[i];
	}
	diff = (sum[1] - sum[0]) / k;
	var = (square[0] - sum[0] * sum[0] / k + square[1] - sum[1] * sum[1] / k) / (k - 1) / k;
	if (var > 1e-12 * (square[0] + square[1]))
		return fabs(diff) / sqrt(var);
	return fabs(diff) > 1e-9 ? HUGE_VAL : 0;
}

static uint64_t next_random(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15; /* splitmix64 */

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

/* A set of n / 2 of n blocks, each as likely as the others. */
static uint32_t random_half(int n, uint64_t *state)
{
	uint32_t mask = 0;
	int left = n / 2;

	for (int i = 0; i < n; i++) {
		if ((double)(next_random(state) >> 11) * 0x1p-53 * (n - i) < left) {
			mask |= 1u << i;
			left--;
		}
	}
	return mask;
}

static double permute(const double *x, int n, double shrink, unsigned int rounds)
{
	uint32_t first = (1u << (n / 2)) - 1, last = first << (n / 2);
	double seen = studentized(x, n, first) * shrink * (1 - 1e-9);
	uint64_t state = 20120229, all = 0, extreme = 0;
	double ways = 1;

	for (int i = 1; i <= n / 2; i++)
		ways = ways * (n - n / 2 + i) / i;
	if (ways > TRY_ALL) {
		for (all = 0; all < rounds; all++)
			extreme += studentized(x, n, random_half(n, &state)) >= seen;
		return (double)(extreme + 1) / (double)(all + 1);
	}
	for (uint32_t mask = first;; all++) {
		uint32_t low = mask & -mask, next = mask + low;

		extreme += studentized(x, n, mask) >= seen;
		if (mask == last)
			return (double)extreme / (double)(all + 1);
		mask = next | (((mask ^ next) >> 2) / low);
	}
}

/* ---- the test -----------------------------------------------------------------------------------
 */

static void test_ranks(const double *rank, size_t na, size_t nb, unsigned int rounds,
		       struct cw_diff_test *out)
{
	size_t least = (na < nb ? na : nb) / PER_BLOCK;
	int blocks = least < MOST_BLOCKS ? (int)least : MOST_BLOCKS;
	double x[2 * MOST_BLOCKS], r, taken;

	for (;; blocks = LEAST_BLOCKS) {
		block_means(rank, na, blocks, x);
		block_means(rank + na, nb, blocks, x + blocks);
		r = resemblance(x, blocks);
		if (r <= RESEMBLE || blocks == LEAST_BLOCKS)
			break;
	}
	out->drifts = r > DRIFT;
	out->blocks = blocks;
	taken = (1 - r) / (1 + r);
	out->p = permute(x, 2 * blocks, out->drifts ? taken : sqrt(taken), rounds);
}

int cw_diff_test(const struct cw_series *a, const struct cw_series *b, unsigned int rounds,
		 struct cw_diff_test *out)
{
	size_t n = a->n + b->n;
	struct ranked *all;
	double *rank, sum = 0;

	*out = (struct cw_diff_test){.p = 1, .effect = 0.5};
	if (!a->n || !b->n || a->n < LEAST_BLOCKS * PER_BLOCK || b->n < LEAST_BLOCKS * PER_BLOCK) {
		out->few = true;
		return 0;
	}
	all = reallocarray(NULL, n, sizeof(*all));
	rank = reallocarray(NULL, n, sizeof(*rank));
	if (!all || !rank) {
		free(all);
		free(rank);
		return -ENOMEM;
	}
	for (size_t i = 0; i < n; i++)
		all[i] = (struct ranked){i < a->n ? a->ns[i] : b->ns[i - a->n], i};
	if (rank_all(all, n, rank)) {
		for (size_t i = a->n; i < n; i++)
			sum += rank[i];
		out->effect = (sum / (double)b->n - (double)(b->n + 1) / 2) / (double)a->n;
		test_ranks(rank, a->n, b->n, rounds, out);
	}
	free(all);
	free(rank);
	return 0;
}

struct place {
	double p;
	size_t at;
};

static int compare_place(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	return (x->p > y->p) - (x->p < y->p);
}

int cw_diff_holm(double *p, size_t n)
{
	struct place *order = reallocarray(NULL, n ? n : 1, sizeof(*order));
	double least = 0;

	if (!order)
		return -ENOMEM;
	for (size_t i = 0; i < n; i++)
		order[i] = (struct place){p[i], i};
	qsort(order, n, sizeof(*order), compare_place);
	for (size_t i = 0; i < n; i++) {
		double adjusted = order[i].p * (double)(n - i);

		least = fmax(least, fmin(adjusted, 1));
		p[order[i].at] = least;
	}
	free(order);
	return 0;
}
