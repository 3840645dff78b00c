/* SPDX-License-Identifier: GPL-2.0-only */
/* The report as JSONL records and as CSV rows. SQLite makes the JSON; here are only the queries. */
#include <errno.h>
#include <string.h>
#include "report.h"
#include "say.h"

static const char *const hop_csv =
	"SELECT h.chain_id, hop_index, source, target, h.pid, source_tid, source_thread, "
	"target_tid,"
	" target_thread, key, target_arg, submit_ts, h.start_ts, h.end_ts, h.queue_ns, h.work_ns, "
	"oncpu_ns,"
	" blocked_ns, runq_ns, preempted_ns, unknown_ns, dominant, evidence, c.total_ns AS "
	"chain_total_ns,"
	" c.complete AS chain_complete, c.flags AS chain_flags"
	" FROM temp.item i JOIN chain c USING(chain_id) JOIN hop h USING(chain_id)"
	" ORDER BY i.seq, h.hop_index";

static const char *const call_csv =
	"SELECT c.slice_id AS call_id, c.ts, c.dur, c.pid, c.tid, c.thread_name, c.function, "
	"c.depth,"
	" c.parent_id, CASE WHEN c.ret IS NOT NULL THEN printf('0x%016x', c.ret) END AS ret,"
	" c.no_return, c.oncpu_ns, c.blocked_ns, c.runq_ns, c.preempted_ns, c.unknown_ns,"
	" c.touched_by_loss FROM temp.item i JOIN call c USING(slice_id) ORDER BY i.seq";

static const char *const records =
	"SELECT CASE WHEN i.chain_id IS NULL"
	" THEN (SELECT record_json FROM report_call_json c WHERE c.slice_id = i.slice_id)"
	" ELSE (SELECT record_json FROM report_chain_json c WHERE c.chain_id = i.chain_id) END"
	" FROM temp.item i ORDER BY i.seq";

/* Of the whole capture where nothing else is said: shown_* are what the filters let through. */
static const char *const summary =
	"SELECT json_object('type', 'summary',"
	" 'capture', (SELECT json_group_object(key, value) FROM capture_info WHERE key <> "
	"'cache_key' AND key NOT GLOB 'symbol_files.*'),"
	" 'shown_chains', (SELECT n FROM temp.tally WHERE name = 'shown_chains'),"
	" 'shown_calls', (SELECT n FROM temp.tally WHERE name = 'shown_calls'),"
	" 'chains', (SELECT n FROM temp.tally WHERE name = 'chains'),"
	" 'complete_chains', (SELECT n FROM temp.tally WHERE name = 'complete_chains'),"
	" 'flagged_chains', (SELECT n FROM temp.tally WHERE name = 'flagged_chains'),"
	" 'calls', (SELECT n FROM temp.tally WHERE name = 'calls'),"
	" 'no_return', (SELECT json_group_object(reason, n) FROM temp.no_return),"
	" 'hops', (SELECT json_group_array(json_object('index', plan_hop, 'source', source,"
	"   'target', target, 'submitted', submitted, 'matched', matched, 'unmatched_targets', "
	"unmatched,"
	"   'duplicate_keys', duplicate_keys, 'superseded', superseded, 'expired', expired,"
	"   'ambiguous', ambiguous, 'no_handoff', no_handoff, 'open_at_end', open_at_end,"
	"   'latency', (SELECT json_group_object(part, json_object('count', n, 'average_ns', avg,"
	"     'p50_ns', p50, 'p95_ns', p95, 'p99_ns', p99, 'max_ns', max))"
	"     FROM temp.latency l WHERE l.plan_hop = c.plan_hop)))"
	"   FROM (SELECT * FROM hop_count ORDER BY plan_hop) c),"
	" 'call_latency', (SELECT json_group_object(part, json_object('count', n, 'average_ns', "
	"avg,"
	"   'p50_ns', p50, 'p95_ns', p95, 'p99_ns', p99, 'max_ns', max))"
	"   FROM temp.latency WHERE plan_hop IS NULL),"
	" 'anomalies', (SELECT json_group_array(json_object('what', what, 'at', at, 'count', "
	"count))"
	"   FROM anomaly),"
	" 'losses', (SELECT json_group_array(json_object('kind', kind, 'cpu', cpu, 'reason', "
	"reason,"
	"   'count', count, 'ts', ts, 'end_ts', end_ts)) FROM loss))";

static int query_failed(struct cw_report *r)
{
	return cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(r->db));
}

/* Each row is one JSON text, a record. */
static int print_records(struct cw_report *r, const char *sql)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(r->db, &s, sql), rc = SQLITE_DONE;

	while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		cw_print_json(r->out, (const char *)sqlite3_column_text(s, 0) ?: "null");
		fputc('\n', r->out);
		err = cw_write_error(r->out);
	}
	sqlite3_finalize(s);
	if (!err && rc != SQLITE_DONE)
		err = query_failed(r);
	return err;
}

static int print_csv(struct cw_report *r)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(r->db, &s, r->async ? hop_csv : call_csv);
	long rows;

	if (err)
		return err;
	rows = cw_print_rows(r->db, s, CW_FORMAT_CSV, r->out);
	sqlite3_finalize(s);
	if (rows == -EBADMSG)
		return query_failed(r);
	return rows < 0 ? (int)rows : 0;
}

/* ---- views over tables --------------------------------------------------------------------------
 */

#define MANY 200 /* items that pay for the tables */

/* A temporary view with the text of the database's own: the names in it mean temporary ones first.
 */
static int put_before(sqlite3 *db, const char *view)
{
	sqlite3_stmt *s = NULL;
	const char *text, *body;
	char *sql = NULL;
	int err = cw_prepare(db, &s, "SELECT sql FROM main.sqlite_schema WHERE name = ?1");

	if (err)
		return err;
	sqlite3_bind_text(s, 1, view, -1, SQLITE_STATIC);
	text = sqlite3_step(s) == SQLITE_ROW ? (const char *)sqlite3_column_text(s, 0) : NULL;
	body = text ? strstr(text, " AS\n") : NULL;
	if (body)
		sql = sqlite3_mprintf("CREATE TEMP VIEW %s%s", view, body);
	sqlite3_finalize(s);
	err = sql ? cw_exec(db, sql)
		  : cw_fail(-EBADMSG, "the database has no view %s: import the capture again",
			    view);
	sqlite3_free(sql);
	return err;
}

int cw_report_json_begin(sqlite3 *db)
{
	static const char *const views[] = {"report_wait_json", "report_call_json",
					    "report_hop_json", "report_chain_json"};
	int err = cw_exec(
		db,
		"CREATE TEMP TABLE IF NOT EXISTS report_stack_json(stack_id INTEGER PRIMARY KEY,"
		" frames_json TEXT);"
		"CREATE TEMP TABLE report_clock AS SELECT * FROM main.report_clock");

	for (size_t i = 0; !err && i < sizeof(views) / sizeof(*views); i++)
		err = put_before(db, views[i]);
	return err;
}

int cw_report_json_update(sqlite3 *db, bool again)
{
	int err = again ? cw_exec(db, "DELETE FROM temp.report_stack_json") : 0;

	return err ? err
		   : cw_exec(db, "INSERT INTO temp.report_stack_json SELECT stack_id, frames_json"
				 " FROM main.report_stack_json WHERE stack_id NOT IN"
				 " (SELECT stack_id FROM temp.report_stack_json);"
				 "DELETE FROM temp.report_clock;"
				 "INSERT INTO temp.report_clock SELECT * FROM main.report_clock");
}

/* ---- printing -----------------------------------------------------------------------------------
 */

int cw_report_json_items(struct cw_report *r)
{
	return print_records(r, records);
}

int cw_report_json_summary(struct cw_report *r)
{
	return print_records(r, summary);
}

int cw_report_rows(struct cw_report *r)
{
	int err = 0;

	if (r->format == CW_FORMAT_CSV)
		return print_csv(r);
	if (cw_query_int(r->db, "SELECT count(*) FROM temp.item", 0) >= MANY) {
		err = cw_report_json_begin(r->db);
		if (!err)
			err = cw_report_json_update(r->db, false);
	}
	if (!err)
		err = cw_report_json_items(r);
	return err ? err : cw_report_json_summary(r);
}
