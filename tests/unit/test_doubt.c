/* SPDX-License-Identifier: GPL-2.0-only */
/* Every doubt is written where it arises, and nowhere else. */
#include "stream.h"

#define P 1001u /* producer */
#define W 1002u /* worker */
#define X 1003u /* worker of the second stage */
#define Y 1004u

enum { SUB, RUN, NEXT, LAST };

static void open_plan(struct stream *s, const char *hops)
{
	stream_open(s, hops, "x86_64");
	put_probe(s, SUB, "sub", true);
	put_probe(s, RUN, "run", true);
	put_probe(s, NEXT, "next", true);
	put_probe(s, LAST, "last", true);
}

static void call(struct stream *s, uint64_t ts, uint64_t end, uint32_t tid, uint32_t probe,
		 uint64_t key)
{
	uint64_t sp = probe == SUB || probe == NEXT ? SP - 8 * FRAME : SP;

	put_entry(s, ts, tid, probe, sp, key);
	put_return(s, end, tid, probe, sp, 0);
}

/* run takes key and hands key + 1 to last: calls from ts to ts + 40. */
static void run_and_last(struct stream *s, uint64_t ts, uint64_t key)
{
	put_entry(s, ts, W, RUN, SP, key);
	call(s, ts + 10, ts + 11, W, NEXT, key + 1);
	put_return(s, ts + 20, W, RUN, SP, 0);
	call(s, ts + 30, ts + 40, X, LAST, key + 1);
}

static const char *flags(struct stream *s)
{
	return ask(s, "SELECT group_concat(start_ts || CASE complete WHEN 1 THEN '' ELSE ' cut' "
		      "END || ' ' || flags, '; ') FROM (SELECT * FROM chain ORDER BY chain_id)")
		       ?: "(null)";
}

static const char *evidence(struct stream *s)
{
	return ask(s, "SELECT group_concat(evidence) FROM (SELECT * FROM edge ORDER BY edge_id)")
		       ?: "(null)";
}

/* What matched may be another submission's, when entries are missing between the two. */
static void test_edge_over_loss(void **state)
{
	static const struct {
		uint32_t kind;
		const char *evidence;
	} losses[] = {{CW_PROBE_ENTRY, "exact,loss,exact"},
		      {0, "exact,loss,exact"},
		      {CW_PROBE_RETURN, "exact,exact,exact"},
		      {CW_SCHED_SWITCH, "exact,exact,exact"}};

	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		struct stream s;

		open_plan(&s, "sub,1,run,1");
		call(&s, 1000, 1001, P, SUB, 0xa1);
		call(&s, 1100, 1200, W, RUN, 0xa1);
		put_lost(&s, 1201, 1999, losses[i].kind, 1);
		call(&s, 2000, 2001, P, SUB, 0xa1);
		put_lost(&s, 2050, 2100, losses[i].kind, 1);
		call(&s, 2100, 2200, W, RUN, 0xa1);
		put_lost(&s, 2201, 2999, losses[i].kind, 1);
		call(&s, 3000, 3001, P, SUB, 0xa1);
		call(&s, 3100, 3200, W, RUN, 0xa1);
		stream_end(&s);
		assert_string_equal(evidence(&s), losses[i].evidence);
		stream_close(&s);
	}
}

/* Nothing was submitted for run: whether that was lost, and what became of what it hands on. */
static void test_unmatched(void **state)
{
	struct stream s;

	(void)state;
	open_plan(&s, "sub,1,run,1;next,1,last,1"); /* the submission is among the lost */
	call(&s, 1000, 1001, P, SUB, 0xa1);
	run_and_last(&s, 1100, 0xa1);
	put_lost(&s, 1200, 1300, CW_PROBE_ENTRY, 1);
	run_and_last(&s, 1400, 0xa1);
	stream_end(&s);
	expect_text(&s, "SELECT reason FROM unmatched", "loss");
	assert_string_equal(flags(&s), "1000 ; 1410 cut loss+missing hop");
	stream_close(&s);

	open_plan(&s, "sub,1,run,1;next,1,last,1"); /* returns and switches say nothing of keys */
	call(&s, 1000, 1001, P, SUB, 0xa1);
	run_and_last(&s, 1100, 0xa1);
	put_lost(&s, 1200, 1300, CW_PROBE_RETURN, 1);
	run_and_last(&s, 1400, 0xa1);
	stream_end(&s);
	expect_text(&s, "SELECT reason FROM unmatched", "no submission");
	assert_string_equal(flags(&s), "1000 ; 1410 cut missing hop+unmatched");
	stream_close(&s);

	open_plan(&s, "sub,1,run,1;next,1,last,1"); /* too long ago to matter */
	s.plan->hops[0].max_age_ns = 200;
	call(&s, 1000, 1001, P, SUB, 0xa1);
	put_lost(&s, 1002, 1010, CW_PROBE_ENTRY, 1);
	run_and_last(&s, 1400, 0xa1);
	stream_end(&s);
	expect_text(&s, "SELECT reason FROM unmatched", "no submission");
	stream_close(&s);
}

/* Two arguments could be the key: none is taken, and what is handed on says so. */
static void test_ambiguous_argument(void **state)
{
	struct stream streams, *s = &streams;

	(void)state;
	open_plan(s, "sub,1,run,auto;next,1,last,1");
	call(s, 1000, 1001, P, SUB, 0xa1);
	call(s, 1010, 1011, P, SUB, 0xdead0001u); /* put_entry's second argument */
	run_and_last(s, 1100, 0xa1);
	stream_end(s);
	expect_text(s, "SELECT reason FROM unmatched", "ambiguous auto");
	assert_string_equal(flags(s), "1110 cut ambiguous+missing hop");
	stream_close(s);
}

/* Where a submission before the capture is out of the question, it is no excuse. */
static void test_not_before_capture(void **state)
{
	struct stream streams, *s = &streams;

	(void)state;
	open_plan(s, "sub,1,run,1");
	s->plan->hops[0].max_age_ns = 5000;
	call(s, 1000, 1001, P, SUB, 0xa1);
	call(s, 6000, 6010, W, RUN, 0xb1);
	call(s, 6020, 6030, W, RUN, 0xb2);
	stream_end(s);
	expect_text(s,
		    "SELECT group_concat(reason) FROM (SELECT * FROM unmatched ORDER BY slice_id)",
		    "before capture,no submission");
	stream_close(s);

	open_plan(s, "sub,1,run,1"); /* the program began in the capture */
	put_switch(s, 900, 0, W, RUNNABLE, 0);
	{
		struct cw_exec r = {.h = {.type = CW_EXEC, .size = sizeof(r), .ts = 950}};

		r.pid = r.tid = r.old_tid = PID;
		stream_put_text(s, &r.h, sizeof(r), "/bin/one");
	}
	call(s, 1000, 1010, W, RUN, 0xb1);
	stream_end(s);
	expect_text(s, "SELECT reason FROM unmatched", "no submission");
	stream_close(s);
}

static void test_age_is_inclusive(void **state)
{
	struct stream s;

	(void)state;
	open_plan(&s, "sub,1,run,1");
	s.plan->hops[0].max_age_ns = 5000;
	call(&s, 1000, 1001, P, SUB, 0xa1);
	call(&s, 1001, 1002, P, SUB, 0xb1);
	call(&s, 6000, 6001, W, RUN, 0xa1);
	call(&s, 6002, 6003, W, RUN, 0xb1);
	stream_end(&s);
	assert_string_equal(flags(&s), "1000 ");
	expect_text(&s, "SELECT ts || ' ' || reason FROM unconsumed", "1001 expired");
	expect_int(&s, "SELECT expired FROM hop_count", 1);
	stream_close(&s);
}

/*
 * One function hands off both hops. Handed from within run it means the second, and casts no doubt
 * on an older one of the first with the same key.
 */
static void test_unlikely_hop(void **state)
{
	struct stream s;

	(void)state;
	open_plan(&s, "sub,1,run,1;sub,1,last,1");
	call(&s, 100, 101, P, SUB, 0xa1);
	call(&s, 110, 111, P, SUB, 0xa2);
	put_entry(&s, 120, W, RUN, SP, 0xa2);
	call(&s, 150, 151, W, SUB, 0xa1);
	put_return(&s, 160, W, RUN, SP, 0);
	call(&s, 200, 210, Y, RUN, 0xa1);
	call(&s, 300, 310, X, LAST, 0xa1);
	stream_end(&s);
	expect_text(&s,
		    "SELECT group_concat(src_ts || '-' || dst_ts || ' ' || evidence, ', ') FROM "
		    "(SELECT * FROM edge ORDER BY dst_ts)",
		    "110-120 exact, 100-200 exact, 150-300 exact");
	assert_string_equal(flags(&s), "110 ");
	stream_close(&s);
}

/* The last target's return: lost, never come, or cut off. Only what is not known is not complete.
 */
static void test_end_of_chain(void **state)
{
	struct stream s;

	(void)state;
	open_plan(&s, "sub,1,run,1");
	call(&s, 1000, 1001, P, SUB, 0xa1);
	put_entry(&s, 1100, W, RUN, SP, 0xa1);
	put_lost(&s, 1200, 1300, CW_PROBE_RETURN, 1);
	call(&s, 1400, 1500, W, RUN, 0); /* at its place: the first is over */
	stream_end(&s);
	assert_string_equal(flags(&s), "1000 cut loss");
	expect_text(
		&s,
		"SELECT coalesce(work_ns, 'null') || ' ' || coalesce(total_ns, 'null') || ' ' || "
		"coalesce(end_ts, 'null') || (SELECT ' ' || no_return FROM slice WHERE ts = 1100) "
		"FROM chain",
		"null null 1100 lost");
	stream_close(&s);

	open_plan(&s, "sub,1,run,1");
	call(&s, 1000, 1001, P, SUB, 0xa1);
	put_entry(&s, 1100, W, RUN, SP, 0xa1);
	put_exit(&s, 1200, W, false);
	put_lost(&s, 1300, 1400, 0, 1);
	call(&s, 1500, 1501, P, SUB, 0xa2);
	put_entry(&s, 1600, X, RUN, SP, 0xa2);
	stream_end(&s);
	assert_string_equal(flags(&s), "1000 no return; 1500 cut capture edge");
	stream_close(&s);
}

/* Each kind of loss in the work of a chain's first target marks the chain, though its end has none.
 */
static void test_chain_over_loss(void **state)
{
	static const uint32_t kinds[] = {CW_PROBE_ENTRY,
					 CW_PROBE_RETURN,
					 CW_SCHED_SWITCH,
					 CW_SCHED_BLOCK,
					 CW_SCHED_WAKING,
					 CW_SCHED_WAKEUP,
					 0};

	(void)state;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct stream s;

		open_plan(&s, "sub,1,run,1;next,1,last,1");
		call(&s, 1000, 1001, P, SUB, 0xa1);
		put_lost(&s, 1002, 1003, kinds[i], 1);
		run_and_last(&s, 1100, 0xa1);
		call(&s, 2000, 2001, P, SUB, 0xa1);
		run_and_last(&s, 2100, 0xa1);
		put_lost(&s, 2141, 2200, kinds[i], 1);
		call(&s, 2300, 2301, P, SUB, 0xa1);
		put_entry(&s, 2310, W, RUN, SP, 0xa1);
		call(&s, 2320, 2321, W, NEXT, 0xa2);
		put_return(&s, 2330, W, RUN, SP, 0);
		put_entry(&s, 2340, X, LAST, SP, 0xa2);
		put_lost(&s, 2350, 2360, kinds[i], 1);
		put_return(&s, 2370, X, LAST, SP, 0);
		stream_end(&s);
		assert_string_equal(flags(&s), "1000 loss; 2000 ; 2300 loss");
		stream_close(&s);
	}
	{
		struct stream s; /* Other records say nothing of chains. */

		open_plan(&s, "sub,1,run,1");
		call(&s, 1000, 1001, P, SUB, 0xa1);
		put_lost(&s, 1002, 1003, CW_STACK, 1);
		call(&s, 1100, 1200, W, RUN, 0xa1);
		stream_end(&s);
		assert_string_equal(flags(&s), "1000 ");
		stream_close(&s);
	}
}

/* A loss that begins in the chain's last ns, or ends in its first, is within; one that ends before
 * it begins is none. */
static void test_loss_at_the_ends(void **state)
{
	static const struct {
		uint64_t from, to;
		const char *flags, *bad;
	} losses[] = {{900, 999, "1000 ", "0"},       {900, 1000, "1000 loss", "0"},
		      {1200, 1300, "1000 loss", "0"}, {1201, 1300, "1000 ", "0"},
		      {900, 1300, "1000 loss", "0"},  {1150, 1100, "1000 ", "1"}};

	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		struct stream s;

		open_plan(&s, "sub,1,run,1");
		put_switch(&s, 800, 0, W, RUNNABLE, 0);
		put_lost(&s, losses[i].from, losses[i].to, CW_SCHED_WAKING, 1);
		call(&s, 1000, 1001, P, SUB, 0xa1);
		call(&s, 1100, 1200, W, RUN, 0xa1);
		put_switch(&s, 1400, W, 0, RUNNABLE, 0);
		stream_end(&s);
		assert_string_equal(flags(&s), losses[i].flags);
		expect_text(&s, "SELECT value FROM capture_info WHERE key = 'bad_records'",
			    losses[i].bad);
		stream_close(&s);
	}
}

/* Nobody counted a loss, but
 events contradict each other: that is a loss, and the chain says so.
 */
static void test_contradiction(void **state)
{
	struct stream s;

	(void)state;
	open_plan(&s, "sub,1,run,1");
	put_switch(&s, 900, 0, W, RUNNABLE, 0);
	call(&s, 1000, 1001, P, SUB, 0xa1);
	put_entry(&s, 1100, W, RUN, SP, 0xa1);
	put_switch(&s, 1150, W, 0, RUNNABLE, CW_SWITCH_PREEMPTED);
	put_return(&s, 1200, W, RUN, SP, 0); /* runs, and nobody put it on a CPU */
	call(&s, 2000, 2001, P, SUB, 0xa1);
	call(&s, 2100, 2200, W, RUN, 0xa1);
	stream_end(&s);
	expect_text(&s, "SELECT kind || ' ' || ts || ' ' || end_ts || ' ' || reason FROM loss",
		    "sched_switch 1150 1200 contradiction");
	assert_string_equal(flags(&s), "1000 loss; 2000 ");
	expect_text(
		&s,
		"SELECT group_concat(unknown_ns || ' ' || touched_by_loss, ', ') FROM (SELECT * "
		"FROM slice WHERE ts IN (1100, 2100) ORDER BY ts)",
		"50 1, 0 0");
	stream_close(&s);
}

/*
 * A source that was detached puts its own hop in doubt from then on, and no other; a call of it
 * that was open has lost its return. It is said twice.
 */
static void test_detached(void **state)
{
	struct cw_lost off = {.h = {.type = CW_LOST, .size = sizeof(off), .cpu = CW_CPU_NONE},
			      .kind = CW_PROBE_ENTRY,
			      .reason = CW_LOST_DETACHED,
			      .end_ts = UINT64_MAX,
			      .probe = SUB + 1};
	struct stream s;

	(void)state;
	open_plan(&s, "sub,1,run,1;next,1,last,1");
	call(&s, 1000, 1001, P, SUB, 0xa1);
	run_and_last(&s, 1100, 0xa1);
	call(&s, 1400, 1401, P, SUB, 0xb1);
	put_entry(&s, 1450, P, SUB, SP - 8 * FRAME, 0xd1);
	off.h.ts = 1500;
	stream_put(&s, &off.h);
	run_and_last(&s, 1600, 0xb1);
	off.h.ts = 1800;
	off.h.flags = CW_REC_REPEATED;
	stream_put(&s, &off.h);
	run_and_last(&s, 1900, 0xc1);
	put_exit(&s, 2500, P, false);
	stream_end(&s);
	expect_text(
		&s,
		"SELECT group_concat(kind || ' ' || ts || ' ' || end_ts || ' ' || reason || ' ' "
		"|| coalesce(count, 'unknown')) FROM loss",
		"probe_entry 1500 9223372036854775807 detached: sub unknown");
	assert_string_equal(evidence(&s), "exact,exact,loss,exact,exact");
	assert_string_equal(flags(&s), "1000 ; 1400 loss; 1910 cut loss+missing hop");
	expect_text(&s, "SELECT group_concat(reason) FROM unmatched", "loss");
	expect_text(&s,
		    "SELECT group_concat(ts || ' ' || touched_by_loss || ' ' || "
		    "coalesce(no_return, '-'), ', ')"
		    " FROM (SELECT * FROM slice WHERE probe_id IN (0, 3) ORDER BY ts)",
		    "1000 0 -, 1130 0 -, 1400 0 -, 1450 1 lost, 1630 0 -, 1930 0 -");
	stream_close(&s);
}

/* Why something was lost is said in words, and concerns what happened then, whatever the reason. */
static void test_reasons(void **state)
{
	static const uint32_t reasons[] = {CW_LOST_RING, CW_LOST_MISSED, CW_LOST_OVERLOAD,
					   CW_LOST_DELETED, 99};
	struct cw_lost lost = {.h = {.type = CW_LOST, .size = sizeof(lost), .cpu = CW_CPU_NONE},
			       .kind = CW_SCHED_SWITCH,
			       .count = 3};
	struct stream s;

	(void)state;
	open_plan(&s, "sub,1,run,1;next,1,last,1");
	for (uint64_t i = 0; i < 5; i++) {
		call(&s, 1000 + 100 * i, 1090 + 100 * i, W, RUN, 0xa1);
		lost.reason = reasons[i];
		lost.h.ts = 1010 + 100 * i;
		lost.end_ts = lost.h.ts + 10;
		stream_put(&s, &lost.h);
	}
	call(&s, 1500, 1590, W, RUN, 0xa1);
	stream_end(&s);
	expect_text(
		&s,
		"SELECT group_concat(kind || ' ' || count || ' ' || ts || ' ' || end_ts || ' ' || "
		"reason, ', ') FROM (SELECT * FROM loss ORDER BY ts)",
		"sched_switch 3 1010 1020 ring full, sched_switch 3 1110 1120 probe missed, "
		"sched_switch 3 1210 1220 overload, sched_switch 3 1310 1320 deleted, "
		"sched_switch 3 1410 1420 unknown");
	expect_text(&s,
		    "SELECT group_concat(touched_by_loss, '') FROM (SELECT * FROM slice ORDER BY "
		    "ts)",
		    "111110");
	stream_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_edge_over_loss),
		cmocka_unit_test(test_unmatched),
		cmocka_unit_test(test_ambiguous_argument),
		cmocka_unit_test(test_not_before_capture),
		cmocka_unit_test(test_age_is_inclusive),
		cmocka_unit_test(test_unlikely_hop),
		cmocka_unit_test(test_end_of_chain),
		cmocka_unit_test(test_chain_over_loss),
		cmocka_unit_test(test_loss_at_the_ends),
		cmocka_unit_test(test_contradiction),
		cmocka_unit_test(test_detached),
		cmocka_unit_test(test_reasons),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
