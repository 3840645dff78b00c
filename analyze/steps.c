/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns which target is around a call, and that the end of its work is told once. Must not know how
 * submissions are matched.
 */
#include <string.h>
#include "calls.h"
#include "steps.h"

/* From call i, an index + 1 as in cw_call.step_at, outwards to the first of a stage before this
 * one. */
static size_t lower_stage(const struct cw_task *task, size_t i, uint32_t stage, int linked)
{
	while (i && cw_call_at(task, i - 1)->step->stage >= stage)
		i = cw_call_at(task, i - 1)->step->lower[linked];
	return i;
}

struct cw_call *cw_steps_around(const struct cw_task *task, uint32_t stage)
{
	const struct cw_call *c = cw_call_at(task, cw_calls_depth(task) - 1);
	size_t i = lower_stage(task, c->step_at[1], stage, 1);

	if (!i)
		i = lower_stage(task, c->step_at[0], stage, 0);
	return i ? cw_call_at(task, i - 1) : NULL;
}

void cw_steps_enter(const struct cw_task *task, struct cw_call *c)
{
	size_t depth = cw_calls_depth(task);
	struct cw_step *s = c->step;

	if (depth > 1)
		memcpy(c->step_at, cw_call_at(task, depth - 2)->step_at, sizeof(c->step_at));
	for (int linked = 0; s && linked < 2; linked++) {
		s->lower[linked] = lower_stage(task, c->step_at[linked], s->stage, linked);
		if (!linked || s->link)
			c->step_at[linked] = depth;
	}
}

/* e, for each hop that s took a submission of. */
static void tell_took(const struct cw_trace *t, const struct cw_step *s, struct cw_queue_event *e)
{
	for (uint64_t left = s->took; left; left &= left - 1) {
		e->hop = (uint32_t)__builtin_ctzll(left);
		cw_watch_queue(t, e);
	}
}

void cw_steps_tell_done(const struct cw_trace *t, const struct cw_task *task,
			const struct cw_call *c, uint64_t ts, bool known)
{
	struct cw_futex_waits now = cw_state_futex_waits(task), then = c->step->futex;
	struct cw_queue_event e = {
		.what = CW_QUEUE_DONE,
		.flag = known,
		.ts = ts,
		.ns = ts - c->ts,
		.worker = task,
		.futex_waits = now.n - then.n,
		.futex_ns = now.ns - then.ns,
	};

	if (!c->step->done)
		tell_took(t, c->step, &e);
	c->step->done = true;
}

void cw_steps_tell_free(const struct cw_trace *t, const struct cw_task *task,
			const struct cw_call *c, uint64_t ts, bool no_handoff)
{
	struct cw_queue_event e = {
		.what = CW_QUEUE_FREE, .flag = no_handoff, .ts = ts, .worker = task};

	if (!c->step->freed)
		tell_took(t, c->step, &e);
	c->step->freed = true;
}
