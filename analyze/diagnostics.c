/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns command diagnostics and the printing of views queue_task, queue_event and queue_diagnostics.
 * What the figures mean is in the schema; here is only how often they are worked out.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "commands.h"
#include "diagnostics.h"
#include "listing.h"
#include "queue_sums.h"
#include "report.h"
#include "say.h"

/* ---- working it out -----------------------------------------------------------------------------
 */

/* The interval as the view has it, which is what we replace in its text. */
static const char setting[] = "1000000000 AS interval_ns";

/* Text of a view's query with its interval replaced, malloc'ed; NULL when there is no such view. */
static char *view_query(sqlite3 *db, const char *view, uint64_t interval_ns)
{
	const char *sql, *body, *at;
	sqlite3_stmt *s = NULL;
	char *text = NULL;

	if (cw_prepare(db, &s, "SELECT sql FROM main.sqlite_schema WHERE name = ?1"))
		return NULL;
	sqlite3_bind_text(s, 1, view, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW) {
		sql = (const char *)sqlite3_column_text(s, 0);
		body = sql ? strstr(sql, " AS\n") : NULL;
		at = body ? strstr(body, setting) : NULL;
		if (at && asprintf(&text, "%.*s%" PRIu64 " AS interval_ns%s", (int)(at - body - 4),
				   body + 4, interval_ns, at + strlen(setting)) < 0)
			text = NULL;
		else if (body && !at)
			text = strdup(body + 4);
	}
	sqlite3_finalize(s);
	if (!text)
		cw_say("the database has no view %s: import the capture again", view);
	return text;
}

/* A temporary table or view in front of the view of this name: the same rows. */
static int put_before(sqlite3 *db, const char *kind, const char *view, uint64_t interval_ns)
{
	char *query = view_query(db, view, interval_ns), *sql = NULL;
	int err = -EBADMSG;

	if (query && asprintf(&sql, "CREATE TEMP %s %s AS %s", kind, view, query) >= 0) {
		err = cw_exec(db, sql);
		free(sql);
	}
	free(query);
	return err;
}

/*
 * The views are worked out once each: a view that is read from several places would be every time.
 * The temporary ones come before those of the database when SQLite looks up a name. interval_ns 0:
 * the whole capture only, which takes no views of every step.
 */
static int work_out(sqlite3 *db, uint64_t interval_ns)
{
	int err = cw_exec(db, "DROP TABLE IF EXISTS temp.queue_diagnostics;"
			      "DROP TABLE IF EXISTS temp.queue_sum;"
			      "DROP TABLE IF EXISTS temp.queue_slot;"
			      "DROP VIEW IF EXISTS temp.queue_event;"
			      "DROP TABLE IF EXISTS temp.queue_task");

	if (!err)
		err = put_before(db, "TABLE", "queue_task", interval_ns);
	if (!err && !interval_ns)
		err = cw_queue_sums(db, 1);
	if (!err && interval_ns)
		err = put_before(db, "VIEW", "queue_event", interval_ns);
	if (!err && interval_ns)
		err = put_before(db, "TABLE", "queue_sum", interval_ns);
	if (!err)
		err = put_before(db, "TABLE", "queue_diagnostics", interval_ns);
	return err;
}

/* ---- text ---------------------------------------------------------------------------------------
 */

static const char text_query[] =
	"SELECT plan_hop, source, target, interval, ts, submit_rate, start_rate, complete_rate, "
	"pending, peak_pending, active, peak_active, queue_average_ns, work_average_ns, "
	"worker_count, busiest_worker_tid, busiest_worker_started, "
	"busiest_worker_average_work_ns, 100 * futex_ratio, futex_waits, duplicate_keys, "
	"superseded, expired, unmatched_targets, no_handoff, dropped, diagnosis, submitted, "
	"started, completed, futex_wait_ns FROM temp.queue_diagnostics"
	" WHERE (interval IS NULL) = ?1 ORDER BY interval, plan_hop";

enum {
	HOP,
	SOURCE,
	TARGET,
	INTERVAL,
	TS,
	SUBMIT_RATE,
	START_RATE,
	COMPLETE_RATE,
	PENDING,
	PEAK_PENDING,
	ACTIVE,
	PEAK_ACTIVE,
	QUEUE,
	WORK,
	WORKERS,
	BUSIEST,
	BUSIEST_STARTED,
	BUSIEST_WORK,
	FUTEX_PERCENT,
	FUTEX_WAITS,
	DUPLICATE,
	SUPERSEDED,
	EXPIRED,
	UNMATCHED,
	NO_HANDOFF,
	DROPPED,
	DIAGNOSIS,
	SUBMITTED,
	STARTED,
	COMPLETED,
	FUTEX_NS,
};

static const char *text_of(sqlite3_stmt *s, int column)
{
	return (const char *)sqlite3_column_text(s, column) ?: "";
}

static void number_field(struct cw_text *t, sqlite3_stmt *s, const char *name, int column)
{
	char n[CW_DURATION_SIZE];

	cw_field(t, CW_PLAIN, "%s=%s", name, cw_number(n, sqlite3_column_int64(s, column)));
}

static void ns_field(struct cw_text *t, sqlite3_stmt *s, const char *name, int column)
{
	if (sqlite3_column_type(s, column) != SQLITE_NULL)
		cw_field_ns(t, name, true, sqlite3_column_int64(s, column));
}

/* What went wrong; said only when it did. */
static void doubt_field(struct cw_text *t, sqlite3_stmt *s, const char *name, int column)
{
	char n[CW_DURATION_SIZE];

	if (sqlite3_column_int64(s, column))
		cw_field(t, CW_WARN, "%s=%s", name, cw_number(n, sqlite3_column_int64(s, column)));
}

static void doubt_fields(struct cw_text *t, sqlite3_stmt *s)
{
	doubt_field(t, s, "duplicate-keys", DUPLICATE);
	doubt_field(t, s, "superseded", SUPERSEDED);
	doubt_field(t, s, "expired", EXPIRED);
	doubt_field(t, s, "unmatched", UNMATCHED);
	doubt_field(t, s, "no-handoff", NO_HANDOFF);
	doubt_field(t, s, "dropped", DROPPED);
}

static void rate_fields(struct cw_text *t, sqlite3_stmt *s)
{
	cw_field(t, CW_PLAIN, "submit=%.1f/s start=%.1f/s complete=%.1f/s",
		 sqlite3_column_double(s, SUBMIT_RATE), sqlite3_column_double(s, START_RATE),
		 sqlite3_column_double(s, COMPLETE_RATE));
	cw_field(t, CW_PLAIN, "pending=%lld/%lld", (long long)sqlite3_column_int64(s, PENDING),
		 (long long)sqlite3_column_int64(s, PEAK_PENDING));
	cw_field(t, CW_PLAIN, "active=%lld/%lld", (long long)sqlite3_column_int64(s, ACTIVE),
		 (long long)sqlite3_column_int64(s, PEAK_ACTIVE));
	ns_field(t, s, "queue", QUEUE);
	ns_field(t, s, "work", WORK);
}

static void diagnosis_field(struct cw_text *t, sqlite3_stmt *s)
{
	const char *diagnosis = text_of(s, DIAGNOSIS);

	cw_field(t, strcmp(diagnosis, "none") ? CW_WARN : CW_PLAIN, "diagnosis=%s", diagnosis);
}

static void whole_block(struct cw_text *t, sqlite3_stmt *s)
{
	char buf[CW_DURATION_SIZE];

	cw_line_begin(t, 0, CW_BOLD, "queue %d %s -> %s", sqlite3_column_int(s, HOP),
		      text_of(s, SOURCE), text_of(s, TARGET));
	number_field(t, s, "submitted", SUBMITTED);
	number_field(t, s, "started", STARTED);
	number_field(t, s, "completed", COMPLETED);
	diagnosis_field(t, s);
	cw_line_end(t);
	cw_line_begin(t, 2, CW_PLAIN, "whole capture");
	rate_fields(t, s);
	cw_line_end(t);
	cw_line_begin(t, 2, CW_PLAIN, "workers=%d", sqlite3_column_int(s, WORKERS));
	if (sqlite3_column_type(s, BUSIEST) != SQLITE_NULL) {
		cw_field(t, CW_PLAIN, "busiest=TID %lld (started %s,",
			 (long long)sqlite3_column_int64(s, BUSIEST),
			 cw_number(buf, sqlite3_column_int64(s, BUSIEST_STARTED)));
		cw_field(t, CW_PLAIN, "work %s on average)",
			 sqlite3_column_type(s, BUSIEST_WORK) == SQLITE_NULL
				 ? "unknown"
				 : cw_duration(buf, sqlite3_column_int64(s, BUSIEST_WORK)));
	}
	cw_field(t, CW_PLAIN, "futex-wait=%.1f %%", sqlite3_column_double(s, FUTEX_PERCENT));
	cw_field(t, CW_PLAIN, "(%s waits,", cw_number(buf, sqlite3_column_int64(s, FUTEX_WAITS)));
	cw_field(t, CW_PLAIN, "%s)", cw_duration(buf, sqlite3_column_int64(s, FUTEX_NS)));
	doubt_fields(t, s);
	cw_line_end(t);
}

static void interval_line(struct cw_text *t, sqlite3_stmt *s)
{
	char time[CW_TIME_SIZE];

	if (!sqlite3_column_int(s, HOP)) {
		cw_line_begin(t, 0, CW_DIM, "[%s] queue snapshot %lld",
			      cw_wall_time(time, t, sqlite3_column_int64(s, TS)),
			      (long long)sqlite3_column_int64(s, INTERVAL));
		cw_line_end(t);
	}
	cw_line_begin(t, 2, CW_PLAIN, "queue %d %s -> %s", sqlite3_column_int(s, HOP),
		      text_of(s, SOURCE), text_of(s, TARGET));
	rate_fields(t, s);
	cw_field(t, CW_PLAIN, "workers=%d", sqlite3_column_int(s, WORKERS));
	cw_field(t, CW_PLAIN, "futex-wait=%.1f %%", sqlite3_column_double(s, FUTEX_PERCENT));
	doubt_fields(t, s);
	diagnosis_field(t, s);
	cw_line_end(t);
}

static void text_init(sqlite3 *db, struct cw_text *t, FILE *out)
{
	cw_text_init(t, out, CW_COLOR_AUTO);
	t->wall_offset_ns = cw_query_int(db, "SELECT wall_offset_ns FROM report_clock", 0);
	t->utc_offset_s = cw_query_int(db, "SELECT utc_offset_s FROM report_clock", 0);
}

static int print_text(sqlite3 *db, struct cw_text *t, bool whole)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s, text_query);

	if (err)
		return err;
	sqlite3_bind_int(s, 1, whole);
	while (sqlite3_step(s) == SQLITE_ROW) {
		if (whole)
			whole_block(t, s);
		else
			interval_line(t, s);
	}
	sqlite3_finalize(s);
	return 0;
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

/* source_exit, and what has no fraction, are as live tools of this kind give them. */
static const char json_query[] =
	"SELECT json_object('type', CASE WHEN interval IS NULL THEN 'queue_diagnostics'"
	"  ELSE 'queue_snapshot' END, 'interval', interval,"
	" 'timestamp_ms', (end_ts + wall_offset_ns) / 1000000, 'ts', ts, 'end_ts', end_ts,"
	" 'hops', json_group_array(json(hop_json))) FROM (SELECT interval, q.ts, q.end_ts,"
	" w.wall_offset_ns, json_object('index', plan_hop, 'source', source, 'source_exit',"
	"  json('false'), 'target', target, 'submitted', submitted, 'started', started,"
	"  'completed', completed, 'pending', pending, 'peak_pending', peak_pending, 'active',"
	"  active, 'peak_active', peak_active, 'queue_total_ns', queue_total_ns,"
	"  'work_total_ns', work_total_ns, 'futex_waits', futex_waits, 'futex_wait_ns',"
	"  futex_wait_ns, 'duplicate_keys', duplicate_keys, 'expired', expired,"
	"  'unmatched_targets', unmatched_targets, 'dropped', dropped, 'worker_count',"
	"  worker_count, 'busiest_worker_tid', busiest_worker_tid, 'busiest_worker_started',"
	"  busiest_worker_started, 'busiest_worker_average_work_ns',"
	"  busiest_worker_average_work_ns, 'submit_rate', round(submit_rate, 3), 'start_rate',"
	"  round(start_rate, 3), 'complete_rate', round(complete_rate, 3), 'queue_average_ns',"
	"  queue_average_ns, 'work_average_ns', work_average_ns, 'futex_ratio',"
	"  round(futex_ratio, 6), 'superseded', superseded, 'no_handoff', no_handoff,"
	"  'saturated_ns', saturated_ns, 'diagnosis', diagnosis) AS hop_json"
	" FROM temp.queue_diagnostics q, report_clock w"
	" WHERE interval IS NULL OR ?1 ORDER BY interval IS NULL, interval, plan_hop)"
	" GROUP BY interval ORDER BY interval IS NULL, interval";

static const char csv_query[] = "SELECT * FROM temp.queue_diagnostics WHERE interval IS NULL OR ?1"
				" ORDER BY interval IS NULL, interval, plan_hop";

static int print_json(sqlite3 *db, sqlite3_stmt *s, FILE *out)
{
	int rc;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		cw_print_json(out, (const char *)sqlite3_column_text(s, 0) ?: "null");
		fputc('\n', out);
	}
	if (rc != SQLITE_DONE)
		return cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(db));
	return 0;
}

static int print_rows(sqlite3 *db, enum cw_format format, bool intervals, FILE *out)
{
	bool json = format == CW_FORMAT_JSONL;
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s, json ? json_query : csv_query);
	long rows;

	if (err)
		return err;
	sqlite3_bind_int(s, 1, intervals);
	if (json) {
		err = print_json(db, s, out);
	} else {
		rows = cw_print_rows(db, s, format, out);
		err = rows < 0 ? (int)rows : 0;
	}
	sqlite3_finalize(s);
	return err;
}

int cw_diagnostics_print_ready(sqlite3 *db, enum cw_format format, bool whole, FILE *out)
{
	struct cw_text t;

	if (format != CW_FORMAT_TEXT)
		return print_rows(db, format, !whole, out);
	text_init(db, &t, out);
	return print_text(db, &t, whole);
}

int cw_diagnostics_print(sqlite3 *db, enum cw_format format, uint64_t interval_ns, FILE *out)
{
	int64_t length = cw_query_int(db, "SELECT end_ts - start_ts FROM report_clock", 0);
	struct cw_text t;
	int err;

	if (!cw_query_int(db, "SELECT count(*) FROM hop_count", 0))
		return 0;
	if (interval_ns && (uint64_t)length / interval_ns >= CW_DIAGNOSTIC_INTERVALS)
		return cw_fail(-EINVAL,
			       "intervals of %.3f ms are too many for a capture of %.3f s: at most "
			       "%d are shown",
			       (double)interval_ns / 1e6, (double)length / 1e9,
			       CW_DIAGNOSTIC_INTERVALS);
	err = work_out(db, interval_ns);
	if (err || format != CW_FORMAT_TEXT)
		return err ? err : print_rows(db, format, interval_ns, out);
	text_init(db, &t, out);
	if (interval_ns)
		err = print_text(db, &t, false);
	return err ? err : print_text(db, &t, true);
}

/* ---- the command --------------------------------------------------------------------------------
 */

enum { OPT_INTERVAL = 0x100 };

static const struct argp_option options[] = {
	{"diagnostic-interval-ms", OPT_INTERVAL, "MS", 0,
	 "Length of the intervals shown before the whole capture (1000, or as recorded); 0: "
	 "none",
	 0},
	{0},
};

static const char doc[] =
	"Show what waited and what was worked on in the queue and the thread pool of each hop, and "
	"whether work piles up (backlog), all workers are busy while work waits (saturation), or "
	"the work waits for locks (lock contention). pending=N/PEAK and active=N/PEAK count at "
	"the end and at most."
	"\vExamples:\n"
	"  callweave-analyze diagnostics trace.cwc\n"
	"  callweave-analyze diagnostics trace.cwc --diagnostic-interval-ms 100\n"
	"  callweave-analyze diagnostics trace.cwc --diagnostic-interval-ms 0 --format jsonl\n"
	"  callweave-analyze sql trace.cwc 'SELECT * FROM queue_diagnostics'\n";

struct args {
	struct cw_listing listing;
	uint64_t interval_ns;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->listing;
		return 0;
	case OPT_INTERVAL:
		if (!cw_parse_ms(arg, &a->interval_ns))
			argp_error(state,
				   "--diagnostic-interval-ms %s: give milliseconds, such as 1000",
				   arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&cw_listing_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, "CAPTURE", doc, children, NULL, NULL};

/* cw_listing_run's. */
static int print(void *arg, sqlite3 *db, FILE *out)
{
	struct args *a = arg;
	struct cw_plan_filters filters;

	if (!cw_query_int(db, "SELECT count(*) FROM hop_count", 0))
		return cw_fail(-ENODATA,
			       "no hop was recorded: give one with --async-hop SOURCE,ARG,TARGET");
	if (a->interval_ns == CW_UNSET) {
		cw_capture_filters(db, cw_input_filters(&a->listing.input), &filters);
		a->interval_ns = filters.diagnostic_interval_ns ?: CW_DIAGNOSTIC_INTERVAL_NS;
	}
	return cw_diagnostics_print(db, a->listing.format, a->interval_ns, out);
}

int cw_cmd_diagnostics(int argc, char **argv)
{
	struct args a = {.interval_ns = CW_UNSET};

	return argp_parse(&argp, argc, argv, 0, NULL, &a) ? 2
							  : cw_listing_run(&a.listing, print, &a);
}
