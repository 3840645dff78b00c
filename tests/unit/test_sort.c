/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/hash.o analyze/sort.o */
/* The total order (ts, cpu, position), what is late, and that memory stays bounded. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "sort.h"

struct out {
	uint64_t *ts, *mark;
	uint16_t *cpu;
	size_t n, cap;
	int stop_at; /* fail at this record; 0 never */
};

static int take(void *arg, const struct cw_rec *rec)
{
	struct out *o = arg;

	if (o->n == o->cap) {
		o->cap = o->cap ? 2 * o->cap : 1024;
		o->ts = realloc(o->ts, o->cap * sizeof(*o->ts));
		o->mark = realloc(o->mark, o->cap * sizeof(*o->mark));
		o->cpu = realloc(o->cpu, o->cap * sizeof(*o->cpu));
	}
	o->ts[o->n] = rec->ts;
	o->cpu[o->n] = rec->cpu;
	o->mark[o->n] = ((const uint64_t *)rec)[2];
	o->n++;
	return o->stop_at && (int)o->n == o->stop_at ? -5 : 0;
}

static void done(struct out *o)
{
	free(o->ts);
	free(o->mark);
	free(o->cpu);
}

#define NOT_LEADING 99

static int push(struct cw_sorter *s, uint64_t ts, uint16_t cpu, uint64_t mark)
{
	uint64_t rec[3] = {0};
	struct cw_rec *h = (struct cw_rec *)rec;

	h->type = mark == NOT_LEADING ? CW_MAP : CW_PROBE_ENTRY;
	h->size = sizeof(rec);
	h->cpu = cpu;
	h->ts = ts;
	rec[2] = mark;
	return cw_sorter_push(s, h, h->type == CW_PROBE_ENTRY);
}

static void assert_ordered(const struct out *o)
{
	for (size_t i = 1; i < o->n; i++) {
		assert_true(o->ts[i - 1] <= o->ts[i]);
		if (o->ts[i - 1] == o->ts[i])
			assert_true(o->cpu[i - 1] <= o->cpu[i]);
		if (o->ts[i - 1] == o->ts[i] && o->cpu[i - 1] == o->cpu[i])
			assert_true(o->mark[i - 1] < o->mark[i]);
	}
}

static void test_order(void **state)
{
	struct out o = {0};
	struct cw_sorter *s = cw_sorter_new(100, 1 << 20, take, &o);

	(void)state;
	push(s, 50, 1, 0);
	push(s, 40, 0, 1);
	push(s, 50, 0, 2);
	push(s, 50, 0, 3);
	push(s, 45, 7, 4);
	assert_int_equal(o.n, 0);
	push(s, 145, 0, 5); /* 40 and 45 are due now */
	assert_int_equal(o.n, 2);
	assert_int_equal(cw_sorter_flush(s), 0);
	assert_int_equal(o.n, 6);
	assert_ordered(&o);
	assert_int_equal(o.mark[2], 2);
	assert_int_equal(o.mark[4], 0);
	cw_sorter_free(s);
	done(&o);
}

static void test_late(void **state)
{
	struct out o = {0};
	struct cw_sorter *s = cw_sorter_new(100, 1 << 20, take, &o);

	(void)state;
	push(s, 1000, 0, 0);
	push(s, 1200, 0, 1); /* 1000 leaves */
	assert_int_equal(o.n, 1);
	assert_int_equal(push(s, 999, 0, 2), 1);
	assert_int_equal(push(s, 1000, 0, 3), 0);
	cw_sorter_flush(s);
	assert_int_equal(o.n, 3);
	assert_ordered(&o);
	cw_sorter_free(s);
	done(&o);
}

/* What is far ahead waits for its time, and makes nothing late. */
static void test_ahead(void **state)
{
	struct out o = {0};
	struct cw_sorter *s = cw_sorter_new(100, 1 << 20, take, &o);

	(void)state;
	push(s, 1000, 0, 0);
	push(s, 5000, 0, NOT_LEADING);
	assert_int_equal(push(s, 1010, 0, 1), 0);
	assert_int_equal(push(s, 1200, 0, 2), 0);
	assert_int_equal(o.n, 2);
	cw_sorter_flush(s);
	assert_int_equal(o.n, 4);
	assert_int_equal(o.mark[3], NOT_LEADING);
	assert_ordered(&o);
	cw_sorter_free(s);
	done(&o);
}

static void test_error_stops(void **state)
{
	struct out o = {.stop_at = 2};
	struct cw_sorter *s = cw_sorter_new(10, 1 << 20, take, &o);

	(void)state;
	push(s, 1, 0, 0);
	push(s, 2, 0, 1);
	push(s, 3, 0, 2);
	assert_int_equal(cw_sorter_flush(s), -5);
	assert_int_equal(o.n, 2);
	cw_sorter_free(s);
	done(&o);
}

/* Nearly ordered, as rings are, and in no order at all: both must come out sorted and complete. */
static void test_random(void **state)
{
	static const uint64_t spread[] = {0, 30, 3000, 5000000};

	(void)state;
	for (size_t k = 0; k < sizeof(spread) / sizeof(*spread); k++) {
		struct out o = {0};
		struct cw_sorter *s = cw_sorter_new(6000000, 64 << 20, take, &o);
		const size_t n = 100000;

		srand(7);
		for (size_t i = 0; i < n; i++) {
			uint64_t ts = 10000000 + i * 3;

			if (spread[k] && rand() % 30 == 0)
				ts -= (uint64_t)rand() % spread[k];
			assert_int_equal(push(s, ts, (uint16_t)(rand() % 4), i), 0);
		}
		cw_sorter_flush(s);
		assert_int_equal(o.n, n);
		assert_ordered(&o);
		cw_sorter_free(s);
		done(&o);
	}
}

/* Everything within the window and backwards: no quadratic time, no more memory than allowed. */
static void test_hostile(void **state)
{
	struct out o = {0};
	struct cw_sorter *s = cw_sorter_new(1ull << 40, 8 << 20, take, &o);
	const size_t n = 300000;
	size_t late = 0;

	(void)state;
	for (size_t i = 0; i < n; i++)
		late += push(s, 1ull << 39 | (n - i), 0, i) == 1;
	cw_sorter_flush(s);
	assert_int_equal(o.n + late, n);
	assert_true(late > 0); /* the memory limit made some leave before their time */
	assert_ordered(&o);
	cw_sorter_free(s);
	done(&o);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),       cmocka_unit_test(test_late),
		cmocka_unit_test(test_ahead),       cmocka_unit_test(test_random),
		cmocka_unit_test(test_error_stops), cmocka_unit_test(test_hostile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
