/* SPDX-License-Identifier: GPL-2.0-only */
/* One time a thread is off the CPU: what was seen of it and what that proves. */
#ifndef CW_EPISODE_H
#define CW_EPISODE_H

#include "distinct.h"
#include "state.h"

#define CW_STATE_NEW    2048 /* the kernel's TASK_NEW */
#define CW_STATE_UNSEEN (-1) /* the switch-out was not seen */
#define CW_CPU_UNKNOWN  0xffffffffu

struct cw_waker {
	uint64_t ts;   /* of the waking; 0 none was seen */
	uint64_t utid; /* 0 unknown or an interrupt */
	bool irq;
	int32_t syscall; /* -1 none */
	uint64_t arg1, arg2, arg5, stack;
};

struct cw_episode {
	uint64_t id;
	uint64_t out;    /* switch-out, or where it begins otherwise */
	uint64_t wakeup; /* 0 not seen */
	int64_t state;
	bool preempted;
	bool asleep; /* state is that of a sleeping thread; else a signal may have kept it runnable
		      */
	uint32_t cpu;
	struct cw_waker early; /* a waking while it still ran: the classic race */
	struct cw_waker waker; /* the waking that ended the sleep */
	bool slept;            /* what follows was recorded */
	int32_t syscall;       /* -1 none */
	uint64_t args[CW_NSYSARGS];
	uint64_t user_stack, kernel_stack, file;
	uint64_t ran_utid, ran_ns; /* who had the CPU first while it waited there; 0 none */
};

/* An interval that losses hide; none when to is 0. */
struct cw_hidden {
	uint64_t from, to;
};

/*
 * The parts of e when the thread is back on a CPU at in. not_before: 0, or the switch-in was not
 * seen, in is only the first proof of it, and before not_before something else had that CPU. Sets
 * e->waker to the early waking when that was what woke it.
 */
void cw_episode_parts(const struct cw_trace *t, struct cw_episode *e, uint64_t in,
		      uint64_t not_before, struct cw_parts *parts, struct cw_hidden *hidden);

/* What may be hidden while a thread seems to run on cpu. missed: a switch-out certainly is. */
struct cw_hidden cw_running_hidden(const struct cw_trace *t, uint64_t from, uint64_t to,
				   uint32_t cpu, bool missed);

/* Distinct places of sleep and wakers that have a row; ended by cw_distinct_free of both. */
struct cw_episode_seen {
	struct cw_distinct sleeps, wakers;
};

/* Both empty. */
void cw_episode_seen_init(struct cw_episode_seen *seen);

/* Write its row, and what it refers to that is not in seen. end 0: it did not come back. */
void cw_episode_write(struct cw_trace *t, struct cw_episode_seen *seen, uint64_t utid,
		      const struct cw_episode *e, uint64_t end, uint32_t end_cpu,
		      const struct cw_parts *parts, const struct cw_hidden *hidden);

#endif
