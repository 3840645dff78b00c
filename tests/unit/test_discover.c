/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/discover.o analyze/report_stack.o */
/* Which waking counts for a call, and which function of the waker's is named. */
#include <stdio.h>
#include <string.h>
#include "discover.h"
#include "not_imported.h"
#include "tables_fixture.h"

static int episodes, wakers;

/* A frame of a user stack; inlined: the name of a function inlined at its place, or NULL. */
static void frame(int stack, int depth, int module, const char *function, const char *inlined)
{
	int id = 100 * stack + depth;

	run("INSERT INTO frame VALUES(%d, %d, %d, %d, 1);"
	    "INSERT INTO stack_frame VALUES(%d, %d, %d);"
	    "INSERT INTO symbol(frame_id, inline_depth, function) VALUES(%d, %d, '%s')",
	    id, module, id, id, stack, depth, id, id, inlined ? 1 : 0, function);
	if (inlined)
		run("INSERT INTO symbol(frame_id, inline_depth, function) VALUES(%d, 0, '%s')", id,
		    inlined);
}

enum { TARGET = 1, SUBMIT, HANDLER };

/* Threads 1-3 of one process, thread 9 of another; three functions; a stack that shows the
 * submitter. */
static int begin(void **state)
{
	(void)state;
	tables_new();
	episodes = wakers = 0;
	run("INSERT INTO process(upid, pid, traced) VALUES(1, 50, 1), (2, 60, 0);"
	    "INSERT INTO thread(utid, upid, tid, traced) VALUES(1, 1, 51, 1), (2, 1, 52, 1), (3, "
	    "1, 53, 1),"
	    " (9, 2, 61, 0);"
	    "INSERT INTO module(module_id, path, name) VALUES(1, '/bin/p', 'p'), (2, "
	    "'/lib/libc.so.6', "
	    "'libc.so.6');"
	    "INSERT INTO probe(probe_id, function, module_id, has_return, single_stepped, "
	    "no_frame_pointers, is_target) VALUES(1, 'target', 1, 1, 0, 0, 1), (2, 'submit', 1, 0, "
	    "0, 0, 0),"
	    " (3, 'handler', 1, 1, 0, 0, 0)");
	run("INSERT INTO stack VALUES(1, 1, 'user', 4, 0, 0, 0, 1, 0, 0, NULL, NULL), "
	    "(2, 1, 'user', 1, 0, 0, 0, 1, 0, 0, NULL, NULL)");
	frame(1, 0, 2, "some_syscall_of_libc", "futex_wake");
	frame(1, 1, 1, "enqueue", "queue_put");
	frame(1, 2, 1, "handler", NULL);
	frame(1, 3, 2, "start_thread", NULL);
	frame(2, 0, 2, "pthread_cond_signal", "futex_wake");
	return 0;
}

static void call(int probe, int utid, int64_t ts, int64_t dur)
{
	run("INSERT INTO slice(ts, dur, utid, probe_id, depth, touched_by_loss)"
	    " VALUES(%lld, nullif(%lld, -1), %d, %d, 0, 0)",
	    (long long)ts, (long long)dur, utid, probe);
}

/* Thread 1 slept from ts and was woken at waking by a thread (0: an interrupt) with a stack (0
 * none). */
static void slept(int64_t ts, int64_t waking, int by, int stack)
{
	episodes++;
	wakers++;
	run("INSERT INTO waker(waker_id, utid, in_interrupt, stack_id)"
	    " VALUES(%d, nullif(%d, 0), %d, nullif(%d, 0));"
	    "INSERT INTO episode(offcpu_id, utid, ts, waking_ts, end_ts, state, preempted, "
	    "waker_id)"
	    " VALUES(%d, 1, %lld, %lld, %lld, 1, 0, %d)",
	    wakers, by, !by, stack, episodes, (long long)ts, (long long)waking,
	    (long long)waking + 5, wakers);
}

static char *discovered(enum cw_format format, const char *function, int wanted)
{
	struct cw_discover d = {.function = function, .target_arg = 2, .top = 9};
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(cw_discover_print(db, format, &d, f), wanted);
	fclose(f);
	return text;
}

static void test_wakings(void **state)
{
	char *text;

	(void)state;
	slept(0, 100, 2, 1);
	call(TARGET, 1, 110, 90); /* woken at 100 */
	slept(120, 150, 3, 1);    /* within the call, which is over at 200 */
	call(TARGET, 1, 210, 10); /* without having slept since */
	slept(230, 300, 9, 0);
	slept(310, 320, 0, 0);
	call(TARGET, 1, 330, 10); /* the timer was last */
	slept(350, 360, 9, 0);
	call(TARGET, 1, 370, 10); /* another process */
	text = discovered(CW_FORMAT_JSONL, "target", 0);
	has(text, "\"calls\":4,\"woken_by\":{\"did not sleep\":1,\"interrupt\":1,\"other "
		  "process\":1,\"thread\":1}");
	/* The innermost function of the program's own that is no inlined one. */
	has(text, "\"rank\":1,\"function\":\"enqueue\",\"module\":\"p\",\"calls\":1,\"threads\":1,"
		  "\"wake_to_entry_average_ns\":10");
	has(text, "\"template\":\"--async-hop enqueue,?,target,2 target\"");
	has(text, "\"stack\":[{");
	free(text);
}

static void test_call_and_stack(void **state)
{
	char *text;

	(void)state;
	/* The stack shows nothing; the waker entered submit, which has no return probe. */
	call(HANDLER, 2, 50, 1000);
	call(SUBMIT, 2, 90, -1);
	slept(0, 100, 2, 2);
	call(TARGET, 1, 110, 5);
	/* The waker is in handler, and its stack knows a function inside of that. */
	call(HANDLER, 3, 200, 1000);
	slept(150, 300, 3, 1);
	call(TARGET, 1, 310, 5);
	/* What has returned is not where the waker is. */
	call(HANDLER, 3, 1300, 10);
	slept(1250, 1400, 3, 2);
	call(TARGET, 1, 1410, 5);
	/* submit twice more: ranked first. */
	for (int i = 0; i < 2; i++) {
		call(SUBMIT, 2, 2000 + 100 * i, -1);
		slept(1950 + 100 * i, 2010 + 100 * i, 2, 2);
		call(TARGET, 1, 2030 + 100 * i, 5);
	}
	text = discovered(CW_FORMAT_CSV, "target", 0);
	has(text, "\n1,submit,p,3,1,16,10,20,3,1,");
	has(text, "\n2,enqueue,p,1,1,10,10,10,0,0,");
	assert_null(strstr(text, "\n3,"));
	free(text);
	text = discovered(CW_FORMAT_TEXT, "target", 0);
	has(text, "5 calls of target: 5 woken by a thread of the process\n");
	has(text, "candidate source function: submit before 3 calls from 1 thread; ");
	has(text, "enqueue before 1 call from 1 thread; ");
	has(text, "had it in its stack (1 times inside of recorded calls, mostly of handler)\n");
	has(text, "\nsuggested template:\n  --async-hop submit,?,target,2 target\n");
	free(text);
}

static void test_unknown(void **state)
{
	char *text;

	(void)state;
	free(discovered(CW_FORMAT_TEXT, "nothing", -ENOENT));
	text = discovered(CW_FORMAT_TEXT, "target", 0);
	has(text, "No candidate");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_wakings, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_call_and_stack, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_unknown, begin, tables_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
