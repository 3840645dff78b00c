/* SPDX-License-Identifier: GPL-2.0-only */
/* How lineage goes on: from handoff to handoff, where chains fork and join, and where they end. */
#include "stitch_fixture.h"

static void test_one_hop(void **state)
{
	struct stream s;

	(void)state;
	open_one(&s, "sub,1,run,1");
	submit(&s, 1000, P, 0, 0xab);
	work(&s, 1500, 1800, W, 1, 0xab);
	stream_end(&s);
	assert_string_equal(chains(&s), "1000-1800 queue 500 work 300 hops 1");
	expect_text(
		&s,
		"SELECT source || ' ' || target || ' ' || key || ' ' || target_arg || ' ' || "
		"source_tid || ' ' || target_tid || ' ' || evidence || ' ' || dominant FROM hop",
		"sub run 0x00000000000000ab 1 1001 1002 exact oncpu");
	expect_books(&s);
	stream_close(&s);
}

/* The specification's eight handoffs are our minimum: a chain of any length is whole. */
#define LONG 20

static void test_many_hops(void **state)
{
	char plan[LONG * 24] = "", name[2 * LONG][8];
	struct stream s;
	size_t n = 0;

	(void)state;
	for (int i = 0; i < LONG; i++) {
		snprintf(name[2 * i], sizeof(*name), "s%d", i);
		snprintf(name[2 * i + 1], sizeof(*name), "t%d", i);
		n += (size_t)snprintf(plan + n, sizeof(plan) - n, "%ss%d,1,t%d,1", i ? ";" : "", i,
				      i);
	}
	stream_open(&s, plan, "x86_64");
	for (uint32_t i = 0; i < 2 * LONG; i++)
		put_probe(&s, i, name[i], true);
	submit(&s, 1000, P, 0, 0xa0);
	for (uint32_t i = 0; i < LONG; i++) {
		uint32_t tid = i % 2 ? X : W;
		uint64_t ts = 2000 + 1000 * i;

		put_entry(&s, ts, tid, 2 * i + 1, SP, 0xa0 + i);
		if (i + 1 < LONG)
			submit(&s, ts + 400, tid, 2 * i + 2, 0xa0 + i + 1);
		put_return(&s, ts + 400 + (i + 1 < LONG ? 100 : 0), tid, 2 * i + 1, SP, 0);
	}
	stream_end(&s);
	assert_string_equal(chains(&s), "1000-21400 queue 12400 work 8000 hops 20");
	expect_int(&s,
		   "SELECT count(*) FROM hop WHERE source = 's' || hop_index"
		   " AND target = 't' || hop_index AND work_ns = 400",
		   LONG);
	expect_books(&s);
	stream_close(&s);
}

/* Intermediate work ends at the next handoff; what comes after belongs to nobody's chain. */
static void test_two_hops(void **state)
{
	struct stream s;

	(void)state;
	open_two(&s);
	submit(&s, 1000, P, 0, 0xa1);
	put_entry(&s, 1500, W, 1, SP, 0xa1);
	submit(&s, 1700, W, 2, 0xb1);
	put_return(&s, 1900, W, 1, SP, 0);
	work(&s, 2000, 2400, X, 3, 0xb1);
	stream_end(&s);
	assert_string_equal(chains(&s), "1000-2400 queue 800 work 600 hops 2");
	expect_text(&s,
		    "SELECT group_concat(submit_ts || ' ' || start_ts || ' ' || end_ts, ', ') FROM "
		    "(SELECT * "
		    "FROM hop ORDER BY hop_index)",
		    "1000 1500 1700, 1700 2000 2400");
	expect_books(&s);
	stream_close(&s);
}

/* One request handed on twice: two chains that share the first edge, each with its own work. */
static void test_fan_out_by_two_handoffs(void **state)
{
	struct stream s;

	(void)state;
	open_two(&s);
	submit(&s, 1000, P, 0, 0xa1);
	put_entry(&s, 1500, W, 1, SP, 0xa1);
	submit(&s, 1600, W, 2, 0xb1);
	submit(&s, 1700, W, 2, 0xb2);
	put_return(&s, 1900, W, 1, SP, 0);
	work(&s, 2000, 2100, X, 3, 0xb1);
	work(&s, 2200, 2300, X, 3, 0xb2);
	stream_end(&s);
	assert_string_equal(chains(&s), "1000-2100 queue 900 work 200 hops 2; "
					"1000-2300 queue 1000 work 300 hops 2");
	expect_int(&s, "SELECT count(*) FROM edge", 3);
	expect_books(&s);
	stream_close(&s);
}

/* The first hop was submitted before the capture began. */
static void test_before_capture(void **state)
{
	struct stream s;

	(void)state;
	open_two(&s);
	put_entry(&s, 1500, W, 1, SP, 0xa1);
	submit(&s, 1700, W, 2, 0xb1);
	put_return(&s, 1900, W, 1, SP, 0);
	work(&s, 2000, 2400, X, 3, 0xb1);
	submit(&s, 3000, P, 2, 0xb2); /* and one that is not handed off by a worker at all */
	work(&s, 3100, 3200, X, 3, 0xb2);
	stream_end(&s);
	assert_string_equal(
		chains(&s),
		"1700-2400 queue 300 work 400 hops 1 incomplete capture edge+missing hop; "
		"3000-3200 queue 100 work 100 hops 1 incomplete missing hop");
	expect_text(&s, "SELECT reason FROM unmatched", "before capture");
	expect_books(&s);
	stream_close(&s);
}

static void test_capture_end(void **state)
{
	struct stream s;

	(void)state;
	open_two(&s);
	submit(&s, 1000, P, 0, 0xa1);
	put_entry(&s, 1500, W, 1, SP, 0xa1);
	submit(&s, 1700, W, 2, 0xb1);
	put_entry(&s, 2000, X, 3, SP, 0xb1);
	submit(&s, 2500, P, 0, 0xa2);
	stream_end(&s);
	assert_string_equal(chains(&s),
			    "1000-2000 queue 800 work ? hops 2 incomplete capture edge");
	assert_string_equal(counts(&s, 0),
			    "2 sub 1 match 0 un 0 dup 0 super 0 exp 0 amb 0 no 1 open");
	expect_text(
		&s,
		"SELECT coalesce(end_ts, '?') || coalesce(work_ns, '?') || coalesce(oncpu_ns, '?') "
		"FROM hop WHERE hop_index = 1",
		"???");
	stream_close(&s);
}

/* A loss inside a chain marks it; one before and one after do not. */
static void test_loss(void **state)
{
	static const uint32_t kinds[] = {CW_PROBE_ENTRY, CW_PROBE_RETURN, CW_SCHED_SWITCH,
					 CW_SCHED_WAKING, 0};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct stream s;

		open_one(&s, "sub,1,run,1");
		put_lost(&s, 900, 999, kinds[i], 5);
		submit(&s, 1000, P, 0, 0xab);
		work(&s, 1500, 1800, W, 1, 0xab);
		submit(&s, 2000, P, 0, 0xab);
		put_lost(&s, 2100, 2200, kinds[i], 1);
		work(&s, 2500, 2800, W, 1, 0xab);
		submit(&s, 3000, P, 0, 0xab);
		work(&s, 3500, 3800, W, 1, 0xab);
		put_lost(&s, 3801, 3900, kinds[i], 5);
		stream_end(&s);
		assert_string_equal(chains(&s), "1000-1800 queue 500 work 300 hops 1; "
						"2000-2800 queue 500 work 300 hops 1 loss; "
						"3000-3800 queue 500 work 300 hops 1");
		expect_books(&s);
		stream_close(&s);
	}
}

/* Two ways into one target: both edges are kept, the path follows the one that came last. */
static void test_join(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, "sub,1,run,1;other,1,run,1;next,1,last,1", "x86_64");
	put_probe(&s, 0, "sub", true);
	put_probe(&s, 1, "run", true);
	put_probe(&s, 2, "next", true);
	put_probe(&s, 3, "last", true);
	put_probe(&s, 4, "other", true);
	submit(&s, 1000, P, 0, 0xa1);
	submit(&s, 1200, X, 4, 0xa1);
	put_entry(&s, 1500, W, 1, SP, 0xa1);
	submit(&s, 1700, W, 2, 0xb1);
	put_return(&s, 1900, W, 1, SP, 0);
	work(&s, 2000, 2400, X, 3, 0xb1);
	stream_end(&s);
	assert_string_equal(chains(&s), "1200-2400 queue 600 work 600 hops 2");
	expect_int(&s, "SELECT count(*) FROM edge WHERE dst_ts = 1500", 2);
	expect_int(&s, "SELECT sum(unmatched) FROM hop_count", 0);
	expect_books(&s);
	stream_close(&s);
}

/* One enqueue function for all stages, and one request pointer all the way. */
static void test_shared_source(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, "enqueue,1,run,1;enqueue,1,last,1", "x86_64");
	put_probe(&s, 0, "enqueue", true);
	put_probe(&s, 1, "run", true);
	put_probe(&s, 3, "last", true);
	for (uint64_t t = 0; t < 3000; t += 1000) {
		submit(&s, t + 100, P, 0, 0xa1);
		put_entry(&s, t + 200, W, 1, SP, 0xa1);
		submit(&s, t + 300, W, 0, 0xa1);
		put_return(&s, t + 400, W, 1, SP, 0);
		work(&s, t + 500, t + 600, X, 3, 0xa1);
	}
	stream_end(&s);
	assert_string_equal(chains(&s),
			    "100-600 queue 300 work 200 hops 2; 1100-1600 queue 300 work 200 "
			    "hops 2; 2100-2600 queue 300 work 200 hops 2");
	assert_string_equal(counts(&s, 0),
			    "3 sub 3 match 0 un 0 dup 0 super 0 exp 0 amb 0 no 0 open");
	assert_string_equal(counts(&s, 1),
			    "3 sub 3 match 0 un 0 dup 0 super 0 exp 0 amb 0 no 0 open");
	expect_books(&s);
	stream_close(&s);
}

/* A function that is the target of one hop and the source of the next. */
static void test_target_is_source(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, "sub,1,run,1;run,1,last,1", "x86_64");
	put_probe(&s, 0, "sub", true);
	put_probe(&s, 1, "run", true);
	put_probe(&s, 3, "last", true);
	submit(&s, 1000, P, 0, 0xa1);
	work(&s, 1500, 1800, W, 1, 0xa1);
	work(&s, 2000, 2400, X, 3, 0xa1);
	stream_end(&s);
	assert_string_equal(chains(&s), "1000-2400 queue 1000 work 400 hops 2");
	expect_books(&s);
	stream_close(&s);
}

static void test_no_return(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, "sub,1,run,1", "x86_64");
	put_probe(&s, 0, "sub", true);
	put_probe(&s, 1, "run", false); /* recorded without returns */
	submit(&s, 1000, P, 0, 0xab);
	put_entry(&s, 1500, W, 1, SP, 0xab);
	put_entry(&s, 1600, W, 1, SP, 0);
	stream_end(&s);
	assert_string_equal(chains(&s), "1000-1500 queue 500 work ? hops 1");
	stream_close(&s);

	open_one(&s, "sub,1,run,1"); /* left by longjmp */
	submit(&s, 1000, P, 0, 0xab);
	put_entry(&s, 1500, W, 1, SP, 0xab);
	put_entry(&s, 1600, W, 1, SP, 0);
	put_return(&s, 1700, W, 1, SP, 0);
	stream_end(&s);
	assert_string_equal(chains(&s), "1000-1500 queue 500 work ? hops 1 no return");
	stream_close(&s);
}

static void test_no_handoff(void **state)
{
	struct stream s;

	(void)state;
	open_two(&s);
	submit(&s, 1000, P, 0, 0xa1);
	work(&s, 1500, 1600, W, 1, 0xa1);
	stream_end(&s);
	assert_string_equal(counts(&s, 0),
			    "1 sub 1 match 0 un 0 dup 0 super 0 exp 0 amb 1 no 0 open");
	expect_int(&s, "SELECT count(*) FROM chain", 0);
	stream_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_one_hop),
		cmocka_unit_test(test_two_hops),
		cmocka_unit_test(test_many_hops),
		cmocka_unit_test(test_fan_out_by_two_handoffs),
		cmocka_unit_test(test_before_capture),
		cmocka_unit_test(test_capture_end),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_shared_source),
		cmocka_unit_test(test_target_is_source),
		cmocka_unit_test(test_no_return),
		cmocka_unit_test(test_no_handoff),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
