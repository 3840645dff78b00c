/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Time of a thread in each state, summed up from its episodes in their order: what view thread_time
 * adds up from the intervals of view thread_state. Times and durations are ns.
 */
#ifndef CW_THREAD_SUMS_H
#define CW_THREAD_SUMS_H

#include <stdbool.h>
#include <stdint.h>

/* A row of table episode; what is NULL there is 0. */
struct cw_thread_episode {
	int64_t ts, end_ts, state;
	bool open; /* end_ts is NULL */
	bool preempted, woken;
	bool hidden; /* unknown_ts is known */
	int64_t blocked_ns, runq_ns, preempted_ns, unknown_ns, unknown_ts;
};

/* known, exited, exit_ts and traced are the caller's, from table thread; the rest begins as 0. */
struct cw_thread_sums {
	bool known, exited, traced;
	int64_t exit_ts;
	int64_t running, blocked, runq, preempted, unknown;
	int64_t back; /* switch-in that ended the last episode */
	bool on_cpu;  /* back is known */
	bool seen;    /* there is an interval */
};

void cw_thread_sums_add(struct cw_thread_sums *t, const struct cw_thread_episode *e,
			int64_t capture_end);

/* After the last episode: running, blocked, runq, preempted and unknown. False: no interval. */
bool cw_thread_sums_end(struct cw_thread_sums *t, int64_t capture_end, int64_t out[5]);

#endif
