/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the arithmetic of view thread_state, summed up. Must not know where episodes come from. */
#include "thread_sums.h"

static void add(struct cw_thread_sums *t, int64_t *sum, int64_t ns)
{
	*sum += ns;
	t->seen = true;
}

/* Ran from the switch-in before to until. */
static void run_until(struct cw_thread_sums *t, int64_t until)
{
	if (t->known && t->on_cpu && until > t->back)
		add(t, &t->running, until - t->back);
	t->on_cpu = false;
}

/* Asleep from the beginning on, around the time that is hidden. */
static void add_blocked(struct cw_thread_sums *t, const struct cw_thread_episode *e)
{
	int64_t end = e->ts + e->blocked_ns;

	if (e->blocked_ns <= 0)
		return;
	if (!e->hidden) {
		add(t, &t->blocked, e->blocked_ns);
		return;
	}
	if (e->unknown_ts > e->ts)
		add(t, &t->blocked, (e->unknown_ts < end ? e->unknown_ts : end) - e->ts);
	if (end > e->unknown_ts)
		add(t, &t->blocked, end - e->unknown_ts);
}

/* On a run queue up to the end. */
static void add_runq(struct cw_thread_sums *t, const struct cw_thread_episode *e)
{
	int64_t known = e->unknown_ts + e->unknown_ns;
	int64_t begin = e->end_ts - e->unknown_ns - e->runq_ns;

	if (e->runq_ns <= 0)
		return;
	if (!e->hidden || (!e->open && known <= e->end_ts - e->runq_ns)) {
		add(t, &t->runq, e->runq_ns);
		return;
	}
	if (e->open)
		return;
	if (e->unknown_ts > begin)
		add(t, &t->runq, e->unknown_ts - begin);
	if (e->end_ts > known)
		add(t, &t->runq, e->end_ts - known);
}

static void add_preempted(struct cw_thread_sums *t, const struct cw_thread_episode *e)
{
	int64_t known = e->unknown_ts + e->unknown_ns;
	int64_t until = e->hidden ? e->unknown_ts : e->end_ts;

	if (e->preempted_ns <= 0)
		return;
	if ((e->hidden || !e->open) && until > e->ts)
		add(t, &t->preempted, until - e->ts);
	if (e->hidden && !e->open && e->end_ts > known)
		add(t, &t->preempted, e->end_ts - known);
}

/* Off the CPU to the end of the capture. */
static void add_rest(struct cw_thread_sums *t, const struct cw_thread_episode *e,
		     int64_t capture_end)
{
	if (e->ts >= capture_end)
		return;
	if (e->state == 0 || e->preempted)
		add(t, &t->preempted, capture_end - e->ts);
	else if (e->woken || e->state == 2048)
		add(t, &t->runq, capture_end - e->ts);
	else
		add(t, &t->blocked, capture_end - e->ts);
}

void cw_thread_sums_add(struct cw_thread_sums *t, const struct cw_thread_episode *e,
			int64_t capture_end)
{
	run_until(t, e->ts);
	add_blocked(t, e);
	add_runq(t, e);
	add_preempted(t, e);
	if (e->unknown_ns > 0)
		add(t, &t->unknown, e->unknown_ns);
	if (e->open)
		add_rest(t, e, capture_end);
	t->on_cpu = !e->open;
	t->back = e->end_ts;
}

bool cw_thread_sums_end(struct cw_thread_sums *t, int64_t capture_end, int64_t out[5])
{
	run_until(t, t->exited ? t->exit_ts : capture_end);
	out[0] = t->running;
	out[1] = t->blocked;
	out[2] = t->runq;
	out[3] = t->preempted;
	out[4] = t->unknown;
	return t->seen;
}
