/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/follow_queues.o analyze/follow_totals.o analyze/report_totals.o analyze/ranks.o */
/* LINK: analyze/report_select.o analyze/hash.o analyze/say.o analyze/print.o */
/* LINK: analyze/schema_doc.o */
/* What follow counts on its way: queues by a known story, durations against sorted ones. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <math.h>
#include <stdlib.h>
#include "follow.h"
#include "identity.h"
#include "schema_doc.h"

#define MS 1000000ull

static sqlite3 *db;
static struct cw_sums *sums; /* whose tables queues read, too */
static struct cw_proc process = {.pid = 7};
static struct cw_task workers[2] = {{.process = &process, .utid = 1, .tid = 11},
				    {.process = &process, .utid = 2, .tid = 12}};

static int start(void **state)
{
	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, cw_schema_text(), NULL, NULL, NULL), SQLITE_OK);
	assert_int_equal(
		sqlite3_exec(db,
			     "INSERT INTO hop_count VALUES(0, 'put', 'work', 0, 0, 0, 0,"
			     " 0, 0, 0, 0, 0), (1, 'pass', 'end', 0, 0, 0, 0, 0, 0, 0, 0, 0)",
			     NULL, NULL, NULL),
		SQLITE_OK);
	return cw_report_live_begin(&(struct cw_report){.db = db}) || cw_sums_new(&sums, db);
}

static int stop(void **state)
{
	(void)state;
	cw_sums_free(sums);
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return 0;
}

static double value(const char *sql)
{
	sqlite3_stmt *s = NULL;
	double v;

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &s, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	v = sqlite3_column_type(s, 0) == SQLITE_NULL ? -1 : sqlite3_column_double(s, 0);
	sqlite3_finalize(s);
	return v;
}

static void expect(const char *column, int hop, int interval, double wanted)
{
	char sql[256];
	double got;

	snprintf(sql, sizeof(sql),
		 "SELECT %s FROM temp.queue_diagnostics WHERE plan_hop = %d"
		 " AND coalesce(interval, -1) = %d",
		 column, hop, interval);
	got = value(sql);
	if (fabs(got - wanted) > 1e-6)
		fail_msg("%s of hop %d, interval %d: %g, not %g", column, hop, interval, got,
			 wanted);
}

static void happens(struct cw_queues *qs, enum cw_queue_what what, uint64_t ms, int worker,
		    bool flag, uint64_t took_ms)
{
	struct cw_queue_event e = {
		.what = what,
		.flag = flag,
		.ts = ms * MS,
		.ns = took_ms * MS,
		.worker = worker < 0 ? NULL : &workers[worker],
		.futex_waits = what == CW_QUEUE_DONE ? 2 : 0,
		.futex_ns = what == CW_QUEUE_DONE ? MS : 0,
	};

	cw_queues_event(qs, &e);
}

/*
 * 0-100 ms: three tasks, one worker, which ends two of them; 100-200: the third, by another worker;
 * one more is superseded.
 */
static void queues_by_interval(void **state)
{
	struct cw_queues *qs = NULL;

	(void)state;
	assert_int_equal(cw_queues_new(&qs, db), 0);
	assert_false(cw_queues_started(qs));
	cw_queues_start(qs, 2, 1000 * MS, 100 * MS);
	assert_true(cw_queues_started(qs));
	happens(qs, CW_QUEUE_SUBMIT, 1010, -1, false, 0);
	happens(qs, CW_QUEUE_START, 1012, 0, true, 2);
	happens(qs, CW_QUEUE_SUBMIT, 1014, -1, false, 0);
	happens(qs, CW_QUEUE_SUBMIT, 1016, -1, true, 0);
	happens(qs, CW_QUEUE_DONE, 1032, 0, true, 20);
	happens(qs, CW_QUEUE_FREE, 1032, 0, true, 0);
	happens(qs, CW_QUEUE_START, 1034, 0, true, 20);
	happens(qs, CW_QUEUE_DONE, 1044, 0, true, 10);
	happens(qs, CW_QUEUE_FREE, 1044, 0, false, 0);
	happens(qs, CW_QUEUE_START, 1150, 1, true, 134);
	happens(qs, CW_QUEUE_SUBMIT, 1160, -1, false, 0);
	happens(qs, CW_QUEUE_DROP, 1170, -1, true, 0);
	happens(qs, CW_QUEUE_LONE, 1171, -1, false, 0);
	cw_queues_time(qs, 1180 * MS);
	assert_int_equal(cw_queues_write(qs), 2);
	expect("submitted", 0, 0, 3);
	expect("started", 0, 0, 2);
	expect("completed", 0, 0, 2);
	expect("pending", 0, 0, 1);
	expect("peak_pending", 0, 0, 2);
	expect("active", 0, 0, 0);
	expect("peak_active", 0, 0, 1);
	expect("queue_total_ns", 0, 0, 22 * MS);
	expect("work_average_ns", 0, 0, 15 * MS);
	expect("futex_waits", 0, 0, 4);
	expect("futex_ratio", 0, 0, 2.0 / 30);
	expect("duplicate_keys", 0, 0, 1);
	expect("no_handoff", 0, 0, 1);
	expect("worker_count", 0, 0, 1);
	expect("busiest_worker_tid", 0, 0, 11);
	expect("submit_rate", 0, 0, 30);
	/* Something waited while the only worker was busy: 1014 to 1032 and 1034 to 1044. */
	expect("saturated_ns", 0, 0, 28 * MS);
	expect("diagnosis = 'saturation'", 0, 0, 1);
	expect("submitted", 1, 0, 0);
	expect("diagnosis = 'none'", 1, 0, 1);

	cw_queues_end(qs, 1190 * MS);
	assert_int_equal(cw_queues_write(qs), 2);
	expect("end_ts - ts", 0, 1, 90 * MS);
	expect("pending", 0, 1, 0);
	expect("active", 0, 1, 1);
	expect("superseded", 0, 1, 1);
	expect("expired", 0, 1, 0);
	expect("unmatched_targets", 0, 1, 1);
	expect("completed", 0, 1, 0);
	expect("work_average_ns", 0, 1, -1);
	expect("busiest_worker_tid", 0, 1, 12);

	assert_int_equal(
		sqlite3_exec(db,
			     "INSERT INTO loss VALUES(1, 2, 'probe_entry', 0, 'ring full', 1),"
			     " (1, 2, 'probe_entry', 1, 'ring full', 2),"
			     " (1, 2, 'sched_switch', 1, 'ring full', 5)",
			     NULL, NULL, NULL),
		SQLITE_OK);
	assert_int_equal(cw_sums_rows(sums), 0);
	cw_queues_whole(qs, 1190 * MS);
	assert_int_equal(cw_queues_write(qs), 2);
	expect("submitted", 0, -1, 4);
	expect("started", 0, -1, 3);
	expect("worker_count", 0, -1, 2);
	expect("peak_pending", 0, -1, 2);
	expect("dropped", 0, -1, 3);
	cw_queues_free(qs);
}

/* What waits grows: the thirds are right however many submissions there are. */
static void backlog_of_many(void **state)
{
	struct cw_queues *qs = NULL;
	const int n = 30000;

	(void)state;
	assert_int_equal(cw_queues_new(&qs, db), 0);
	cw_queues_start(qs, 1, 1000 * MS, 0);
	happens(qs, CW_QUEUE_SUBMIT, 1000, -1, false, 0);
	happens(qs, CW_QUEUE_START, 1000, 0, true, 0);
	for (int i = 1; i < n; i++)
		happens(qs, CW_QUEUE_SUBMIT, 1001 + (uint64_t)i, -1, false, 0);
	cw_queues_end(qs, 40000 * MS);
	cw_queues_whole(qs, 40000 * MS);
	assert_int_equal(cw_queues_write(qs), 1);
	expect("submitted", 0, -1, n);
	assert_true(fabs(value("SELECT early_pending FROM temp.queue_diagnostics") - n / 6.0) <
		    n / 500);
	assert_true(fabs(value("SELECT late_pending FROM temp.queue_diagnostics") - n * 5 / 6.0) <
		    n / 500);
	expect("diagnosis = 'backlog+saturation'", 0, -1, 1);
	cw_queues_free(qs);
}

static int by_size(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Counts, averages and maxima are exact; percentiles are within half a percent, of any size. */
static void durations(void **state)
{
	enum { N = 5000 };
	static uint64_t ns[N];
	double sum = 0;

	(void)state;
	assert_int_equal(sqlite3_exec(db,
				      "INSERT INTO probe VALUES(1, 'f', 1, 0, 0, 1, 0, 0, 1, NULL)",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	srandom(5);
	for (int i = 0; i < N; i++) {
		char sql[256];

		ns[i] = (uint64_t)random() >> (random() % 31);
		sum += (double)ns[i];
		snprintf(sql, sizeof(sql),
			 "INSERT INTO slice(slice_id, ts, dur, utid, probe_id, depth, "
			 "touched_by_loss)"
			 " VALUES(%d, %d, %llu, 1, 1, 0, 0); INSERT INTO temp.item VALUES(%d, 0,"
			 " NULL, %d)",
			 i + 1, i, (unsigned long long)ns[i], i % 500 + 1, i + 1);
		assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
		cw_sums_call(sums, 1, i % 10 ? NULL : "longjmp");
		if (i % 500 != 499)
			continue;
		assert_int_equal(cw_sums_items(sums), 0);
		assert_int_equal(sqlite3_exec(db, "DELETE FROM temp.item", NULL, NULL, NULL),
				 SQLITE_OK);
	}
	qsort(ns, N, sizeof(*ns), by_size);
	assert_int_equal(cw_sums_write(sums), 0);
	assert_int_equal(value("SELECT n FROM temp.latency WHERE part = 'f'"), N);
	assert_true(fabs(value("SELECT avg FROM temp.latency") - sum / N) <= 1);
	assert_int_equal(value("SELECT max FROM temp.latency"), ns[N - 1]);
	assert_true(fabs(value("SELECT p50 FROM temp.latency") - (double)ns[N / 2 - 1]) <=
		    (double)ns[N / 2 - 1] / 200);
	assert_true(fabs(value("SELECT p99 FROM temp.latency") - (double)ns[N * 99 / 100 - 1]) <=
		    (double)ns[N * 99 / 100 - 1] / 200);
	assert_int_equal(value("SELECT n FROM temp.tally WHERE name = 'calls'"), N);
	assert_int_equal(value("SELECT n FROM temp.tally WHERE name = 'shown_calls'"), N);
	assert_int_equal(value("SELECT n FROM temp.no_return WHERE reason = 'longjmp'"), N / 10);
	assert_int_equal(value("SELECT count FROM temp.anomaly WHERE what LIKE '%longjmp'"),
			 N / 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(queues_by_interval, start, stop),
		cmocka_unit_test_setup_teardown(backlog_of_many, start, stop),
		cmocka_unit_test_setup_teardown(durations, start, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
