/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/relook.o record/proctab.o */
/*
 * When processes are looked at again: in growing distances, all at the end, and for a small share
 * of the CPU whatever a look takes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <time.h>
#include "clock.h"
#include "../../record/relook.h"

#define MS 1000000ull

static unsigned looks;

static int look(void *arg, struct cw_proc *p)
{
	uint64_t busy = *(uint64_t *)arg, until = cw_clock_ns(CLOCK_THREAD_CPUTIME_ID) + busy;

	assert_int_not_equal(p->rec_pid, 0);
	looks++;
	while (busy && cw_clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		;
	return 0;
}

static struct cw_proctab *table(unsigned n)
{
	struct cw_proctab *t = cw_proctab_new();

	for (unsigned i = 1; i <= n; i++) {
		struct cw_proc *p = cw_proctab_get(t, i, true);

		p->start_boottime = 1;
		cw_proctab_set_rec_pid(t, p, i);
	}
	cw_proctab_get(t, n + 1, true); /* nobody knows its number here */
	return t;
}

static void test_distances(void **state)
{
	struct cw_proctab *t = table(1);
	struct cw_relook r = {0};
	uint64_t begin = cw_clock_ns(CLOCK_MONOTONIC), ms, busy = 0;

	(void)state;
	looks = 0;
	for (ms = 0; ms < 10000; ms += 20) {
		assert_int_equal(cw_relook_visit(&r, t, begin + ms * MS, false, look, &busy), 0);
		r.rest = 0;
	}
	/* At 0.1, 0.3, 0.7, 1.5, 3.1 and 6.3 s. */
	assert_int_equal(looks, 6);
	/* Another program: from the beginning. */
	cw_proctab_get(t, 1, false)->look_at = 0;
	cw_relook_new_program(&r);
	for (; ms < 10500; ms += 20) {
		cw_relook_visit(&r, t, begin + ms * MS, false, look, &busy);
		r.rest = 0;
	}
	assert_int_equal(looks, 8);
	cw_relook_visit(&r, t, begin, true, look, &busy);
	assert_int_equal(looks, 9);
	cw_proctab_free(t);
}

/* A thousand processes and looks that take 1 ms each: time does not really pass here. */
static void test_share(void **state)
{
	struct cw_proctab *t = table(1000);
	struct cw_relook r = {0};
	uint64_t begin = cw_clock_ns(CLOCK_MONOTONIC), ms, busy = MS;

	(void)state;
	looks = 0;
	for (ms = 0; ms < 60000; ms += 100)
		cw_relook_visit(&r, t, begin + ms * MS, false, look, &busy);
	/* 0.05 % of a minute are 30 ms; a visit may be one of some ms that began. */
	assert_true(looks >= 5 && looks <= 45);
	cw_proctab_free(t);
}

static void test_all_come(void **state)
{
	struct cw_proctab *t = table(300);
	struct cw_relook r = {0};
	uint64_t busy = MS / 20, ms;
	unsigned i, missed = 0;

	(void)state;
	for (ms = 0; ms < 600000; ms += 100)
		cw_relook_visit(&r, t, cw_clock_ns(CLOCK_MONOTONIC) + ms * MS, false, look, &busy);
	for (i = 1; i <= 300; i++)
		missed += cw_proctab_get(t, i, false)->look_gap <= 100 * MS;
	assert_int_equal(missed, 0);
	cw_proctab_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distances),
		cmocka_unit_test(test_share),
		cmocka_unit_test(test_all_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
