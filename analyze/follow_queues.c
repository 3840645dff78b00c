/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the queues and pools of a followed run: what view queue_diagnostics works out from rows is
 * counted here as it happens, for the interval and for the whole run. The definitions are the
 * view's. Where it knows the whole capture, here it is what was seen so far: how many workers there
 * are (saturated_ns). Must not know how it is printed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "follow.h"
#include "hash.h"
#include "identity.h"
#include "say.h"

#define BUCKETS     1536u /* of submissions; a third is known to a five-hundredth of itself */
#define MAX_AT_ONCE 1000u /* intervals closed one by one */

struct worker {
	uint64_t utid, started, done, work_ns;
	uint32_t tid;
};

/* What was found waiting after each submission, in buckets of per submissions. */
struct trend {
	uint64_t per, n; /* n: submissions */
	double sums[BUCKETS];
};

struct counts {
	uint64_t begin_ts;
	uint64_t submitted, started, completed, queue_ns, work_ns, futex_waits, futex_ns;
	uint64_t duplicates, superseded, expired, lone, no_handoff, saturated_ns;
	int64_t peak_pending, peak_active;
	struct worker *workers; /* that started or ended work */
	size_t nworkers, workers_cap;
	uint64_t starters; /* of them, those that started some */
	struct trend trend;
};

struct queue {
	int64_t pending, active, occupied;
	uint64_t changed; /* when that was last so */
	struct counts part, whole;
};

/* What is to be printed of one hop. */
struct closed {
	uint32_t hop;
	int64_t interval; /* -1: the whole run */
	uint64_t end_ts;
	int64_t pending, active;
	struct counts c;
};

struct cw_queues {
	sqlite3 *db;
	sqlite3_stmt *put;
	struct queue *q; /* by hop; NULL before start */
	uint32_t n;
	uint64_t start, interval_ns;
	uint64_t interval; /* number of the one that is running */
	struct closed *closed;
	size_t nclosed, cap;
	int err;
};

/* ---- counting -----------------------------------------------------------------------------------
 */

static void trend_add(struct trend *t, int64_t pending)
{
	size_t at;

	if (!t->per)
		t->per = 1;
	at = t->n++ / t->per;
	if (at == BUCKETS) {
		for (size_t i = 0; i < BUCKETS / 2; i++)
			t->sums[i] = t->sums[2 * i] + t->sums[2 * i + 1];
		memset(t->sums + BUCKETS / 2, 0, sizeof(t->sums) / 2);
		t->per *= 2;
		at = BUCKETS / 2;
	}
	t->sums[at] += (double)pending;
}

/* Average over submissions from to to - 1, buckets shared out. */
static double trend_average(const struct trend *t, uint64_t from, uint64_t to)
{
	double sum = 0;

	for (uint64_t b = from / t->per; b * t->per < to; b++) {
		uint64_t begin = b * t->per, end = begin + t->per < t->n ? begin + t->per : t->n;
		uint64_t lo = begin > from ? begin : from, hi = end < to ? end : to;

		sum += t->sums[b] * (double)(hi - lo) / (double)(end - begin);
	}
	return sum / (double)(to - from);
}

static struct worker *worker_of(struct counts *c, const struct cw_task *task)
{
	struct worker *w;

	for (size_t i = 0; i < c->nworkers; i++)
		if (c->workers[i].utid == task->utid)
			return &c->workers[i];
	cw_reserve(c->workers, c->nworkers, c->workers_cap);
	w = &c->workers[c->nworkers++];
	memset(w, 0, sizeof(*w));
	w->utid = task->utid;
	w->tid = task->process->rec_pid && task->process->rec_pid != task->process->pid
			 ? task->ns_tid
			 : task->tid;
	return w;
}

static void count(struct counts *c, const struct cw_queue_event *e, const struct queue *q)
{
	struct worker *w;

	c->peak_pending = q->pending > c->peak_pending ? q->pending : c->peak_pending;
	c->peak_active = q->active > c->peak_active ? q->active : c->peak_active;
	switch (e->what) {
	case CW_QUEUE_SUBMIT:
		c->submitted++;
		c->duplicates += e->flag;
		trend_add(&c->trend, q->pending);
		break;
	case CW_QUEUE_START:
		c->started++;
		c->queue_ns += e->ns;
		c->starters += !worker_of(c, e->worker)->started++;
		break;
	case CW_QUEUE_DONE:
		c->futex_waits += e->futex_waits;
		c->futex_ns += e->futex_ns;
		if (!e->flag)
			break;
		c->completed++;
		c->work_ns += e->ns;
		w = worker_of(c, e->worker);
		w->done++;
		w->work_ns += e->ns;
		break;
	case CW_QUEUE_FREE:
		c->no_handoff += e->flag;
		break;
	case CW_QUEUE_DROP:
		c->superseded += e->flag;
		c->expired += !e->flag;
		break;
	case CW_QUEUE_REFUSE:
		c->submitted--;
		break;
	case CW_QUEUE_LONE:
		c->lone++;
		break;
	}
}

/* Time goes on to ts with things as they are. */
static void pass_time(struct queue *q, uint64_t ts)
{
	if (ts <= q->changed)
		return;
	if (q->changed && q->pending > 0 && q->whole.starters &&
	    q->occupied >= (int64_t)q->whole.starters) {
		q->part.saturated_ns += ts - q->changed;
		q->whole.saturated_ns += ts - q->changed;
	}
	q->changed = ts;
}

static void change(struct queue *q, const struct cw_queue_event *e)
{
	switch (e->what) {
	case CW_QUEUE_SUBMIT:
		q->pending++;
		break;
	case CW_QUEUE_START:
		q->pending -= e->flag;
		q->active++;
		q->occupied++;
		break;
	case CW_QUEUE_DONE:
		q->active--;
		break;
	case CW_QUEUE_FREE:
		q->occupied--;
		break;
	case CW_QUEUE_DROP:
	case CW_QUEUE_REFUSE:
		q->pending--;
		break;
	case CW_QUEUE_LONE:
		break;
	}
}

static void restart(struct counts *c, uint64_t ts)
{
	memset(c, 0, sizeof(*c));
	c->begin_ts = ts;
	c->peak_pending = c->peak_active = INT64_MIN;
}

/* Put the counts of the interval, or of the run, aside for printing. */
static void close_counts(struct cw_queues *qs, uint32_t hop, struct counts *c, int64_t interval,
			 uint64_t end_ts)
{
	const struct queue *q = &qs->q[hop];
	struct closed *x;

	cw_reserve(qs->closed, qs->nclosed, qs->cap);
	x = &qs->closed[qs->nclosed++];
	*x = (struct closed){hop, interval, end_ts, q->pending, q->active, *c};
	restart(c, end_ts);
}

static void close_interval(struct cw_queues *qs, uint64_t end_ts)
{
	for (uint32_t i = 0; i < qs->n; i++) {
		pass_time(&qs->q[i], end_ts);
		close_counts(qs, i, &qs->q[i].part, (int64_t)qs->interval, end_ts);
	}
	qs->interval++;
}

void cw_queues_time(struct cw_queues *qs, uint64_t ts)
{
	uint64_t due =
		qs->n && qs->interval_ns && ts > qs->start ? (ts - qs->start) / qs->interval_ns : 0;

	/* Clocks of damaged records leap: what is left out becomes one interval. */
	if (due > qs->interval + MAX_AT_ONCE)
		qs->interval = due - 1;
	while (qs->interval < due)
		close_interval(qs, qs->start + (qs->interval + 1) * qs->interval_ns);
}

void cw_queues_event(struct cw_queues *qs, const struct cw_queue_event *e)
{
	struct queue *q;

	if (e->hop >= qs->n)
		return;
	cw_queues_time(qs, e->ts);
	q = &qs->q[e->hop];
	pass_time(q, e->ts);
	change(q, e);
	count(&q->part, e, q);
	count(&q->whole, e, q);
}

void cw_queues_start(struct cw_queues *qs, uint32_t nhops, uint64_t ts, uint64_t interval_ns)
{
	qs->q = cw_zalloc(nhops * sizeof(*qs->q));
	qs->n = nhops;
	qs->start = ts;
	qs->interval_ns = interval_ns;
	for (uint32_t i = 0; i < nhops; i++) {
		restart(&qs->q[i].part, ts);
		restart(&qs->q[i].whole, ts);
	}
}

bool cw_queues_started(const struct cw_queues *qs)
{
	return qs->q;
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static const char put_row[] =
	"INSERT INTO temp.queue_diagnostics(plan_hop, source, target, interval, ts, end_ts,"
	" submitted, started, completed, submit_rate, start_rate, complete_rate, pending,"
	" peak_pending, active, peak_active, queue_total_ns, queue_average_ns, work_total_ns,"
	" work_average_ns, futex_waits, futex_wait_ns, futex_ratio, duplicate_keys, superseded,"
	" expired, unmatched_targets, dropped, no_handoff, worker_count, busiest_worker_tid,"
	" busiest_worker_started, busiest_worker_average_work_ns, saturated_ns, early_pending,"
	" late_pending, diagnosis)"
	" SELECT ?1, source, target, ?2, ?3, ?4, ?5, ?6, ?7, 1e9 * ?5 / max(?4 - ?3, 1),"
	" 1e9 * ?6 / max(?4 - ?3, 1), 1e9 * ?7 / max(?4 - ?3, 1), ?8, ?9, ?10, ?11, ?12,"
	" ?12 / nullif(?6, 0), ?13, ?13 / nullif(?7, 0), ?14, ?15,"
	" coalesce(1.0 * ?15 / nullif(?13, 0), 0), ?16, ?17, ?18, ?19,"
	" (SELECT coalesce(sum(l.count), 0) FROM loss l WHERE ?2 IS NOT NULL"
	"  AND l.kind IN ('probe_entry', 'probe_return', '*') AND l.end_ts >= ?3 AND l.ts <= ?4)"
	" + (SELECT coalesce(sum(l.count), 0) FROM temp.sum_loss l WHERE ?2 IS NULL"
	"  AND l.kind IN ('probe_entry', 'probe_return', '*')),"
	" ?20, ?21, ?22, ?23, ?24, ?25, ?26, ?27, ?28 FROM hop_count WHERE plan_hop = ?1";

/* The rules of the view's last column. */
static const char *diagnosis(char buf[64], const struct counts *c, uint64_t lasts, double early,
			     double late, bool trend)
{
	double futex = c->work_ns ? (double)c->futex_ns / (double)c->work_ns : 0;

	snprintf(buf, 64, "%s%s%s",
		 trend && late > (double)c->starters && late >= 1.5 * early ? "+backlog" : "",
		 (double)c->saturated_ns / (double)(lasts ? lasts : 1) >= 0.25 ? "+saturation" : "",
		 futex >= 0.2 ? "+lock contention" : "");
	return *buf ? buf + 1 : "none";
}

static const struct worker *busiest(const struct counts *c)
{
	const struct worker *most = NULL;

	for (size_t i = 0; i < c->nworkers; i++) {
		const struct worker *w = &c->workers[i];

		if (w->started && (!most || w->started > most->started ||
				   (w->started == most->started && w->tid < most->tid)))
			most = w;
	}
	return most;
}

static void bind_trend(sqlite3_stmt *s, const struct counts *c, uint64_t lasts)
{
	uint64_t n = c->trend.n, third = (n + 2) / 3;
	double early = 0, late = 0;
	char buf[64];

	if (n >= 6) {
		early = trend_average(&c->trend, 0, third);
		late = trend_average(&c->trend, n - third, n);
		sqlite3_bind_double(s, 26, early);
		sqlite3_bind_double(s, 27, late);
	}
	sqlite3_bind_text(s, 28, diagnosis(buf, c, lasts, early, late, n >= 6), -1,
			  SQLITE_TRANSIENT);
}

static int64_t at_least(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static void put(struct cw_queues *qs, const struct closed *x)
{
	const struct counts *c = &x->c;
	const struct worker *w = busiest(c);
	const uint64_t values[] = {c->begin_ts,
				   x->end_ts,
				   c->submitted,
				   c->started,
				   c->completed,
				   (uint64_t)x->pending,
				   (uint64_t)at_least(x->pending, c->peak_pending),
				   (uint64_t)x->active,
				   (uint64_t)at_least(x->active, c->peak_active),
				   c->queue_ns,
				   c->work_ns,
				   c->futex_waits,
				   c->futex_ns,
				   c->duplicates,
				   c->superseded,
				   c->expired,
				   c->lone,
				   c->no_handoff,
				   c->starters};
	sqlite3_stmt *s = qs->put;

	sqlite3_clear_bindings(s);
	sqlite3_bind_int64(s, 1, x->hop);
	if (x->interval >= 0)
		sqlite3_bind_int64(s, 2, x->interval);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++)
		sqlite3_bind_int64(s, 3 + (int)i, (int64_t)values[i]);
	if (w) {
		sqlite3_bind_int64(s, 22, w->tid);
		sqlite3_bind_int64(s, 23, (int64_t)w->started);
		if (w->done)
			sqlite3_bind_int64(s, 24, (int64_t)(w->work_ns / w->done));
	}
	sqlite3_bind_int64(s, 25, (int64_t)c->saturated_ns);
	bind_trend(s, c, x->end_ts - c->begin_ts);
	sqlite3_step(s);
	if (sqlite3_reset(s) != SQLITE_OK && !qs->err)
		qs->err =
			cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(qs->db));
}

int cw_queues_write(struct cw_queues *qs)
{
	int err = cw_exec(qs->db, "DELETE FROM temp.queue_diagnostics");

	for (size_t i = 0; i < qs->nclosed; i++) {
		if (!err)
			put(qs, &qs->closed[i]);
		free(qs->closed[i].c.workers);
	}
	err = err ? err : qs->err ? qs->err : (int)qs->nclosed;
	qs->nclosed = 0;
	return err;
}

void cw_queues_end(struct cw_queues *qs, uint64_t ts)
{
	cw_queues_time(qs, ts);
	if (qs->interval_ns)
		close_interval(qs, ts);
}

void cw_queues_whole(struct cw_queues *qs, uint64_t ts)
{
	for (uint32_t i = 0; i < qs->n; i++) {
		pass_time(&qs->q[i], ts);
		close_counts(qs, i, &qs->q[i].whole, -1, ts);
	}
}

int cw_queues_new(struct cw_queues **out, sqlite3 *db)
{
	struct cw_queues *qs = cw_zalloc(sizeof(*qs));
	/* The table has the view's columns; it is not asked for rows. */
	int err = cw_exec(db, "CREATE TEMP TABLE queue_diagnostics AS"
			      " SELECT * FROM main.queue_diagnostics WHERE 0");

	*out = qs;
	qs->db = db;
	return err ? err : cw_prepare(db, &qs->put, put_row);
}

void cw_queues_free(struct cw_queues *qs)
{
	if (!qs)
		return;
	sqlite3_finalize(qs->put);
	for (uint32_t i = 0; i < qs->n; i++) {
		free(qs->q[i].part.workers);
		free(qs->q[i].whole.workers);
	}
	for (size_t i = 0; i < qs->nclosed; i++)
		free(qs->closed[i].c.workers);
	free(qs->closed);
	free(qs->q);
	free(qs);
}
