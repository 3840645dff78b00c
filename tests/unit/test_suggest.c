/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/suggest.o analyze/suggest_load.o analyze/suggest_pairs.o */
/* LINK: analyze/suggest_groups.o analyze/hash.o */
/* Which arguments are taken for a handoff, which are not, and what is listed with one. */
#include <stdio.h>
#include <string.h>
#include "not_imported.h"
#include "suggest.h"
#include "tables_fixture.h"

static int slices;
static int64_t now;

static const char *const functions[] = {"",      "handle",  "submit",     "queue_put",
					"take",  "run",     "inner",      "submit2",
					"take2", "lock_it", "work_on_it", "pthread_mutex_lock",
					"free",  "give_up", "other"};

/* clang-format off */
enum {
	HANDLE = 1, SUBMIT, QUEUE_PUT, TAKE, RUN, INNER, SUBMIT2, TAKE2, LOCK_IT, WORK_ON_IT, MUTEX, FREE,
	GIVE_UP, OTHER
};
/* clang-format on */

static int begin(void **state)
{
	(void)state;
	tables_new();
	slices = 0;
	now = 0;
	run("BEGIN");
	run("INSERT INTO process(upid, pid, traced) VALUES(1, 50, 1), (2, 60, 1);"
	    "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 9)"
	    " INSERT INTO thread(utid, upid, tid, traced) SELECT i, 1, 50 + i, 1 FROM c");
	for (int i = 1; i <= OTHER; i++)
		run("INSERT INTO probe(probe_id, function, has_return, single_stepped, "
		    "no_frame_pointers, is_target) VALUES(%d, '%s', 1, 0, 0, 1)",
		    i, functions[i]);
	return 0;
}

/* A call of 10 ns in 100 with up to three arguments. Returns its number. */
static int call(int probe, int utid, int parent, int64_t a, int64_t b, int64_t c)
{
	slices++;
	now += 100;
	run("INSERT INTO slice(slice_id, ts, dur, utid, probe_id, depth, parent_id, arg1, arg2, "
	    "arg3,"
	    " touched_by_loss) VALUES(%d, %lld, 10, %d, %d, 0, nullif(%d, 0), %lld, %lld, %lld, 0)",
	    slices, (long long)now, utid, probe, parent, (long long)a, (long long)b, (long long)c);
	return slices;
}

static char *suggested(enum cw_format format, int wanted)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);
	int found = cw_suggest_print(db, format, f);

	fclose(f);
	if (found != wanted)
		fail_msg("%d groups, not %d: %s", found, wanted, text);
	return text;
}

static int64_t key(int i)
{
	return 0x7f0000001000 + 64ll * i;
}

/* n tasks from thread 1 to threads 2 and 3, with a pool of structs that are used again. */
static void tasks(int n, int pool)
{
	for (int i = 0; i < n; i++) {
		int s = call(SUBMIT, 1, 0, 0x1000000, key(i % pool), 7);

		call(QUEUE_PUT, 1, s, 0x2000000, key(i % pool), 0);
		s = call(RUN, 2 + i % 2, 0, key(i % pool), 0, 0);
		call(INNER, 2 + i % 2, s, 5, key(i % pool), 0);
	}
}

static void test_plain(void **state)
{
	char *text;

	(void)state;
	tasks(50, 50);
	text = suggested(CW_FORMAT_JSONL, 1);
	/* The outermost source that has the key, and the target that has it first. */
	has(text, "\"source\":\"submit\",\"source_arg\":2,\"target\":\"run\",\"target_arg\":1,"
		  "\"option\":\"--async-hop submit,2,run,1\",\"score\":1.0,\"matched\":50,"
		  "\"source_calls\":50,\"target_calls\":50,\"keys\":50");
	has(text, "\"delay_median_ns\":200,");
	has(text, "{\"side\":\"before\",\"function\":\"queue_put\",\"arg\":2,\"matched\":50,"
		  "\"calls\":50}");
	has(text,
	    "{\"side\":\"after\",\"function\":\"inner\",\"arg\":2,\"matched\":50,\"calls\":50}");
	free(text);
	text = suggested(CW_FORMAT_TEXT, 1);
	has(text, "\n  --async-hop submit,2,run,1\n");
	has(text, "target:\n  function: run\n\nhops:\n  - source: submit\n    source_arg: 2\n"
		  "    target: run\n    target_arg: 1\n");
	free(text);
}

static void test_modules(void **state)
{
	char *text;

	(void)state;
	run("INSERT INTO module(module_id, path, name) VALUES(1, '/bin/p', 'p'), (2, "
	    "'/lib/libq.so.1', "
	    "'libq.so.1'); UPDATE process SET exe = '/bin/p';"
	    "UPDATE probe SET module_id = iif(function IN ('run', 'inner'), 2, 1)");
	tasks(20, 20);
	text = suggested(CW_FORMAT_TEXT, 1);
	has(text, "\n  --async-hop submit,2,libq.so.1:run,1\n");
	has(text, "target:\n  function: run\n  module: libq.so.1\n\nhops:\n  - source: submit\n"
		  "    source_arg: 2\n    target: run\n    target_module: libq.so.1\n");
	free(text);
	text = suggested(CW_FORMAT_JSONL, 1);
	has(text, "\"source_module\":null,\"target_module\":\"libq.so.1\"");
	has(text, "\"option\":\"--async-hop submit,2,libq.so.1:run,1\"");
	free(text);
}

/* What other readers of YAML take for something else than a name. */
static void test_quoted_names(void **state)
{
	char *text;

	(void)state;
	run("UPDATE probe SET function = iif(function = 'submit', 'no', '0x1')"
	    " WHERE function IN ('submit', 'run')");
	tasks(20, 20);
	text = suggested(CW_FORMAT_TEXT, 1);
	has(text, "target:\n  function: \"0x1\"\n\nhops:\n  - source: \"no\"\n");
	free(text);
}

/* Structs that are used again go back to where they were made: that is no handoff. */
static void test_reuse(void **state)
{
	char *text;

	(void)state;
	tasks(200, 8);
	text = suggested(CW_FORMAT_CSV, 1);
	has(text, "\n1,0,submit,2,run,1,");
	free(text);
}

/* Freed memory begins a new life. */
static void test_freed(void **state)
{
	char *text;

	(void)state;
	/* As if everything had been queued when the capture began: all structs come up in run
	 * first. */
	for (int i = 0; i < 8; i++) {
		call(RUN, 2, 0, key(i), 0, 0);
		call(FREE, 2, 0, key(i), 0, 0);
	}
	for (int i = 0; i < 100; i++) {
		call(SUBMIT, 1, 0, 0x1000000, key(i % 8), 7);
		call(RUN, 2, 0, key(i % 8), 0, 0);
		call(FREE, 2, 0, key(i % 8), 0, 0);
	}
	text = suggested(CW_FORMAT_CSV, 1);
	has(text, "\n1,0,submit,2,run,1,");
	free(text);
}

static void test_chain(void **state)
{
	char *text;

	(void)state;
	/* Both handoffs go through queue_put; the second one begins inside the first one's target.
	 */
	for (int i = 0; i < 40; i++) {
		int s = call(SUBMIT, 1, 0, 0, key(i), 0);

		call(QUEUE_PUT, 1, s, 0x2000000, key(i), 0);
		s = call(TAKE, 2, 0, key(i), 0, 0);
		s = call(SUBMIT2, 2, s, key(1000 + i), 0, 0);
		call(QUEUE_PUT, 2, s, 0x2000040, key(1000 + i), 0);
		call(TAKE2, 3, 0, 0, 0, key(1000 + i));
	}
	/* The first one is less sure than the second one, and still comes first in the plan. */
	for (int i = 0; i < 8; i++)
		call(SUBMIT, 1, 0, 0, key(2000 + i), 0);
	text = suggested(CW_FORMAT_TEXT, 2);
	has(text, "--async-hop submit,2,take,1\n");
	has(text, "--async-hop submit2,1,take2,3\n");
	has(text, "function: take2\n\nhops:\n  - source: submit\n");
	has(text, "target_arg: 1\n  - source: submit2\n");
	free(text);
}

/* One handing over that shows in several values is one handoff. */
static void test_other_keys(void **state)
{
	char *text;

	(void)state;
	for (int i = 0; i < 40; i++) {
		int s;

		/* A tag beside the struct, and the node of a list in the register behind. */
		call(SUBMIT, 1, 0, 0x9000000 + 64 * i, key(i), key(5000 + i));
		s = call(TAKE, 2, 0, key(5000 + i), 0, 0);
		call(RUN, 2, s, key(i), 0x9000000 + 64 * i, 0);
	}
	text = suggested(CW_FORMAT_TEXT, 1);
	has(text, "another key: submit argument 2 -> run argument 1 (matched 40, keys=40)");
	has(text, "another key: submit argument 3 -> take argument 1 (matched 40, keys=40)");
	free(text);
}

/* The queues that the work goes through are passed on both sides, too. */
static void test_queues(void **state)
{
	char *text;

	(void)state;
	for (int i = 0; i < 80; i++) {
		call(QUEUE_PUT, 1, 0, 0x2000000 + 64 * (i % 4), key(i), 0);
		call(RUN, 2 + i % 4, 0, key(i), 0, 0);
		call(TAKE, 2 + i % 4, 0, 0x2000000 + 64 * (i % 4), 0, 0);
	}
	text = suggested(CW_FORMAT_CSV, 1);
	has(text, ",queue_put,2,run,1,");
	free(text);
}

/* The giver looks at it again while the taker is at work: what is called in there is that same
 * work. */
static void test_looked_at(void **state)
{
	char *text;

	(void)state;
	for (int i = 0; i < 40; i++) {
		int s;

		call(SUBMIT, 1, 0, key(i), 0, 0);
		s = call(RUN, 2, 0, key(i), 0, 0);
		call(OTHER, 1, 0, key(i), 0, 0);
		call(INNER, 2, s, key(i), 0, 0);
		run("UPDATE slice SET dur = 250 WHERE slice_id = %d", s);
	}
	text = suggested(CW_FORMAT_CSV, 1);
	has(text, ",submit,1,run,1,");
	free(text);
}

/* The same pointer all the way: each step is a handoff of its own. */
static void test_one_key(void **state)
{
	char *text;

	(void)state;
	for (int i = 0; i < 40; i++) {
		int s;

		call(SUBMIT, 1, 0, key(i), 0, 0);
		s = call(TAKE, 2, 0, key(i), 0, 0);
		call(SUBMIT2, 2, s, key(i), 0, 0);
		call(TAKE2, 3, 0, key(i), 0, 0);
	}
	text = suggested(CW_FORMAT_CSV, 2);
	has(text, ",submit,1,take,1,");
	has(text, ",take2,1,");
	assert_null(strstr(text, ",submit,1,take2,"));
	free(text);
}

static void test_no_handoff(void **state)
{
	(void)state;
	/* A constant, and objects that all threads use in the same way. */
	for (int i = 0; i < 200; i++) {
		int utid = 1 + i % 4, s;

		s = call(HANDLE, utid, 0, 0x5000000, i % 3, 0);
		call(LOCK_IT, utid, s, key(i / 2 % 10), 0, 0);
		call(WORK_ON_IT, utid, s, key(i / 2 % 10), 0x5000000, 0);
	}
	free(suggested(CW_FORMAT_TEXT, 0));
	/* Locks, by the name of who takes them. */
	for (int i = 0; i < 100; i++) {
		call(GIVE_UP, 1, 0, key(100 + i % 20), 0, 0);
		call(MUTEX, 1, 0, key(100 + i % 20), 0, 0);
		call(OTHER, 2, 0, key(100 + i % 20), 0, 0);
	}
	free(suggested(CW_FORMAT_TEXT, 0));
}

static void test_thin_evidence(void **state)
{
	(void)state;
	/* Two of a kind, three keys too few, and calls that mostly go elsewhere. */
	tasks(2, 2);
	free(suggested(CW_FORMAT_TEXT, 0));
	for (int i = 0; i < 30; i++) {
		call(LOCK_IT, 1, 0, key(100 + i % 2), 0, 0);
		call(WORK_ON_IT, 2, 0, key(100 + i % 2), 0, 0);
	}
	free(suggested(CW_FORMAT_TEXT, 0));
	for (int i = 0; i < 60; i++) {
		call(GIVE_UP, 1, 0, key(200 + i), 0, 0);
		call(OTHER, 2, 0, key(i % 6 ? 300 + i : 200 + i), 0, 0);
	}
	free(suggested(CW_FORMAT_TEXT, 0));
	for (int i = 0; i < 100; i++) {
		call(HANDLE, 1, 0, key(700 + i), 0, 0);
		call(INNER, 2, 0, key(i % 5 < 2 ? 700 + i : 900 + i), 0, 0);
	}
	free(suggested(CW_FORMAT_TEXT, 0));
	/* Another process's same address is another value. */
	run("UPDATE thread SET upid = 2 WHERE utid = 9");
	for (int i = 0; i < 60; i++) {
		call(TAKE2, 1, 0, key(500 + i), 0, 0);
		call(SUBMIT2, 9, 0, key(500 + i), 0, 0);
	}
	free(suggested(CW_FORMAT_TEXT, 0));
}

/* Small numbers meet by chance, unless the one thread wakes the other each time. */
static void test_small_numbers(void **state)
{
	char *text;

	(void)state;
	for (int i = 0; i < 40; i++) {
		call(SUBMIT, 1, 0, 100 + i, 0, 0);
		call(RUN, 2, 0, 100 + i, 0, 0);
	}
	free(suggested(CW_FORMAT_TEXT, 0));
	run("INSERT INTO waker(waker_id, utid, in_interrupt) VALUES(1, 1, 0);"
	    "INSERT INTO episode(utid, ts, waking_ts, state, preempted, waker_id)"
	    " SELECT 2, ts - 150, ts - 50, 1, 0, 1 FROM slice WHERE utid = 2");
	text = suggested(CW_FORMAT_CSV, 1);
	has(text, ",submit,1,run,1,");
	free(text);
}

/* A call that sleeps until the other one wakes it hands nothing over. */
static void test_wait(void **state)
{
	(void)state;
	for (int i = 0; i < 60; i++) {
		int s = call(TAKE, 2, 0, key(i % 6), 0, 0);

		call(GIVE_UP, 1, 0, key(i % 6), 0, 0);
		run("UPDATE slice SET dur = 150 WHERE slice_id = %d", s);
	}
	run("INSERT INTO waker(waker_id, utid, in_interrupt) VALUES(1, 1, 0);"
	    "INSERT INTO episode(utid, ts, waking_ts, state, preempted, waker_id)"
	    " SELECT 2, ts - 60, ts + 20, 1, 0, 1 FROM slice WHERE probe_id = %d",
	    GIVE_UP);
	free(suggested(CW_FORMAT_TEXT, 0));
}

/* Registers beyond a function's parameters hold what was left there. */
static void test_leftovers(void **state)
{
	char *text;

	(void)state;
	/* give_up has no arguments, but the register still holds what submit was called with. */
	for (int i = 0; i < 40; i++) {
		call(GIVE_UP, 1, 0, 0, key(i), 0);
		call(SUBMIT, 1, 0, 0x1000000, 0, 7);
		call(OTHER, 2, 0, key(i), 0, 0);
	}
	free(suggested(CW_FORMAT_TEXT, 1));
	run("UPDATE probe SET parameters = 0 WHERE function = 'give_up'");
	free(suggested(CW_FORMAT_TEXT, 0));
	run("UPDATE probe SET parameters = 2 WHERE function = 'give_up'");
	text = suggested(CW_FORMAT_CSV, 1);
	has(text, ",give_up,2,other,1,");
	free(text);
}

/*
 * A server of four workers, each with a queue of its own, that gets nodes from a list of free ones
 * and gives them back: give_up(socket) with submit(queue, node), then run(socket) and free it.
 */
static void connections(int n)
{
	for (int i = 0; i < n; i++) {
		int worker = i % 4, node = i % 8, s;

		s = call(GIVE_UP, 1, 0, 20 + i % 8, 0, 0);
		call(SUBMIT, 1, s, 0x3000000 + 64 * worker, key(node), 0);
		run("INSERT OR IGNORE INTO waker(waker_id, utid, in_interrupt) VALUES(1, 1, 0);"
		    "INSERT INTO episode(utid, ts, waking_ts, state, preempted, waker_id)"
		    " VALUES(%d, %lld, %lld, 1, 0, 1)",
		    2 + worker, (long long)now - 50, (long long)now + 1);
		s = call(HANDLE, 2 + worker, 0, 5, 0x3000000 + 64 * worker, 0);
		call(RUN, 2 + worker, s, 20 + i % 8, 0, 0);
		call(TAKE2, 2 + worker, s, 7, key(node), 0);
	}
}

static void test_free_list(void **state)
{
	char *text;

	(void)state;
	connections(100);
	text = suggested(CW_FORMAT_CSV, 1);
	has(text, "\n1,0,give_up,1,run,1,");
	free(text);
	/* The work is dear on the side that makes it, as if all had been queued at the begin. */
	run("UPDATE slice SET dur = 50 WHERE probe_id = %d", SUBMIT);
	text = suggested(CW_FORMAT_CSV, 1);
	has(text, "\n1,0,give_up,1,run,1,");
	free(text);
}

/* What a thread's queue is called is no work that it gets. */
static void test_own_queue(void **state)
{
	(void)state;
	for (int i = 0; i < 100; i++) {
		call(SUBMIT, 1, 0, 0x3000000 + 64 * (i % 4), 0, 0);
		call(RUN, 2 + i % 4, 0, 5, 0x3000000 + 64 * (i % 4), 0);
	}
	free(suggested(CW_FORMAT_TEXT, 0));
}

/* A few values that all threads go by, such as hashes, and the end of what was handed over. */
static void test_few_values(void **state)
{
	char *text;

	(void)state;
	for (int i = 0; i < 180; i++) {
		call(LOCK_IT, 2 + i % 4, 0, key(2000 + i % 8), 0, 0);
		for (int k = 0; k < 3; k++)
			call(WORK_ON_IT, 1, 0, key(k ? 3000 + 3 * i + k : 2000 + i % 8), 0, 0);
	}
	free(suggested(CW_FORMAT_TEXT, 0));
	run("DELETE FROM slice; UPDATE probe SET function = 'cache_free' WHERE function = 'take2'");
	connections(100);
	for (int i = 0; i < 10; i++)
		call(GIVE_UP, 1, 0, 20 + i % 8, 0, 0);
	run("UPDATE slice SET dur = 40 WHERE probe_id = %d", TAKE2);
	text = suggested(CW_FORMAT_CSV, 1);
	has(text, "\n1,0,give_up,1,run,1,");
	free(text);
}

/* Of two sources in a row the later one hands over, though a waking came a little early for it. */
static void test_two_in_a_row(void **state)
{
	char *text;

	(void)state;
	for (int i = 0; i < 100; i++) {
		call(GIVE_UP, 1, 0, 0, key(i % 20), 0);
		run("INSERT OR IGNORE INTO waker(waker_id, utid, in_interrupt) VALUES(1, 1, 0);"
		    "INSERT INTO episode(utid, ts, waking_ts, state, preempted, waker_id)"
		    " VALUES(2, %lld, %lld, 1, 0, 1)",
		    (long long)now, (long long)now + (i % 5 ? 150 : 50));
		call(SUBMIT, 1, 0, 0, key(i % 20), 0);
		call(RUN, 2, 0, key(i % 20), 0, 0);
	}
	text = suggested(CW_FORMAT_CSV, 1);
	has(text, ",submit,2,run,1,");
	free(text);
}

/* In a process that began within the capture nothing was queued before. */
static void test_fresh(void **state)
{
	static const char *const starts[] = {"NULL", "5", "2000"};

	(void)state;
	/* The pool of structs comes up in run first, which is much dearer than take. */
	for (int i = 0; i < 100; i++) {
		call(RUN, 1, 0, key(i % 8), 0, 0);
		call(TAKE, 2, 0, key(i % 8), 0, 0);
	}
	run("UPDATE slice SET dur = 290 WHERE probe_id = %d", RUN);
	run("UPDATE process SET start_ts = 10; UPDATE thread SET tid = 50 WHERE utid = 1;"
	    "INSERT INTO capture_info VALUES('boottime_offset_ns', '1000')");
	for (int i = 0; i < 3; i++) {
		char *text;

		run("UPDATE thread SET start_boottime = %s WHERE tid <> 50", starts[i]);
		text = suggested(CW_FORMAT_CSV, 1);
		has(text, i < 2 ? ",take,1,run,1," : ",run,1,take,1,");
		free(text);
	}
}

/* One function that serves two targets: each is judged by the calls that are left. */
static void test_two_targets(void **state)
{
	char *text;

	(void)state;
	for (int i = 0; i < 120; i++) {
		call(SUBMIT, 1, 0, 0x1000000, key(i), 0);
		call(i % 6 ? RUN : TAKE, i % 6 ? 2 : 3, 0, key(i), 0, 0);
	}
	text = suggested(CW_FORMAT_CSV, 2);
	has(text, ",submit,2,run,1,");
	has(text, ",submit,2,take,1,");
	free(text);
}

/* A call without a key says nothing of how often a key is handed over. */
static void test_no_key(void **state)
{
	(void)state;
	for (int i = 0; i < 40; i++) {
		call(SUBMIT, 1, 0, 0, key(i), 0);
		for (int k = 0; k < 5; k++)
			call(RUN, 2, 0, 0, 0, 0);
		call(RUN, 2, 0, key(i), 0, 0);
	}
	free(suggested(CW_FORMAT_TEXT, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_plain, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_modules, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_quoted_names, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_reuse, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_freed, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_chain, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_other_keys, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_queues, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_looked_at, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_one_key, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_no_handoff, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_thin_evidence, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_small_numbers, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_wait, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_leftovers, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_free_list, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_own_queue, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_two_in_a_row, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_few_values, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_fresh, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_two_targets, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_no_key, begin, tables_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
