/* SPDX-License-Identifier: GPL-2.0-only */
/* What the addresses of stacks mean, by what is mapped there at the time. */
#include "mapped_stream.h"

static void test_stacks(void **state)
{
	static const uint64_t plain[] = {0x401010, 0x402020, 0x403030};
	static const uint64_t known[] = {0x401014, 0x402020, 0x403030};
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_module(&s, 1, "/usr/bin/prog");
	put_map(&s, 50, 0x400000, 0x500000, 0x2000, 1);
	put_stack(&s, 100, 1, 0, 0, 3, plain);
	put_stack(&s, 101, 2, CW_STACK_ENTRY, 0x409999, 3, known); /* the walk lost the caller */
	put_stack(&s, 102, 3, CW_STACK_ENTRY, 0x402020, 3, known); /* the kernel got it right */
	put_stack(&s, 103, 4, CW_STACK_ENTRY | CW_STACK_NO_FP, 0x409999, 1, known);
	put_stack(&s, 104, 5, CW_STACK_KERNEL, 0, 2, (const uint64_t[]){~0xfull, ~0xffull});
	put_stack(&s, 105, 6, CW_STACK_FAILED, 0, 0, plain);
	put_stack(&s, 106, 1, 0, 0, 3, plain); /* again */
	put_stack(&s, 107, 7, 0, 0, 1, (const uint64_t[]){0x999});
	stream_end(&s);
	assert_string_equal(stack(&s, 1), "prog+3010, prog+4020 r, prog+5030 r");
	assert_string_equal(stack(&s, 2), "prog+3014, prog+b999 r, prog+4020 r, prog+5030 r");
	assert_string_equal(stack(&s, 3), "prog+3014, prog+4020 r, prog+5030 r");
	assert_string_equal(stack(&s, 4), "prog+3014, prog+b999 r");
	assert_string_equal(stack(&s, 5), "[kernel]+fffffffffffffff0, [kernel]+ffffffffffffff00 r");
	assert_string_equal(stack(&s, 6), "(null)");
	assert_string_equal(stack(&s, 7), "?+999");
	expect_text(
		&s,
		"SELECT group_concat(stack_id || kind || frame_count || caller_only || failed || "
		"(upid IS NULL), ' ') FROM (SELECT * FROM stack ORDER BY stack_id)",
		"1user3000 2user4000 3user3000 4user2100 5kernel2001 6user0010 7user1000");
	/* Equal places are one frame; the same address as pc and as return address is two. */
	expect_int(&s, "SELECT count(*) FROM frame WHERE rel_pc IN (16416, 20528)", 2);
	expect_text(&s,
		    "SELECT path || ' ' || build_id || ' ' || dev || ' ' || ino FROM module WHERE "
		    "module_id = 1",
		    "/usr/bin/prog ab0001 8:1 77");
	stream_close(&s);
}

/* A stack that comes before the mapping it needs; mappings that replace others, whole and in part.
 */
static void test_mappings(void **state)
{
	static const uint64_t low[] = {0x401010}, mid[] = {0x450010}, high[] = {0x4f0010};
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_module(&s, 1, "/lib/a");
	put_module(&s, 2, "/lib/b");
	put_stack(&s, 100, 1, 0, 0, 1, low);
	put_map(&s, 200, 0x400000, 0x500000, 0, 1);
	put_stack(&s, 300, 2, 0, 0, 1, mid);
	put_map(&s, 400, 0x440000, 0x460000, 0x7000, 2);
	put_stack(&s, 500, 3, 0, 0, 1, mid);
	put_stack(&s, 501, 4, 0, 0, 1, high);
	put_stack(&s, 502, 5, 0, 0, 1, low);
	put_map(&s, 600, 0x3f0000, 0x600000, 0x100, 2);
	put_stack(&s, 700, 6, 0, 0, 1, high);
	put_map(&s, 800, 0x500000, 0x500000, 0, 1);     /* empty */
	put_map(&s, 900, 0x3f0000, 0x600000, 0x100, 2); /* again */
	stream_end(&s);
	assert_string_equal(stack(&s, 2), "a+50010");
	assert_string_equal(stack(&s, 3), "b+17010");
	assert_string_equal(stack(&s, 4), "a+f0010");
	assert_string_equal(stack(&s, 5), "a+1010");
	assert_string_equal(stack(&s, 6), "b+100110");
	assert_string_not_equal(stack(&s, 1), "?+401010");
	expect_int(&s, "SELECT count(*) FROM mapping", 3);
	expect_int(&s, "SELECT value FROM capture_info WHERE key = 'bad_records'", 1);
	stream_close(&s);
}

static void put_call_from(struct stream *s, uint64_t ts, uint64_t stack)
{
	REC(CW_PROBE_ENTRY, probe_entry, ts);

	r.pid = PID;
	r.tid = PID;
	r.probe_id = 1;
	r.sp = SP - ts;
	r.stack = stack;
	stream_put(s, &r.h);
}

/* The stack that the call at ts has. */
static const char *stack_at(struct stream *s, uint64_t ts)
{
	char sql[100];

	snprintf(sql, sizeof(sql), "SELECT stack_id FROM slice WHERE ts = %llu",
		 (unsigned long long)ts);
	return stack(s, strtoull(ask(s, sql) ?: "0", NULL, 10));
}

/*
 * A library is loaded where another was: what the recorder takes for one stack are two, of calls,
 * sleeps and wakers, and one again when the first comes back.
 */
static void test_code_replaced(void **state)
{
	static const uint64_t frames[] = {0x600010, 0x400020};
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_probe(&s, 1, "f", false);
	put_module(&s, 1, "a");
	put_module(&s, 2, "b");
	put_module(&s, 3, "leaf");
	put_map(&s, 10, 0x400000, 0x500000, 0, 1);
	put_map(&s, 11, 0x600000, 0x700000, 0, 3);
	put_stack(&s, 100, 10, 0, 0, 2, frames);
	put_call_from(&s, 101, 10);
	put_map(&s, 150, 0x800000, 0x900000, 0, 2); /* elsewhere */
	put_call_from(&s, 151, 10);
	put_map(&s, 200, 0x400000, 0x480000, 0x1000, 2);
	put_call_from(&s, 201, 10);
	put_call_from(&s, 202, 10);
	put_map(&s, 250, 0x800000, 0x900000, 0, 1); /* replaces, but nothing of the stack */
	put_call_from(&s, 251, 10);
	put_map(&s, 300, 0x400000, 0x500000, 0, 1);
	put_call_from(&s, 301, 10);
	put_map(&s, 400, 0x400000, 0x480000, 0x1000, 2);
	put_call_from(&s, 401, 10);
	stream_end(&s);
	for (uint64_t ts = 101; ts <= 401; ts += 50)
		if (ts != 351)
			assert_string_equal(stack_at(&s, ts), ts == 201 || ts == 251 || ts == 401
								      ? "leaf+10, b+1020 r"
								      : "leaf+10, a+20 r");
	expect_int(&s, "SELECT count(DISTINCT stack_id) FROM slice", 2);
	expect_int(&s, "SELECT count(*) FROM stack", 2);
	expect_int(&s,
		   "SELECT count(*) FROM stack s WHERE frame_count <> (SELECT count(*) FROM "
		   "stack_frame f WHERE f.stack_id = s.stack_id)",
		   0);
	stream_close(&s);
}

/* The same while the stack waits for a mapping: later is the code that was there at the time. */
static void test_code_replaced_early(void **state)
{
	static const uint64_t frames[] = {0x600010, 0x400020, 0x800030};
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_probe(&s, 1, "f", false);
	put_module(&s, 1, "/lib/a");
	put_module(&s, 2, "/lib/b");
	put_module(&s, 3, "/lib/leaf");
	put_map(&s, 10, 0x400000, 0x500000, 0, 1);
	put_map(&s, 11, 0x600000, 0x700000, 0, 3);
	put_stack(&s, 100, 10, 0, 0, 3, frames);
	put_call_from(&s, 101, 10);
	put_map(&s, 200, 0x400000, 0x500000, 0x1000, 2);
	put_call_from(&s, 201, 10);
	put_call_from(&s, 202, 10);
	put_map(&s, 250, 0x400000, 0x500000, 0, 1);
	put_call_from(&s, 251, 10);
	put_map(&s, 260, 0x400000, 0x500000, 0x1000, 2);
	put_call_from(&s, 261, 10);
	put_map(&s, 300, 0x800000, 0x900000, 0, 3);
	stream_end(&s);
	assert_string_equal(stack_at(&s, 101), "leaf+10, a+20 r, leaf+30 r");
	assert_string_equal(stack_at(&s, 201), "leaf+10, b+1020 r, leaf+30 r");
	assert_string_equal(stack_at(&s, 202), "leaf+10, b+1020 r, leaf+30 r");
	assert_string_equal(stack_at(&s, 251), "leaf+10, a+20 r, leaf+30 r");
	assert_string_equal(stack_at(&s, 261), "leaf+10, b+1020 r, leaf+30 r");
	expect_int(&s, "SELECT count(*) FROM stack", 2);
	stream_close(&s);
}

static void put_sleep_from(struct stream *s, uint64_t ts, uint64_t stack)
{
	REC(CW_SCHED_BLOCK, sched_block, ts);

	r.prev_pid = PID;
	r.prev_tid = PID;
	r.prev_state = ASLEEP;
	r.flags = CW_SWITCH_PREV_TRACED;
	r.syscall = 202;
	r.ustack = stack;
	stream_put(s, &r.h);
}

static void put_waking_from(struct stream *s, uint64_t ts, uint64_t stack)
{
	REC(CW_SCHED_WAKING, sched_waking, ts);

	r.pid = PID;
	r.tid = PID + 1;
	r.wakee_pid = PID;
	r.wakee_tid = PID;
	r.syscall = -1;
	r.ustack = stack;
	stream_put(s, &r.h);
}

/* Threads that sleep and wake others have stacks, too. */
static void test_code_replaced_in_waits(void **state)
{
	static const uint64_t frames[] = {0x400020};
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_module(&s, 1, "/lib/a");
	put_module(&s, 2, "/lib/b");
	put_map(&s, 10, 0x400000, 0x500000, 0, 1);
	put_thread(&s, 20, PID, 1, "one");
	put_thread(&s, 21, PID + 1, 1, "two");
	put_stack(&s, 100, 10, 0, 0, 1, frames);
	for (uint64_t ts = 1000; ts < 3000; ts += 1000) {
		put_sleep_from(&s, ts, 10);
		put_waking_from(&s, ts + 100, 10);
		put_switch(&s, ts + 200, 0, PID, 0, 0);
		put_map(&s, ts + 300, 0x400000, 0x500000, 0x1000, 2);
	}
	stream_end(&s);
	expect_text(
		&s,
		"SELECT group_concat(m.name, ' ') FROM (SELECT * FROM sleep ORDER BY sleep_id) o"
		" JOIN stack_frame f ON f.stack_id = o.user_stack_id JOIN frame USING(frame_id)"
		" JOIN module m USING(module_id)",
		"a b");
	expect_text(
		&s,
		"SELECT group_concat(m.name, ' ') FROM (SELECT * FROM waker ORDER BY waker_id) o"
		" JOIN stack_frame f USING(stack_id) JOIN frame USING(frame_id)"
		" JOIN module m USING(module_id)",
		"a b");
	stream_close(&s);
}

/* Reports of mappings that were lost put stacks into doubt: those of the time, and those without.
 */
static void test_mappings_lost(void **state)
{
	static const uint64_t there[] = {0x401010}, where[] = {0x901010};
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_module(&s, 1, "/lib/a");
	put_map(&s, 50, 0x400000, 0x500000, 0, 1);
	put_stack(&s, 100, 1, 0, 0, 1, there);
	put_stack(&s, 101, 2, 0, 0, 1, where);
	put_lost(&s, 200, 300, CW_MAP, 3);
	put_stack(&s, 250, 3, 0, 0, 1, there);
	put_stack(&s, 400, 4, 0, 0, 1, there);
	put_stack(&s, 401, 5, 0, 0, 1, where);
	stream_end(&s);
	expect_text(&s,
		    "SELECT group_concat(stack_id, ' ') FROM (SELECT * FROM stack WHERE problem = "
		    "'reports of mappings were lost' AND NOT complete ORDER BY stack_id)",
		    "3 5");
	expect_text(&s,
		    "SELECT ts || ' ' || end_ts || ' ' || kind || ' ' || reason || ' ' || count "
		    "FROM loss",
		    "200 300 map ring full 3");
	stream_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_code_replaced),
		cmocka_unit_test(test_code_replaced_early),
		cmocka_unit_test(test_code_replaced_in_waits),
		cmocka_unit_test(test_mappings_lost),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
