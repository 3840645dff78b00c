/* SPDX-License-Identifier: GPL-2.0-only */
/* What traced threads did with their time. Counters only grow; calls subtract what they read. */
#ifndef CW_STATE_H
#define CW_STATE_H

#include "passes.h"

enum cw_part { CW_ONCPU, CW_BLOCKED, CW_RUNQ, CW_PREEMPTED, CW_UNKNOWN, CW_NPARTS };

/* ns of each kind; between two readings of one thread they add up to the time between them. */
struct cw_parts {
	uint64_t ns[CW_NPARTS];
};

/* Waits for a futex that a thread has come back from. */
struct cw_futex_waits {
	uint64_t n, ns;
};

/* Since the thread was seen first; calls subtract what they read at their begin. */
struct cw_futex_waits cw_state_futex_waits(const struct cw_task *task);

/* Which sleeps and wakers have a row by now; stays the state pass's. */
struct cw_episode_seen;
struct cw_episode_seen *cw_state_seen(const struct cw_trace *t);

/* Read the counters of a thread that is on a CPU at ts. */
void cw_state_read(struct cw_trace *t, struct cw_task *task, uint64_t ts, struct cw_parts *out);

static inline struct cw_parts cw_parts_between(const struct cw_parts *from,
					       const struct cw_parts *to)
{
	struct cw_parts d;

	for (int i = 0; i < CW_NPARTS; i++)
		d.ns[i] = to->ns[i] - from->ns[i];
	return d;
}

#endif
