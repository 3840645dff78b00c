/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the calls of each thread: pairs entries with returns by the stack pointer. A call whose
 * frame lies below where the stack pointer has gone back to is over, return or not; why it has none
 * is worked out here. Must not know hops.
 */
#include <stdlib.h>
#include "calls.h"
#include "identity.h"
#include "loss.h"
#include "stacks.h"

#define KERNEL_RETURNS 64u           /* pending returns of a thread that the kernel keeps */
#define OTHER_STACK    (64ull << 20) /* farther apart than this, stack pointers are of two stacks */
#define LOOK_BACK      1024u         /* calls that a return is looked for among */

struct cw_tcalls {
	struct cw_call *c; /* outermost first */
	size_t n, cap;
	uint32_t pending; /* of those, with a return to come */
	size_t last[2];   /* the innermost that may return, as index + 1, by kernel_limit */
};

struct cw_calls {
	uint64_t slices; /* numbers given out */
};

size_t cw_calls_depth(const struct cw_task *task)
{
	return task->calls ? task->calls->n : 0;
}

struct cw_call *cw_call_at(const struct cw_task *task, size_t i)
{
	return &task->calls->c[i];
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

enum {
	DUR = 1ull << 2,
	PARENT = 1ull << 6,
	STACK = 1ull << 7,
	RET = 1ull << 8,
	NO_RETURN = 1ull << 9,
	PARTS = 0x1full << 10,
	FIRST_ARG = 16,
};

static void write_slice(struct cw_trace *t, const struct cw_task *task, const struct cw_call *c,
			uint64_t ret, const char *reason, bool touched)
{
	uint64_t nulls = reason ? DUR | RET | PARTS : NO_RETURN, *w;

	nulls |= t->attribution ? 0 : PARTS;
	nulls |= c->parent_id ? 0 : PARENT;
	nulls |= c->stack ? 0 : STACK;
	nulls |= cw_probe_lost_args(c->probe) << FIRST_ARG;
	w = cw_rows_put(t->rows, CW_ROW_SLICE, nulls);
	w[0] = c->slice_id;
	w[1] = c->ts;
	w[2] = c->end_ts - c->ts;
	w[3] = task->utid;
	w[4] = c->probe->id;
	w[5] = c->depth;
	w[6] = c->parent_id;
	w[7] = c->stack;
	w[8] = ret;
	w[9] = cw_word(reason);
	memcpy(&w[10], c->spent.ns, sizeof(c->spent.ns));
	w[15] = touched || c->spent.ns[CW_UNKNOWN];
	memcpy(&w[FIRST_ARG], c->args, sizeof(c->args));
	if (t->watch)
		t->watch->call(t->watch->arg, c, reason);
}

/* ---- ends ---------------------------------------------------------------------------------------
 */

/* Why c, which is over by ts, has no return. how: what showed that it is over. */
static const char *no_return_reason(const struct cw_trace *t, const struct cw_call *c, uint64_t ts,
				    const char *how)
{
	if (c->kernel_limit)
		return "kernel limit";
	if (!c->has_return)
		return "not probed";
	if (cw_loss_detached(t, c->probe->id) <= ts)
		return "lost"; /* may have returned long before */
	if (how)
		return how;
	if (cw_loss_touches(t, c->ts, ts, CW_TYPE_BIT(CW_PROBE_RETURN)))
		return "lost";
	return "longjmp";
}

static void drop_innermost(struct cw_tcalls *tc)
{
	const struct cw_call *c = &tc->c[--tc->n];

	tc->pending -= c->has_return;
	if (c->has_return || c->kernel_limit)
		tc->last[c->kernel_limit] = c->outer;
}

/* End the innermost call without a return. */
static void pop(struct cw_trace *t, struct cw_task *task, uint64_t ts, const char *how)
{
	struct cw_tcalls *tc = task->calls;
	struct cw_call *c = &tc->c[tc->n - 1];
	const char *reason = no_return_reason(t, c, ts, how);

	c->end_ts = ts;
	cw_passes_call_end(t, task, c, reason);
	/* Nothing more is ever known of a call without return probe: it was written at its entry.
	 */
	if (c->has_return || c->kernel_limit)
		write_slice(t, task, c, 0, reason,
			    !strcmp(reason, "capture end") || !strcmp(reason, "lost") ||
				    cw_loss_touches(t, c->ts, ts, CW_SCHED_TYPES | CW_CALL_TYPES));
	drop_innermost(tc);
}

static bool same_stack(uint64_t a, uint64_t b)
{
	return (a > b ? a - b : b - a) < OTHER_STACK;
}

/* Calls below sp are over when control is at sp: the stack grows down. */
static void pop_below(struct cw_trace *t, struct cw_task *task, uint64_t sp, uint64_t ts)
{
	struct cw_tcalls *tc = task->calls;

	while (tc->n && tc->c[tc->n - 1].sp < sp && same_stack(tc->c[tc->n - 1].sp, sp))
		pop(t, task, ts, NULL);
}

/*
 * A new call at the stack pointer of an open one: either a tail call, whose caller returns with it,
 * or the open one is over. It is over when no return would tell, and when it is the same function.
 */
static void pop_same(struct cw_trace *t, struct cw_task *task, const struct cw_probe_entry *r)
{
	struct cw_tcalls *tc = task->calls;
	size_t keep = tc->n;

	for (size_t i = tc->n; i-- && tc->c[i].sp == r->sp;)
		if (tc->c[i].probe->id == r->probe_id || !tc->c[i].has_return)
			keep = i;
	while (tc->n > keep)
		pop(t, task, r->h.ts, NULL);
}

/* ---- events -------------------------------------------------------------------------------------
 */

/* Words that are no arguments become 0, which is nobody's key, here, and NULL in the row. */
static void take_args(struct cw_call *c, const struct cw_probe_entry *r)
{
	uint64_t lost = cw_probe_lost_args(c->probe);

	memcpy(c->args, r->args, sizeof(c->args));
	for (uint32_t i = 0; lost && i < CW_NARGS; i++)
		if (lost >> i & 1)
			c->args[i] = 0;
}

static int on_entry(struct cw_trace *t, const struct cw_probe_entry *r)
{
	struct cw_task *task = cw_task_of(t, r->pid, r->tid, r->h.ts);
	struct cw_tcalls *tc;
	struct cw_call *c;

	if (!task) {
		t->totals.bad++;
		return 0;
	}
	task->traced = task->process->traced = true;
	if (!task->calls)
		task->calls = cw_zalloc(sizeof(*task->calls));
	tc = task->calls;
	pop_below(t, task, r->sp, r->h.ts);
	pop_same(t, task, r);
	/* Most threads are in one call or two: there may be a million of them. */
	if (tc->n == tc->cap) {
		tc->cap = tc->cap ? 2 * tc->cap : 1;
		tc->c = cw_grow(tc->c, tc->cap, sizeof(*tc->c));
	}
	c = &tc->c[tc->n];
	memset(c, 0, sizeof(*c));
	c->slice_id = ++t->calls->slices;
	c->parent_id = tc->n ? tc->c[tc->n - 1].slice_id : 0;
	c->ts = c->end_ts = r->h.ts;
	c->sp = r->sp;
	c->stack = cw_stack_of(t, r->stack, task->process, r->h.ts);
	c->probe = cw_probe_of(t, r->probe_id);
	c->depth = (uint32_t)tc->n;
	c->has_return = c->probe->flags & CW_PROBE_HAS_RETURN;
	if (c->has_return && tc->pending >= KERNEL_RETURNS) {
		c->has_return = false;
		c->kernel_limit = true;
	}
	take_args(c, r);
	if (t->attribution)
		cw_state_read(t, task, r->h.ts, &c->parts);
	tc->n++;
	tc->pending += c->has_return;
	if (c->has_return || c->kernel_limit) {
		c->outer = tc->last[c->kernel_limit];
		tc->last[c->kernel_limit] = tc->n;
	}
	if (!c->has_return && !c->kernel_limit)
		write_slice(t, task, c, 0, "not probed",
			    cw_loss_touches(t, c->ts, c->ts, CW_SCHED_TYPES | CW_CALL_TYPES));
	return cw_passes_call_begin(t, task, c);
}

/* The innermost call that a return with this stack pointer belongs to, as index + 1; 0 none. */
static size_t returning(const struct cw_tcalls *tc, uint64_t sp, uint32_t probe_id)
{
	size_t found = 0, looked;

	for (int limited = 0; limited < 2; limited++) {
		looked = 0;
		for (size_t i = tc->last[limited]; i && looked++ < LOOK_BACK;
		     i = tc->c[i - 1].outer)
			if (tc->c[i - 1].sp == sp && tc->c[i - 1].probe->id == probe_id) {
				found = i > found ? i : found;
				break;
			}
	}
	return found;
}

static void on_return(struct cw_trace *t, const struct cw_probe_return *r)
{
	struct cw_task *task = cw_task_of(t, r->pid, r->tid, r->h.ts);
	struct cw_tcalls *tc = task ? task->calls : NULL;
	uint64_t sp = r->sp - t->return_sp_adjust;
	struct cw_parts now = {0};
	struct cw_call *c;
	size_t i;

	if (!tc) {
		t->totals.unmatched_returns++;
		return;
	}
	pop_below(t, task, sp, r->h.ts);
	i = returning(tc, sp, r->probe_id);
	if (!i) {
		t->totals.unmatched_returns++;
		return;
	}
	while (tc->n > i)
		pop(t, task, r->h.ts, NULL);
	c = &tc->c[i - 1];
	c->end_ts = r->h.ts;
	c->ret = r->ret;
	if (t->attribution) {
		cw_state_read(t, task, r->h.ts, &now);
		c->spent = cw_parts_between(&c->parts, &now);
	}
	cw_passes_call_end(t, task, c, NULL);
	write_slice(t, task, c, r->ret, NULL,
		    cw_loss_touches(t, c->ts, r->h.ts, CW_SCHED_TYPES | CW_CALL_TYPES));
	drop_innermost(tc);
}

static void end_all(struct cw_trace *t, struct cw_task *task, uint64_t ts, const char *how)
{
	if (!task->calls)
		return;
	while (task->calls->n)
		pop(t, task, ts, how);
	free(task->calls->c);
	free(task->calls);
	task->calls = NULL;
}

static int event(struct cw_trace *t, const struct cw_rec *rec)
{
	const struct cw_exit *x = (const void *)rec; /* exec begins alike */
	struct cw_task *task;

	switch (rec->type) {
	case CW_PROBE_ENTRY:
		return on_entry(t, (const void *)rec);
	case CW_PROBE_RETURN:
		on_return(t, (const void *)rec);
		return 0;
	default:
		task = cw_task_of(t, x->pid, x->tid, rec->ts);
		if (task)
			end_all(t, task, rec->ts, "exit");
		return 0;
	}
}

/* ---- the pass -----------------------------------------------------------------------------------
 */

static void task_gone(struct cw_trace *t, struct cw_task *task)
{
	if (t->calls)
		end_all(t, task, t->last_ts, "exit");
}

static int finish(struct cw_trace *t)
{
	for (struct cw_task *task = cw_task_oldest(t); task; task = task->newer)
		end_all(t, task, t->last_ts, "capture end");
	return 0;
}

static int begin(struct cw_trace *t)
{
	t->calls = cw_zalloc(sizeof(*t->calls));
	return 0;
}

static void release(struct cw_trace *t)
{
	if (!t->calls)
		return;
	for (struct cw_task *task = cw_task_oldest(t); task; task = task->newer) {
		if (task->calls)
			free(task->calls->c);
		free(task->calls);
		task->calls = NULL;
	}
	free(t->calls);
	t->calls = NULL;
}

extern const struct cw_pass cw_pass_calls;
const struct cw_pass cw_pass_calls = {
	.name = "calls",
	.version = 1,
	.reads = "probe_entry probe_return exec exit identity loss probes state",
	.writes = "slice",
	.types = CW_CALL_TYPES | CW_TYPE_BIT(CW_EXEC) | CW_TYPE_BIT(CW_EXIT),
	.begin = begin,
	.event = event,
	.task_gone = task_gone,
	.finish = finish,
	.free = release,
};
