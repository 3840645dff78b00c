/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the rules that turn the sightings of one off-CPU episode into its parts:
 *
 *   runnable at switch-out (state 0, preempted)   preempted until switch-in
 *   asleep, woken after the switch-out	           blocked until the waking, then run queue
 *   asleep, woken while it still ran              run queue: blocked time ends at the waking
 *   asleep, no waking and none can be lost        preempted: a pending signal kept it runnable
 *   asleep, no waking, one may be lost            unknown where it may be lost
 *   newly created, or first seen at its waking    run queue
 *
 * On top of that, a way back to a CPU and off it again may be lost: with two or more switches lost
 * meanwhile, the time between the first and the last of them is unknown. Must not know threads.
 */
#include "episode.h"
#include "loss.h"

static uint64_t overlap(uint64_t a, uint64_t b, const struct cw_hidden *h)
{
	uint64_t from = h->from > a ? h->from : a, to = h->to < b ? h->to : b;

	return to > from ? to - from : 0;
}

static void hide(struct cw_hidden *h, uint64_t from, uint64_t to)
{
	if (!h->to || from < h->from)
		h->from = from;
	if (to > h->to)
		h->to = to;
}

/* Where the sleep ended, or UINT64_MAX when it was runnable all along. */
static uint64_t sleep_end(const struct cw_trace *t, struct cw_episode *e, uint64_t in, bool missed,
			  struct cw_hidden *h)
{
	uint64_t until = e->wakeup ? e->wakeup : in, lo, hi, n;

	if (e->state == CW_STATE_NEW || e->state == CW_STATE_UNSEEN)
		return e->out;
	if (!e->state || e->preempted)
		return UINT64_MAX;
	if (e->waker.ts)
		return e->waker.ts;
	if (e->early.ts) {
		e->waker = e->early;
		return e->out;
	}
	/* The waking may be missing as well as the switch-in. */
	if (missed && !e->wakeup) {
		n = cw_loss_within(t, e->out, in, CW_SCHED_TYPES, CW_ANY_CPU, &lo, &hi);
		hide(h, n ? lo : e->out, in);
		return in;
	}
	if (cw_loss_within(t, e->out, until, CW_TYPE_BIT(CW_SCHED_WAKING), CW_ANY_CPU, &lo, &hi)) {
		hide(h, lo, hi);
		return hi;
	}
	return e->wakeup ? e->wakeup : UINT64_MAX;
}

void cw_episode_parts(const struct cw_trace *t, struct cw_episode *e, uint64_t in,
		      uint64_t not_before, struct cw_parts *parts, struct cw_hidden *hidden)
{
	struct cw_hidden h = {0};
	uint64_t woken = sleep_end(t, e, in, not_before, &h), lo, hi, n;
	bool asleep = woken != UINT64_MAX;

	if (not_before) {
		uint64_t known = asleep ? woken : e->out;

		if (not_before > known && not_before <= in)
			known = not_before;
		n = cw_loss_within(t, known, in, CW_SWITCH_TYPES, CW_ANY_CPU, &lo, &hi);
		hide(&h, n ? lo : known, in);
	} else {
		n = cw_loss_within(t, e->out, in, CW_SWITCH_TYPES, CW_ANY_CPU, &lo, &hi);
		if (n > 1)
			hide(&h, lo, hi);
	}
	memset(parts, 0, sizeof(*parts));
	parts->ns[CW_UNKNOWN] = overlap(e->out, in, &h);
	if (!asleep) {
		parts->ns[CW_PREEMPTED] = in - e->out - parts->ns[CW_UNKNOWN];
	} else {
		parts->ns[CW_BLOCKED] = woken - e->out - overlap(e->out, woken, &h);
		parts->ns[CW_RUNQ] = in - woken - overlap(woken, in, &h);
	}
	*hidden = h;
}

struct cw_hidden cw_running_hidden(const struct cw_trace *t, uint64_t from, uint64_t to,
				   uint32_t cpu, bool missed)
{
	uint32_t own = cpu == CW_CPU_UNKNOWN ? CW_ANY_CPU : cpu;
	struct cw_hidden h = {0};
	uint64_t lo, hi, own_lo, own_hi, n, own_n;

	own_n = cw_loss_within(t, from, to, CW_SWITCH_TYPES, own, &own_lo, &own_hi);
	if (missed) {
		hide(&h, own_n ? own_lo : from, to);
		return h;
	}
	if (!own_n)
		return h;
	n = cw_loss_within(t, from, to, CW_SWITCH_TYPES, CW_ANY_CPU, &lo, &hi);
	if (n > 1 && hi > own_lo)
		hide(&h, own_lo, hi);
	return h;
}

enum {
	WAKING = 1ull << 3,
	WAKEUP = 1ull << 4,
	END = 1ull << 5,
	PARTS = 0xfull << 8,
	HIDDEN = 1ull << 12,
	CPU = 1ull << 13,
	END_CPU = 1ull << 14,
	SYSCALL = 0x7full << 15,
	USER_STACK = 1ull << 22,
	KERNEL_STACK = 1ull << 23,
	FILE_ID = 1ull << 24,
	WAKER = 1ull << 25,
	WAKER_IRQ = 1ull << 26,
	WAKER_SYSCALL = 0xfull << 27,
	WAKER_STACK = 1ull << 31,
	RAN = 3ull << 32,
};

static uint64_t null_columns(const struct cw_episode *e, uint64_t end, uint32_t end_cpu,
			     const struct cw_hidden *h)
{
	uint64_t nulls = 0;

	if (!end)
		nulls |= END | PARTS | HIDDEN | END_CPU;
	if (!h || h->to <= h->from)
		nulls |= HIDDEN;
	if (!e->wakeup)
		nulls |= WAKEUP;
	if (e->cpu == CW_CPU_UNKNOWN)
		nulls |= CPU;
	if (end_cpu == CW_CPU_UNKNOWN)
		nulls |= END_CPU;
	if (e->syscall < 0)
		nulls |= SYSCALL;
	nulls |= e->user_stack ? 0 : USER_STACK;
	nulls |= e->kernel_stack ? 0 : KERNEL_STACK;
	nulls |= e->file ? 0 : FILE_ID;
	nulls |= e->ran_utid ? 0 : RAN;
	if (!e->waker.ts)
		return nulls | WAKING | WAKER | WAKER_IRQ | WAKER_SYSCALL | WAKER_STACK;
	nulls |= e->waker.utid ? 0 : WAKER;
	nulls |= e->waker.syscall < 0 ? WAKER_SYSCALL : 0;
	nulls |= e->waker.stack ? 0 : WAKER_STACK;
	return nulls;
}

void cw_episode_write(struct cw_trace *t, uint64_t utid, const struct cw_episode *e, uint64_t end,
		      uint32_t end_cpu, const struct cw_parts *parts,
		      const struct cw_hidden *hidden)
{
	uint64_t *w = cw_rows_put(t->rows, CW_ROW_OFFCPU, null_columns(e, end, end_cpu, hidden));

	w[0] = e->id;
	w[1] = utid;
	w[2] = e->out;
	w[3] = e->waker.ts;
	w[4] = e->wakeup;
	w[5] = end;
	w[6] = (uint64_t)e->state;
	w[7] = e->preempted;
	if (end) {
		w[8] = parts->ns[CW_BLOCKED];
		w[9] = parts->ns[CW_RUNQ];
		w[10] = parts->ns[CW_PREEMPTED];
		w[11] = parts->ns[CW_UNKNOWN];
		w[12] = hidden ? hidden->from : 0;
	}
	w[13] = e->cpu;
	w[14] = end_cpu;
	w[15] = (uint64_t)e->syscall;
	memcpy(&w[16], e->args, sizeof(e->args));
	w[22] = e->user_stack;
	w[23] = e->kernel_stack;
	w[24] = e->file;
	w[25] = e->waker.utid;
	w[26] = e->waker.irq;
	w[27] = (uint64_t)(int64_t)e->waker.syscall;
	w[28] = e->waker.arg1;
	w[29] = e->waker.arg2;
	w[30] = e->waker.arg5;
	w[31] = e->waker.stack;
	w[32] = e->ran_utid;
	w[33] = e->ran_ns;
}
