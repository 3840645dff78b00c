/* SPDX-License-Identifier: GPL-2.0-only */
/* clang-format off */
/* LINK: analyze/unwind.o analyze/unwind_cfi.o analyze/unwind_stack.o analyze/unwind_modules.o */
/* LINK: analyze/symbol_sources.o analyze/symbolize_elf.o analyze/symbolize_table.o */
/* LINK: analyze/symbol_links.o analyze/debuginfod.o */
/* LINK: analyze/hash.o analyze/distinct.o analyze/rows.o analyze/sort.o analyze/passes.o analyze/loss.o analyze/identity.o analyze/images.o analyze/stacks.o analyze/files.o analyze/probes.o analyze/episode.o analyze/state.o analyze/calls.o analyze/chains.o analyze/submissions.o analyze/hops.o analyze/steps.o analyze/seen_keys.o analyze/stitch.o analyze/syscalls.o analyze/ingest.o */
/* clang-format on */
/* Which submission a target takes, how lineage goes on, and what is said when it is in doubt. */
#include "stream.h"

#define P 1001u /* producer */
#define W 1002u /* worker */
#define X 1003u /* worker of the second stage */

/* Calls that begin and end at once unless the test needs them open; a submission is a call of
 * "sub". */
static void submit(struct stream *s, uint64_t ts, uint32_t tid, uint32_t probe, uint64_t key)
{
	put_entry(s, ts, tid, probe, SP - 8 * FRAME, key);
	put_return(s, ts + 1, tid, probe, SP - 8 * FRAME, 0);
}

static void work(struct stream *s, uint64_t ts, uint64_t end, uint32_t tid, uint32_t probe,
		 uint64_t key)
{
	put_entry(s, ts, tid, probe, SP, key);
	put_return(s, end, tid, probe, SP, 0);
}

/* One hop sub -> run; two hops sub -> run, next -> last. */
static void open_one(struct stream *s, const char *hop)
{
	stream_open(s, hop, "x86_64");
	put_probe(s, 0, "sub", true);
	put_probe(s, 1, "run", true);
}

static void open_two(struct stream *s)
{
	stream_open(s, "sub,1,run,1;next,1,last,1", "x86_64");
	put_probe(s, 0, "sub", true);
	put_probe(s, 1, "run", true);
	put_probe(s, 2, "next", true);
	put_probe(s, 3, "last", true);
}

static const char *chains(struct stream *s)
{
	return ask(s,
		   "SELECT group_concat(start_ts || '-' || end_ts || ' queue ' || queue_ns || ' "
		   "work ' || "
		   "coalesce(work_ns, '?') || ' hops ' || hop_count || CASE complete WHEN 1 THEN "
		   "'' ELSE "
		   "' incomplete' END || CASE flags WHEN '' THEN '' ELSE ' ' || flags END, '; ') "
		   "FROM (SELECT * FROM chain ORDER BY chain_id)")
		       ?: "(null)";
}

static const char *counts(struct stream *s, int hop)
{
	char sql[512];

	snprintf(
		sql, sizeof(sql),
		"SELECT submitted || ' sub ' || matched || ' match ' || unmatched || ' un ' || "
		"duplicate_keys || ' dup ' || superseded || ' super ' || expired || ' exp ' || "
		"ambiguous "
		"|| ' amb ' || no_handoff || ' no ' || open_at_end || ' open' FROM hop_count WHERE "
		"plan_hop = %d",
		hop);
	return ask(s, sql) ?: "(null)";
}

/* Nothing is counted twice or dropped. */
static void expect_books(struct stream *s)
{
	expect_int(s,
		   "SELECT count(*) FROM hop_count WHERE submitted <> matched + superseded + "
		   "expired + "
		   "open_at_end",
		   0);
	expect_int(s, "SELECT count(*) FROM chain WHERE total_ns <> end_ts - start_ts", 0);
	expect_int(
		s,
		"SELECT count(*) FROM hop WHERE oncpu_ns + blocked_ns + runq_ns + preempted_ns + "
		"unknown_ns <> work_ns",
		0);
	expect_int(s,
		   "SELECT count(*) FROM chain c WHERE c.work_ns <> (SELECT sum(work_ns) FROM hop "
		   "h WHERE "
		   "h.chain_id = c.chain_id) OR c.max_queue_ns <> (SELECT max(queue_ns) FROM hop h "
		   "WHERE "
		   "h.chain_id = c.chain_id)",
		   0);
}

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
		cmocka_unit_test(test_one_hop),
		cmocka_unit_test(test_two_hops),
		cmocka_unit_test(test_many_hops),
		cmocka_unit_test(test_fan_out_by_two_handoffs),
		cmocka_unit_test(test_superseded),
		cmocka_unit_test(test_doubled),
		cmocka_unit_test(test_oldest),
		cmocka_unit_test(test_all),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_refused_late),
		cmocka_unit_test(test_expiry),
		cmocka_unit_test(test_auto),
		cmocka_unit_test(test_before_capture),
		cmocka_unit_test(test_capture_end),
		cmocka_unit_test(test_loss),
		cmocka_unit_test(test_loss_explains_candidate),
		cmocka_unit_test(test_join),
		cmocka_unit_test(test_shared_source),
		cmocka_unit_test(test_target_is_source),
		cmocka_unit_test(test_no_return),
		cmocka_unit_test(test_no_handoff),
		cmocka_unit_test(test_process_keys),
		cmocka_unit_test(test_not_recorded),
		cmocka_unit_test(test_key_not_recorded),
		cmocka_unit_test(test_returns_not_recorded),
		cmocka_unit_test(test_backlog),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
