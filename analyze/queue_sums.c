/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the run through each queue's steps. The definitions are those of views queue_event and
 * queue_sum. Must not know what a diagnosis is.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "queue_sums.h"
#include "report.h"
#include "say.h"

enum what { SUBMIT, START, START_AGAIN, DONE, FREE, DROP };

/* order: of tasks, then of what, which is the order of what happened at the same time. */
struct step {
	int64_t ts;
	uint64_t order;
};

struct worker {
	struct cw_hnode node;
	int64_t utid, started, work_ns, known;
};

/* What is summed up by the end of the capture. */
struct queue {
	struct cw_hnode node;
	int64_t hop;
	struct step *steps;
	size_t n, cap;
	int64_t submitted, started, completed, queue_ns, work_ns, futex_waits, futex_ns;
	int64_t duplicates, superseded, expired, no_handoff;
	struct cw_htab workers;
	/* of the run */
	int64_t pending, active, occupied, peak_pending, peak_active, saturated_ns;
	int64_t nth, early_n, late_n;
	double early, late;
};

struct slot {
	int64_t number, pending, active, submitted, started, done;
	bool used;
};

struct run {
	sqlite3 *db;
	int64_t start, end, width; /* width: of a slot */
	uint64_t tasks;
	struct cw_htab queues;
	sqlite3_stmt *put_sum, *put_worker, *put_slot;
};

enum {
	Q_HOP,
	Q_SUBMIT,
	Q_LEAVE,
	Q_START,
	Q_END,
	Q_FREE,
	Q_FIRST,
	Q_UTID,
	Q_QUEUE_NS,
	Q_WORK_NS,
	Q_FUTEX_WAITS,
	Q_FUTEX_NS,
	Q_SUPERSEDED,
	Q_EXPIRED,
	Q_DUPLICATE,
	Q_NO_HANDOFF,
};

static const char tasks_sql[] =
	"SELECT plan_hop, submit_ts, leave_ts, start_ts, end_ts, free_ts, first_taken, dst_utid,"
	" queue_ns, work_ns, futex_waits, futex_wait_ns, fate = 'superseded', fate = 'expired',"
	" duplicate, no_handoff FROM queue_task";

static const char tables[] =
	"CREATE TEMP TABLE queue_run(plan_hop INTEGER PRIMARY KEY, submitted INTEGER,"
	" started INTEGER, completed INTEGER, pending INTEGER, peak_pending INTEGER,"
	" active INTEGER, peak_active INTEGER, queue_total_ns INTEGER, work_total_ns INTEGER,"
	" futex_waits INTEGER, futex_wait_ns INTEGER, duplicate_keys INTEGER, superseded INTEGER,"
	" expired INTEGER, no_handoff INTEGER, saturated_ns INTEGER, workers INTEGER,"
	" early REAL, late REAL);"
	"CREATE TEMP TABLE queue_worker(plan_hop INTEGER, utid INTEGER, started INTEGER,"
	" work_ns INTEGER);"
	"CREATE TEMP TABLE queue_slot(plan_hop INTEGER, slot INTEGER, pending INTEGER,"
	" active INTEGER, pending_after INTEGER, active_after INTEGER, submitted INTEGER,"
	" started INTEGER, done INTEGER, PRIMARY KEY(plan_hop, slot)) WITHOUT ROWID;";

/* The columns of view queue_sum. */
static const char sums[] =
	"CREATE TEMP TABLE queue_sum AS"
	" WITH busiest AS MATERIALIZED (SELECT plan_hop, utid, started, work_ns FROM ("
	"  SELECT w.*, row_number() OVER (PARTITION BY w.plan_hop ORDER BY w.started DESC, t.tid)"
	"   AS place FROM temp.queue_worker w LEFT JOIN main.thread t USING(utid))"
	"  WHERE place = 1),"
	" lone AS MATERIALIZED (SELECT plan_hop, count(*) AS targets FROM main.unmatched GROUP BY "
	"1)"
	" SELECT r.plan_hop, -1 AS part, c.start_ts AS ts, max(c.end_ts, c.start_ts + 1) AS end_ts,"
	"  r.submitted, r.started, r.completed, r.pending, r.peak_pending, r.active, r.peak_active,"
	"  r.queue_total_ns, r.work_total_ns, r.futex_waits, r.futex_wait_ns, r.duplicate_keys,"
	"  r.superseded, r.expired, coalesce(u.targets, 0) AS unmatched, r.no_handoff,"
	"  r.saturated_ns, r.workers, b.utid AS busiest_utid, b.started AS busiest_started,"
	"  b.work_ns AS busiest_work_ns, r.early, r.late"
	" FROM temp.queue_run r, report_clock c LEFT JOIN busiest b USING(plan_hop)"
	" LEFT JOIN lone u ON u.plan_hop = r.plan_hop;"
	"DROP TABLE temp.queue_run;"
	"DROP TABLE temp.queue_worker;";

/* ---- reading ------------------------------------------------------------------------------------
 */

static struct queue *queue_of(struct run *r, int64_t hop)
{
	uint64_t hash = cw_hash(0, (uint64_t)hop);
	struct queue *q;

	for (struct cw_hnode *n = cw_htab_first(&r->queues, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		q = cw_container(n, struct queue, node);
		if (q->hop == hop)
			return q;
	}
	q = cw_zalloc(sizeof(*q));
	q->hop = hop;
	cw_htab_insert(&r->queues, &q->node, hash);
	return q;
}

static struct worker *worker_of(struct queue *q, int64_t utid)
{
	uint64_t hash = cw_hash(0, (uint64_t)utid);
	struct worker *w;

	for (struct cw_hnode *n = cw_htab_first(&q->workers, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		w = cw_container(n, struct worker, node);
		if (w->utid == utid)
			return w;
	}
	w = cw_zalloc(sizeof(*w));
	w->utid = utid;
	cw_htab_insert(&q->workers, &w->node, hash);
	return w;
}

/* True when it counts: by the end of the capture. */
static bool add_step(struct run *r, struct queue *q, enum what what, int64_t ts)
{
	cw_reserve(q->steps, q->n, q->cap);
	q->steps[q->n++] = (struct step){.ts = ts, .order = r->tasks << 3 | what};
	return ts <= r->end;
}

static bool known(sqlite3_stmt *s, int column)
{
	return sqlite3_column_type(s, column) != SQLITE_NULL;
}

static void add_start(struct run *r, struct queue *q, sqlite3_stmt *s)
{
	bool first = sqlite3_column_int(s, Q_FIRST) != 0;
	struct worker *w;

	if (!add_step(r, q, first ? START : START_AGAIN, sqlite3_column_int64(s, Q_LEAVE)))
		return;
	w = worker_of(q, sqlite3_column_int64(s, Q_UTID));
	q->started++;
	q->queue_ns += sqlite3_column_int64(s, Q_QUEUE_NS);
	w->started++;
	w->known += known(s, Q_WORK_NS);
	w->work_ns += sqlite3_column_int64(s, Q_WORK_NS);
}

static void add_done(struct run *r, struct queue *q, sqlite3_stmt *s)
{
	if (!add_step(r, q, DONE, sqlite3_column_int64(s, known(s, Q_END) ? Q_END : Q_FREE)))
		return;
	q->completed += known(s, Q_WORK_NS);
	q->work_ns += sqlite3_column_int64(s, Q_WORK_NS);
	q->futex_waits += sqlite3_column_int64(s, Q_FUTEX_WAITS);
	q->futex_ns += sqlite3_column_int64(s, Q_FUTEX_NS);
}

static void add_task(struct run *r, sqlite3_stmt *s)
{
	struct queue *q = queue_of(r, sqlite3_column_int64(s, Q_HOP));

	r->tasks++;
	if (sqlite3_column_int(s, Q_FIRST) &&
	    add_step(r, q, SUBMIT, sqlite3_column_int64(s, Q_SUBMIT))) {
		q->submitted++;
		q->duplicates += sqlite3_column_int(s, Q_DUPLICATE) != 0;
	}
	if (known(s, Q_START))
		add_start(r, q, s);
	else if (known(s, Q_LEAVE) && add_step(r, q, DROP, sqlite3_column_int64(s, Q_LEAVE))) {
		q->superseded += sqlite3_column_int(s, Q_SUPERSEDED);
		q->expired += sqlite3_column_int(s, Q_EXPIRED);
	}
	if (known(s, Q_END) || known(s, Q_FREE))
		add_done(r, q, s);
	if (known(s, Q_FREE) && add_step(r, q, FREE, sqlite3_column_int64(s, Q_FREE)))
		q->no_handoff += sqlite3_column_int(s, Q_NO_HANDOFF);
}

static int read_tasks(struct run *r)
{
	sqlite3_stmt *s = NULL;
	int rc = SQLITE_DONE, err = cw_prepare(r->db, &s, tasks_sql);

	while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW)
		add_task(r, s);
	if (!err && rc != SQLITE_DONE)
		err = cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(r->db));
	sqlite3_finalize(s);
	return err;
}

/* ---- running ------------------------------------------------------------------------------------
 */

static int by_time(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	if (x->ts != y->ts)
		return x->ts < y->ts ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

static void change(struct queue *q, enum what what)
{
	q->pending += what == SUBMIT;
	q->pending -= what == START || what == DROP;
	q->active += what == START || what == START_AGAIN;
	q->active -= what == DONE;
	q->occupied += what == START || what == START_AGAIN;
	q->occupied -= what == FREE;
}

/* What a third of the submissions found waiting, themselves included. */
static void add_trend(struct queue *q)
{
	q->nth++;
	if (3 * (q->nth - 1) < q->submitted) {
		q->early += (double)q->pending;
		q->early_n++;
	}
	if (3 * (q->submitted - q->nth) < q->submitted) {
		q->late += (double)q->pending;
		q->late_n++;
	}
}

static int64_t most(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Step i, by the end of the capture, which what is left of it goes on to. */
static void add_to_sum(struct run *r, struct queue *q, size_t i, bool submission)
{
	bool last = i + 1 == q->n || q->steps[i + 1].ts > r->end;
	int64_t until = last ? r->end : q->steps[i + 1].ts;
	int64_t workers = (int64_t)q->workers.count;

	q->peak_pending = most(i ? q->peak_pending : q->pending, q->pending);
	q->peak_active = most(i ? q->peak_active : q->active, q->active);
	if (q->pending > 0 && workers && q->occupied >= workers)
		q->saturated_ns += until - q->steps[i].ts;
	if (submission)
		add_trend(q);
}

static void bind(sqlite3_stmt *s, const int64_t *values, int n)
{
	for (int i = 0; i < n; i++)
		sqlite3_bind_int64(s, i + 1, values[i]);
}

static int put(struct run *r, sqlite3_stmt *s)
{
	sqlite3_step(s);
	if (sqlite3_reset(s) == SQLITE_OK)
		return 0;
	return cw_fail(-EIO, "cannot keep sums: %s", sqlite3_errmsg(r->db));
}

static int put_slot(struct run *r, const struct queue *q, struct slot *x)
{
	bind(r->put_slot,
	     (int64_t[]){q->hop, x->number, x->pending, x->active, q->pending, q->active,
			 x->submitted, x->started, x->done},
	     9);
	x->used = false;
	return put(r, r->put_slot);
}

static void add_to_slot(const struct queue *q, struct slot *x, enum what what)
{
	x->pending = most(x->pending, q->pending);
	x->active = most(x->active, q->active);
	x->submitted += what == SUBMIT;
	x->started += what == START || what == START_AGAIN;
	x->done += what == DONE;
}

static int run_queue(struct run *r, struct queue *q)
{
	struct slot x = {.used = false};
	int64_t pending = 0, active = 0;
	int err = 0;

	if (q->n)
		qsort(q->steps, q->n, sizeof(*q->steps), by_time);
	for (size_t i = 0; !err && i < q->n; i++) {
		enum what what = q->steps[i].order & 7;
		int64_t number = (q->steps[i].ts - r->start) / r->width;

		if (x.used && number != x.number)
			err = put_slot(r, q, &x);
		change(q, what);
		if (!x.used)
			x = (struct slot){.number = number,
					  .used = true,
					  .pending = q->pending,
					  .active = q->active};
		add_to_slot(q, &x, what);
		if (q->steps[i].ts > r->end)
			continue;
		add_to_sum(r, q, i, what == SUBMIT);
		pending = q->pending;
		active = q->active;
	}
	if (!err && x.used)
		err = put_slot(r, q, &x);
	q->pending = pending; /* when the capture ended */
	q->active = active;
	return err;
}

/* ---- writing ------------------------------------------------------------------------------------
 */

static int put_workers(struct run *r, const struct queue *q)
{
	int err = 0;

	for (size_t b = 0; b < q->workers.nbuckets; b++)
		for (struct cw_hnode *n = q->workers.buckets[b].first; n; n = n->next) {
			const struct worker *w = cw_container(n, struct worker, node);

			bind(r->put_worker, (int64_t[]){q->hop, w->utid, w->started}, 3);
			if (w->known)
				sqlite3_bind_int64(r->put_worker, 4, w->work_ns / w->known);
			else
				sqlite3_bind_null(r->put_worker, 4);
			if (!err)
				err = put(r, r->put_worker);
		}
	return err;
}

static int put_queue(struct run *r, const struct queue *q)
{
	bind(r->put_sum,
	     (int64_t[]){q->hop, q->submitted, q->started, q->completed, q->pending,
			 q->peak_pending, q->active, q->peak_active, q->queue_ns, q->work_ns,
			 q->futex_waits, q->futex_ns, q->duplicates, q->superseded, q->expired,
			 q->no_handoff, q->saturated_ns, (int64_t)q->workers.count},
	     18);
	if (q->submitted >= 6) {
		sqlite3_bind_double(r->put_sum, 19, q->early / (double)q->early_n);
		sqlite3_bind_double(r->put_sum, 20, q->late / (double)q->late_n);
	} else {
		sqlite3_bind_null(r->put_sum, 19);
		sqlite3_bind_null(r->put_sum, 20);
	}
	return put(r, r->put_sum) ?: put_workers(r, q);
}

/* Hops of the plan of which nothing was seen have a row, too. */
static int all_hops(struct run *r)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(r->db, &s, "SELECT plan_hop FROM main.hop_count");

	while (!err && sqlite3_step(s) == SQLITE_ROW)
		queue_of(r, sqlite3_column_int64(s, 0));
	sqlite3_finalize(s);
	return err;
}

static void free_all(struct run *r)
{
	for (size_t b = 0; b < r->queues.nbuckets; b++)
		for (struct cw_hnode *n = r->queues.buckets[b].first, *next; n; n = next) {
			struct queue *q = cw_container(n, struct queue, node);

			next = n->next;
			for (size_t i = 0; i < q->workers.nbuckets; i++)
				for (struct cw_hnode *w = q->workers.buckets[i].first, *then; w;
				     w = then) {
					then = w->next;
					free(cw_container(w, struct worker, node));
				}
			cw_htab_free(&q->workers);
			free(q->steps);
			free(q);
		}
	cw_htab_free(&r->queues);
	sqlite3_finalize(r->put_sum);
	sqlite3_finalize(r->put_worker);
	sqlite3_finalize(r->put_slot);
}

static int prepare(struct run *r, int slots)
{
	int err = cw_exec(r->db, tables);

	if (!err)
		err = cw_prepare(r->db, &r->put_sum,
				 "INSERT INTO temp.queue_run VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
				 " ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)");
	if (!err)
		err = cw_prepare(r->db, &r->put_worker,
				 "INSERT INTO temp.queue_worker VALUES(?1, ?2, ?3, ?4)");
	if (!err)
		err = cw_prepare(
			r->db, &r->put_slot,
			"INSERT INTO temp.queue_slot VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8,"
			" ?9)");
	r->start = cw_query_int(r->db, "SELECT start_ts FROM report_clock", 0);
	r->end = most(cw_query_int(r->db, "SELECT end_ts FROM report_clock", 0), r->start + 1);
	r->width = most((r->end - r->start) / slots, 1);
	return err;
}

int cw_queue_sums(sqlite3 *db, int slots)
{
	struct run r = {.db = db};
	int err = prepare(&r, slots);

	if (!err)
		err = read_tasks(&r);
	if (!err)
		err = all_hops(&r);
	for (size_t b = 0; !err && b < r.queues.nbuckets; b++)
		for (struct cw_hnode *n = r.queues.buckets[b].first; !err && n; n = n->next) {
			struct queue *q = cw_container(n, struct queue, node);

			err = run_queue(&r, q);
			free(q->steps);
			q->steps = NULL;
			if (!err)
				err = put_queue(&r, q);
		}
	free_all(&r);
	return err ? err : cw_exec(db, sums);
}
