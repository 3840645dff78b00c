/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns why a followed run waited: the sums behind views function_reason and hop_reason, taken of
 * calls and work as they end, before their rows are deleted. What is a reason the schema decides:
 * its own views are made over tables that have only what is new (database "fresh"), and over the
 * sums of those (database "whole"). Must not know how reasons are printed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "follow.h"
#include "hash.h"
#include "identity.h"
#include "say.h"

#define MAX_ROWS 40000 /* of sums by hop or function, reason and other thread */

struct work {
	uint64_t hop, utid, start, end;
};

struct cw_reasons {
	sqlite3 *db;
	uint64_t *calls; /* slice_id of calls that ended since the last time */
	size_t ncalls, calls_cap;
	struct work *works;
	size_t nworks, works_cap;
	sqlite3_stmt *put_call, *put_work;
	bool attribution;
};

/* Everything the copied views read. */
static const char tables[] =
	"ATTACH ':memory:' AS fresh; ATTACH ':memory:' AS whole;"
	"PRAGMA fresh.journal_mode=off; PRAGMA whole.journal_mode=off;"
	"CREATE TABLE fresh.slice AS SELECT * FROM main.slice WHERE 0;"
	"CREATE TABLE fresh.queue_task(plan_hop INTEGER, dst_utid INTEGER, start_ts INTEGER,"
	" end_ts INTEGER, work_ns INTEGER);"
	"CREATE TABLE fresh.span(utid INTEGER PRIMARY KEY, ts INTEGER, end_ts INTEGER);"
	"CREATE TABLE fresh.episode AS SELECT * FROM main.episode WHERE 0;"
	"CREATE INDEX fresh.episode_by_thread ON episode(utid, ts);"
	"CREATE UNIQUE INDEX fresh.episode_by_id ON episode(offcpu_id);"
	"CREATE TABLE fresh.offcpu AS SELECT * FROM main.offcpu WHERE 0;"
	"CREATE TABLE fresh.ran_instead AS SELECT * FROM main.ran_instead WHERE 0;"
	"CREATE INDEX fresh.ran_instead_by_episode ON ran_instead(offcpu_id);"
	"CREATE TABLE fresh.kernel_wait AS SELECT * FROM main.kernel_wait WHERE 0;"
	"CREATE TABLE fresh.file AS SELECT * FROM main.file WHERE 0;"
	"CREATE TABLE fresh.thread AS SELECT * FROM main.thread WHERE 0;"
	"CREATE TABLE fresh.syscall_name AS SELECT * FROM main.syscall_name WHERE 0;"
	"CREATE TABLE whole.function_wait(probe_id INTEGER, class TEXT, reason TEXT,"
	" other_utid INTEGER, ns INTEGER, count INTEGER);"
	"CREATE UNIQUE INDEX whole.function_wait_key ON function_wait(probe_id, class, reason,"
	" coalesce(other_utid, -1));"
	"CREATE TABLE whole.function_time(probe_id INTEGER PRIMARY KEY, ns INTEGER);"
	"CREATE TABLE whole.hop_wait(plan_hop INTEGER, class TEXT, reason TEXT,"
	" other_utid INTEGER, ns INTEGER, count INTEGER);"
	"CREATE UNIQUE INDEX whole.hop_wait_key ON hop_wait(plan_hop, class, reason,"
	" coalesce(other_utid, -1));"
	"CREATE TABLE whole.hop_time(plan_hop INTEGER PRIMARY KEY, ns INTEGER, count INTEGER);"
	"CREATE TABLE whole.probe AS SELECT * FROM main.probe WHERE 0;"
	"CREATE TABLE whole.hop_count AS SELECT * FROM main.hop_count WHERE 0;"
	"CREATE TABLE whole.episode(offcpu_id INTEGER PRIMARY KEY)";

static const struct {
	const char *database, *view;
} views[] = {
	{"fresh", "blocked_reason"},  {"fresh", "wait_part"},  {"fresh", "function_time"},
	{"fresh", "function_wait"},   {"fresh", "hop_time"},   {"fresh", "hop_wait"},
	{"whole", "function_reason"}, {"whole", "hop_reason"},
};

/* Calls and work are there; now what belongs to them. */
static const char fill[] =
	"INSERT INTO fresh.span SELECT utid, min(ts), max(end_ts) FROM ("
	" SELECT utid, ts, ts + dur AS end_ts FROM fresh.slice UNION ALL"
	" SELECT dst_utid, start_ts, end_ts FROM fresh.queue_task) GROUP BY utid;"
	"INSERT INTO fresh.episode SELECT e.* FROM main.episode e JOIN fresh.span s"
	" ON s.utid = e.utid AND e.ts >= s.ts AND e.ts < s.end_ts;"
	"INSERT INTO fresh.offcpu SELECT * FROM main.offcpu"
	" WHERE offcpu_id IN (SELECT offcpu_id FROM fresh.episode);"
	"INSERT INTO fresh.ran_instead SELECT * FROM main.ran_instead"
	" WHERE offcpu_id IN (SELECT offcpu_id FROM fresh.episode);"
	"INSERT INTO fresh.kernel_wait SELECT * FROM main.kernel_wait"
	" WHERE stack_id IN (SELECT kernel_stack_id FROM fresh.offcpu);"
	"INSERT INTO fresh.file SELECT * FROM main.file"
	" WHERE file_id IN (SELECT file_id FROM fresh.offcpu);"
	"INSERT INTO fresh.thread SELECT * FROM main.thread"
	" WHERE utid IN (SELECT utid FROM fresh.ran_instead);"
	"INSERT INTO fresh.syscall_name SELECT * FROM main.syscall_name"
	" WHERE NOT EXISTS (SELECT 1 FROM fresh.syscall_name)";

static const char add[] =
	"INSERT INTO whole.function_wait SELECT * FROM fresh.function_wait WHERE true"
	" ON CONFLICT DO UPDATE SET ns = ns + excluded.ns, count = count + excluded.count;"
	"INSERT INTO whole.function_time SELECT * FROM fresh.function_time WHERE true"
	" ON CONFLICT DO UPDATE SET ns = ns + excluded.ns;"
	"INSERT INTO whole.hop_wait SELECT * FROM fresh.hop_wait WHERE true"
	" ON CONFLICT DO UPDATE SET ns = ns + excluded.ns, count = count + excluded.count;"
	"INSERT INTO whole.hop_time SELECT * FROM fresh.hop_time WHERE true"
	" ON CONFLICT DO UPDATE SET ns = ns + excluded.ns, count = count + excluded.count;"
	"DELETE FROM fresh.slice; DELETE FROM fresh.queue_task; DELETE FROM fresh.span;"
	"DELETE FROM fresh.episode; DELETE FROM fresh.offcpu; DELETE FROM fresh.ran_instead;"
	"DELETE FROM fresh.kernel_wait; DELETE FROM fresh.file; DELETE FROM fresh.thread";

/* The smaller half of a table's sums, by class only; the first name is of what they are of. */
static const char merge[] =
	"CREATE TEMP TABLE small AS SELECT rowid AS id, * FROM whole.%2$s ORDER BY ns"
	" LIMIT (SELECT count(*) / 2 FROM whole.%2$s);"
	"DELETE FROM whole.%2$s WHERE rowid IN (SELECT id FROM temp.small);"
	"INSERT INTO whole.%2$s SELECT %1$s, class, 'various, each of them little', NULL, sum(ns),"
	" sum(count) FROM temp.small GROUP BY %1$s, class"
	" ON CONFLICT DO UPDATE SET ns = ns + excluded.ns, count = count + excluded.count;"
	"DROP TABLE temp.small";

static int copy_view(sqlite3 *db, const char *database, const char *view)
{
	static const char begin[] = "CREATE VIEW ";
	sqlite3_stmt *s = NULL;
	char *sql = NULL;
	int err = cw_prepare(db, &s, "SELECT sql FROM main.sqlite_schema WHERE name = ?1");

	if (err)
		return err;
	sqlite3_bind_text(s, 1, view, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW)
		sql = sqlite3_mprintf("%s%s.%s", begin, database,
				      (const char *)sqlite3_column_text(s, 0) + sizeof(begin) - 1);
	sqlite3_finalize(s);
	err = sql ? cw_exec(db, sql) : -ENOMEM;
	sqlite3_free(sql);
	return err;
}

int cw_reasons_new(struct cw_reasons **out, sqlite3 *db)
{
	struct cw_reasons *r = cw_zalloc(sizeof(*r));
	int err;

	*out = r;
	r->db = db;
	err = cw_exec(db, tables);
	for (size_t i = 0; !err && i < sizeof(views) / sizeof(*views); i++)
		err = copy_view(db, views[i].database, views[i].view);
	if (!err)
		err = cw_prepare(db, &r->put_call,
				 "INSERT INTO fresh.slice SELECT * FROM main.slice"
				 " WHERE slice_id = ?1 AND oncpu_ns IS NOT NULL");
	if (!err)
		err = cw_prepare(db, &r->put_work,
				 "INSERT INTO fresh.queue_task VALUES(?1, ?2, ?3, ?4, ?4 - ?3)");
	return err;
}

void cw_reasons_free(struct cw_reasons *r)
{
	if (!r)
		return;
	sqlite3_finalize(r->put_call);
	sqlite3_finalize(r->put_work);
	free(r->calls);
	free(r->works);
	free(r);
}

void cw_reasons_call(struct cw_reasons *r, uint64_t slice_id)
{
	cw_reserve(r->calls, r->ncalls, r->calls_cap);
	r->calls[r->ncalls++] = slice_id;
}

void cw_reasons_work(struct cw_reasons *r, const struct cw_queue_event *e)
{
	if (e->what != CW_QUEUE_DONE || !e->flag || !e->ns)
		return;
	cw_reserve(r->works, r->nworks, r->works_cap);
	r->works[r->nworks++] = (struct work){e->hop, e->worker->utid, e->ts - e->ns, e->ts};
}

static int put(struct cw_reasons *r, sqlite3_stmt *s, const uint64_t *values, int n)
{
	for (int i = 0; i < n; i++)
		sqlite3_bind_int64(s, i + 1, (int64_t)values[i]);
	sqlite3_step(s);
	if (sqlite3_reset(s) == SQLITE_OK)
		return 0;
	return cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(r->db));
}

static int keep_small(struct cw_reasons *r, const char *whose, const char *table)
{
	char sql[1024];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM whole.%s", table);
	if (cw_query_int(r->db, sql, 0) <= MAX_ROWS)
		return 0;
	snprintf(sql, sizeof(sql), merge, whose, table);
	return cw_exec(r->db, sql);
}

int cw_reasons_add(struct cw_reasons *r, bool attribution)
{
	int err = 0;

	r->attribution = attribution;
	for (size_t i = 0; attribution && !err && i < r->ncalls; i++)
		err = put(r, r->put_call, &r->calls[i], 1);
	for (size_t i = 0; attribution && !err && i < r->nworks; i++)
		err = put(r, r->put_work, &r->works[i].hop, 4);
	if (!err && attribution && r->ncalls + r->nworks)
		err = cw_exec(r->db, fill);
	if (!err && attribution && r->ncalls + r->nworks)
		err = cw_exec(r->db, add);
	r->ncalls = r->nworks = 0;
	if (!err)
		err = keep_small(r, "probe_id", "function_wait");
	return err ? err : keep_small(r, "plan_hop", "hop_wait");
}

int cw_reasons_whole(struct cw_reasons *r)
{
	int err = cw_exec(r->db, "INSERT INTO whole.probe SELECT * FROM main.probe;"
				 "INSERT INTO whole.hop_count SELECT * FROM main.hop_count");

	/* That there are scheduler facts is asked of this table. */
	if (!err && r->attribution)
		err = cw_exec(r->db, "INSERT INTO whole.episode VALUES(1)");
	return err;
}
