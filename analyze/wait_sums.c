/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the pass over episodes in order of time beside the calls and tasks that are open, which sums
 * up what views say one by one. Rows come in order of their numbers, which is that of time; should
 * they not, once more sorted. What a place
 * of sleep is called is said by the views.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "report.h"
#include "say.h"
#include "thread_sums.h"
#include "view_again.h"
#include "wait_sums.h"

#define NONE INT64_MIN /* no place, no thread */

/* A row of wait_sum. */
struct sum {
	struct cw_hnode node;
	int64_t scope, id, kind, place, other;
	int64_t ns, parts, episodes, longest;
	int64_t last; /* episode that was counted last */
};

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

/* A row of wait_place. */
struct place {
	struct cw_hnode node;
	int64_t sleep, unseen, place;
};

/* A row of scope_time. */
struct whole {
	struct cw_hnode node;
	int64_t scope, id, ns, count, oncpu, oncpu_count;
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
	struct cw_htab sums, threads, places, wholes;
	struct feed feeds[2];
	sqlite3_stmt *episodes, *later;
	int64_t later_id, episode;
	int64_t *waker_ids, *waker_utids; /* in order of ids */
	size_t nwakers;
	int64_t capture_end;
	sqlite3_stmt *put_place;
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

static const char tables[] =
	"CREATE TEMP TABLE wait_place(place INTEGER PRIMARY KEY, offcpu_id INTEGER);"
	"CREATE TEMP TABLE wait_sum(scope INTEGER, id INTEGER, kind INTEGER, place INTEGER,"
	" other_utid INTEGER, ns INTEGER, parts INTEGER, episodes INTEGER,"
	" longest INTEGER);"
	"CREATE TEMP TABLE scope_time(scope INTEGER, id INTEGER, ns INTEGER, count INTEGER,"
	" oncpu_ns INTEGER, oncpu_count INTEGER);"
	"CREATE TEMP TABLE thread_time(utid INTEGER PRIMARY KEY, running_ns INTEGER,"
	" blocked_ns INTEGER, runq_ns INTEGER, preempted_ns INTEGER, unknown_ns INTEGER);";

/* ---- what is summed up --------------------------------------------------------------------------
 */

static void add(struct pass *p, const struct open *in, int64_t kind, int64_t place, int64_t other,
		int64_t ns)
{
	uint64_t hash = cw_hash(0, (uint64_t)in->scope << 8 | (uint64_t)kind);
	struct sum *s;

	hash = cw_hash(cw_hash(cw_hash(hash, (uint64_t)in->id), (uint64_t)place), (uint64_t)other);
	for (struct cw_hnode *n = cw_htab_first(&p->sums, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		s = cw_container(n, struct sum, node);
		if (s->scope == in->scope && s->id == in->id && s->kind == kind &&
		    s->place == place && s->other == other)
			goto found;
	}
	s = cw_zalloc(sizeof(*s));
	s->scope = in->scope;
	s->id = in->id;
	s->kind = kind;
	s->place = place;
	s->other = other;
	s->last = -1;
	cw_htab_insert(&p->sums, &s->node, hash);
found:
	s->ns += ns;
	s->parts++;
	s->episodes += s->last != p->episode;
	s->last = p->episode;
	if (ns > s->longest)
		s->longest = ns;
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

static int64_t place_of(struct pass *p, int64_t sleep, bool unseen)
{
	uint64_t hash = cw_hash(unseen, (uint64_t)sleep);
	struct place *x;

	for (struct cw_hnode *n = cw_htab_first(&p->places, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		x = cw_container(n, struct place, node);
		if (x->sleep == sleep && x->unseen == unseen)
			return x->place;
	}
	x = cw_zalloc(sizeof(*x));
	x->sleep = sleep;
	x->unseen = unseen;
	x->place = (int64_t)p->places.count;
	cw_htab_insert(&p->places, &x->node, hash);
	sqlite3_bind_int64(p->put_place, 1, x->place);
	sqlite3_bind_int64(p->put_place, 2, sqlite3_column_int64(p->episodes, E_ID));
	sqlite3_step(p->put_place);
	sqlite3_reset(p->put_place);
	return x->place;
}

static void add_whole(struct pass *p, const struct feed *f, int64_t id)
{
	int64_t oncpu = sqlite3_column_int64(f->stmt, 5);
	uint64_t hash = cw_hash((uint64_t)f->scope, (uint64_t)id);
	struct whole *w;

	for (struct cw_hnode *n = cw_htab_first(&p->wholes, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		w = cw_container(n, struct whole, node);
		if (w->scope == f->scope && w->id == id)
			goto found;
	}
	w = cw_zalloc(sizeof(*w));
	w->scope = f->scope;
	w->id = id;
	cw_htab_insert(&p->wholes, &w->node, hash);
found:
	w->ns += sqlite3_column_int64(f->stmt, 4);
	w->count++;
	w->oncpu += oncpu > 0 ? oncpu : 0;
	w->oncpu_count += oncpu > 0;
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
		return rc == SQLITE_DONE ? 0
					 : cw_fail(-EBADMSG, "cannot query the database: %s",
						   sqlite3_errmsg(p->db));
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
		add_whole(p, f, id);
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
	place = place_of(p, column_or_none(p->episodes, E_SLEEP), state < 0);
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

/* Move to the first row of ran_later for this episode, if there is one. */
static int later_seek(struct pass *p, int64_t id)
{
	int rc = SQLITE_ROW;

	if (id < p->later_id) {
		sqlite3_reset(p->later);
		sqlite3_bind_int64(p->later, 1, id);
		p->later_id = NONE;
	}
	while (p->later_id < id && rc == SQLITE_ROW) {
		rc = sqlite3_step(p->later);
		p->later_id = rc == SQLITE_ROW ? sqlite3_column_int64(p->later, 0) : INT64_MAX;
	}
	return rc == SQLITE_ROW || rc == SQLITE_DONE
		       ? 0
		       : cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(p->db));
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
		p->later_id = sqlite3_step(p->later) == SQLITE_ROW
				      ? sqlite3_column_int64(p->later, 0)
				      : INT64_MAX;
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
	p->episode++;
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
		err = cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(p->db));
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

	while (!err && sqlite3_step(s) == SQLITE_ROW) {
		size_t n = p->nwakers;

		cw_reserve(p->waker_ids, p->nwakers, cap);
		cw_reserve(p->waker_utids, n, utids);
		p->waker_ids[p->nwakers] = sqlite3_column_int64(s, 0);
		p->waker_utids[p->nwakers++] = column_or_none(s, 1);
	}
	sqlite3_finalize(s);
	return err;
}

static int load_threads(struct pass *p)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(p->db, &s, "SELECT utid, end_ts, traced FROM main.thread");

	while (!err && sqlite3_step(s) == SQLITE_ROW) {
		struct cw_thread_sums *t = &thread_of(p, sqlite3_column_int64(s, 0))->sums;

		t->known = true;
		t->exited = sqlite3_column_type(s, 1) != SQLITE_NULL;
		t->exit_ts = sqlite3_column_int64(s, 1);
		t->traced = sqlite3_column_int(s, 2) != 0;
	}
	sqlite3_finalize(s);
	return err;
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
		err = cw_prepare(p->db, &p->put_place,
				 "INSERT INTO temp.wait_place VALUES(?1, ?2)");
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

/* A row into a temporary table; NONE is NULL. */
static int put_row(sqlite3_stmt *s, const int64_t *values, int n)
{
	for (int i = 0; i < n; i++) {
		if (values[i] == NONE)
			sqlite3_bind_null(s, i + 1);
		else
			sqlite3_bind_int64(s, i + 1, values[i]);
	}
	sqlite3_step(s);
	return sqlite3_reset(s) == SQLITE_OK ? 0 : -EIO;
}

/* The node behind n, which is in bucket *b; the first one behind NULL, with *b 0. */
static struct cw_hnode *behind(const struct cw_htab *tab, const struct cw_hnode *n, size_t *b)
{
	struct cw_hnode *next = n ? n->next : NULL;

	if (n)
		*b += !next;
	for (; !next && *b < tab->nbuckets; *b += !next)
		next = tab->buckets[*b].first;
	return next;
}

static int put_sums(struct pass *p)
{
	sqlite3_stmt *s = NULL, *w = NULL, *t = NULL;
	struct cw_hnode *node;
	size_t b;
	int err = cw_prepare(p->db, &s,
			     "INSERT INTO temp.wait_sum VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
			     " ?9)");

	if (!err)
		err = cw_prepare(p->db, &w,
				 "INSERT INTO temp.scope_time VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
	if (!err)
		err = cw_prepare(p->db, &t,
				 "INSERT INTO temp.thread_time VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
	if (err)
		goto out;
	for (b = 0, node = NULL; (node = behind(&p->sums, node, &b));) {
		struct sum *x = cw_container(node, struct sum, node);

		if (!err)
			err = put_row(s, &x->scope, 9);
	}
	for (b = 0, node = NULL; (node = behind(&p->wholes, node, &b));) {
		struct whole *x = cw_container(node, struct whole, node);

		if (!err)
			err = put_row(w, &x->scope, 6);
	}
	for (b = 0, node = NULL; (node = behind(&p->threads, node, &b));) {
		struct thread *x = cw_container(node, struct thread, node);
		int64_t row[6] = {x->utid};

		if (!err && cw_thread_sums_end(&x->sums, p->capture_end, row + 1))
			err = put_row(t, row, 6);
	}
	if (err)
		cw_fail(err, "cannot keep sums: %s", sqlite3_errmsg(p->db));
out:
	sqlite3_finalize(s);
	sqlite3_finalize(w);
	sqlite3_finalize(t);
	return err;
}

static void free_nodes(struct cw_htab *tab, size_t offset)
{
	for (size_t b = 0; b < tab->nbuckets; b++)
		for (struct cw_hnode *n = tab->buckets[b].first, *next; n; n = next) {
			next = n->next;
			free((char *)n - offset);
		}
	cw_htab_free(tab);
}

static void pass_free(struct pass *p)
{
	struct cw_hnode *node = NULL;
	size_t b = 0;

	sqlite3_finalize(p->episodes);
	sqlite3_finalize(p->later);
	sqlite3_finalize(p->put_place);
	for (int i = 0; i < 2; i++)
		sqlite3_finalize(p->feeds[i].stmt);
	while ((node = behind(&p->threads, node, &b)))
		free(cw_container(node, struct thread, node)->open);
	free_nodes(&p->sums, offsetof(struct sum, node));
	free_nodes(&p->threads, offsetof(struct thread, node));
	free_nodes(&p->places, offsetof(struct place, node));
	free_nodes(&p->wholes, offsetof(struct whole, node));
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
		err = put_sums(&p);
	pass_free(&p);
	return err;
}

/*
 * What places of sleep are called is said by the views, over one episode of each. The sleep of an
 * episode and what of it is hidden by losses may be called the same: that is one episode.
 */
static const char name_places[] =
	"CREATE TEMP TABLE place_reason(place INTEGER PRIMARY KEY, class TEXT, reason TEXT,"
	" user_stack_id INTEGER, kernel_stack_id INTEGER);"
	"INSERT INTO temp.place_reason SELECT p.place, b.class, b.reason, b.user_stack_id,"
	" b.kernel_stack_id FROM temp.wait_place p JOIN temp.blocked_reason b USING(offcpu_id);"
	"DROP VIEW temp.blocked_reason; DROP VIEW temp.offcpu; DROP TABLE temp.episode;"
	"DROP TABLE temp.wait_place;"
	"CREATE TEMP TABLE wait_named AS SELECT s.scope, s.id,"
	" CASE WHEN s.kind = 0 THEN r.class WHEN s.kind IN (1, 3) THEN 'run queue'"
	"  WHEN s.kind IN (2, 4) THEN 'preempted' ELSE 'unknown' END AS class,"
	" CASE WHEN s.kind = 0 THEN r.reason"
	"  WHEN s.kind IN (1, 2) THEN coalesce(t.name, 'another thread') || ' ran instead'"
	"  WHEN s.kind IN (3, 4) THEN 'the CPU had to switch'"
	"  ELSE 'unknown, records were lost' END AS reason, s.other_utid, s.ns, s.parts,"
	" CASE WHEN s.kind = 5 AND r.class = 'unknown' THEN 0 ELSE s.episodes END AS episodes"
	" FROM temp.wait_sum s LEFT JOIN temp.place_reason r USING(place)"
	" LEFT JOIN main.thread t ON t.utid = s.other_utid WHERE s.scope < 3;";

/* Columns of the views of these names. */
static const char hide_views[] =
	"CREATE TEMP TABLE hop_time AS SELECT id AS plan_hop, ns, count FROM temp.scope_time"
	" WHERE scope = 1;"
	"CREATE TEMP TABLE function_time AS SELECT id AS probe_id, ns FROM temp.scope_time"
	" WHERE scope = 2;"
	"CREATE TEMP TABLE hop_wait AS SELECT id AS plan_hop, class, reason, other_utid,"
	" sum(ns) AS ns, sum(episodes) AS count FROM temp.wait_named WHERE scope = 1"
	" GROUP BY 1, 2, 3, 4;"
	"CREATE TEMP TABLE function_wait AS SELECT id AS probe_id, class, reason, other_utid,"
	" sum(ns) AS ns, sum(episodes) AS count FROM temp.wait_named WHERE scope = 2"
	" GROUP BY 1, 2, 3, 4 UNION ALL SELECT id, 'on CPU', 'on CPU', NULL, oncpu_ns,"
	" oncpu_count FROM temp.scope_time WHERE scope = 2 AND oncpu_count > 0;"
	"CREATE TEMP TABLE offcpu_stack AS SELECT CASE s.scope WHEN 1 THEN s.id END AS plan_hop,"
	" CASE s.scope WHEN 2 THEN s.id END AS probe_id, r.user_stack_id AS stack_id,"
	" r.kernel_stack_id, r.class, sum(s.ns) AS ns, sum(s.parts) AS count"
	" FROM temp.wait_sum s JOIN temp.place_reason r USING(place)"
	" WHERE s.scope < 3 AND s.kind = 0 GROUP BY 1, 2, 3, 4, 5;"
	"DROP TABLE temp.scope_time;";

static int name_sums(sqlite3 *db)
{
	int err = cw_exec(db, "CREATE TEMP TABLE episode AS SELECT e.* FROM temp.wait_place p"
			      " JOIN main.episode e USING(offcpu_id)");

	if (!err)
		err = cw_view_again(db, "offcpu");
	if (!err)
		err = cw_view_again(db, "blocked_reason");
	if (!err)
		err = cw_exec(db, name_places);
	return err ? err : cw_exec(db, hide_views);
}

int cw_wait_sums(sqlite3 *db)
{
	int err = cw_exec(db, tables);

	if (!err)
		err = run(db, false);
	if (err == -EAGAIN) {
		err = cw_exec(db, "DELETE FROM temp.wait_place");
		if (!err)
			err = run(db, true);
	}
	return err ? err : name_sums(db);
}
