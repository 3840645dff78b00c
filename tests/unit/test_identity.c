/* SPDX-License-Identifier: GPL-2.0-only */
/* Incarnations of processes and threads, what is mapped into them, and stacks resolved by that. */
#include "stream.h"

#define A 1001u

static void put_process(struct stream *s, uint64_t ts, uint32_t pid, uint64_t start,
			const char *exe)
{
	REC(CW_PROCESS, process, ts);

	r.pid = pid;
	r.ns_pid = pid - 990;
	r.rec_pid = pid;
	r.start_boottime = start;
	r.flags = 1;
	stream_put_text(s, &r.h, sizeof(r), exe);
}

static void put_module(struct stream *s, uint32_t id, const char *path)
{
	REC(CW_MODULE, module, 1);

	r.module_id = id;
	r.build_id_size = 3;
	r.build_id[0] = 0xab;
	r.build_id[2] = 0x01;
	r.dev_major = 8;
	r.dev_minor = 1;
	r.ino = 77;
	stream_put_text(s, &r.h, sizeof(r), path);
}

static void put_map(struct stream *s, uint64_t ts, uint64_t start, uint64_t end, uint64_t pgoff,
		    uint32_t module)
{
	REC(CW_MAP, map, ts);

	r.pid = PID;
	r.module_id = module;
	r.start = start;
	r.end = end;
	r.pgoff = pgoff;
	stream_put(s, &r.h);
}

static void put_stack(struct stream *s, uint64_t ts, uint64_t id, uint32_t flags, uint64_t caller,
		      size_t n, const uint64_t *frames)
{
	struct {
		struct cw_stack r;
		uint64_t frames[140];
	} x = {.r = {.h = {.type = CW_STACK, .cpu = 0, .ts = ts},
		     .id = id,
		     .pid = PID,
		     .flags = flags}};

	x.r.caller = caller;
	x.r.h.size = (uint16_t)(sizeof(x.r) + n * 8);
	memcpy(x.frames, frames, n * 8);
	stream_put(s, &x.r.h);
}

static const char *stack(struct stream *s, uint64_t id)
{
	char sql[512];

	snprintf(sql, sizeof(sql),
		 "SELECT group_concat(coalesce(m.name, '?') || '+' || printf('%%x', f.rel_pc) || "
		 "CASE f.is_return WHEN 1 THEN ' r' ELSE '' END, ', ') FROM (SELECT * FROM "
		 "stack_frame WHERE "
		 "stack_id = %lld ORDER BY depth) JOIN frame f USING(frame_id) LEFT JOIN module m "
		 "USING(module_id)",
		 (long long)id);
	return ask(s, sql) ?: "(null)";
}

/* The event names the thread before its record does. */
static void test_placeholder_adopted(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_probe(&s, 0, "work", true);
	put_entry(&s, 100, A, 0, SP, 1);
	put_thread(&s, 150, A, 5000, "late");
	put_return(&s, 200, A, 0, SP, 0);
	put_process(&s, 250, PID, 4000, "/bin/prog");
	put_process(&s, 260, PID, 4000, "/bin/prog");
	stream_end(&s);
	expect_text(&s,
		    "SELECT count(*) || ' ' || name || ' ' || start_boottime || ' ' || start_ts "
		    "FROM thread",
		    "1 late 5000 100");
	expect_text(&s, "SELECT count(*) || ' ' || exe || ' ' || start_boottime FROM process",
		    "1 /bin/prog 4000");
	expect_text(&s, "SELECT thread_name || ' ' || dur FROM call", "late 100");
	stream_close(&s);
}

/* A tid is used again: after the exit, after an exit that was lost, and by a forked thread. */
static void test_tid_reuse(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_probe(&s, 0, "work", true);
	put_thread(&s, 100, A, 1000, "first");
	put_entry(&s, 110, A, 0, SP, 1);
	put_exit(&s, 120, A, false);
	put_switch(&s, 125, A, 0, DEAD, 0);
	put_entry(&s, 200, A, 0, SP, 2); /* the second one, not introduced yet */
	put_thread(&s, 210, A, 2000, "second");
	put_return(&s, 220, A, 0, SP, 0);
	put_thread(&s, 300, A, 3000, "third"); /* nobody saw the second exit */
	put_entry(&s, 310, A, 0, SP, 3);
	put_return(&s, 320, A, 0, SP, 0);
	put_thread(&s, 390, 1000, 10, "main");
	put_fork(&s, 400, 1000, PID, A, 4000);
	put_entry(&s, 410, A, 0, SP, 4);
	put_return(&s, 420, A, 0, SP, 0);
	stream_end(&s);
	expect_text(&s,
		    "SELECT group_concat(arg1 || ' ' || thread_name || ' ' || coalesce(dur, "
		    "no_return), ', ') "
		    "FROM (SELECT * FROM call ORDER BY slice_id)",
		    "1 first exit, 2 second 20, 3 third 10, 4 main 10");
	expect_int(&s, "SELECT count(DISTINCT utid) FROM slice", 4);
	expect_text(&s,
		    "SELECT group_concat(start_boottime) FROM (SELECT * FROM thread WHERE tid = "
		    "1001 ORDER BY "
		    "utid)",
		    "1000,2000,3000,4000");
	expect_int(&s, "SELECT end_ts FROM thread WHERE name = 'first'", 120);
	stream_close(&s);
}

/* /proc rounds start times down to 10 ms; the same thread must not become two. */
static void test_rounded_start(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_process(&s, 90, PID, 120000000, "/bin/prog");
	put_thread(&s, 100, PID, 120000000, "main");
	put_thread(&s, 110, PID, 123456789, "main2");
	put_process(&s, 120, PID, 120000000, "/bin/prog");
	stream_end(&s);
	expect_text(&s, "SELECT count(*) || ' ' || start_boottime || ' ' || name FROM thread",
		    "1 123456789 main2");
	expect_text(&s, "SELECT count(*) || ' ' || start_boottime || ' ' || name FROM process",
		    "1 123456789 main2");
	stream_close(&s);
}

static void test_pid_reuse(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_process(&s, 90, PID, 1000000001, "/bin/one");
	put_thread(&s, 100, PID, 1000000001, "one");
	put_exit(&s, 200, PID, true);
	put_switch(&s, 210, PID, 0, DEAD, 0);
	put_process(&s, 300, PID, 2000000001, "/bin/two");
	put_thread(&s, 310, PID, 2000000001, "two");
	stream_end(&s);
	expect_text(&s,
		    "SELECT group_concat(exe || ' ' || coalesce(end_ts, '-') || ' ' || name, ', ') "
		    "FROM (SELECT * "
		    "FROM process ORDER BY upid)",
		    "/bin/one 200 one, /bin/two - two");
	expect_text(&s, "SELECT group_concat(upid) FROM (SELECT * FROM thread ORDER BY utid)",
		    "1,2");
	stream_close(&s);
}

/* A thread that executes a program becomes the leader; calls that were open are over. */
static void test_exec(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_probe(&s, 0, "work", true);
	put_process(&s, 90, PID, 1000000001, "/bin/one");
	put_thread(&s, 91, PID, 1000000001, "one");
	put_thread(&s, 92, A, 1000000002, "helper");
	put_entry(&s, 100, A, 0, SP, 1);
	put_exit(&s, 110, PID, false);
	put_switch(&s, 120, PID, 0, DEAD, 0);
	{
		struct cw_exec r = {.h = {.type = CW_EXEC, .size = sizeof(r), .ts = 200}};

		r.pid = r.tid = PID;
		r.old_tid = A;
		r.flags = 1;
		stream_put_text(&s, &r.h, sizeof(r), "/bin/two");
	}
	put_entry(&s, 300, PID, 0, SP, 2);
	put_return(&s, 310, PID, 0, SP, 0);
	stream_end(&s);
	expect_text(&s, "SELECT exe FROM process", "/bin/two");
	expect_text(&s,
		    "SELECT group_concat(tid || ' ' || coalesce(dur, no_return), ', ') FROM "
		    "(SELECT * FROM call "
		    "ORDER BY slice_id)",
		    "1001 exit, 1000 10");
	stream_close(&s);
}

/* A fork is another process with its parent's mappings. */
static void test_fork(void **state)
{
	static const uint64_t frames[] = {0x401010};
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_process(&s, 90, PID, 1000000001, "/bin/one");
	put_thread(&s, 91, PID, 1000000001, "one");
	put_module(&s, 1, "/bin/one");
	put_map(&s, 92, 0x400000, 0x500000, 0, 1);
	put_fork(&s, 100, PID, 2000, 2000, 1000000777);
	{
		struct {
			struct cw_stack r;
			uint64_t frames[1];
		} x = {.r = {.h = {.type = CW_STACK, .size = sizeof(x), .ts = 150},
			     .id = 5,
			     .pid = 2000}};

		memcpy(x.frames, frames, sizeof(frames));
		stream_put(&s, &x.r.h);
	}
	stream_end(&s);
	expect_text(&s,
		    "SELECT group_concat(pid || ' ' || coalesce(parent_upid, '-') || ' ' || exe, "
		    "', ') FROM "
		    "(SELECT * FROM process ORDER BY upid)",
		    "1000 - /bin/one, 2000 1 /bin/one");
	assert_string_equal(stack(&s, 5), "one+1010");
	stream_close(&s);
}

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

static void put_piece(struct stream *s, uint32_t kind, uint64_t offset, uint64_t total,
		      const char *bytes)
{
	REC(CW_BLOB, blob, 1);

	r.module_id = 1;
	r.kind = kind;
	r.offset = offset;
	r.total = total;
	stream_put_text(s, &r.h, sizeof(r), bytes);
}

static void put_blob(struct stream *s, uint64_t offset, uint64_t total, const char *bytes)
{
	put_piece(s, CW_BLOB_SYMBOLS, offset, total, bytes);
}

static void test_payloads(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_blob(&s, 0, 10, "hello");
	put_blob(&s, 7, 10, "gap");
	put_blob(&s, 0, 10, "hello"); /* another epoch begins it again */
	put_blob(&s, 5, 10, "world");
	put_blob(&s, 5, 10, "world");
	put_blob(&s, 0, UINT64_MAX, "huge");
	stream_end(&s);
	expect_text(&s,
		    "SELECT count(*) || ' ' || kind || ' ' || CAST(data AS TEXT) FROM module_blob",
		    "1 symbols helloworld");
	stream_close(&s);
}

/* Perf maps come again and again, not always larger. */
static void test_payload_again(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_piece(&s, CW_BLOB_PERF_MAP, 0, 20, "1 1 a long function\n");
	put_piece(&s, CW_BLOB_PERF_MAP, 0, 6, "1 1 b\n");
	put_piece(&s, CW_BLOB_PERF_MAP, 0, 12, "1 1 c\n");
	put_piece(&s, CW_BLOB_PERF_MAP, 6, 12, "2 1 d\n");
	put_piece(&s, CW_BLOB_PERF_MAP, 0, 6, ""); /* begins, and never ends */
	stream_end(&s);
	expect_text(&s,
		    "SELECT count(*) || ' ' || kind || ' ' || CAST(data AS TEXT) FROM module_blob",
		    "1 perf map 1 1 c\n2 1 d\n");
	stream_close(&s);
}

static void test_file_paths(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	for (int i = 0; i < 4; i++) {
		static const char *const paths[] = {"log.txt/app/var", "[eventfd]", "", "x/"};
		struct cw_file r = {.h = {.type = CW_FILE, .size = sizeof(r), .ts = 1},
				    .id = (uint64_t)i + 1};

		stream_put_text(&s, &r.h, sizeof(r), paths[i]);
	}
	{
		struct cw_file r = {
			.h = {.type = CW_FILE, .size = sizeof(r), .ts = 1}, .id = 9, .family = 2};

		r.protocol = 6;
		r.local_port = 80;
		r.peer_port = 4000;
		memcpy(r.local_addr, (const uint8_t[]){10, 0, 0, 1}, 4);
		memcpy(r.peer_addr, (const uint8_t[]){10, 0, 0, 2}, 4);
		stream_put(&s, &r.h);
	}
	stream_end(&s);
	expect_text(&s, "SELECT group_concat(path, '|') FROM (SELECT * FROM file ORDER BY file_id)",
		    "/var/app/log.txt|[eventfd]||x|tcp 10.0.0.1:80 -> 10.0.0.2:4000");
	stream_close(&s);
}

/* Ids in the recorder's own PID namespace are what users know. */
static void test_namespaces(void **state)
{
	struct stream streams, *s = &streams;

	(void)state;
	stream_open(s, NULL, "x86_64");
	put_probe(s, 0, "work", true);
	{
		struct cw_process r = {.h = {.type = CW_PROCESS, .size = sizeof(r), .ts = 10}};

		r.pid = PID;
		r.ns_pid = r.rec_pid = 12; /* the recorder is in the same container */
		stream_put(s, &r.h);
	}
	{
		struct cw_thread r = {.h = {.type = CW_THREAD, .size = sizeof(r), .ts = 11}};

		r.pid = PID;
		r.tid = A;
		r.ns_pid = 12;
		r.ns_tid = 13;
		stream_put(s, &r.h);
	}
	put_entry(s, 100, A, 0, SP, 1);
	put_return(s, 110, A, 0, SP, 1);
	stream_end(s);
	expect_text(s, "SELECT pid || ' ' || tid FROM call", "12 13");
	stream_close(s);
}

/* Records full of noise: any of them may be wrong, none may do harm, and what is written adds up.
 */
static void test_noise(void **state)
{
	(void)state;
	for (unsigned seed = 1; seed <= 20; seed++) {
		uint64_t buf[64], x = seed * 0x9e3779b97f4a7c15ull, ts = 1000000;
		struct cw_rec *r = (struct cw_rec *)buf;
		struct stream s;

		stream_open(&s, "sub,1,run,auto;run,2,last,1", "x86_64");
		put_probe(&s, 0, "sub", true);
		put_probe(&s, 1, "run", true);
		put_probe(&s, 2, "last", false);
		for (unsigned i = 0; i < 4000; i++) {
			for (unsigned k = 0; k < 64; k++) {
				x ^= x << 13;
				x ^= x >> 7;
				x ^= x << 17;
				/* small numbers, so that they meet: ids, flags, keys */
				buf[k] = k > 2 && seed % 2 ? (x & 0x0000000700000007ull) : x;
			}
			r->type = cw_types[x % cw_ntypes].id;
			r->size = (uint16_t)(16 + (x >> 20) % (sizeof(buf) - 16));
			r->cpu = (x >> 40) % 4 ? (uint16_t)((x >> 50) % 3) : 0xffff;
			ts += (x >> 30) % 1000;
			r->ts = (x >> 10) % 500 ? ts : x;
			if (r->ts > ts + 1000 * MS)
				r->ts = ts;
			if (r->type == CW_PLAN_TEXT)
				continue;
			stream_put(&s, r);
		}
		stream_end(&s);
		expect_int(
			&s,
			"SELECT count(*) FROM offcpu WHERE blocked_ns + runq_ns + preempted_ns + "
			"unknown_ns "
			"<> end_ts - ts OR min(blocked_ns, runq_ns, preempted_ns, unknown_ns) < 0",
			0);
		expect_int(&s,
			   "SELECT count(*) FROM slice WHERE oncpu_ns + blocked_ns + runq_ns + "
			   "preempted_ns + "
			   "unknown_ns <> dur OR dur < 0",
			   0);
		stream_close(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_placeholder_adopted),
		cmocka_unit_test(test_tid_reuse),
		cmocka_unit_test(test_rounded_start),
		cmocka_unit_test(test_pid_reuse),
		cmocka_unit_test(test_exec),
		cmocka_unit_test(test_fork),
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_mappings),
		cmocka_unit_test(test_code_replaced),
		cmocka_unit_test(test_code_replaced_early),
		cmocka_unit_test(test_code_replaced_in_waits),
		cmocka_unit_test(test_mappings_lost),
		cmocka_unit_test(test_payloads),
		cmocka_unit_test(test_payload_again),
		cmocka_unit_test(test_file_paths),
		cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_noise),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
