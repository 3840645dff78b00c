/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns what each traced thread is doing: a machine of three modes (not seen yet, running, off) and
 * counters of the time spent. Events that contradict the mode prove that records were lost; the
 * time they leave open is unknown. Also who ran on a CPU while a thread waited there. Must not know
 * calls.
 */
#include <stdlib.h>
#include "episode.h"
#include "identity.h"
#include "loss.h"
#include "stacks.h"
#include "state.h"

/* Threads of which is noted, on each CPU, who runs instead: for all of a crowd it would be
 * quadratic. */
#define MAX_WAITING 16u

enum mode { UNSEEN, RUNNING, OFF };

struct cw_tstate {
	enum mode mode;
	uint64_t since; /* running: counted up to here */
	uint32_t cpu;
	struct cw_parts parts;
	struct cw_futex_waits futex;
	struct cw_episode e;              /* while off; running: e.early may be set */
	uint32_t waits_on;                /* CPU + 1 in whose list the thread is; 0 none */
	uint64_t waits_from, waits_since; /* and since when; since the last switch there */
};

struct waiter {
	struct cw_task *task;
};

/* A CPU and the traced threads that wait for it. */
struct cpu {
	uint64_t switched; /* last recorded switch */
	struct waiter *waiting;
	size_t n, cap;
};

struct cw_states {
	struct cw_episode_seen seen;
	uint64_t episodes; /* numbers given out */
	struct cpu *cpus;
	size_t ncpus;
};

struct cw_episode_seen *cw_state_seen(const struct cw_trace *t)
{
	return &t->states->seen;
}

static struct cw_tstate *state_of(struct cw_task *task)
{
	if (!task->state) {
		task->state = cw_zalloc(sizeof(*task->state));
		task->state->cpu = CW_CPU_UNKNOWN;
	}
	task->traced = task->process->traced = true;
	return task->state;
}

/* ---- who ran instead ----------------------------------------------------------------------------
 */

static struct cpu *cpu_of(struct cw_states *st, uint32_t cpu)
{
	if (cpu >= st->ncpus) {
		st->cpus = cw_grow(st->cpus, cpu + 1, sizeof(*st->cpus));
		memset(st->cpus + st->ncpus, 0, (cpu + 1 - st->ncpus) * sizeof(*st->cpus));
		st->ncpus = cpu + 1;
	}
	return &st->cpus[cpu];
}

static void wait_on(struct cw_trace *t, struct cw_task *task, uint32_t cpu, uint64_t ts)
{
	struct cw_tstate *s = task->state;
	struct cpu *c;

	if (s->waits_on || cpu >= CW_CPU_NONE)
		return;
	c = cpu_of(t->states, cpu);
	if (c->n == MAX_WAITING)
		return;
	cw_reserve(c->waiting, c->n, c->cap);
	c->waiting[c->n++].task = task;
	s->waits_on = cpu + 1;
	s->waits_from = s->waits_since = ts;
}

static void wait_over(struct cw_trace *t, struct cw_task *task)
{
	struct cw_tstate *s = task->state;
	struct cpu *c;

	if (!s->waits_on)
		return;
	c = &t->states->cpus[s->waits_on - 1];
	for (size_t i = 0; i < c->n; i++)
		if (c->waiting[i].task == task) {
			memmove(&c->waiting[i], &c->waiting[i + 1],
				(--c->n - i) * sizeof(*c->waiting));
			break;
		}
	s->waits_on = 0;
}

static void ran_one(struct cw_trace *t, struct cw_tstate *s, uint64_t utid, uint64_t ts)
{
	uint64_t *w;

	if (ts <= s->waits_since)
		return;
	if (s->waits_since == s->waits_from) {
		s->e.ran_utid = utid;
		s->e.ran_ns = ts - s->waits_since;
		return;
	}
	w = cw_rows_put(t->rows, CW_ROW_RAN_LATER, 0);
	w[0] = s->e.id;
	w[1] = s->waits_since;
	w[2] = ts - s->waits_since;
	w[3] = utid;
}

/* The CPU switches: prev ran since each waiting thread began to wait, or since the last switch. */
static void ran_instead(struct cw_trace *t, const struct cw_sched_switch *r)
{
	struct cw_task *prev;
	struct cpu *c;

	if (r->h.cpu >= t->states->ncpus)
		return;
	c = &t->states->cpus[r->h.cpu];
	if (!c->n)
		return;
	prev = cw_task_of(t, r->prev_pid, r->prev_tid, r->h.ts);
	for (size_t i = 0; i < c->n; i++) {
		struct cw_task *task = c->waiting[i].task;

		if (prev && prev != task)
			ran_one(t, task->state, prev->utid, r->h.ts);
		task->state->waits_since = r->h.ts;
	}
}

/* ---- the machine --------------------------------------------------------------------------------
 */

static void begin_episode(struct cw_trace *t, struct cw_tstate *s, uint64_t ts, int64_t state,
			  uint32_t cpu)
{
	struct cw_waker early = s->mode == RUNNING ? s->e.early : (struct cw_waker){0};

	memset(&s->e, 0, sizeof(s->e));
	s->e.id = ++t->states->episodes;
	s->e.out = ts;
	s->e.state = state;
	s->e.cpu = cpu;
	s->e.syscall = -1;
	s->e.early = early;
	s->mode = OFF;
}

/* A row for an interval without a switch-out of its own; 0 ns long, it only marks where one begins.
 */
static void mark(struct cw_trace *t, struct cw_task *task, uint64_t from, uint64_t to, uint32_t cpu)
{
	struct cw_episode e = {
		.id = ++t->states->episodes,
		.out = from,
		.state = CW_STATE_UNSEEN,
		.cpu = CW_CPU_UNKNOWN,
		.syscall = -1,
	};
	struct cw_parts parts = {.ns[CW_UNKNOWN] = to - from};
	struct cw_hidden h = {from, to};

	cw_episode_write(t, &t->states->seen, task->utid, &e, to, cpu, &parts, &h);
}

static void start_running(struct cw_tstate *s, uint64_t ts, uint32_t cpu)
{
	s->mode = RUNNING;
	s->since = ts;
	s->cpu = cpu;
	s->e.early.ts = 0;
}

/* Count the time a thread ran, up to ts. missed: it must have left the CPU meanwhile. */
static void count_running(struct cw_trace *t, struct cw_task *task, uint64_t ts, bool missed)
{
	struct cw_tstate *s = task->state;
	struct cw_hidden h = cw_running_hidden(t, s->since, ts, s->cpu, missed);
	uint64_t hidden = h.to > h.from ? h.to - h.from : 0;

	if (hidden)
		mark(t, task, h.from, h.to, s->cpu);
	if (missed)
		cw_loss_found(t, CW_SCHED_SWITCH, s->cpu, h.from, h.to);
	s->parts.ns[CW_UNKNOWN] += hidden;
	s->parts.ns[CW_ONCPU] += ts - s->since - hidden;
	s->since = ts;
}

static bool is_futex(const struct cw_trace *t, int32_t syscall)
{
	return syscall >= 0 && (syscall == t->futex_syscalls[0] ||
				syscall == t->futex_syscalls[1] || syscall == t->futex_syscalls[2]);
}

/* The thread is back, or at least no longer where it was. missed: its switch-in was not seen. */
static void end_episode(struct cw_trace *t, struct cw_task *task, uint64_t ts, uint32_t cpu,
			bool missed)
{
	uint64_t not_before = 0;
	struct cw_tstate *s = task->state;
	struct cw_parts parts;
	struct cw_hidden h;

	wait_over(t, task);
	if (missed) {
		not_before = cpu < CW_CPU_NONE ? cpu_of(t->states, cpu)->switched : 0;
		not_before = not_before > s->e.out ? not_before : s->e.out;
	}
	cw_episode_parts(t, &s->e, ts, not_before, &parts, &h);
	if (missed)
		cw_loss_found(t, CW_SCHED_SWITCH, cpu, h.from, h.to);
	cw_episode_write(t, &t->states->seen, task->utid, &s->e, ts, cpu, &parts, &h);
	if (is_futex(t, s->e.syscall)) {
		s->futex.n++;
		s->futex.ns += ts - s->e.out;
	}
	for (int i = 0; i < CW_NPARTS; i++)
		s->parts.ns[i] += parts.ns[i];
	memset(&s->e.early, 0, sizeof(s->e.early));
}

static void arrives(struct cw_trace *t, struct cw_task *task, uint64_t ts, uint32_t cpu)
{
	struct cw_tstate *s = state_of(task);

	switch (s->mode) {
	case UNSEEN:
		mark(t, task, ts, ts, cpu);
		break;
	case RUNNING:
		count_running(t, task, ts, true);
		break;
	case OFF:
		end_episode(t, task, ts, cpu, false);
		break;
	}
	start_running(s, ts, cpu);
}

/* Something that only a running thread does. */
static void proved_running(struct cw_trace *t, struct cw_task *task, uint64_t ts, uint32_t cpu)
{
	struct cw_tstate *s = state_of(task);

	switch (s->mode) {
	case UNSEEN:
		mark(t, task, ts, ts, cpu);
		start_running(s, ts, cpu);
		break;
	case RUNNING:
		count_running(t, task, ts, s->cpu != cpu);
		s->cpu = cpu;
		break;
	case OFF:
		end_episode(t, task, ts, cpu, true);
		start_running(s, ts, cpu);
		break;
	}
}

static void leaves(struct cw_trace *t, struct cw_task *task, const struct cw_sched_switch *r)
{
	bool preempted = r->flags & CW_SWITCH_PREEMPTED;
	struct cw_tstate *s = state_of(task);
	int64_t state = preempted ? 0 : (int64_t)r->prev_state;

	if (s->mode == RUNNING)
		count_running(t, task, r->h.ts, s->cpu != r->h.cpu);
	else if (s->mode == OFF)
		end_episode(t, task, r->h.ts, r->h.cpu, true);
	if (!preempted && state & CW_STATE_DEAD) {
		s->mode = UNSEEN;
		cw_task_gone(t, task, r->h.ts);
		return;
	}
	begin_episode(t, s, r->h.ts, state, r->h.cpu);
	s->e.preempted = preempted;
	s->e.asleep = r->flags & CW_SWITCH_PREV_ASLEEP;
	if (!state) {
		s->e.early.ts = 0;
		wait_on(t, task, r->h.cpu, r->h.ts);
	}
}

/* ---- records ------------------------------------------------------------------------------------
 */

static void on_switch(struct cw_trace *t, const struct cw_sched_switch *r)
{
	struct cw_task *task;

	ran_instead(t, r);
	if (r->prev_tid && (r->flags & CW_SWITCH_PREV_TRACED || r->h.type == CW_SCHED_BLOCK)) {
		task = cw_task_of(t, r->prev_pid, r->prev_tid, r->h.ts);
		leaves(t, task, r);
		if (r->h.type == CW_SCHED_BLOCK && task->state && task->state->mode == OFF) {
			const struct cw_sched_block *b = (const void *)r;
			struct cw_episode *e = &task->state->e;

			e->slept = true;
			e->syscall = b->syscall;
			memcpy(e->args, b->args, sizeof(e->args));
			e->user_stack = cw_stack_of(t, b->ustack, task->process, r->h.ts);
			e->kernel_stack = b->kstack;
			e->file = b->file;
		}
	}
	if (r->next_tid && r->flags & CW_SWITCH_NEXT_TRACED) {
		task = cw_task_of(t, r->next_pid, r->next_tid, r->h.ts);
		arrives(t, task, r->h.ts, r->h.cpu);
	}
	if (r->h.cpu < CW_CPU_NONE)
		cpu_of(t->states, r->h.cpu)->switched = r->h.ts;
}

static void on_waking(struct cw_trace *t, const struct cw_sched_waking *r)
{
	struct cw_task *by = NULL, *task;
	struct cw_waker waker = {.ts = r->h.ts, .syscall = -1};
	struct cw_tstate *s;

	waker.irq = r->flags & CW_WAKING_IRQ;
	if (!waker.irq) {
		by = cw_task_of(t, r->pid, r->tid, r->h.ts);
		waker.utid = by ? by->utid : 0;
		waker.syscall = r->syscall;
		waker.arg1 = r->args[0];
		waker.arg2 = r->args[1];
		waker.arg5 = r->args[4];
		waker.stack = by ? cw_stack_of(t, r->ustack, by->process, r->h.ts) : r->ustack;
	}
	/* Last: damaged records may say that both are one thread, of two processes. */
	task = cw_task_of(t, r->wakee_pid, r->wakee_tid, r->h.ts);
	if (!task)
		return;
	s = state_of(task);
	if (s->mode == RUNNING) {
		s->e.early = waker;
		return;
	}
	if (s->mode == UNSEEN)
		begin_episode(t, s, r->h.ts, CW_STATE_UNSEEN, CW_CPU_UNKNOWN);
	if (s->e.state && s->e.state != CW_STATE_NEW && !s->e.waker.ts)
		s->e.waker = waker;
}

static void on_wakeup(struct cw_trace *t, const struct cw_sched_wakeup *r)
{
	struct cw_task *task = cw_task_of(t, r->pid, r->tid, r->h.ts);
	struct cw_tstate *s;

	if (!task)
		return;
	s = state_of(task);
	/* Woken before it left the CPU: it goes on running, and its next sleep is another one. */
	if (s->mode == RUNNING) {
		s->e.early.ts = 0;
		return;
	}
	if (s->mode == UNSEEN)
		begin_episode(t, s, r->h.ts, r->flags & 1 ? CW_STATE_NEW : CW_STATE_UNSEEN,
			      CW_CPU_UNKNOWN);
	if (!s->e.wakeup)
		s->e.wakeup = r->h.ts;
	wait_on(t, task, r->target_cpu, r->h.ts);
}

static void on_fork(struct cw_trace *t, const struct cw_fork *r)
{
	struct cw_task *parent = cw_task_of(t, r->pid, r->tid, r->h.ts);
	struct cw_task *child = cw_task_of(t, r->child_pid, r->child_tid, r->h.ts);
	struct cw_tstate *s;

	if (!child || !parent ||
	    !(child->traced || (parent->traced && child->process == parent->process)))
		return;
	s = state_of(child);
	if (s->mode != UNSEEN)
		return;
	begin_episode(t, s, r->h.ts, CW_STATE_NEW, CW_CPU_UNKNOWN);
	s->e.waker.ts = r->h.ts;
	s->e.waker.utid = parent->utid;
	s->e.waker.syscall = -1;
}

static int event(struct cw_trace *t, const struct cw_rec *rec)
{
	const struct cw_probe_entry *probe = (const void *)rec;
	const struct cw_exec *exec = (const void *)rec;
	struct cw_task *task;

	switch (rec->type) {
	case CW_SCHED_SWITCH:
	case CW_SCHED_BLOCK:
		on_switch(t, (const void *)rec);
		break;
	case CW_SCHED_WAKING:
		on_waking(t, (const void *)rec);
		break;
	case CW_SCHED_WAKEUP:
		on_wakeup(t, (const void *)rec);
		break;
	case CW_FORK:
		on_fork(t, (const void *)rec);
		break;
	case CW_EXEC:
		task = cw_task_of(t, exec->pid, exec->tid, rec->ts);
		if (task && exec->flags & 1)
			proved_running(t, task, rec->ts, rec->cpu);
		break;
	default: /* probe_entry and probe_return begin alike */
		task = cw_task_of(t, probe->pid, probe->tid, rec->ts);
		if (task)
			proved_running(t, task, rec->ts, rec->cpu);
		break;
	}
	return 0;
}

struct cw_futex_waits cw_state_futex_waits(const struct cw_task *task)
{
	return task->state ? task->state->futex : (struct cw_futex_waits){0};
}

void cw_state_read(struct cw_trace *t, struct cw_task *task, uint64_t ts, struct cw_parts *out)
{
	struct cw_tstate *s = state_of(task);

	if (s->mode == RUNNING && ts > s->since)
		count_running(t, task, ts, false);
	*out = s->parts;
}

/* ---- the pass -----------------------------------------------------------------------------------
 */

static void task_gone(struct cw_trace *t, struct cw_task *task)
{
	struct cw_tstate *s = task->state;

	if (!s)
		return;
	wait_over(t, task);
	if (s->mode == OFF)
		cw_episode_write(t, &t->states->seen, task->utid, &s->e, 0, CW_CPU_UNKNOWN, NULL,
				 NULL);
	free(s);
	task->state = NULL;
}

static int finish(struct cw_trace *t)
{
	for (struct cw_task *task = cw_task_oldest(t); task; task = task->newer)
		task_gone(t, task);
	return 0;
}

static int begin(struct cw_trace *t)
{
	t->states = cw_zalloc(sizeof(*t->states));
	cw_episode_seen_init(&t->states->seen);
	return 0;
}

static void release(struct cw_trace *t)
{
	struct cw_states *st = t->states;

	if (!st)
		return;
	for (struct cw_task *task = cw_task_oldest(t); task; task = task->newer) {
		free(task->state);
		task->state = NULL;
	}
	for (size_t i = 0; i < st->ncpus; i++)
		free(st->cpus[i].waiting);
	cw_distinct_free(&st->seen.sleeps);
	cw_distinct_free(&st->seen.wakers);
	free(st->cpus);
	free(st);
	t->states = NULL;
}

extern const struct cw_pass cw_pass_state;
const struct cw_pass cw_pass_state = {
	.name = "state",
	.version = 1,
	.reads = "sched_switch sched_block sched_waking sched_wakeup fork exec probe_entry "
		 "probe_return identity loss",
	.writes = "episode sleep waker ran_later",
	.types = CW_SCHED_TYPES | CW_CALL_TYPES | CW_TYPE_BIT(CW_FORK) | CW_TYPE_BIT(CW_EXEC),
	.begin = begin,
	.event = event,
	.task_gone = task_gone,
	.finish = finish,
	.free = release,
};
