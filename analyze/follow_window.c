/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns what stays in the followed database: rows that are young, and older ones that belong to a
 * chain under way or may still be shown with one. Numbers of rows grow with time, so marks of how
 * far they went tell old from young without an index on time. Must not know how rows are shown.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "calls.h"
#include "distinct.h"
#include "episode.h"
#include "files.h"
#include "follow.h"
#include "identity.h"
#include "say.h"
#include "stacks.h"
#include "stitch.h"

#define SECOND       1000000000ull
#define KEEP_NS      SECOND         /* everything */
#define KEEP_WAITS   (60 * SECOND)  /* waits inside calls that have not ended */
#define MAX_WAITS    500000         /* of those */
#define KEEP_GONE_NS (120 * SECOND) /* what may be named by rows of long chains */
#define NMARKS       128            /* two minutes of them */

/* Greatest numbers so far; those of sleeps and wakers below the floor are not given again. */
struct mark {
	uint64_t ts;
	int64_t slice, edge, chain, episode;
	uint64_t sleep_floor, waker_floor;
};

struct gone {
	uint64_t id, ts;
};

struct queue {
	struct gone *g;
	size_t head, n, cap;
};

enum {
	KEEP_EDGE,
	KEEP_SLICE,
	SLICES,
	EDGES,
	PATHS,
	HOPS,
	EPISODES,
	RAN_LATER,
	SLEEPS,
	WAKERS,
	THREADS,
	PROCESSES,
	MAPPINGS,
	STACK,
	FRAMES,
	STACK_JSON,
	FILE_ROW,
	UNMATCHED,
	UNCONSUMED,
	LOSSES,
	NSTATEMENTS
};

struct cw_window {
	sqlite3 *db;
	sqlite3_stmt *stmt[NSTATEMENTS];
	struct mark marks[NMARKS];
	size_t nmarks; /* ever; the last NMARKS are kept */
	struct queue stacks, files;
	int err;
};

static const char *const statements[NSTATEMENTS] = {
	[KEEP_EDGE] = "INSERT OR IGNORE INTO temp.keep_edge VALUES(?1)",
	[KEEP_SLICE] = "INSERT OR IGNORE INTO temp.keep_slice VALUES(?1)",
	[SLICES] = "DELETE FROM slice WHERE slice_id <= ?1"
		   " AND slice_id NOT IN (SELECT slice_id FROM temp.keep_slice)"
		   " AND slice_id NOT IN (SELECT src_slice FROM edge WHERE edge_id IN"
		   "  (SELECT edge_id FROM temp.keep_edge) AND src_slice IS NOT NULL)",
	[EDGES] = "DELETE FROM edge WHERE edge_id <= ?1"
		  " AND edge_id NOT IN (SELECT edge_id FROM temp.keep_edge)",
	[PATHS] = "DELETE FROM path WHERE chain_id <= ?1",
	[HOPS] = "DELETE FROM path_hop WHERE chain_id <= ?1",
	/* The row of a long sleep is put late, with the number it got at its beginning. */
	[EPISODES] = "DELETE FROM episode WHERE offcpu_id <= ?1 AND coalesce(end_ts, ts) < ?2",
	[RAN_LATER] = "DELETE FROM ran_later WHERE offcpu_id <= ?1"
		      " AND offcpu_id NOT IN (SELECT offcpu_id FROM episode)",
	[SLEEPS] = "DELETE FROM sleep WHERE sleep_id <= ?1",
	[WAKERS] = "DELETE FROM waker WHERE waker_id <= ?1",
	[THREADS] = "DELETE FROM thread WHERE end_ts < ?1",
	[PROCESSES] = "DELETE FROM process WHERE end_ts < ?1",
	[MAPPINGS] = "DELETE FROM mapping WHERE upid NOT IN (SELECT upid FROM process)",
	[STACK] = "DELETE FROM stack WHERE stack_id = ?1",
	[FRAMES] = "DELETE FROM stack_frame WHERE stack_id = ?1",
	[STACK_JSON] = "DELETE FROM temp.report_stack_json WHERE stack_id = ?1",
	[FILE_ROW] = "DELETE FROM file WHERE file_id = ?1",
	/* All but the last, whose row id tells what comes after it. */
	[UNMATCHED] = "DELETE FROM unmatched WHERE rowid < (SELECT max(rowid) FROM unmatched)",
	[UNCONSUMED] = "DELETE FROM unconsumed WHERE rowid < (SELECT max(rowid) FROM unconsumed)",
	[LOSSES] = "DELETE FROM loss WHERE rowid < (SELECT max(rowid) FROM loss)",
};

int cw_window_new(struct cw_window **out, sqlite3 *db)
{
	struct cw_window *w = cw_zalloc(sizeof(*w));
	int err = cw_exec(db, "CREATE TEMP TABLE keep_edge(edge_id INTEGER PRIMARY KEY);"
			      "CREATE TEMP TABLE keep_slice(slice_id INTEGER PRIMARY KEY)");

	*out = w;
	w->db = db;
	for (int i = 0; !err && i < NSTATEMENTS; i++)
		err = cw_prepare(db, &w->stmt[i], statements[i]);
	return err;
}

void cw_window_free(struct cw_window *w)
{
	if (!w)
		return;
	for (int i = 0; i < NSTATEMENTS; i++)
		sqlite3_finalize(w->stmt[i]);
	free(w->stacks.g);
	free(w->files.g);
	free(w);
}

static void run(struct cw_window *w, int which, int64_t number, int64_t ts)
{
	sqlite3_stmt *s = w->stmt[which];

	if (w->err)
		return;
	for (int i = 1; i <= sqlite3_bind_parameter_count(s); i++)
		sqlite3_bind_int64(s, i, i == 1 ? number : ts);
	sqlite3_step(s);
	if (sqlite3_reset(s) != SQLITE_OK)
		w->err = cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(w->db));
}

/* ---- marks --------------------------------------------------------------------------------------
 */

static uint64_t floor_of(const struct cw_distinct *d)
{
	return d->ids - d->tab.count;
}

int cw_window_mark(struct cw_window *w, const struct cw_trace *t, uint64_t ts)
{
	struct mark *m = &w->marks[w->nmarks % NMARKS];

	if (w->nmarks && ts < w->marks[(w->nmarks - 1) % NMARKS].ts + SECOND)
		return 0;
	m->ts = ts;
	m->slice = cw_query_int(w->db, "SELECT max(slice_id) FROM slice", 0);
	m->edge = cw_query_int(w->db, "SELECT max(edge_id) FROM edge", 0);
	m->chain = cw_query_int(w->db, "SELECT max(chain_id) FROM path", 0);
	m->episode = cw_query_int(w->db, "SELECT max(offcpu_id) FROM episode", 0);
	m->sleep_floor = floor_of(&cw_state_seen(t)->sleeps);
	m->waker_floor = floor_of(&cw_state_seen(t)->wakers);
	w->nmarks++;
	return 0;
}

/* The youngest mark at or before ts, or NULL. */
static const struct mark *mark_before(const struct cw_window *w, uint64_t ts)
{
	for (size_t i = w->nmarks; i-- && i + NMARKS >= w->nmarks;)
		if (w->marks[i % NMARKS].ts <= ts)
			return &w->marks[i % NMARKS];
	return NULL;
}

/* ---- what is needed -----------------------------------------------------------------------------
 */

static void keep_edge(void *arg, uint64_t edge_id)
{
	run(arg, KEEP_EDGE, (int64_t)edge_id, 0);
}

static void keep_slice(void *arg, uint64_t slice_id)
{
	run(arg, KEEP_SLICE, (int64_t)slice_id, 0);
}

static void collect(struct cw_window *w, const struct cw_trace *t, uint64_t before)
{
	const struct cw_open_refs refs = {w, keep_edge, keep_slice};

	if (!w->err)
		w->err = cw_exec(w->db, "DELETE FROM temp.keep_edge; DELETE FROM temp.keep_slice");
	cw_stitch_open_refs(t, before, &refs);
}

/* Begin of the oldest call that has not ended; now when there is none. */
static uint64_t oldest_call(const struct cw_trace *t, uint64_t now)
{
	uint64_t oldest = now;

	for (const struct cw_task *task = cw_task_oldest(t); task; task = task->newer)
		if (cw_calls_depth(task) && cw_call_at(task, 0)->ts < oldest)
			oldest = cw_call_at(task, 0)->ts;
	return oldest;
}

static void prune_waits(struct cw_window *w, const struct cw_trace *t, uint64_t now)
{
	uint64_t from = oldest_call(t, now - KEEP_NS),
		 least = now > KEEP_WAITS ? now - KEEP_WAITS : 0;
	int64_t last = cw_query_int(w->db, "SELECT max(offcpu_id) FROM episode", 0);
	const struct mark *m = mark_before(w, from > least ? from : least);

	for (size_t i = w->nmarks; i-- && i + NMARKS >= w->nmarks;) {
		const struct mark *x = &w->marks[i % NMARKS];

		/* Too many: only the latest. */
		if (m && x->ts > m->ts && x->ts + KEEP_NS <= now && last - x->episode >= MAX_WAITS)
			m = x;
	}
	if (!m)
		return;
	run(w, EPISODES, m->episode, (int64_t)m->ts);
	run(w, RAN_LATER, m->episode, 0);
	run(w, SLEEPS, (int64_t)m->sleep_floor, 0);
	run(w, WAKERS, (int64_t)m->waker_floor, 0);
}

/* ---- what is gone -------------------------------------------------------------------------------
 */

static void put(struct queue *q, uint64_t id, uint64_t ts)
{
	if (q->head && q->head >= q->n / 2) {
		memmove(q->g, q->g + q->head, (q->n - q->head) * sizeof(*q->g));
		q->n -= q->head;
		q->head = 0;
	}
	cw_reserve(q->g, q->n, q->cap);
	q->g[q->n++] = (struct gone){id, ts};
}

void cw_window_gone_stack(struct cw_window *w, uint64_t stack_id, uint64_t ts)
{
	put(&w->stacks, stack_id, ts);
}

void cw_window_gone_file(struct cw_window *w, uint64_t file_id, uint64_t ts)
{
	put(&w->files, file_id, ts);
}

/* One that has come back meanwhile stays. */
static void prune_gone(struct cw_window *w, const struct cw_trace *t, uint64_t before)
{
	struct queue *q = &w->stacks;

	for (; q->head < q->n && q->g[q->head].ts < before; q->head++) {
		int64_t id = (int64_t)q->g[q->head].id;

		if (cw_stack_known(t, (uint64_t)id))
			continue;
		run(w, STACK, id, 0);
		run(w, FRAMES, id, 0);
		run(w, STACK_JSON, id, 0);
	}
	q = &w->files;
	for (; q->head < q->n && q->g[q->head].ts < before; q->head++)
		if (!cw_file_known(t, q->g[q->head].id))
			run(w, FILE_ROW, (int64_t)q->g[q->head].id, 0);
}

int cw_window_prune(struct cw_window *w, const struct cw_trace *t, uint64_t now)
{
	const struct mark *m = now > KEEP_NS ? mark_before(w, now - KEEP_NS) : NULL;

	if (!m)
		return 0;
	collect(w, t, m->ts);
	run(w, SLICES, m->slice, 0);
	run(w, EDGES, m->edge, 0);
	run(w, PATHS, m->chain, 0);
	run(w, HOPS, m->chain, 0);
	run(w, UNMATCHED, 0, 0);
	run(w, UNCONSUMED, 0, 0);
	run(w, LOSSES, 0, 0);
	prune_waits(w, t, now);
	if (now > KEEP_GONE_NS) {
		run(w, THREADS, (int64_t)(now - KEEP_GONE_NS), 0);
		run(w, PROCESSES, (int64_t)(now - KEEP_GONE_NS), 0);
		if (sqlite3_changes(w->db))
			run(w, MAPPINGS, 0, 0);
		prune_gone(w, t, now - KEEP_GONE_NS);
	}
	return w->err;
}
