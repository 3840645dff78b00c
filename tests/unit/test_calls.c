/* SPDX-License-Identifier: GPL-2.0-only */
/* Entries and returns paired by stack pointer, and why a call has no return. */
#include "stream.h"

#define A 1001u

static uint64_t deep(unsigned level)
{
	return SP - level * FRAME;
}

static void setup(struct stream *s)
{
	stream_open(s, NULL, "x86_64");
	put_probe(s, 0, "outer", true);
	put_probe(s, 1, "inner", true);
	put_probe(s, 2, "silent", false);
}

static const char *calls(struct stream *s)
{
	return ask(s, "SELECT group_concat(function || ' ' || coalesce(dur, no_return) || ' ' || "
		      "depth || "
		      "' ' || coalesce(parent_id, '-'), ', ') FROM (SELECT * FROM call ORDER BY "
		      "slice_id)")
		       ?: "(null)";
}

static void test_nested(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_entry(&s, 100, A, 0, deep(0), 7);
	put_entry(&s, 110, A, 1, deep(1), 8);
	put_return(&s, 150, A, 1, deep(1), 0x55);
	put_entry(&s, 160, A, 1, deep(1), 9);
	put_return(&s, 170, A, 1, deep(1), 0x56);
	put_return(&s, 200, A, 0, deep(0), 0x57);
	stream_end(&s);
	assert_string_equal(calls(&s), "outer 100 0 -, inner 40 1 1, inner 10 1 1");
	expect_int(&s, "SELECT ret FROM call WHERE slice_id = 2", 0x55);
	expect_int(&s, "SELECT arg1 FROM call WHERE slice_id = 3", 9);
	expect_int(&s, "SELECT value FROM capture_info WHERE key = 'unmatched_returns'", 0);
	stream_close(&s);
}

/* A register that the function overwrites holds no argument, whatever the record says. */
static void test_lost_arguments(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "x86_64");
	put_probe_without(&s, 0, "f", 0x21);
	put_probe(&s, 1, "g", true);
	put_entry(&s, 100, A, 0, deep(0), 7);
	put_entry(&s, 110, A, 1, deep(1), 8);
	put_return(&s, 150, A, 1, deep(1), 0x55);
	put_return(&s, 170, A, 0, deep(0), 0x56);
	stream_end(&s);
	expect_int(&s,
		   "SELECT count(*) FROM call WHERE function = 'f' AND arg1 IS NULL AND "
		   "arg6 IS NULL AND arg2 + arg3 + arg4 + arg5 + arg7 + arg8 NOT NULL",
		   1);
	expect_int(&s,
		   "SELECT count(*) FROM call WHERE function = 'g' AND arg1 = 8 AND arg6 NOT NULL",
		   1);
	stream_close(&s);
}

/* On arm64 a return shows the stack pointer of the entry itself. */
static void test_arm64(void **state)
{
	struct stream s;

	(void)state;
	stream_open(&s, NULL, "aarch64");
	put_probe(&s, 0, "outer", true);
	put_entry(&s, 100, A, 0, SP, 7);
	put_return(&s, 200, A, 0, SP - 8, 1);
	stream_end(&s);
	assert_string_equal(calls(&s), "outer 100 0 -");
	stream_close(&s);
}

/* 200 deep: the kernel keeps 64 returns, the inner calls have none. */
static void test_recursion(void **state)
{
	struct stream s;
	uint64_t ts = 1000;

	(void)state;
	setup(&s);
	for (unsigned i = 0; i < 200; i++)
		put_entry(&s, ts += 10, A, 0, deep(i), i + 1);
	for (unsigned i = 64; i--;)
		put_return(&s, ts += 10, A, 0, deep(i), i);
	put_entry(&s, ts += 10, A, 1, deep(0), 1);
	put_return(&s, ts += 10, A, 1, deep(0), 1);
	stream_end(&s);
	expect_int(&s, "SELECT count(*) FROM call WHERE function = 'outer'", 200);
	expect_int(&s, "SELECT count(dur) FROM call WHERE function = 'outer'", 64);
	expect_int(&s, "SELECT count(*) FROM call WHERE no_return = 'kernel limit'", 136);
	expect_int(&s, "SELECT min(depth) FROM call WHERE no_return IS NOT NULL", 64);
	expect_int(&s,
		   "SELECT count(*) FROM call i JOIN call o ON o.slice_id = i.parent_id WHERE "
		   "i.dur >= o.dur",
		   0);
	expect_text(&s, "SELECT no_return FROM call WHERE function = 'inner'", "(null)");
	expect_int(&s, "SELECT depth FROM call WHERE function = 'inner'", 0);
	stream_close(&s);
}

static void test_longjmp(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_entry(&s, 100, A, 0, deep(0), 7);
	for (unsigned i = 0; i < 3; i++) { /* leaves two frames at once, again and again */
		put_entry(&s, 200 + 100 * i, A, 0, deep(1), 7);
		put_entry(&s, 210 + 100 * i, A, 1, deep(2), 8);
	}
	put_return(&s, 900, A, 0, deep(0), 0);
	stream_end(&s);
	assert_string_equal(
		calls(&s),
		"outer 800 0 -, outer longjmp 1 1, inner longjmp 2 2, outer longjmp 1 1, "
		"inner longjmp 2 4, outer longjmp 1 1, inner longjmp 2 6");
	expect_int(&s, "SELECT count(*) FROM call WHERE touched_by_loss", 0);
	stream_close(&s);
}

static void test_lost_return(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_entry(&s, 100, A, 0, deep(0), 7);
	put_entry(&s, 200, A, 1, deep(1), 8);
	put_lost(&s, 250, 260, CW_PROBE_RETURN, 1);
	put_return(&s, 300, A, 0, deep(0), 0);
	put_entry(&s, 400, A, 0, deep(0), 7);
	put_return(&s, 500, A, 0, deep(0), 0);
	stream_end(&s);
	assert_string_equal(calls(&s), "outer 200 0 -, inner lost 1 1, outer 100 0 -");
	expect_text(
		&s,
		"SELECT group_concat(touched_by_loss) FROM (SELECT * FROM call ORDER BY slice_id)",
		"1,1,0");
	stream_close(&s);
}

/* Only returns that are lost during a call explain that it has none, and then nothing of it is
 * known. */
static void test_what_explains_a_missing_return(void **state)
{
	static const struct {
		uint64_t from, to;
		uint32_t kind;
		const char *calls;
	} losses[] = {
		{250, 260, CW_PROBE_RETURN, "outer 200 0 -, inner lost 1 1"},
		{250, 260, 0, "outer 200 0 -, inner lost 1 1"},
		{150, 199, CW_PROBE_RETURN, "outer 200 0 -, inner longjmp 1 1"},
		{301, 310, CW_PROBE_RETURN, "outer 200 0 -, inner longjmp 1 1"},
		{250, 260, CW_PROBE_ENTRY, "outer 200 0 -, inner longjmp 1 1"},
		{250, 260, CW_SCHED_SWITCH, "outer 200 0 -, inner longjmp 1 1"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(losses) / sizeof(*losses); i++) {
		struct stream s;

		setup(&s);
		put_entry(&s, 100, A, 0, deep(0), 7);
		put_entry(&s, 200, A, 1, deep(1), 8);
		put_lost(&s, losses[i].from, losses[i].to, losses[i].kind, 1);
		put_return(&s, 300, A, 0, deep(0), 0x55);
		stream_end(&s);
		assert_string_equal(calls(&s), losses[i].calls);
		expect_text(&s,
			    "SELECT group_concat((ret IS NULL) || (dur IS NULL) || (oncpu_ns IS "
			    "NULL) || (no_return IS NULL)) FROM (SELECT * FROM call ORDER BY ts)",
			    "0001,1110");
		stream_close(&s);
	}
}

/* A call that is known by its entry only is touched by what was lost at that moment. */
static void test_entry_over_loss(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_entry(&s, 100, A, 2, deep(0), 7);
	put_lost(&s, 190, 210, CW_PROBE_ENTRY, 1);
	put_entry(&s, 200, A, 2, deep(0), 7);
	put_entry(&s, 300, A, 2, deep(0), 7);
	stream_end(&s);
	expect_text(&s,
		    "SELECT group_concat(ts || ' ' || touched_by_loss) FROM (SELECT * FROM call "
		    "ORDER BY ts)",
		    "100 0,200 1,300 0");
	stream_close(&s);
}

/* Entry lost, or before the capture
: the return is counted and nothing else changes. */
static void test_unmatched_return(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_return(&s, 50, A, 0, deep(0), 0);
	put_entry(&s, 100, A, 0, deep(0), 7);
	put_return(&s, 150, A, 1, deep(1), 0);
	put_return(&s, 200, A, 0, deep(0), 0);
	stream_end(&s);
	assert_string_equal(calls(&s), "outer 100 0 -");
	expect_int(&s, "SELECT value FROM capture_info WHERE key = 'unmatched_returns'", 2);
	expect_int(&s, "SELECT count FROM anomaly WHERE what = 'returns without an entry'", 2);
	stream_close(&s);
}

static void test_exit(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_entry(&s, 100, A, 0, deep(0), 7);
	put_exit(&s, 300, A, true);
	put_switch(&s, 310, A, 0, DEAD, 0);
	put_entry(&s, 400, A + 1, 0, deep(0), 7);
	stream_end(&s);
	assert_string_equal(calls(&s), "outer exit 0 -, outer capture end 0 -");
	expect_text(
		&s,
		"SELECT group_concat(touched_by_loss) FROM (SELECT * FROM call ORDER BY slice_id)",
		"0,1");
	expect_int(&s, "SELECT count(*) FROM call WHERE oncpu_ns IS NOT NULL", 0);
	stream_close(&s);
}

/* Calls without return probe end when the stack pointer shows it; they are parents until then. */
static void test_not_probed(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_entry(&s, 100, A, 2, deep(0), 7);
	put_entry(&s, 110, A, 1, deep(1), 7);
	put_return(&s, 120, A, 1, deep(1), 0);
	put_entry(&s, 200, A, 2, deep(0), 7); /* the same place: the first is over */
	put_entry(&s, 210, A, 1, deep(1), 7);
	put_return(&s, 220, A, 1, deep(1), 0);
	put_entry(&s, 300, A, 1, deep(0), 7);
	put_return(&s, 320, A, 1, deep(0), 0);
	stream_end(&s);
	assert_string_equal(calls(&s),
			    "silent not probed 0 -, inner 10 1 1, silent not probed 0 -, "
			    "inner 10 1 3, inner 20 0 -");
	stream_close(&s);
}

/* A tail call enters at its caller's stack pointer, and both return there. */
static void test_tail_call(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_entry(&s, 100, A, 0, deep(0), 7);
	put_entry(&s, 110, A, 1, deep(0), 7);
	put_return(&s, 150, A, 1, deep(0), 0);
	put_return(&s, 151, A, 0, deep(0), 0);
	stream_end(&s);
	assert_string_equal(calls(&s), "outer 51 0 -, inner 40 1 1");
	stream_close(&s);
}

/* A signal handler on another stack ends nothing of the interrupted one. */
static void test_other_stack(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_entry(&s, 100, A, 0, deep(0), 7);
	put_entry(&s, 110, A, 1, SP + (1ull << 40), 7);
	put_return(&s, 120, A, 1, SP + (1ull << 40), 0);
	put_return(&s, 150, A, 0, deep(0), 0);
	stream_end(&s);
	assert_string_equal(calls(&s), "outer 50 0 -, inner 10 1 1");
	stream_close(&s);
}

/* Threads are apart, also at the same stack pointer; unknown probes and threads do no harm. */
static void test_odd(void **state)
{
	struct stream s;

	(void)state;
	setup(&s);
	put_entry(&s, 100, A, 0, deep(0), 7);
	put_entry(&s, 101, A + 1, 0, deep(0), 7);
	put_return(&s, 110, A + 1, 0, deep(0), 0);
	put_entry(&s, 120, A, 4000000000u, deep(1), 7);
	put_return(&s, 125, A, 4000000001u, deep(1), 7);
	put_entry(&s, 130, 0, 0, deep(0), 7);
	put_return(&s, 140, 0, 0, deep(0), 7);
	put_return(&s, 150, A, 0, deep(0), 0);
	stream_end(&s);
	assert_string_equal(calls(&s),
			    "outer 50 0 -, outer 9 0 -, probe 4000000000 not probed 1 1");
	expect_int(&s, "SELECT value FROM capture_info WHERE key = 'bad_records'", 1);
	stream_close(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_lost_arguments),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_longjmp),
		cmocka_unit_test(test_lost_return),
		cmocka_unit_test(test_what_explains_a_missing_return),
		cmocka_unit_test(test_entry_over_loss),
		cmocka_unit_test(test_unmatched_return),
		cmocka_unit_test(test_exit),
		cmocka_unit_test(test_not_probed),
		cmocka_unit_test(test_tail_call),
		cmocka_unit_test(test_other_stack),
		cmocka_unit_test(test_odd),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
