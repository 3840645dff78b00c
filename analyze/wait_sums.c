/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the pass over episodes in order of time beside the calls and tasks that are open, which sums
 * up what views say one by one. Rows come in order of their numbers, which is that of time; should
 * they not, once more sorted. The sums themselves are kept by wait_totals.c.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "report.h"
#include "say.h"
#include "thread_sums.h"
#include "wait_sums.h"
#include "wait_totals.h"

#define NONE CW_WAIT_NONE

/* A call or a task on a thread, open until end. */
struct open {
	int64_t end, scope, id;
};

struct thread {
	struct cw_hnode node;
	int64_t utid;
	struct open *open;
	size_t n, cap;
	struct cw_thread_sums sums;
};

/* Calls or tasks, of which the next one to begin is known. */
struct feed {
	sqlite3_stmt *stmt;
	int64_t scope, ts;
	bool more;
};

struct waker {
	int64_t utid;
	bool known;
};

struct pass {
	sqlite3 *db;
	struct cw_htab threads;
	struct cw_wait_totals totals;
	struct feed feeds[2];
	sqlite3_stmt *episodes, *later;
	int64_t later_id;
	int64_t *waker_ids, *waker_utids; /* in order of ids */
	size_t nwakers;
	int64_t capture_end;
};

/* Columns of the statement over episodes. */
enum {
	E_ID,
	E_UTID,
	E_TS,
	E_END,
	E_STATE,
	E_PREEMPTED,
	E_BLOCKED_NS,
	E_RUNQ_NS,
	E_PREEMPTED_NS,
	E_UNKNOWN_NS,
	E_UNKNOWN_TS,
	E_SLEEP,
	E_WAKER,
	E_RAN_UTID,
	E_RAN_NS,
	E_WAKING,
};

static const char episodes_sql[] =
	"SELECT offcpu_id, utid, ts, end_ts, state, preempted, blocked_ns, runq_ns, preempted_ns,"
	" unknown_ns, unknown_ts, sleep_id, waker_id, ran_utid, ran_ns, waking_ts"
	" FROM main.episode ORDER BY %s";
static const char calls_sql[] = "SELECT ts, ts + dur, utid, probe_id, dur, oncpu_ns FROM main.slice"
				" WHERE oncpu_ns IS NOT NULL ORDER BY %s";
static const char tasks_sql[] = "SELECT start_ts, end_ts, dst_utid, plan_hop, work_ns, 0"
				" FROM queue_task WHERE work_ns > 0 ORDER BY start_ts";
static const char later_sql[] = "SELECT offcpu_id, dur, utid FROM main.ran_later"
				" WHERE offcpu_id >= ?1 ORDER BY offcpu_id";

/* ---- what is summed up --------------------------------------------------------------------------
 */

static void add(struct pass *p, const struct open *in, int64_t kind, int64_t place, int64_t other,
		int64_t ns)
{
	cw_wait_totals_add(&p->totals, in->scope, in->id, kind, place, other, ns);
}

/* A part of an episode for all that it lies in: what is open on its thread, and all threads. */
static void add_part(struct pass *p, const struct thread *t, int64_t ts, int64_t kind,
		     int64_t place, int64_t other, int64_t ns)
{
	static const struct open all = {.scope = CW_WAIT_TRACED};

	if (t->sums.traced)
		add(p, &all, kind, place, other, ns);
	for (size_t i = 0; i < t->n; i++)
		if (ts < t->open[i].end)
			add(p, &t->open[i], kind, place, other, ns);
}

static struct thread *thread_of(struct pass *p, int64_t utid)
{
	uint64_t hash = cw_hash(0, (uint64_t)utid);
	struct thread *t;

	for (struct cw_hnode *n = cw_htab_first(&p->threads, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		t = cw_container(n, struct thread, node);
		if (t->utid == utid)
			return t;
	}
	t = cw_zalloc(sizeof(*t));
	t->utid = utid;
	cw_htab_insert(&p->threads, &t->node, hash);
	return t;
}

/* ---- calls and tasks ----------------------------------------------------------------------------
 */

/* -EAGAIN: not in order of time. */
static int feed_next(struct pass *p, struct feed *f)
{
	int64_t before = f->ts;
	int rc = sqlite3_step(f->stmt);

	f->more = rc == SQLITE_ROW;
	if (rc != SQLITE_ROW)
		return rc == SQLITE_DONE ? 0 : cw_wait_unread(p->db);
	f->ts = sqlite3_column_int64(f->stmt, 0);
	return f->ts < before ? -EAGAIN : 0;
}

/* Leave out what ended by ts. */
static void forget_ended(struct thread *t, int64_t ts)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->n; i++)
		if (t->open[i].end > ts)
			t->open[kept++] = t->open[i];
	t->n = kept;
}

/* Open what begins by ts. */
static int feed_until(struct pass *p, struct feed *f, int64_t ts)
{
	int err = 0;

	while (!err && f->more && f->ts <= ts) {
		struct thread *t = thread_of(p, sqlite3_column_int64(f->stmt, 2));
		int64_t id = sqlite3_column_int64(f->stmt, 3);

		forget_ended(t, f->ts);
		cw_reserve(t->open, t->n, t->cap);
		t->open[t->n++] = (struct open){
			.end = sqlite3_column_int64(f->stmt, 1), .scope = f->scope, .id = id};
		cw_wait_totals_add_whole(&p->totals, f->scope, id, sqlite3_column_int64(f->stmt, 4),
					 sqlite3_column_int64(f->stmt, 5));
		err = feed_next(p, f);
	}
	return err;
}

/* ---- episodes -----------------------------------------------------------------------------------
 */

static int64_t column(const struct pass *p, int i)
{
	return sqlite3_column_int64(p->episodes, i);
}

static int64_t column_or_none(sqlite3_stmt *s, int i)
{
	return sqlite3_column_type(s, i) == SQLITE_NULL ? NONE : sqlite3_column_int64(s, i);
}

static int64_t waker_utid(const struct pass *p, int64_t id)
{
	size_t lo = 0, hi = p->nwakers;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (p->waker_ids[mid] == id)
			return p->waker_utids[mid];
		if (p->waker_ids[mid] < id)
			lo = mid + 1;
		else
			hi = mid;
	}
	return NONE;
}

/* Time asleep; gives the place if it is one that nobody is known to have ended. */
static int64_t add_blocked(struct pass *p, const struct thread *t, int64_t ts)
{
	int64_t state = column(p, E_STATE), ns = column(p, E_BLOCKED_NS), waker, other, place;
	struct open woken = {.scope = CW_WAIT_WAKER};
	struct open own = {.scope = CW_WAIT_THREAD, .id = t->utid};

	if (state == 0 || state == 2048 || column(p, E_PREEMPTED) || (state < 0 && ns <= 0))
		return NONE;
	waker = column_or_none(p->episodes, E_WAKER);
	if (waker == NONE && ns <= 0)
		return NONE;
	place = cw_wait_totals_place(&p->totals, column_or_none(p->episodes, E_SLEEP), state < 0,
				     column(p, E_ID));
	other = waker == NONE ? NONE : waker_utid(p, waker);
	if (waker != NONE) {
		woken.id = waker;
		add(p, &woken, CW_WAIT_BLOCKED, place, other, ns);
	}
	if (ns <= 0)
		return NONE;
	add(p, &own, CW_WAIT_BLOCKED, place, other, ns);
	add_part(p, t, ts, CW_WAIT_BLOCKED, place, other, ns);
	return other == NONE ? place : NONE;
}

/* INT64_MAX in later_id behind the last row. */
static int later_next(struct pass *p)
{
	int rc = sqlite3_step(p->later);

	p->later_id = rc == SQLITE_ROW ? sqlite3_column_int64(p->later, 0) : INT64_MAX;
	return rc == SQLITE_ROW || rc == SQLITE_DONE ? 0 : cw_wait_unread(p->db);
}

/* Move to the first row of ran_later for this episode, if there is one. */
static int later_seek(struct pass *p, int64_t id)
{
	int err = 0;

	if (id < p->later_id) {
		sqlite3_reset(p->later);
		sqlite3_bind_int64(p->later, 1, id);
		p->later_id = NONE;
	}
	while (!err && p->later_id < id)
		err = later_next(p);
	return err;
}

/* Time on a run queue: of those who ran instead, and what is left. */
static int add_runnable(struct pass *p, const struct thread *t, int64_t ts, int64_t id)
{
	int64_t left = column(p, E_RUNQ_NS) + column(p, E_PREEMPTED_NS), ns;
	bool preempted = column(p, E_PREEMPTED_NS) > 0;
	int64_t ran = preempted ? CW_WAIT_PREEMPT_RAN : CW_WAIT_RUNQ_RAN;
	int err = 0;

	if (left <= 0)
		return 0;
	if (sqlite3_column_type(p->episodes, E_RAN_UTID) != SQLITE_NULL) {
		ns = column(p, E_RAN_NS);
		add_part(p, t, ts, ran, NONE, column(p, E_RAN_UTID), ns);
		left -= ns;
	}
	err = later_seek(p, id);
	while (!err && p->later_id == id) {
		ns = sqlite3_column_int64(p->later, 1);
		add_part(p, t, ts, ran, NONE, column_or_none(p->later, 2), ns);
		left -= ns;
		err = later_next(p);
	}
	if (left)
		add_part(p, t, ts, preempted ? CW_WAIT_PREEMPT_SWITCH : CW_WAIT_RUNQ_SWITCH, NONE,
			 NONE, left);
	return err;
}

static void add_to_thread(struct pass *p, struct thread *t)
{
	struct cw_thread_episode e = {
		.ts = column(p, E_TS),
		.end_ts = column(p, E_END),
		.open = sqlite3_column_type(p->episodes, E_END) == SQLITE_NULL,
		.state = column(p, E_STATE),
		.preempted = column(p, E_PREEMPTED) != 0,
		.woken = sqlite3_column_type(p->episodes, E_WAKING) != SQLITE_NULL,
		.blocked_ns = column(p, E_BLOCKED_NS),
		.runq_ns = column(p, E_RUNQ_NS),
		.preempted_ns = column(p, E_PREEMPTED_NS),
		.unknown_ns = column(p, E_UNKNOWN_NS),
		.unknown_ts = column(p, E_UNKNOWN_TS),
		.hidden = sqlite3_column_type(p->episodes, E_UNKNOWN_TS) != SQLITE_NULL,
	};

	cw_thread_sums_add(&t->sums, &e, p->capture_end);
}

static int add_episode(struct pass *p)
{
	int64_t ts = column(p, E_TS), id = column(p, E_ID), unknown = column(p, E_UNKNOWN_NS);
	struct thread *t;
	int64_t place;
	int err = feed_until(p, &p->feeds[0], ts);

	if (!err)
		err = feed_until(p, &p->feeds[1], ts);
	if (err)
		return err;
	t = thread_of(p, column(p, E_UTID));
	p->totals.episode++;
	add_to_thread(p, t);
	place = add_blocked(p, t, ts);
	err = add_runnable(p, t, ts, id);
	if (unknown > 0)
		add_part(p, t, ts, CW_WAIT_UNKNOWN, place, NONE, unknown);
	return err;
}

/* -EAGAIN: not in order of time. */
static int add_episodes(struct pass *p)
{
	int64_t before = INT64_MIN;
	int rc, err = 0;

	while (!err && (rc = sqlite3_step(p->episodes)) == SQLITE_ROW) {
		err = column(p, E_TS) < before ? -EAGAIN : add_episode(p);
		before = column(p, E_TS);
	}
	if (!err && rc != SQLITE_DONE)
		err = cw_wait_unread(p->db);
	for (int i = 0; !err && i < 2; i++)
		err = feed_until(p, &p->feeds[i], INT64_MAX);
	return err;
}

/* ---- before and after ---------------------------------------------------------------------------
 */

static int load_wakers(struct pass *p)
{
	sqlite3_stmt *s = NULL;
	size_t cap = 0, utids = 0;
	int err = cw_prepare(p->db, &s, "SELECT waker_id, utid FROM main.waker ORDER BY waker_id");
	int rc = SQLITE_DONE;

	while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		size_t n = p->nwakers;

		cw_reserve(p->waker_ids, p->nwakers, cap);
		cw_reserve(p->waker_utids, n, utids);
		p->waker_ids[p->nwakers] = sqlite3_column_int64(s, 0);
		p->waker_utids[p->nwakers++] = column_or_none(s, 1);
	}
	sqlite3_finalize(s);
	return rc == SQLITE_DONE ? err : cw_wait_unread(p->db);
}

static int load_threads(struct pass *p)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(p->db, &s, "SELECT utid, end_ts, traced FROM main.thread");
	int rc = SQLITE_DONE;

	while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		struct cw_thread_sums *t = &thread_of(p, sqlite3_column_int64(s, 0))->sums;

		t->known = true;
		t->exited = sqlite3_column_type(s, 1) != SQLITE_NULL;
		t->exit_ts = sqlite3_column_int64(s, 1);
		t->traced = sqlite3_column_int(s, 2) != 0;
	}
	sqlite3_finalize(s);
	return rc == SQLITE_DONE ? err : cw_wait_unread(p->db);
}

static int prepare_order(sqlite3 *db, sqlite3_stmt **out, const char *format, const char *order)
{
	char *sql = sqlite3_mprintf(format, order);
	int err = sql ? cw_prepare(db, out, sql) : -ENOMEM;

	sqlite3_free(sql);
	return err;
}

static int prepare(struct pass *p, bool sorted)
{
	int err = prepare_order(p->db, &p->episodes, episodes_sql,
				sorted ? "ts, offcpu_id" : "offcpu_id");

	if (!err)
		err = prepare_order(p->db, &p->feeds[0].stmt, calls_sql,
				    sorted ? "ts" : "slice_id");
	if (!err)
		err = cw_prepare(p->db, &p->feeds[1].stmt, tasks_sql);
	if (!err)
		err = cw_prepare(p->db, &p->later, later_sql);
	if (!err)
		err = cw_wait_totals_begin(&p->totals, p->db);
	if (!err)
		err = load_wakers(p);
	if (!err)
		err = load_threads(p);
	p->feeds[0].scope = CW_WAIT_FUNCTION;
	p->feeds[1].scope = CW_WAIT_HOP;
	p->later_id = INT64_MAX;
	p->capture_end = cw_query_int(p->db, "SELECT end_ts FROM report_clock", INT64_MIN);
	for (int i = 0; !err && i < 2; i++) {
		p->feeds[i].ts = INT64_MIN;
		err = feed_next(p, &p->feeds[i]);
	}
	return err;
}

static int put_threads(struct pass *p)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(p->db, &s,
			     "INSERT INTO temp.thread_time VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
	size_t b = 0;

	for (struct cw_hnode *n = NULL; !err && (n = cw_htab_each(&p->threads, n, &b));) {
		struct thread *x = cw_container(n, struct thread, node);
		int64_t row[6] = {x->utid};

		if (cw_thread_sums_end(&x->sums, p->capture_end, row + 1))
			err = cw_wait_put_row(s, row, 6);
	}
	sqlite3_finalize(s);
	return err;
}

static void pass_free(struct pass *p)
{
	struct cw_hnode *n, *next;
	size_t b = 0;

	sqlite3_finalize(p->episodes);
	sqlite3_finalize(p->later);
	for (int i = 0; i < 2; i++)
		sqlite3_finalize(p->feeds[i].stmt);
	for (n = cw_htab_each(&p->threads, NULL, &b); n; n = next) {
		struct thread *t = cw_container(n, struct thread, node);

		next = cw_htab_each(&p->threads, n, &b);
		free(t->open);
		free(t);
	}
	cw_htab_free(&p->threads);
	cw_wait_totals_free(&p->totals);
	free(p->waker_ids);
	free(p->waker_utids);
}

static int run(sqlite3 *db, bool sorted)
{
	struct pass p = {.db = db};
	int err = prepare(&p, sorted);

	if (!err)
		err = add_episodes(&p);
	if (!err)
		err = cw_wait_totals_put(&p.totals);
	if (!err)
		err = put_threads(&p);
	pass_free(&p);
	return err;
}

int cw_wait_sums(sqlite3 *db)
{
	int err = cw_wait_tables(db);

	if (!err)
		err = run(db, false);
	if (err == -EAGAIN) {
		err = cw_exec(db, "DELETE FROM temp.wait_place");
		if (!err)
			err = run(db, true);
	}
	return err ? err : cw_wait_name(db);
}
