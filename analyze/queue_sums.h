/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What views queue_sum and queue_event add up to for the whole capture, made by running once
 * through what happened to each queue in order of time. The views carry every step through sorts
 * and sums over windows: minutes where there are millions.
 */
#ifndef CW_QUEUE_SUMS_H
#define CW_QUEUE_SUMS_H

#include <sqlite3.h>

/*
 * Make temporary tables in db from queue_task, of the database or a temporary table that hides it:
 *	queue_sum	the rows of the view of that name for the whole capture (part -1)
 *	queue_slot(plan_hop, slot, pending, active, pending_after, active_after, submitted, started,
 *		done)	what was waiting and at work in each of slots parts of the capture, at most
 *and after it, and what happened in it; none where nothing did Returns 0 or a negative errno,
 *having said why.
 */
int cw_queue_sums(sqlite3 *db, int slots);

#endif
