/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the rules that turn the sightings of one off-CPU episode into its parts:
 *
 *   runnable at switch-out (state 0, preempted)   preempted until switch-in
 *   asleep, woken after the switch-out	           blocked until the waking, then run queue
 *   asleep, woken while it still ran              run queue: blocked time ends at the waking
 *   asleep, or a pending signal kept it runnable, as recorders did not tell before 2026-11:
 *           no waking and none can be lost        preempted
 *   asleep for sure, no waking                    unknown: nobody saw it
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
	if (e->asleep && !e->wakeup) {
		hide(h, e->out, in);
		return in;
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

/* ---- rows ---------------------------------------------------------------------------------------
 */

/* What makes two of them the same, in words. */
enum { SLEEP_WORDS = 10, WAKER_WORDS = 7 };

void cw_episode_seen_init(struct cw_episode_seen *seen)
{
	*seen = (struct cw_episode_seen){
		.sleeps.nwords = SLEEP_WORDS,
		.wakers.nwords = WAKER_WORDS,
	};
}

static uint64_t sleep_id(struct cw_trace *t, struct cw_distinct *sleeps, const struct cw_episode *e)
{
	enum { SYSCALL = 2, ARGS = 0xfc, USER = 0x100, KERNEL = 0x200, FILE_ID = 0x400 };
	uint64_t words[SLEEP_WORDS] = {(uint64_t)(int64_t)e->syscall}, id, nulls, *w;
	bool fresh;

	if (e->syscall >= 0)
		memcpy(&words[1], e->args, sizeof(e->args));
	words[7] = e->user_stack;
	words[8] = e->kernel_stack;
	words[9] = e->file;
	id = cw_distinct_id(sleeps, words, &fresh);
	if (!fresh)
		return id;
	nulls = e->syscall < 0 ? SYSCALL | ARGS : 0;
	nulls |= (e->user_stack ? 0 : USER) | (e->kernel_stack ? 0 : KERNEL) |
		 (e->file ? 0 : FILE_ID);
	w = cw_rows_put(t->rows, CW_ROW_SLEEP, nulls);
	w[0] = id;
	memcpy(&w[1], words, sizeof(words));
	return id;
}

static uint64_t waker_id(struct cw_trace *t, struct cw_distinct *wakers, const struct cw_waker *k)
{
	enum { UTID = 2, SYSCALL = 8, ARGS = 0x70, STACK = 0x80 };
	uint64_t words[WAKER_WORDS] = {k->utid, k->irq, (uint64_t)(int64_t)k->syscall}, id, nulls,
		 *w;
	bool fresh;

	if (k->syscall >= 0) {
		words[3] = k->arg1;
		words[4] = k->arg2;
		words[5] = k->arg5;
	}
	words[6] = k->stack;
	id = cw_distinct_id(wakers, words, &fresh);
	if (!fresh)
		return id;
	nulls = (k->utid ? 0 : UTID) | (k->syscall < 0 ? SYSCALL | ARGS : 0) |
		(k->stack ? 0 : STACK);
	w = cw_rows_put(t->rows, CW_ROW_WAKER, nulls);
	w[0] = id;
	memcpy(&w[1], words, sizeof(words));
	return id;
}

void cw_episode_write(struct cw_trace *t, struct cw_episode_seen *seen, uint64_t utid,
		      const struct cw_episode *e, uint64_t end, uint32_t end_cpu,
		      const struct cw_parts *parts, const struct cw_hidden *hidden)
{
	enum {
		WAKING = 1 << 3,
		WAKEUP = 1 << 4,
		END = 1 << 5,
		PARTS = 0xf << 8,
		HIDDEN = 1 << 12,
		CPU = 1 << 13,
		END_CPU = 1 << 14,
		SLEEP = 1 << 15,
		WAKER = 1 << 16,
		RAN = 3 << 17,
	};
	bool hides = hidden && hidden->to > hidden->from;
	uint64_t nulls = end ? 0 : END | PARTS | END_CPU, *w;
	uint64_t slept = e->slept ? sleep_id(t, &seen->sleeps, e) : 0;
	uint64_t woken = e->waker.ts ? waker_id(t, &seen->wakers, &e->waker) : 0;

	nulls |= (hides ? 0 : HIDDEN) | (e->wakeup ? 0 : WAKEUP) | (slept ? 0 : SLEEP);
	nulls |= (woken ? 0 : WAKER | WAKING) | (e->ran_utid ? 0 : RAN);
	nulls |= e->cpu == CW_CPU_UNKNOWN ? CPU : 0;
	nulls |= end_cpu == CW_CPU_UNKNOWN ? END_CPU : 0;
	w = cw_rows_put(t->rows, CW_ROW_EPISODE, nulls);
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
		w[12] = hides ? hidden->from : 0;
	}
	w[13] = e->cpu;
	w[14] = end_cpu;
	w[15] = slept;
	w[16] = woken;
	w[17] = e->ran_utid;
	w[18] = e->ran_ns;
}
