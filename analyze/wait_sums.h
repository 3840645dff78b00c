/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sums over every time a thread was off the CPU, made in one pass. Views hop_wait, function_wait,
 * offcpu_stack and thread_time say the same of any capture, and join each episode with each call
 * and each task around it: minutes where there are millions.
 */
#ifndef CW_WAIT_SUMS_H
#define CW_WAIT_SUMS_H

#include <sqlite3.h>

/* What a sum is over, in wait_sum.scope. */
enum cw_wait_scope {
	CW_WAIT_TRACED,   /* all traced threads; id is 0 */
	CW_WAIT_HOP,      /* the work of tasks of queue_task; id is the hop of the plan */
	CW_WAIT_FUNCTION, /* calls with scheduler facts; id is the probe */
	CW_WAIT_WAKER,    /* every thread; id is the waker (waker.waker_id) of blocked intervals */
	CW_WAIT_THREAD,   /* one thread, blocked intervals; id is its utid */
};

/* What is summed, in wait_sum.kind; the names of classes are given by it where they are none of
 * sleep's. */
enum cw_wait_kind {
	CW_WAIT_BLOCKED,     /* asleep: place says where, other who ended it */
	CW_WAIT_RUNQ_RAN,    /* woken, and other had the CPU */
	CW_WAIT_PREEMPT_RAN, /* runnable all along, and other had the CPU */
	CW_WAIT_RUNQ_SWITCH, /* woken, and nobody is known to have had the CPU */
	CW_WAIT_PREEMPT_SWITCH,
	CW_WAIT_UNKNOWN, /* hidden by losses; place: of the same episode's sleep that nobody ended
			  */
};

/*
 * Make temporary tables in db that hide the views hop_wait, hop_time, function_wait, function_time,
 * offcpu_stack and thread_time and have their rows, and
 *	wait_named(scope, id, class, reason, other_utid, ns, parts, episodes)
 *					sums of parts of view wait_part; parts counts them, episodes
 *					the distinct episodes they are of
 *	wait_sum(scope, id, kind, place, other_utid, ns, parts, episodes,
 *		longest)	the same by place of sleep, also of scopes WAKER and THREAD
 *	place_reason(place, class, reason, user_stack_id, kernel_stack_id)
 *					what view blocked_reason says of such a place
 * Reads queue_task, of the database or a temporary table that hides it. Returns 0 or a negative
 * errno, having said why.
 */
int cw_wait_sums(sqlite3 *db);

#endif
