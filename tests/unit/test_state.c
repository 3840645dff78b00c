/* SPDX-License-Identifier: GPL-2.0-only */
/* The rules by which sightings of off-CPU time become blocked, run queue, preempted and unknown. */
#include "stream.h"

#define A 1001u
#define B 1002u

/* Parts of episode number n as text, and of call number n. */
static const char *episode(struct stream *s, int n)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT blocked_ns || ' ' || runq_ns || ' ' || preempted_ns || ' ' || unknown_ns "
		 "FROM offcpu WHERE end_ts > ts ORDER BY ts, offcpu_id LIMIT 1 OFFSET %d",
		 n);
	return ask(s, sql) ?: "(null)";
}

static const char *call(struct stream *s, int n)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT oncpu_ns || ' ' || blocked_ns || ' ' || runq_ns || ' ' || preempted_ns || "
		 "' ' || unknown_ns FROM slice WHERE slice_id = %d",
		 n);
	return ask(s, sql) ?: "(null)";
}

/* The intervals of a thread follow each other without gaps and have lengths. */
static void expect_seamless(struct stream *s)
{
	expect_int(s,
		   "SELECT count(*) FROM (SELECT ts + dur AS ends, dur, lead(ts) OVER (PARTITION "
		   "BY utid "
		   "ORDER BY ts) AS next FROM thread_state) WHERE dur <= 0 OR next <> ends",
		   0);
}

static void setup(struct stream *s)
{
	stream_open(s, NULL, "x86_64");
	put_probe(s, 0, "work", true);
}

/* One call of A from 100 to 1000, with what happens in between left to the test. */
static void begin_call(struct stream *s)
{
	setup(s);
	put_switch(s, 50, 0, A, RUNNABLE, 0);
	put_entry(s, 100, A, 0, SP, 1);
}

static void end_call(struct stream *s)
{
	put_return(s, 1000, A, 0, SP, 0);
	stream_end(s);
	expect_int(s, "SELECT count(*) FROM slice WHERE dur = 900", 1);
	expect_int(s,
		   "SELECT oncpu_ns + blocked_ns + runq_ns + preempted_ns + unknown_ns FROM slice",
		   900);
	expect_seamless(s);
}

static void test_blocked(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_block(&s, 200, A, 0, 202, 0xabc0, 0x80);
	put_waking(&s, 500, B, A);
	put_wakeup(&s, 510, A, 0, false);
	put_switch(&s, 600, 0, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 300 100 0 0");
	expect_int(&s, "SELECT waker_utid = (SELECT utid FROM thread WHERE tid = 1002) FROM wakeup",
		   1);
	expect_text(
		&s,
		"SELECT group_concat(state || ' ' || dur, ', ') FROM (SELECT * FROM thread_state "
		"JOIN thread USING(utid) WHERE tid = 1001 ORDER BY ts)",
		"running 150, blocked 300, runnable 100, running 400");
	expect_text(&s, "SELECT reason FROM thread_state WHERE state = 'blocked'", "futex");
	stream_close(&s);
}

/* The waker was quicker than the switch-out: blocked time ended before it began. */
static void test_early_waking(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_waking(&s, 190, B, A);
	put_block(&s, 200, A, 0, 202, 0xabc0, 0x80);
	put_wakeup(&s, 210, A, 0, false);
	put_switch(&s, 600, 0, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 0 400 0 0");
	expect_int(&s, "SELECT ts FROM wakeup", 190);
	stream_close(&s);
}

/* A waking that found it still running does not end its next sleep. */
static void test_spurious_waking(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_waking(&s, 150, B, A);
	put_wakeup(&s, 160, A, 0, false);
	put_block(&s, 200, A, 0, 202, 0xabc0, 0x80);
	put_waking(&s, 500, B, A);
	put_wakeup(&s, 510, A, 0, false);
	put_switch(&s, 600, 0, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 300 100 0 0");
	stream_close(&s);
}

/* The same, and the waking of the sleep is lost: the stale one must not stand in for it. */
static void test_stale_waking(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_waking(&s, 150, B, A);
	put_wakeup(&s, 160, A, 0, false);
	put_block(&s, 200, A, 0, 202, 0xabc0, 0x80);
	put_lost(&s, 300, 450, CW_SCHED_WAKING, 1);
	put_switch(&s, 600, 0, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 100 150 0 150");
	stream_close(&s);
}

/* An early waking, and then the real one: the real one ends the sleep. */
static void test_two_wakings(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_waking(&s, 150, B, A);
	put_block(&s, 200, A, 0, 202, 0xabc0, 0x80);
	put_waking(&s, 500, B, A);
	put_waking(&s, 550, A, A); /* who comes later wakes nobody */
	put_switch(&s, 600, 0, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 300 100 0 0");
	stream_close(&s);
}

static void test_preempted(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_switch(&s, 200, A, B, RUNNABLE, CW_SWITCH_PREEMPTED);
	put_waking(&s, 300, B, A); /* it had only been about to sleep: nothing was waited for */
	put_switch(&s, 600, B, A, RUNNABLE, 0);
	put_switch(&s, 700, A, B, RUNNABLE, 0); /* yields */
	put_switch(&s, 750, B, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "450 0 0 450 0");
	expect_text(&s,
		    "SELECT group_concat(r.ts || ' ' || r.dur || ' ' || t.tid, ', ') FROM "
		    "ran_instead r "
		    "JOIN thread t USING(utid) JOIN offcpu o USING(offcpu_id) JOIN thread w ON "
		    "w.utid = o.utid WHERE w.tid = 1001",
		    "200 400 1002, 700 50 1002");
	expect_int(&s, "SELECT count(*) FROM wakeup", 0);
	stream_close(&s);
}

/* Asleep, or a pending signal kept it runnable: no waking, and none can have been lost. */
static void test_signal_pending(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_block(&s, 200, A, B, 202, 0xabc0, 0x80);
	put_switch(&s, 600, B, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 0 0 400 0");
	stream_close(&s);
}

static void put_sleep(struct stream *s, uint64_t ts, uint32_t flags)
{
	REC(CW_SCHED_BLOCK, sched_block, ts);

	r.prev_pid = r.next_pid = PID;
	r.prev_tid = A;
	r.next_tid = B;
	r.prev_state = ASLEEP;
	r.flags = CW_SWITCH_PREV_TRACED | CW_SWITCH_NEXT_TRACED | flags;
	r.syscall = 230;
	stream_put(s, &r.h);
}

/* Asleep for sure, and nobody saw its waking: when that was is not known. */
static void test_unseen_waking(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_sleep(&s, 200, CW_SWITCH_PREV_ASLEEP);
	put_switch(&s, 600, B, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 0 0 0 400");
	stream_close(&s);
	/* With one that was seen it is as without that word. */
	begin_call(&s);
	put_sleep(&s, 200, CW_SWITCH_PREV_ASLEEP);
	put_waking(&s, 500, B, A);
	put_switch(&s, 600, B, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 300 100 0 0");
	stream_close(&s);
}

static void test_lost_waking(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_block(&s, 200, A, 0, 202, 0xabc0, 0x80);
	put_lost(&s, 300, 450, CW_SCHED_WAKING, 2);
	put_switch(&s, 600, 0, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 100 150 0 150");
	expect_int(&s, "SELECT touched_by_loss FROM slice", 1);
	stream_close(&s);
}

/* Two lost switches could have been a way to a CPU and back; one could not. */
static void test_hidden_pair(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_block(&s, 200, A, 0, 202, 0xabc0, 0x80);
	put_lost(&s, 300, 350, CW_SCHED_SWITCH, 2);
	put_waking(&s, 500, B, A);
	put_switch(&s, 600, 0, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 250 100 0 50");
	expect_int(&s, "SELECT unknown_ts FROM offcpu WHERE unknown_ns > 0", 300);
	stream_close(&s);

	begin_call(&s); /* how many is not known: enough */
	put_block(&s, 200, A, 0, 202, 0xabc0, 0x80);
	put_lost(&s, 300, 350, CW_SCHED_SWITCH, 0);
	put_waking(&s, 500, B, A);
	put_switch(&s, 600, 0, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 250 100 0 50");
	stream_close(&s);

	begin_call(&s);
	put_block(&s, 200, A, 0, 202, 0xabc0, 0x80);
	put_lost(&s, 300, 350, CW_SCHED_SWITCH, 1);
	put_waking(&s, 500, B, A);
	put_switch(&s, 600, 0, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 300 100 0 0");
	stream_close(&s);
}

/* The same while it runs, where the switch-out must have been lost on its own CPU. */
static void test_hidden_while_running(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_lost(&s, 300, 350, CW_SCHED_BLOCK, 1);
	put_lost(&s, 400, 410, CW_SCHED_SWITCH, 1);
	end_call(&s);
	assert_string_equal(call(&s, 1), "790 0 0 0 110");
	stream_close(&s);

	begin_call(&s);
	s.cpu = 1;
	put_lost(&s, 300, 350, CW_SCHED_BLOCK, 5);
	s.cpu = 0;
	end_call(&s);
	assert_string_equal(call(&s, 1), "900 0 0 0 0");
	stream_close(&s);
}

/* A probe is hit though the thread is off: its switch-in was lost, when is not known. */
static void test_missing_switch_in(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_block(&s, 200, A, B, 202, 0xabc0, 0x80);
	put_waking(&s, 500, B, A);
	put_wakeup(&s, 510, A, 0, false);
	put_switch(&s, 700, B, 0, ASLEEP, 0); /* until here the CPU was not its own */
	end_call(&s);
	assert_string_equal(call(&s, 1), "100 300 200 0 300");
	expect_int(&s, "SELECT touched_by_loss FROM slice", 1);
	expect_text(&s, "SELECT ts || ' ' || end_ts || ' ' || reason FROM loss",
		    "700 1000 contradiction");
	stream_close(&s);
}

static void test_missing_switch_out(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_lost(&s, 400, 450, CW_SCHED_BLOCK, 1);
	put_switch(&s, 600, 0, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "700 0 0 0 200");
	expect_text(&s, "SELECT group_concat(reason) FROM loss", "ring full"); /* explains it */
	stream_close(&s);

	begin_call(&s); /* nobody counted a loss: nothing is proved since the last event */
	put_switch(&s, 600, 0, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "400 0 0 0 500");
	expect_text(&s, "SELECT kind || ' ' || ts || ' ' || end_ts || ' ' || reason FROM loss",
		    "sched_switch 100 600 contradiction");
	stream_close(&s);
}

static void test_two_switch_outs(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_block(&s, 200, A, B, 202, 0xabc0, 0x80);
	put_waking(&s, 300, B, A);
	put_switch(&s, 400, A, B, RUNNABLE, CW_SWITCH_PREEMPTED);
	put_switch(&s, 600, B, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "500 100 0 200 100");
	stream_close(&s);
}

/* It runs on another CPU than the one it was put on: it must have been away. */
static void test_moved_unseen(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	s.cpu = 3;
	end_call(&s);
	assert_string_equal(call(&s, 1), "0 0 0 0 900");
	stream_close(&s);

	begin_call(&s); /* or leaves another one */
	s.cpu = 3;
	put_switch(&s, 400, A, B, RUNNABLE, CW_SWITCH_PREEMPTED);
	put_switch(&s, 600, B, A, RUNNABLE, 0);
	end_call(&s);
	assert_string_equal(call(&s, 1), "400 0 0 200 300");
	expect_text(&s, "SELECT kind || ' ' || ts || ' ' || end_ts || ' ' || reason FROM loss",
		    "sched_switch 100 400 contradiction");
	stream_close(&s);
}

static void test_new_thread(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_switch(&s, 50, 0, A, RUNNABLE, 0);
	put_thread(&s, 100, B, 777, "child");
	put_fork(&s, 100, A, PID, B, 777);
	put_wakeup(&s, 120, B, 1, true);
	s.cpu = 1;
	put_switch(&s, 200, 0, B, RUNNABLE, 0);
	put_entry(&s, 250, B, 0, SP, 1);
	put_return(&s, 300, B, 0, SP, 0);
	put_exit(&s, 400, B, false);
	put_switch(&s, 450, B, 0, DEAD, 0);
	stream_end(&s);
	assert_string_equal(episode(&s, 0), "0 100 0 0");
	expect_int(&s, "SELECT state FROM offcpu WHERE end_ts > ts", 2048);
	expect_text(
		&s,
		"SELECT group_concat(state || ' ' || dur, ', ') FROM (SELECT * FROM thread_state "
		"JOIN thread USING(utid) WHERE tid = 1002 ORDER BY ts)",
		"runnable 100, running 200");
	assert_string_equal(call(&s, 1), "50 0 0 0 0");
	expect_seamless(&s);
	stream_close(&s);
}

/* The capture begins in the middle of a sleep, of a run, and before anything is known. */
static void test_begins_in_the_middle(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_waking(&s, 100, B, A);
	put_switch(&s, 150, 0, A, RUNNABLE, 0);
	put_entry(&s, 200, A, 0, SP, 1);
	put_return(&s, 260, A, 0, SP, 0);
	s.cpu = 1;
	put_entry(&s, 300, B, 0, SP, 1);
	put_return(&s, 390, B, 0, SP, 0);
	stream_end(&s);
	assert_string_equal(episode(&s, 0), "0 50 0 0");
	assert_string_equal(call(&s, 1), "60 0 0 0 0");
	assert_string_equal(call(&s, 2), "90 0 0 0 0");
	expect_int(&s, "SELECT count(*) FROM loss", 0);
	expect_seamless(&s);
	stream_close(&s);
}

/* Off the CPU to the end: the episode is there, how it would have gone on is not. */
static void test_ends_in_the_middle(void **state)
{
	struct stream s;

	(void)state;
	begin_call(&s);
	put_block(&s, 200, A, 0, 202, 0xabc0, 0x80);
	put_switch(&s, 900, 0, B, RUNNABLE, 0);
	stream_end(&s);
	expect_int(&s, "SELECT count(*) FROM offcpu WHERE end_ts IS NULL AND blocked_ns IS NULL",
		   1);
	expect_text(&s, "SELECT no_return FROM slice", "capture end");
	expect_text(&s, "SELECT state || ' ' || dur FROM thread_state WHERE ts = 200",
		    "blocked 700");
	stream_close(&s);
}

/* An event whose place has gone is counted as lost: it would contradict what was made of the rest.
 */
static void test_late(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_switch(&s, 50 * MS, 0, A, RUNNABLE, 0);
	put_entry(&s, 60 * MS, A, 0, SP, 1);
	put_return(&s, 70 * MS, A, 0, SP, 0);
	put_entry(&s, 1000 * MS, A, 0, SP, 1);
	put_block(&s, 65 * MS, A, 0, 202, 0, 0);
	put_return(&s, 1001 * MS, A, 0, SP, 0);
	stream_end(&s);
	assert_string_equal(call(&s, 1), "10000000 0 0 0 0");
	expect_text(&s, "SELECT kind || ' ' || ts || ' ' || reason FROM loss",
		    "sched_block 65000000 late");
	expect_int(&s, "SELECT value FROM capture_info WHERE key = 'late_records'", 1);
	stream_close(&s);
}

static void test_interrupt_and_futex(void **state)
{
	struct stream streams, *s = &streams;

	(void)state;
	begin_call(s);
	put_block(s, 200, A, 0, 230, 0, 0);
	{ /* B is only who was interrupted */
		REC(CW_SCHED_WAKING, sched_waking, 300);

		r.pid = r.wakee_pid = PID;
		r.tid = B;
		r.wakee_tid = A;
		r.syscall = 202;
		r.flags = CW_WAKING_IRQ;
		stream_put(s, &r.h);
	}
	put_switch(s, 310, 0, A, RUNNABLE, 0);
	end_call(s);
	expect_text(s, "SELECT in_interrupt || ' ' || coalesce(waker_utid, '-') FROM wakeup",
		    "1 -");
	expect_int(s, "SELECT count(*) FROM futex_wait", 0);
	stream_close(s);
}

/* The waker of a futex is observed when it was waking that address, else a candidate. */
static void test_futex_waker(void **state)
{
	static const struct {
		int32_t nr;
		uint64_t arg1, arg2, arg5;
		const char *kind;
	} wakers[] = {
		{202, 0xabc0, 0x81, 0, "observed"},      {202, 0xabc4, 0x81, 0, "candidate"},
		{202, 0x1110, 0x84, 0xabc0, "observed"}, {202, 0xabc0, 0x80, 0, "candidate"},
		{202, 0xabc0, 0x85, 0, "observed"},      {202, 0xabc0, 0x07, 0, "observed"},
		{454, 0xabc0, 0, 0, "observed"},         {1, 0xabc0, 0x81, 0, "candidate"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wakers) / sizeof(*wakers); i++) {
		struct stream streams, *s = &streams;

		begin_call(s);
		put_block(s, 200, A, 0, 202, 0xabc0, 0x80);
		{
			REC(CW_SCHED_WAKING, sched_waking, 500);

			r.pid = r.wakee_pid = PID;
			r.tid = B;
			r.wakee_tid = A;
			r.syscall = wakers[i].nr;
			r.args[0] = wakers[i].arg1;
			r.args[1] = wakers[i].arg2;
			r.args[4] = wakers[i].arg5;
			r.ustack = 77;
			stream_put(s, &r.h);
		}
		put_switch(s, 600, 0, A, RUNNABLE, 0);
		end_call(s);
		expect_text(s, "SELECT waker_kind FROM futex_wait", wakers[i].kind);
		expect_text(
			s,
			"SELECT operation || ' ' || address || ' ' || dur || ' ' || waker_stack_id "
			"FROM futex_wait",
			"wait 0x000000000000abc0 400 77");
		stream_close(s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocked),
		cmocka_unit_test(test_early_waking),
		cmocka_unit_test(test_spurious_waking),
		cmocka_unit_test(test_stale_waking),
		cmocka_unit_test(test_two_wakings),
		cmocka_unit_test(test_preempted),
		cmocka_unit_test(test_signal_pending),
		cmocka_unit_test(test_unseen_waking),
		cmocka_unit_test(test_lost_waking),
		cmocka_unit_test(test_hidden_pair),
		cmocka_unit_test(test_hidden_while_running),
		cmocka_unit_test(test_missing_switch_in),
		cmocka_unit_test(test_missing_switch_out),
		cmocka_unit_test(test_two_switch_outs),
		cmocka_unit_test(test_moved_unseen),
		cmocka_unit_test(test_new_thread),
		cmocka_unit_test(test_begins_in_the_middle),
		cmocka_unit_test(test_ends_in_the_middle),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_interrupt_and_futex),
		cmocka_unit_test(test_futex_waker),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
