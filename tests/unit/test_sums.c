/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/wait_sums.o analyze/wait_totals.o analyze/thread_sums.o analyze/queue_sums.o */
/* LINK: analyze/view_again.o analyze/hash.o */
/* The sums made in one pass are the rows of the views, over random tables that hold all the cases.
 */
#include <stdio.h>
#include "not_imported.h"
#include "queue_sums.h"
#include "random.h"
#include "tables_fixture.h"
#include "wait_sums.h"

#define THREADS 6
#define LENGTH  2000

static uint64_t seed;

static int64_t upto(int64_t n)
{
	return (int64_t)(random_next(&seed) % (uint64_t)n);
}

static bool one_in(int n)
{
	return !upto(n);
}

static int64_t value(const char *sql)
{
	sqlite3_stmt *s = NULL;
	int64_t n;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sqlite3_errmsg(db), sql);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return n;
}

static void names(void)
{
	run("INSERT INTO capture_info VALUES('start_ts', 0), ('end_ts', %d)", LENGTH);
	run("INSERT INTO syscall_name VALUES(1, 'futex'), (2, 'nanosleep'), (3, 'read')");
	run("INSERT INTO process(upid, pid, traced) VALUES(1, 50, 1), (2, 60, 0)");
	for (int i = 1; i <= THREADS; i++)
		run("INSERT INTO thread(utid, upid, tid, name, end_ts, traced) VALUES(%d, 1, %d,"
		    " nullif('t%d', 't3'), nullif(%d, 0), %d)",
		    i, 100 + i, i % 4, one_in(4) ? LENGTH - 100 : 0, i < THREADS);
	run("INSERT INTO sleep(sleep_id, syscall, arg1, arg2, user_stack_id, kernel_stack_id)"
	    " VALUES(1, 1, 64, 0, 1, 11), (2, 1, 128, 9, 2, 11), (3, 2, 0, 0, 1, 12),"
	    " (4, 3, 5, 0, NULL, NULL), (5, NULL, NULL, NULL, 3, 13), (6, 1, 64, 0, 2, 12)");
	run("INSERT INTO waker(waker_id, utid, in_interrupt, stack_id) VALUES(1, 1, 0, 1),"
	    " (2, 2, 0, 2), (3, 2, 0, 3), (4, NULL, 1, NULL), (5, 9, 0, 1)");
	run("INSERT INTO probe(probe_id, function, has_return, single_stepped, no_frame_pointers,"
	    " is_target) VALUES(1, 'a', 1, 0, 0, 1), (2, 'b', 1, 0, 0, 0), (3, 'c', 1, 0, 0, 1)");
	run("INSERT INTO hop_count VALUES(0, 'put', 'a', 0, 0, 0, 0, 0, 0, 0, 0, 0),"
	    " (1, 'put2', 'b', 0, 0, 0, 0, 0, 0, 0, 0, 0), (2, 'put3', 'c', 0, 0, 0, 0, 0, 0, 0,"
	    " 0, 0)");
}

/* A time off the CPU from ts on, with its parts; returns its end. */
static int64_t episode(int64_t id, int utid, int64_t ts)
{
	int64_t blocked = one_in(3) ? 0 : upto(60), runq = upto(20) * !one_in(3), preempted = 0;
	int64_t unknown = one_in(8) ? 1 + upto(15) : 0, hidden, state = 1, end;
	bool open;

	if (one_in(4)) {
		state = 0;
		preempted = 1 + upto(30);
		blocked = runq = 0;
	} else if (one_in(6)) {
		state = one_in(3) ? 2048 : -1;
	}
	open = one_in(state == 2048 ? 4 : 40);
	hidden = ts + (blocked + runq + preempted ? upto(blocked + runq + preempted + 1) : 0);
	end = ts + blocked + runq + preempted + unknown;
	run("INSERT INTO episode VALUES(%lld, %d, %lld, nullif(%d, 0), NULL, nullif(%lld, -1),"
	    " %lld, %d, nullif(%lld, -1), nullif(%lld, -1), nullif(%lld, -1), nullif(%lld, 0),"
	    " nullif(%lld, -1), 0, 0, nullif(%d, 0), nullif(%d, 0), nullif(%d, 0), %d)",
	    (long long)id, utid, (long long)ts, one_in(2), (long long)(open ? -1 : end),
	    (long long)state, preempted && one_in(2), (long long)(open ? -1 : blocked),
	    (long long)(open ? -1 : runq), (long long)(open ? -1 : preempted), (long long)unknown,
	    (long long)(unknown ? hidden : -1), state > 0 && state < 2048 ? (int)upto(7) : 0,
	    (int)upto(6), (int)upto(THREADS + 2), (int)upto(10));
	while (runq + preempted && one_in(2))
		run("INSERT INTO ran_later VALUES(%lld, %lld, %d, nullif(%d, 0))", (long long)id,
		    (long long)ts, (int)upto(5), (int)upto(4));
	return open ? ts : end;
}

/* A call with those nested in it; returns its end. */
static int64_t call(int utid, int64_t ts, int64_t length, int depth)
{
	int64_t at = ts + upto(length / 2 + 1), id;

	run("INSERT INTO slice(ts, dur, utid, probe_id, depth, no_return, oncpu_ns,"
	    " touched_by_loss) VALUES(%lld, nullif(%lld, -1), %d, %d, %d, nullif('%s', ''),"
	    " nullif(%d, -1), 0)",
	    (long long)ts, (long long)(one_in(9) ? -1 : length), utid, 1 + (int)upto(3), depth,
	    one_in(30) ? "capture end" : "", one_in(9) ? -1 : (int)upto(10));
	id = sqlite3_last_insert_rowid(db);
	run("UPDATE slice SET oncpu_ns = NULL WHERE dur IS NULL");
	if (depth < 3 && length > 8)
		call(utid, at, (ts + length - at) / 2, depth + 1);
	if (one_in(2))
		run("INSERT INTO edge(kind, plan_hop, key, target_arg, src_utid, src_ts, src_slice,"
		    " dst_utid, dst_ts, dst_slice, match, candidates, evidence) VALUES('async',"
		    " %d, %d, 1, %d, %lld, %lld, %d, %lld, %lld, '%s', 1, 'exact')",
		    (int)upto(3), (int)upto(20), 1 + (int)upto(THREADS),
		    (long long)(ts - upto(ts < 300 ? ts + 1 : 300)), (long long)(1 + upto(id)),
		    utid, (long long)ts, (long long)id, one_in(5) ? "all" : "newest");
	if (one_in(6))
		run("INSERT INTO unconsumed VALUES(%d, %d, %d, %lld, NULL, '%s')", (int)upto(3),
		    (int)upto(20), utid, (long long)ts,
		    one_in(3)   ? "superseded"
		    : one_in(2) ? "expired"
				: "open at end");
	if (one_in(9))
		run("INSERT INTO unmatched VALUES(%d, %lld, 'no submission')", (int)upto(3),
		    (long long)id);
	return ts + length;
}

/* Rows by number are in order of time, as import numbers them, or not. */
static void fill(uint64_t from, bool ordered)
{
	seed = from;
	tables_new();
	names();
	for (int utid = 1; utid <= THREADS; utid++) {
		for (int64_t ts = upto(50); ts < LENGTH;)
			ts = episode(ordered ? ts * THREADS + utid : -(ts * THREADS + utid), utid,
				     ts) +
			     1 + upto(40);
		for (int64_t ts = upto(50); ts < LENGTH;)
			ts = call(utid, ts, 1 + upto(200), 0) + upto(30);
	}
	if (!ordered)
		return;
	run("CREATE TEMP TABLE renumbered AS SELECT slice_id AS was, row_number() OVER"
	    " (ORDER BY ts, depth) AS number FROM slice;"
	    "UPDATE slice SET slice_id = -(SELECT number FROM renumbered WHERE was = slice_id);"
	    "UPDATE slice SET slice_id = -slice_id;"
	    "UPDATE edge SET src_slice = (SELECT number FROM renumbered WHERE was = src_slice),"
	    " dst_slice = (SELECT number FROM renumbered WHERE was = dst_slice);"
	    "UPDATE unmatched SET slice_id = (SELECT number FROM renumbered WHERE was = slice_id)");
}

/* Two queries give the same rows, and some. */
static void same_rows(const char *a, const char *b)
{
	char *sql = NULL;

	assert_true(asprintf(&sql,
			     "SELECT count(*) FROM (SELECT * FROM (SELECT * FROM %s EXCEPT"
			     " SELECT * FROM %s) UNION ALL SELECT * FROM (SELECT * FROM %s"
			     " EXCEPT SELECT * FROM %s))",
			     a, b, b, a) >= 0);
	if (value(sql))
		fail_msg("%lld rows of %s and %s differ", (long long)value(sql), a, b);
	free(sql);
	assert_true(asprintf(&sql, "SELECT count(*) - (SELECT count(*) FROM %s) FROM %s", a, b) >=
		    0);
	assert_int_equal(value(sql), 0);
	free(sql);
	assert_true(asprintf(&sql, "SELECT count(*) FROM %s", a) >= 0);
	assert_true(value(sql) > 1);
	free(sql);
}

/* The temporary table has the rows of the view it hides. */
static void same(const char *name, const char *filter)
{
	run("CREATE TEMP VIEW hidden AS SELECT * FROM main.%s %s", name, filter);
	run("CREATE TEMP VIEW hides AS SELECT * FROM temp.%s", name);
	same_rows("hidden", "hides");
	run("DROP VIEW hidden; DROP VIEW hides");
}

static void waits_are_those_of_the_views(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		fill(i, i % 3 != 2);
		assert_int_equal(cw_wait_sums(db), 0);
		same("hop_time", "");
		same("function_time", "");
		same("thread_time", "");
		same("hop_wait", "");
		same("function_wait", "");
		same("offcpu_stack", "");
		assert_true(value("SELECT count(*) FROM hop_wait") > 5);
		assert_true(value("SELECT count(*) FROM offcpu_stack WHERE plan_hop IS NULL AND"
				  " probe_id IS NULL") > 3);
		tables_free(NULL);
	}
}

/* What view wait_part says of all traced threads, and blocked_reason of wakers. */
static void all_waits_are_there(void **state)
{
	(void)state;
	fill(99, true);
	assert_int_equal(cw_wait_sums(db), 0);
	run("CREATE TEMP VIEW parts AS SELECT w.class, w.reason, w.other_utid, sum(w.ns),"
	    " count(*) FROM wait_part w JOIN thread t USING(utid) WHERE t.traced GROUP BY 1, 2, 3;"
	    "CREATE TEMP VIEW sums AS SELECT class, reason, other_utid, sum(ns), sum(parts)"
	    " FROM wait_named WHERE scope = 0 GROUP BY 1, 2, 3;");
	run("CREATE TEMP VIEW woken AS SELECT b.class, b.reason, e.waker_id,"
	    " sum(coalesce(b.dur, 0)), count(*) FROM blocked_reason b JOIN episode e"
	    " USING(offcpu_id) WHERE e.waker_id IS NOT NULL GROUP BY 1, 2, 3;"
	    "CREATE TEMP VIEW wakers AS SELECT r.class, r.reason, s.id, sum(s.ns), sum(s.parts)"
	    " FROM wait_sum s JOIN place_reason r USING(place) WHERE s.scope = 3 GROUP BY 1, 2, 3");
	run("CREATE TEMP VIEW slept AS SELECT b.class, b.user_stack_id, b.utid, b.waker_utid,"
	    " sum(b.dur), count(*), max(b.dur) FROM blocked_reason b WHERE b.dur > 0"
	    " GROUP BY 1, 2, 3, 4;"
	    "CREATE TEMP VIEW sleeps AS SELECT r.class, r.user_stack_id, s.id, s.other_utid,"
	    " sum(s.ns), sum(s.parts), max(s.longest) FROM wait_sum s JOIN place_reason r"
	    " USING(place) WHERE s.scope = 4 GROUP BY 1, 2, 3, 4");
	same_rows("parts", "sums");
	same_rows("woken", "wakers");
	same_rows("slept", "sleeps");
	tables_free(NULL);
}

/* The steps that the drawing of a queue stands for, at most and last in each part of the capture.
 */
static const char slots[] =
	"CREATE TEMP VIEW slot AS WITH run AS (SELECT plan_hop, ts / 20 AS slot, what,"
	" sum(d_pending) OVER o AS pending, sum(d_active) OVER o AS active FROM main.queue_event"
	" WINDOW o AS (PARTITION BY plan_hop ORDER BY ts ROWS UNBOUNDED PRECEDING))"
	" SELECT plan_hop, slot, sum(what = 'submit'), sum(what = 'start'), sum(what = 'done')"
	" FROM run GROUP BY 1, 2;"
	"CREATE TEMP VIEW after AS SELECT k.plan_hop, k.slot, sum(d_pending) AS pending,"
	" sum(d_active) AS active FROM queue_slot k JOIN main.queue_event e"
	" ON e.plan_hop = k.plan_hop AND e.ts / 20 <= k.slot GROUP BY 1, 2";

static void queues_are_those_of_the_views(void **state)
{
	(void)state;
	for (uint64_t i = 0; i < 4; i++) {
		fill(1000 + i, true);
		assert_int_equal(cw_queue_sums(db, LENGTH / 20), 0);
		same("queue_sum", "WHERE part = -1");
		run("%s", slots);
		assert_int_equal(
			value("SELECT count(*) FROM (SELECT * FROM slot EXCEPT SELECT"
			      " plan_hop, slot, submitted, started, done FROM queue_slot)"),
			0);
		assert_int_equal(value("SELECT count(*) FROM after JOIN queue_slot USING(plan_hop,"
				       " slot) WHERE after.pending <> pending_after"
				       " OR after.active <> active_after"),
				 0);
		assert_int_equal(value("SELECT max(pending) FROM queue_slot WHERE plan_hop = 1"),
				 value("SELECT peak_pending FROM queue_sum WHERE plan_hop = 1"));
		assert_true(value("SELECT sum(started) FROM queue_sum") > 20);
		tables_free(NULL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_are_those_of_the_views),
		cmocka_unit_test(all_waits_are_there),
		cmocka_unit_test(queues_are_those_of_the_views),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
