/* SPDX-License-Identifier: GPL-2.0-only */
/* Which chains and calls a report shows: the filters as SQL. Knows nothing of formats. */
#include <errno.h>
#include <string.h>
#include "report.h"
#include "say.h"

int cw_prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql)
{
	if (sqlite3_prepare_v2(db, sql, -1, out, NULL) == SQLITE_OK)
		return 0;
	return cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(db));
}

int cw_exec(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	return cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(db));
}

int64_t cw_query_int(sqlite3 *db, const char *sql, int64_t missing)
{
	sqlite3_stmt *stmt = NULL;
	int64_t value = missing;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

char *cw_query_text(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *stmt = NULL;
	char *text = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) == SQLITE_OK &&
	    sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
		text = strdup((const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return text;
}

bool cw_filters_chain(const struct cw_filters *f)
{
	return f->min_total_ns || f->min_queue_ns || f->min_work_ns || f->max_events;
}

bool cw_filters_any(const struct cw_filters *f)
{
	return cw_filters_chain(f) || f->from.set || f->to.set || f->pid || f->tid || f->function ||
	       f->has_key;
}

#define DAY 86400000000000ll

/* A moment as ts. A time of day is the first such one at or after the capture's start day. */
static int64_t moment_ts(struct cw_report *r, const struct cw_moment *m)
{
	int64_t start = cw_query_int(r->db, "SELECT start_ts FROM report_clock", 0);
	int64_t wall, offset, midnight;

	if (!m->wall)
		return start + m->ns;
	offset = cw_query_int(
		r->db, "SELECT wall_offset_ns + utc_offset_s * 1000000000 FROM report_clock", 0);
	wall = start + offset;
	midnight = wall - wall % DAY;
	/* A capture that began before midnight is asked for a time after it. */
	if (midnight + m->ns < wall &&
	    cw_query_int(r->db, "SELECT end_ts FROM report_clock", start) + offset >=
		    midnight + DAY + m->ns)
		midnight += DAY;
	return midnight + m->ns - offset;
}

static void add_time(struct cw_report *r, sqlite3_str *sql)
{
	const struct cw_filters *f = &r->filters;

	if (f->from.set)
		sqlite3_str_appendf(sql, " AND s.ts >= %lld", (long long)moment_ts(r, &f->from));
	if (f->to.set)
		sqlite3_str_appendf(sql, " AND s.ts <= %lld", (long long)moment_ts(r, &f->to));
}

/* One hop of the chain must satisfy the condition, in terms of h (path_hop) and e (edge). */
#define HOP_HAS(condition) \
	" AND EXISTS(SELECT 1 FROM path_hop h JOIN edge e USING(edge_id)" \
	" WHERE h.chain_id = p.chain_id AND (" condition "))"

/* The thread whose utid is given has this id, as the recorder's user saw it. */
#define PROCESS_IS(utid) \
	utid " IN (SELECT utid FROM thread t JOIN process p USING(upid)" \
	     " WHERE coalesce(p.rec_pid, p.pid) = %llu)"
#define THREAD_IS(utid) utid " IN (SELECT utid FROM thread WHERE coalesce(rec_tid, tid) = %llu)"

static void add_number(sqlite3_str *sql, const char *condition, uint64_t value)
{
	if (value)
		sqlite3_str_appendf(sql, condition, (unsigned long long)value,
				    (unsigned long long)value);
}

static void add_chain_conditions(const struct cw_filters *f, sqlite3_str *sql)
{
	add_number(sql, " AND p.queue_ns + coalesce(p.work_ns, 0) >= %llu", f->min_total_ns);
	add_number(sql, " AND p.max_queue_ns >= %llu", f->min_queue_ns);
	add_number(sql, " AND p.max_work_ns >= %llu", f->min_work_ns);
	add_number(sql, HOP_HAS(PROCESS_IS("e.src_utid") " OR " PROCESS_IS("e.dst_utid")), f->pid);
	add_number(sql, HOP_HAS(THREAD_IS("e.src_utid") " OR " THREAD_IS("e.dst_utid")), f->tid);
	if (f->has_key)
		sqlite3_str_appendf(sql, HOP_HAS("e.key = %lld"), (long long)f->key);
	if (f->function)
		sqlite3_str_appendall(sql, HOP_HAS("e.plan_hop IN (SELECT plan_hop FROM hop_count"
						   " WHERE ?1 IN (source, target))"));
}

static void add_call_conditions(const struct cw_filters *f, sqlite3_str *sql)
{
	uint64_t least = f->min_total_ns > f->min_work_ns ? f->min_total_ns : f->min_work_ns;

	add_number(sql, " AND s.dur >= %llu", least);
	if (f->min_queue_ns)
		sqlite3_str_appendall(sql, " AND 0"); /* a call alone has no queue */
	add_number(sql, " AND " PROCESS_IS("s.utid"), f->pid);
	add_number(sql, " AND " THREAD_IS("s.utid"), f->tid);
	if (f->has_key)
		sqlite3_str_appendf(sql,
				    " AND %lld IN (arg1, arg2, arg3, arg4, arg5, arg6, arg7, arg8)",
				    (long long)f->key);
	if (f->function)
		sqlite3_str_appendall(sql, " AND s.probe_id IN (SELECT probe_id FROM probe"
					   " WHERE function = ?1)");
}

static void add_chains(struct cw_report *r, sqlite3_str *sql)
{
	sqlite3_str_appendf(
		sql,
		"SELECT %s AS seq, s.ts AS ts, p.chain_id AS chain_id, s.slice_id AS slice_id"
		" FROM %s JOIN slice s ON s.slice_id = p.last_slice WHERE 1",
		r->live ? "f.seq" : "0",
		r->live ? "temp.fresh f JOIN path p USING(chain_id)" : "path p");
	add_time(r, sql);
	add_chain_conditions(&r->filters, sql);
}

static void add_calls(struct cw_report *r, sqlite3_str *sql)
{
	sqlite3_str_appendf(
		sql,
		"SELECT %s AS seq, s.ts AS ts, NULL AS chain_id, s.slice_id AS slice_id FROM %s",
		r->live ? "f.seq" : "0",
		r->live ? "temp.fresh f JOIN slice s ON s.slice_id = f.slice_id"
			  " WHERE f.chain_id IS NULL"
			: "slice s WHERE 1");
	if (r->async)
		sqlite3_str_appendall(
			sql, " AND s.probe_id IN (SELECT probe_id FROM probe WHERE is_target)");
	if (r->async && !r->live)
		sqlite3_str_appendall(sql, " AND s.slice_id NOT IN (SELECT last_slice FROM path)");
	add_time(r, sql);
	add_call_conditions(&r->filters, sql);
}

static char *selection(struct cw_report *r)
{
	sqlite3_str *sql = sqlite3_str_new(r->db);

	sqlite3_str_appendall(sql, "INSERT INTO temp.item(ts, chain_id, slice_id)"
				   " SELECT ts, chain_id, slice_id FROM (");
	if (r->async)
		add_chains(r, sql);
	if (r->async && !cw_filters_chain(&r->filters))
		sqlite3_str_appendall(sql, " UNION ALL ");
	if (!r->async || !cw_filters_chain(&r->filters))
		add_calls(r, sql);
	sqlite3_str_appendall(sql, ") ORDER BY seq, ts, chain_id, slice_id LIMIT ?2");
	return sqlite3_str_finish(sql);
}

static int run_select(struct cw_report *r, uint64_t limit)
{
	sqlite3_bind_int64(r->select, 2, limit ? (int64_t)limit : -1);
	sqlite3_step(r->select);
	if (sqlite3_reset(r->select) == SQLITE_OK)
		return 0;
	return cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(r->db));
}

static int prepare_select(struct cw_report *r)
{
	char *sql;
	int err;

	r->async = cw_query_int(r->db, "SELECT count(*) FROM hop_count", 0) > 0;
	sql = selection(r);
	if (!sql)
		return -ENOMEM;
	err = cw_prepare(r->db, &r->select, sql);
	sqlite3_free(sql);
	if (!err && r->filters.function)
		sqlite3_bind_text(r->select, 1, r->filters.function, -1, SQLITE_STATIC);
	return err;
}

static const char item_table[] = "CREATE TEMP TABLE item(seq INTEGER PRIMARY KEY, ts INTEGER,"
				 " chain_id INTEGER, slice_id INTEGER)";

int cw_report_select(struct cw_report *r)
{
	int err = cw_exec(r->db, item_table);

	if (!err)
		err = prepare_select(r);
	if (!err)
		err = run_select(r, r->filters.max_events);
	sqlite3_finalize(r->select);
	r->select = NULL;
	return err;
}

int cw_report_live_begin(struct cw_report *r)
{
	int err = cw_exec(r->db, item_table);

	r->live = true;
	return err ? err
		   : cw_exec(r->db, "CREATE TEMP TABLE fresh(seq INTEGER PRIMARY KEY,"
				    " chain_id INTEGER, slice_id INTEGER)");
}

int cw_report_live_again(struct cw_report *r, uint64_t limit)
{
	int err = r->select ? 0 : prepare_select(r);

	if (!err)
		err = cw_exec(r->db, "DELETE FROM temp.item");
	return err ? err : run_select(r, limit);
}
