/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/diagnostics.o analyze/queue_sums.o analyze/hash.o */
/* LINK: analyze/report_options.o analyze/report_sections.o */
/* The figures of queue_diagnostics over hand-filled tables, and when a diagnosis is given. */
#include <stdio.h>
#include <string.h>
#include "diagnostics.h"
#include "not_imported.h"
#include "report.h"
#include "tables_fixture.h"

#define MS 1000000ll

static int slices;

/* A capture of two seconds, with one process of ten threads and two hops: put, take, put2, take2.
 */
static int begin(void **state)
{
	(void)state;
	tables_new();
	slices = 0;
	run("INSERT INTO capture_info VALUES('start_ts', 0), ('end_ts', %lld)", 2000 * MS);
	run("INSERT INTO syscall_name VALUES(202, 'futex')");
	run("INSERT INTO sleep(sleep_id, syscall) VALUES(202, 202), (35, 35)");
	run("INSERT INTO process(upid, pid, traced) VALUES(1, 50, 1)");
	run("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 10)"
	    " INSERT INTO thread(utid, upid, tid, traced) SELECT i, 1, 100 + i, 1 FROM c");
	run("INSERT INTO hop_count VALUES(0, 'put', 'take', 0, 0, 0, 0, 0, 0, 0, 0, 0),"
	    " (1, 'put2', 'take2', 0, 0, 0, 0, 0, 0, 0, 0, 0)");
	return 0;
}

/* A call; dur_ms < 0: it is in it to the end of the capture. Returns its number. */
static int call(int utid, int parent, int64_t ms, int64_t dur_ms)
{
	slices++;
	run("INSERT INTO slice(slice_id, ts, dur, utid, probe_id, depth, parent_id, no_return, "
	    "touched_by_loss) VALUES(%d, %lld, nullif(%lld, %lld), %d, 1, 0, nullif(%d, 0), %s, 0)",
	    slices, (long long)ms * MS, (long long)dur_ms * MS,
	    (long long)(dur_ms < 0 ? dur_ms * MS : -1), utid, parent,
	    dur_ms < 0 ? "'capture end'" : "NULL");
	return slices;
}

/* A handoff from a call inside of parent to a new call, which is returned. */
static int hand(int hop, int key, int from, int parent, int64_t submit_ms, int to, int64_t start_ms,
		int64_t dur_ms)
{
	int source = call(from, parent, submit_ms, 0), target = call(to, 0, start_ms, dur_ms);

	run("INSERT INTO edge(kind, plan_hop, key, target_arg, src_utid, src_ts, src_slice, "
	    "dst_utid,"
	    " dst_ts, dst_slice, match, candidates, evidence) VALUES('async', %d, %d, 1, %d, %lld, "
	    "%d,"
	    " %d, %lld, %d, 'newest', 1, 'exact')",
	    hop, key, from, (long long)submit_ms * MS, source, to, (long long)start_ms * MS,
	    target);
	return target;
}

static int64_t value(int hop, int interval, const char *column)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "SELECT %s FROM queue_diagnostics WHERE plan_hop = %d AND interval IS nullif(%d, "
		 "-1)",
		 column, hop, interval);
	return cw_query_int(db, sql, -999);
}

static void diagnosis_is(int hop, int interval, const char *wanted)
{
	char sql[256];

	snprintf(sql, sizeof(sql), "diagnosis = '%s'", wanted);
	assert_int_equal(value(hop, interval, sql), 1);
}

static void test_counts(void **state)
{
	int a, b;

	(void)state;
	/* Two in a row by one worker: the second waits 30 ms. Work ends at the next handoff. */
	a = hand(0, 11, 1, 0, 10, 2, 12, 40);
	b = hand(0, 12, 1, 0, 20, 2, 52, 20);
	hand(1, 21, 2, a, 42, 3, 45, 100);
	hand(1, 22, 2, b, 70, 3, 150, -1); /* still at it */
	run("INSERT INTO unconsumed VALUES(0, 13, 1, %lld, NULL, 'open at end')", 1500 * MS);

	assert_int_equal(value(0, -1, "submitted"), 3);
	assert_int_equal(value(0, -1, "started"), 2);
	assert_int_equal(value(0, -1, "completed"), 2);
	assert_int_equal(value(0, -1, "pending"), 1);
	assert_int_equal(value(0, -1, "peak_pending"), 1);
	assert_int_equal(value(0, -1, "active"), 0);
	assert_int_equal(value(0, -1, "peak_active"), 1);
	assert_int_equal(value(0, -1, "queue_total_ns"), 34 * MS);
	assert_int_equal(value(0, -1, "queue_average_ns"), 17 * MS);
	assert_int_equal(value(0, -1, "work_total_ns"), (30 + 18) * MS);
	assert_int_equal(value(0, -1, "worker_count"), 1);
	assert_int_equal(value(0, -1, "busiest_worker_tid"), 102);
	assert_int_equal(value(0, -1, "busiest_worker_started"), 2);
	assert_int_equal(value(0, -1, "busiest_worker_average_work_ns"), 24 * MS);
	/* From 20 to 52 one waited behind the only worker, which was in the target all along. */
	assert_int_equal(value(0, -1, "saturated_ns"), 32 * MS);
	assert_int_equal(value(1, -1, "active"), 1);
	assert_int_equal(value(1, -1, "completed"), 1);
	assert_int_equal(value(1, -1, "work_total_ns"), 100 * MS);
	assert_int_equal(value(1, -1, "no_handoff"), 0);
	assert_int_equal(value(0, -1, "no_handoff"), 0);
	diagnosis_is(0, -1, "none");
	/* What is over or begun in each second, and what it leaves to the next. */
	assert_int_equal(value(0, 0, "submitted"), 2);
	assert_int_equal(value(0, 1, "submitted"), 1);
	assert_int_equal(value(0, 1, "started"), 0);
	assert_int_equal(value(0, 0, "pending"), 0);
	assert_int_equal(value(0, 1, "pending"), 1);
	assert_int_equal(value(1, 1, "peak_active"), 1);
	assert_int_equal(value(1, 1, "worker_count"), 0);
	assert_int_equal(value(0, 1, "queue_average_ns"), -999); /* NULL */
}

static void test_anomalies(void **state)
{
	int lone;

	(void)state;
	/* The same key twice: the newer one is taken, the older one superseded at that moment. */
	run("INSERT INTO unconsumed VALUES(0, 11, 1, %lld, NULL, 'superseded')", 10 * MS);
	hand(0, 11, 1, 0, 20, 2, 30, 10); /* and ends without handing off */
	/* Another process with this key does not matter. */
	run("INSERT INTO process(upid, pid, traced) VALUES(2, 60, 1);"
	    "INSERT INTO thread(utid, upid, tid, traced) VALUES(20, 2, 200, 1)");
	run("INSERT INTO unconsumed VALUES(0, 11, 20, %lld, NULL, 'open at end')", 15 * MS);
	run("INSERT INTO unconsumed VALUES(0, 11, 20, %lld, NULL, 'superseded')", 5 * MS);
	hand(0, 11, 20, 0, 40, 20, 90, 1);
	assert_int_equal(cw_query_int(db,
				      "SELECT leave_ts FROM queue_task WHERE src_utid = 20"
				      " AND fate = 'superseded'",
				      0),
			 90 * MS);
	/* Nobody came for this one. */
	run("INSERT INTO capture_info VALUES('async_max_age_ns', %lld)", 500 * MS);
	run("INSERT INTO unconsumed VALUES(0, 14, 1, %lld, NULL, 'expired')", 100 * MS);
	lone = call(2, 0, 1200, 5);
	run("INSERT INTO unmatched VALUES(0, %d, 'no submission')", lone);
	run("INSERT INTO loss VALUES(%lld, %lld, 'probe_entry', 0, 'ring full', 7),"
	    " (1, 2, 'sched_switch', 0, 'ring full', 9)",
	    1100 * MS, 1150 * MS);

	assert_int_equal(value(0, -1, "submitted"), 6);
	assert_int_equal(value(0, -1, "duplicate_keys"), 3);
	assert_int_equal(value(0, -1, "superseded"), 2);
	assert_int_equal(value(0, -1, "expired"), 1);
	assert_int_equal(value(0, -1, "no_handoff"), 2);
	assert_int_equal(value(0, -1, "unmatched_targets"), 1);
	assert_int_equal(value(0, -1, "dropped"), 7);
	assert_int_equal(value(0, -1, "pending"), 1);
	assert_int_equal(value(0, -1, "peak_pending"), 4);
	assert_int_equal(value(0, 0, "unmatched_targets"), 0);
	assert_int_equal(value(0, 1, "unmatched_targets"), 1);
	assert_int_equal(value(0, 0, "dropped"), 0);
	assert_int_equal(value(0, 1, "dropped"), 7);
	assert_int_equal(value(1, -1, "unmatched_targets"), 0);
}

/* n tasks, one every gap ms, for workers that need work ms each and take them in order. */
static void load(int n, int workers, int64_t gap, int64_t work)
{
	int64_t free_at[10] = {0};

	for (int i = 0; i < n; i++) {
		int64_t submit = 1 + i * gap, *at = &free_at[i % workers];
		int64_t start = submit + 1 > *at ? submit + 1 : *at + 1;

		hand(1, 100 + i, 1, 0, submit, 2 + i % workers, start, work);
		*at = start + work;
	}
}

static void test_calm(void **state)
{
	(void)state;
	load(50, 2, 20, 5);
	diagnosis_is(1, -1, "none");
	assert_int_equal(value(1, -1, "saturated_ns"), 0);
}

static void test_backlog(void **state)
{
	(void)state;
	load(90, 2, 10, 30);
	diagnosis_is(1, -1, "backlog+saturation");
	diagnosis_is(0, -1, "none");
	assert_int_equal(value(1, -1, "worker_count"), 2);
}

static void test_saturation(void **state)
{
	(void)state;
	/* One worker is always a bit late, but what waits does not grow: each comes when one is
	 * half done. */
	load(90, 1, 20, 19);
	run("UPDATE edge SET src_ts = src_ts - %lld WHERE src_ts > %lld", 10 * MS, 20 * MS);
	diagnosis_is(1, -1, "saturation");
}

static void test_bursts(void **state)
{
	(void)state;
	/* Eight at once for two workers, done before the next eight come: nothing grows. */
	for (int i = 0; i < 10; i++)
		for (int k = 0; k < 8; k++)
			hand(1, 100 + 8 * i + k, 1, 0, 1 + 100 * i, 2 + k % 2,
			     2 + 100 * i + k / 2 * 4, 3);
	diagnosis_is(1, -1, "none");
	/* A little more at the end than at the start, but fewer than there are workers. */
	run("DELETE FROM edge; DELETE FROM slice");
	slices = 0;
	for (int i = 0; i < 30; i++)
		hand(1, 100 + i, 1, 0, 1 + 20 * i, 2 + i % 5, i < 15 ? 2 + 20 * i : 43 + 20 * i, 1);
	assert_int_equal(value(1, -1, "late_pending > 2 * early_pending AND late_pending > 2"), 1);
	diagnosis_is(1, -1, "none");
}

static void test_contention(void **state)
{
	(void)state;
	load(50, 2, 20, 10);
	/* 3 of 10 ms of the work of each second worker's task in a futex, and once outside of any
	 * work. */
	run("INSERT INTO episode(utid, ts, end_ts, state, preempted, sleep_id)"
	    " SELECT dst_utid, dst_ts + %lld, dst_ts + %lld, 1, 0, 202 FROM edge",
	    2 * MS, 4 * MS);
	run("INSERT INTO episode(utid, ts, end_ts, state, preempted, sleep_id)"
	    " SELECT dst_utid, dst_ts + %lld, dst_ts + %lld, 1, 0, 202 FROM edge",
	    11 * MS, 15 * MS);
	run("INSERT INTO episode(utid, ts, end_ts, state, preempted, sleep_id)"
	    " SELECT dst_utid, dst_ts + %lld, dst_ts + %lld, 1, 0, 35 FROM edge",
	    5 * MS, 9 * MS);
	assert_int_equal(value(1, -1, "futex_waits"), 50);
	assert_int_equal(value(1, -1, "futex_wait_ns"), 50 * 2 * MS);
	diagnosis_is(1, -1, "lock contention");
	run("UPDATE episode SET end_ts = ts + 1 WHERE sleep_id = 202");
	diagnosis_is(1, -1, "none");
}

static char *printed(enum cw_format format, uint64_t interval_ns, int wanted)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(cw_diagnostics_print(db, format, interval_ns, f), wanted);
	fclose(f);
	return text;
}

static int count(const char *text, const char *what)
{
	int n = 0;

	while ((text = strstr(text, what))) {
		text += strlen(what);
		n++;
	}
	return n;
}

static void test_print(void **state)
{
	char *text;

	(void)state;
	load(50, 2, 20, 5);
	text = printed(CW_FORMAT_JSONL, 0, 0);
	assert_int_equal(count(text, "\n"), 1);
	assert_int_equal(count(text, "\"type\":\"queue_diagnostics\""), 1);
	assert_int_equal(count(text, "\"submitted\":50,\"started\":50,\"completed\":50"), 1);
	free(text);
	/* The interval is ours, whatever the view's is; the last one is what remains. */
	text = printed(CW_FORMAT_JSONL, 300 * MS, 0);
	assert_int_equal(count(text, "\"type\":\"queue_snapshot\""), 7);
	assert_int_equal(count(text, "\"ts\":1800000000,\"end_ts\":2000000000"), 1);
	free(text);
	text = printed(CW_FORMAT_CSV, 1000 * MS, 0);
	assert_int_equal(count(text, "\n"), 1 + 2 * 3 + 2);
	free(text);
	text = printed(CW_FORMAT_TEXT, 1000 * MS, 0);
	assert_int_equal(count(text, "queue snapshot"), 3);
	assert_int_equal(count(text, "diagnosis=none"), 8);
	assert_non_null(strstr(text, "queue 1 put2 -> take2 submitted=50 started=50 completed=50"));
	free(text);
	free(printed(CW_FORMAT_TEXT, 10000, -EINVAL));
	run("DELETE FROM hop_count");
	text = printed(CW_FORMAT_JSONL, 0, 0);
	assert_string_equal(text, "");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_counts, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_anomalies, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_calm, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_backlog, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_saturation, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_bursts, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_contention, begin, tables_free),
		cmocka_unit_test_setup_teardown(test_print, begin, tables_free),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
