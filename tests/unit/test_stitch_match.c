/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which submission a target takes when several have its key or none may count, what is said when
 * that is in doubt, and which hops cannot be followed by what was recorded.
 */
#include "stitch_fixture.h"

/* A pointer used again after the first was never taken: the newest wins, with a mark. */
static void test_superseded(void **state)
{
	struct stream s;

	(void)state;
	open_one(&s, "sub,1,run,1");
	submit(&s, 1000, P, 0, 0xab);
	submit(&s, 2000, P, 0, 0xab);
	work(&s, 2500, 2600, W, 1, 0xab);
	submit(&s, 3000, P, 0, 0xab); /* and then all is clear again */
	work(&s, 3500, 3600, W, 1, 0xab);
	stream_end(&s);
	assert_string_equal(chains(&s), "2000-2600 queue 500 work 100 hops 1 ambiguous; "
					"3000-3600 queue 500 work 100 hops 1");
	assert_string_equal(counts(&s, 0),
			    "3 sub 2 match 0 un 1 dup 1 super 0 exp 0 amb 0 no 0 open");
	expect_text(&s, "SELECT ts || ' ' || reason FROM unconsumed", "1000 superseded");
	expect_text(&s, "SELECT evidence || ' ' || candidates FROM edge", "ambiguous 2");
	expect_books(&s);
	stream_close(&s);
}

/* Submitted twice and run twice: one is superseded, one unmatched, both flagged, none crossed
 * quietly. */
static void test_doubled(void **state)
{
	struct stream s;

	(void)state;
	open_one(&s, "sub,1,run,1");
	submit(&s, 1000, P, 0, 0xab);
	submit(&s, 1010, P, 0, 0xab);
	work(&s, 1500, 1600, W, 1, 0xab);
	work(&s, 1700, 1800, W, 1, 0xab);
	stream_end(&s);
	assert_string_equal(chains(&s), "1010-1600 queue 490 work 100 hops 1 ambiguous");
	assert_string_equal(counts(&s, 0),
			    "2 sub 1 match 1 un 1 dup 1 super 0 exp 0 amb 0 no 0 open");
	expect_text(&s, "SELECT reason FROM unmatched", "no submission");
	expect_books(&s);
	stream_close(&s);
}

static void plan_match(struct stream *s, enum cw_match match)
{
	s->plan->hops[0].match = match;
}

static void test_oldest(void **state)
{
	struct stream s;

	(void)state;
	open_one(&s, "sub,1,run,1");
	plan_match(&s, CW_MATCH_OLDEST);
	submit(&s, 1000, P, 0, 0xab);
	submit(&s, 1010, P, 0, 0xab);
	work(&s, 1500, 1600, W, 1, 0xab);
	work(&s, 1700, 1800, W, 1, 0xab);
	stream_end(&s);
	assert_string_equal(chains(&s), "1000-1600 queue 500 work 100 hops 1 ambiguous; "
					"1010-1800 queue 690 work 100 hops 1");
	assert_string_equal(counts(&s, 0),
			    "2 sub 2 match 0 un 1 dup 0 super 0 exp 0 amb 0 no 0 open");
	expect_books(&s);
	stream_close(&s);
}

/* A source that says by its return that it took nothing made no submission. */
static void attempt(struct stream *s, uint64_t ts, uint64_t key, uint64_t ret)
{
	put_entry(s, ts, P, 0, SP - 8 * FRAME, key);
	put_return(s, ts + 5, P, 0, SP - 8 * FRAME, ret);
}

static void test_refused(void **state)
{
	static const struct {
		enum cw_returns wanted;
		uint64_t no, yes;
	} cases[] = {
		{CW_RETURNS_NONZERO, 0, 1},
		{CW_RETURNS_NONZERO, 0, 0x7f0000001000},
		{CW_RETURNS_ZERO, 0xffffffff, 0},
		{CW_RETURNS_ZERO, 1, 0},
		{CW_RETURNS_NONNEGATIVE, UINT64_MAX, 0},
		{CW_RETURNS_NONNEGATIVE, 0xfffffff5, 0x7fffffff},
		{CW_RETURNS_NONNEGATIVE, 0x80000000, 0x7f0080000000},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stream s;

		open_one(&s, "sub,1,run,1");
		s.plan->hops[0].source_returns = cases[i].wanted;
		attempt(&s, 1000, 0xab, cases[i].no);
		attempt(&s, 1100, 0xcd, cases[i].no);
		attempt(&s, 1200, 0xab, cases[i].yes);
		attempt(&s, 1250, 0xab, cases[i].no);
		work(&s, 1500, 1800, W, 1, 0xab);
		/* What nobody took over has no target. */
		work(&s, 1900, 1950, W, 1, 0xcd);
		stream_end(&s);
		assert_string_equal(chains(&s), "1200-1800 queue 300 work 300 hops 1");
		assert_string_equal(counts(&s, 0),
				    "1 sub 1 match 1 un 1 dup 0 super 0 exp 0 amb 0 no 0 open");
		expect_books(&s);
		stream_close(&s);
	}
}

/* One that a worker took before the source returned was none of those; without a return who knows.
 */
static void test_refused_late(void **state)
{
	struct stream s;

	(void)state;
	open_one(&s, "sub,1,run,1");
	s.plan->hops[0].source_returns = CW_RETURNS_NONZERO;
	put_entry(&s, 1000, P, 0, SP - 8 * FRAME, 0xab);
	work(&s, 1002, 1800, W, 1, 0xab);
	put_return(&s, 1900, P, 0, SP - 8 * FRAME, 0);
	put_entry(&s, 2000, P, 0, SP - 8 * FRAME, 0xcd);
	work(&s, 2002, 2800, W, 1, 0xcd);
	stream_end(&s);
	assert_string_equal(chains(&s), "1000-1800 queue 2 work 798 hops 1; "
					"2000-2800 queue 2 work 798 hops 1");
	stream_close(&s);
}

/* One submission that several workers run. */
static void test_all(void **state)
{
	struct stream s;

	(void)state;
	open_one(&s, "sub,1,run,1");
	plan_match(&s, CW_MATCH_ALL);
	submit(&s, 1000, P, 0, 0xab);
	work(&s, 1500, 1600, W, 1, 0xab);
	work(&s, 1700, 1800, X, 1, 0xab);
	submit(&s, 2000, P, 0, 0xab);
	work(&s, 2500, 2600, W, 1, 0xab);
	submit(&s, 3000, P, 0, 0xcd);
	stream_end(&s);
	assert_string_equal(chains(&s),
			    "1000-1600 queue 500 work 100 hops 1; 1000-1800 queue 700 work 100 "
			    "hops 1; 2000-2600 queue 500 work 100 hops 1");
	assert_string_equal(counts(&s, 0),
			    "3 sub 2 match 0 un 0 dup 0 super 0 exp 0 amb 0 no 1 open");
	expect_books(&s);
	stream_close(&s);
}

static void test_expiry(void **state)
{
	struct stream s;

	(void)state;
	open_one(&s, "sub,1,run,1");
	s.plan->hops[0].max_age_ns = 5000;
	submit(&s, 1000, P, 0, 0xab);
	submit(&s, 3000, P, 0, 0xcd);
	work(&s, 6500, 6600, W, 1, 0xab);
	work(&s, 7000, 7100, W, 1, 0xcd);
	submit(&s, 7200, P, 0, 0xef);
	stream_end(&s);
	assert_string_equal(chains(&s), "3000-7100 queue 4000 work 100 hops 1");
	assert_string_equal(counts(&s, 0),
			    "3 sub 1 match 1 un 0 dup 0 super 1 exp 0 amb 0 no 1 open");
	expect_books(&s);
	stream_close(&s);
}

static void put_entry2(struct stream *s, uint64_t ts, uint32_t tid, uint32_t probe, uint64_t sp,
		       uint64_t arg3, uint64_t arg8)
{
	REC(CW_PROBE_ENTRY, probe_entry, ts);

	r.pid = PID;
	r.tid = tid;
	r.probe_id = probe;
	r.sp = sp;
	r.args[2] = arg3;
	r.args[7] = arg8;
	stream_put(s, &r.h);
}

static void test_auto(void **state)
{
	struct stream s;

	(void)state;
	open_one(&s, "sub,1,run,auto");
	submit(&s, 1000, P, 0, 0xab);
	submit(&s, 1010, P, 0, 0xcd);
	put_entry2(&s, 2000, W, 1, SP, 0xab, 0xcd); /* which? */
	put_return(&s, 2100, W, 1, SP, 0);
	put_entry2(&s, 2200, W, 1, SP, 0x77, 0xcd);
	put_return(&s, 2300, W, 1, SP, 0);
	put_entry2(&s, 2400, W, 1, SP, 0xab, 0xab); /* twice the same is no doubt */
	put_return(&s, 2500, W, 1, SP, 0);
	stream_end(&s);
	assert_string_equal(chains(&s), "1010-2300 queue 1190 work 100 hops 1 auto; "
					"1000-2500 queue 1400 work 100 hops 1 auto");
	expect_text(&s,
		    "SELECT group_concat(target_arg) FROM (SELECT * FROM hop ORDER BY chain_id)",
		    "8,3");
	expect_text(&s, "SELECT reason FROM unmatched", "ambiguous auto");
	assert_string_equal(counts(&s, 0),
			    "2 sub 2 match 1 un 0 dup 0 super 0 exp 1 amb 0 no 0 open");
	expect_books(&s);
	stream_close(&s);
}

/*
 * The target of the first submission is among the lost. The key comes again much later: the old one
 * is explained by the loss and casts no doubt on the new one.
 */
static void test_loss_explains_candidate(void **state)
{
	struct stream s;

	(void)state;
	open_one(&s, "sub,1,run,1");
	submit(&s, 1000, P, 0, 0xab);
	put_lost(&s, 1400, 1600, CW_PROBE_ENTRY, 1);
	submit(&s, 2000, P, 0, 0xab);
	work(&s, 2500, 2800, W, 1, 0xab);
	work(&s, 2900, 3000, W, 1, 0xef);
	stream_end(&s);
	assert_string_equal(chains(&s), "2000-2800 queue 500 work 300 hops 1");
	assert_string_equal(counts(&s, 0),
			    "2 sub 1 match 1 un 1 dup 1 super 0 exp 0 amb 0 no 0 open");
	expect_books(&s);
	stream_close(&s);
}

/* Other processes have keys of their own. */
static void test_process_keys(void **state)
{
	struct stream streams, *s = &streams;

	(void)state;
	open_one(s, "sub,1,run,1");
	submit(s, 1000, P, 0, 0xab);
	{
		REC(CW_PROBE_ENTRY, probe_entry, 1500);

		r.pid = PID + 77;
		r.tid = W;
		r.probe_id = 1;
		r.sp = SP;
		r.args[0] = 0xab;
		stream_put(s, &r.h);
	}
	stream_end(s);
	assert_string_equal(counts(s, 0),
			    "1 sub 0 match 1 un 0 dup 0 super 0 exp 0 amb 0 no 1 open");
	stream_close(s);
}

static void test_not_recorded(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, "sub,1,elsewhere,1", "x86_64");
	put_probe(&s, 0, "sub", true);
	put_probe(&s, 1, "run", true);
	submit(&s, 1000, P, 0, 0xab);
	assert_int_equal(cw_ingest_finish(s.in), -22);
	assert_string_equal(cw_ingest_error(s.in),
			    "hop 0 (sub -> elsewhere): calls of elsewhere were not "
			    "recorded; recorded were: sub, run");
	stream_close(&s);
}

/* Nor can a hop go by an argument that was given up when the probe was placed. */
static void test_key_not_recorded(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, "sub,1,run,2", "x86_64");
	put_probe(&s, 0, "sub", true);
	put_probe_without(&s, 1, "run", 2);
	submit(&s, 1000, P, 0, 0xab);
	assert_int_equal(cw_ingest_finish(s.in), -22);
	assert_string_equal(cw_ingest_error(s.in),
			    "hop 0 (sub -> run): argument 2 of run was not recorded, since the "
			    "function does not use it; record again with this hop");
	stream_close(&s);
}

static void test_returns_not_recorded(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, "sub,1,run,1", "x86_64");
	s.plan->hops[0].source_returns = CW_RETURNS_NONZERO;
	put_probe(&s, 0, "sub", false);
	put_probe(&s, 1, "run", true);
	submit(&s, 1000, P, 0, 0xab);
	assert_int_equal(cw_ingest_finish(s.in), -22);
	assert_string_equal(cw_ingest_error(s.in),
			    "hop 0 (sub -> run): returns of sub were not recorded, which "
			    "source_returns asks for; record again with this hop");
	stream_close(&s);
}

/* 20,000 at once, taken in another order: all found, no two crossed, and in no long time. */
static void test_backlog(void **state)
{
	const uint64_t n = 20000;
	struct stream s;

	(void)state;
	open_one(&s, "sub,1,run,1");
	for (uint64_t i = 0; i < n; i++)
		submit(&s, 1000 + 10 * i, P, 0, 0x10000 + 64 * i);
	for (uint64_t i = 0; i < n; i++) {
		uint64_t k = i * 7919 % n;

		work(&s, MS + 1000 * i, MS + 1000 * i + 500, W, 1, 0x10000 + 64 * k);
	}
	stream_end(&s);
	expect_int(&s, "SELECT count(*) FROM chain WHERE complete AND flags = ''", (int64_t)n);
	expect_int(
		&s,
		"SELECT count(*) FROM hop WHERE (submit_ts - 1000) / 10 <> (key_int - 65536) / 64",
		0);
	expect_books(&s);
	stream_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_superseded),
		cmocka_unit_test(test_doubled),
		cmocka_unit_test(test_oldest),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_late),
		cmocka_unit_test(test_expiry),
		cmocka_unit_test(test_auto),
		cmocka_unit_test(test_loss_explains_candidate),
		cmocka_unit_test(test_process_keys),
		cmocka_unit_test(test_not_recorded),
		cmocka_unit_test(test_key_not_recorded),
		cmocka_unit_test(test_returns_not_recorded),
		cmocka_unit_test(test_backlog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
