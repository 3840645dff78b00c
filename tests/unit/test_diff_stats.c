/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/diff_stats.o */
/*
 * The tests behind diff on recordings that are made up: queues in front of stages, whose waits
 * depend on each other for long. Pairs of the same load must stay quiet, a stage that is a fifth
 * slower must be noticed.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "diff_stats.h"

#define STAGES 3
#define PARTS  (2 * STAGES + 1) /* queue and work a stage, and the whole */
#define ROUNDS 4999

static uint64_t state = 1;

static double uniform(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return ((double)(state >> 11) + 0.5) * 0x1p-53;
}

static double exponential(double mean)
{
	return -mean * log(uniform());
}

/* A pipeline of one-worker stages: Lindley's recursion gives waits that depend on all before them.
 */
static void record(struct cw_series part[PARTS], int chains, double load,
		   const double slower[STAGES])
{
	static const double mean[STAGES] = {20e6, 50e6, 8e6};
	double arrival = 0, free_at[STAGES] = {0};

	memset(part, 0, PARTS * sizeof(*part));
	for (int c = 0; c < chains; c++) {
		double at, begin;

		arrival += exponential(50e6 / load);
		at = begin = arrival;
		for (int s = 0; s < STAGES; s++) {
			double start = at > free_at[s] ? at : free_at[s];
			double work = mean[s] * slower[s] * (0.9 + 0.2 * uniform());

			assert_int_equal(cw_series_add(&part[2 * s], (int64_t)(start - at)), 0);
			assert_int_equal(cw_series_add(&part[2 * s + 1], (int64_t)work), 0);
			at = free_at[s] = start + work;
		}
		assert_int_equal(cw_series_add(&part[PARTS - 1], (int64_t)(at - begin)), 0);
	}
}

static void forget(struct cw_series part[PARTS])
{
	for (int i = 0; i < PARTS; i++)
		free(part[i].ns);
}

/* Adjusted p-values of a pair. Returns how many reject. */
static int compare(struct cw_series a[PARTS], struct cw_series b[PARTS], double p[PARTS],
		   double effect[PARTS])
{
	int rejected = 0;

	for (int i = 0; i < PARTS; i++) {
		struct cw_diff_test t;

		assert_int_equal(cw_diff_test(&a[i], &b[i], ROUNDS, &t), 0);
		p[i] = t.p;
		effect[i] = t.effect;
	}
	assert_int_equal(cw_diff_holm(p, PARTS), 0);
	for (int i = 0; i < PARTS; i++)
		rejected += p[i] <= 0.05;
	return rejected;
}

/* 95 % of all series of tests of a right level have at most this many alarms of n. */
static int bound(int n)
{
	return (int)(0.05 * n + 1.645 * sqrt(n * 0.05 * 0.95) + 0.5);
}

static void quiet(int pairs, int chains_a, int chains_b, double load)
{
	static const double same[STAGES] = {1, 1, 1};
	int alarms = 0;

	for (int i = 0; i < pairs; i++) {
		struct cw_series a[PARTS], b[PARTS];
		double p[PARTS], effect[PARTS];

		record(a, chains_a, load, same);
		record(b, chains_b, load, same);
		alarms += compare(a, b, p, effect) > 0;
		forget(a);
		forget(b);
	}
	print_message("# %d and %d chains at load %.2f: %d alarms in %d pairs\n", chains_a,
		      chains_b, load, alarms, pairs);
	assert_in_range(alarms, 0, bound(pairs));
}

static void test_same_load_is_quiet(void **unused)
{
	(void)unused;
	quiet(200, 120, 120, 0.5);
	quiet(200, 400, 400, 0.9);
	quiet(200, 1000, 300, 0.8);
	quiet(200, 2000, 2000, 0.97); /* waits resemble each other over hundreds of chains */
}

static void test_slower_stage(void **unused)
{
	int found = 0, first = 0;

	(void)unused;
	for (int i = 0; i < 60; i++) {
		static const double same[STAGES] = {1, 1, 1};
		double slower[STAGES] = {1, 1, 1}, p[PARTS], effect[PARTS];
		struct cw_series a[PARTS], b[PARTS];
		int s = i % STAGES, most = 1;

		slower[s] = 1.2;
		record(a, 200, 0.6, same);
		record(b, 200, 0.6, slower);
		compare(a, b, p, effect);
		for (int k = 0; k < STAGES; k++)
			if (fabs(effect[2 * k + 1] - 0.5) > fabs(effect[most] - 0.5))
				most = 2 * k + 1;
		found += p[2 * s + 1] <= 0.01;
		first += most == 2 * s + 1;
		forget(a);
		forget(b);
	}
	assert_int_equal(found, 60);
	assert_int_equal(first, 60);
}

/* Values of a block that are all alike are one observation, not fifty: what a naive test gets
 * wrong. */
static void test_blocks_are_the_unit(void **unused)
{
	int alarms = 0;

	(void)unused;
	for (int i = 0; i < 200; i++) {
		struct cw_series s[2] = {{0}};
		struct cw_diff_test t;

		for (int k = 0; k < 2; k++)
			for (int b = 0; b < 40; b++) {
				int64_t level = (int64_t)(1e6 * uniform());

				for (int j = 0; j < 50; j++)
					assert_int_equal(
						cw_series_add(&s[k],
							      level + (int64_t)(1e3 * uniform())),
						0);
			}
		assert_int_equal(cw_diff_test(&s[0], &s[1], ROUNDS, &t), 0);
		alarms += t.p <= 0.05;
		free(s[0].ns);
		free(s[1].ns);
	}
	assert_in_range(alarms, 0, bound(200));
}

static void test_edges(void **unused)
{
	struct cw_series a = {0}, b = {0};
	struct cw_diff_test t;
	double p[4] = {0.01, 0.04, 0.03, 0.005};

	(void)unused;
	assert_int_equal(cw_diff_test(&a, &b, ROUNDS, &t), 0);
	assert_true(t.few && !t.blocks);
	for (int i = 0; i < 40; i++) {
		cw_series_add(&a, 7);
		cw_series_add(&b, 7);
	}
	assert_int_equal(cw_diff_test(&a, &b, ROUNDS, &t), 0);
	assert_true(t.p == 1 && !t.few && !t.blocks && t.effect == 0.5);
	for (int i = 0; i < 40; i++)
		b.ns[i] = 8;
	assert_int_equal(cw_diff_test(&a, &b, ROUNDS, &t), 0);
	assert_true(t.p < 0.001 && t.effect == 1); /* every one of b is greater: 2 of all ways */
	for (int i = 0; i < 40; i++)
		a.ns[i] = b.ns[i] =
			100 + i; /* all drift in the same way: only the obvious can be said */
	assert_int_equal(cw_diff_test(&a, &b, ROUNDS, &t), 0);
	assert_true(t.drifts && t.p > 0.9);
	for (int i = 0; i < 40; i++)
		b.ns[i] += 100000;
	assert_int_equal(cw_diff_test(&a, &b, ROUNDS, &t), 0);
	assert_true(t.drifts && t.effect == 1);
	assert_int_equal(cw_diff_holm(p, 4), 0); /* 4 * 0.005, 3 * 0.01, 2 * 0.03, then no less */
	assert_true(fabs(p[3] - 0.02) < 1e-12 && fabs(p[0] - 0.03) < 1e-12 &&
		    fabs(p[2] - 0.06) < 1e-12 && fabs(p[1] - 0.06) < 1e-12);
	assert_int_equal(cw_percentile((int64_t[]){1, 2, 3, 4}, 4, 50), 2);
	assert_int_equal(cw_percentile((int64_t[]){1, 2, 3, 4}, 4, 99), 4);
	free(a.ns);
	free(b.ns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_blocks_are_the_unit),
		cmocka_unit_test(test_slower_stage),
		cmocka_unit_test(test_same_load_is_quiet),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
