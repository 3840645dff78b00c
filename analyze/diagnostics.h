/* SPDX-License-Identifier: GPL-2.0-only */
/* Queues and thread pools of each hop: what waited, what was worked on, and what is wrong there. */
#ifndef CW_DIAGNOSTICS_H
#define CW_DIAGNOSTICS_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "print.h"

#define CW_DIAGNOSTIC_INTERVAL_NS 1000000000ull /* of view queue_diagnostics */
#define CW_DIAGNOSTIC_INTERVALS   100000        /* at most that many are shown */

/*
 * Print the diagnostics of each hop, first of each interval of interval_ns (0: none), then of the
 * whole capture; nothing when no hop was planned. JSONL has a record "queue_snapshot" an interval
 * and one "queue_diagnostics" at the end. Makes temporary tables named as the views they replace,
 * on first use with an interval.
 * Returns 0 or a negative errno: of writing, or -EBADMSG or -EINVAL having said why.
 */
int cw_diagnostics_print(sqlite3 *db, enum cw_format format, uint64_t interval_ns, FILE *out);

/*
 * Print what is in temp.queue_diagnostics, which the caller has filled: intervals, or the whole
 * run.
 */
int cw_diagnostics_print_ready(sqlite3 *db, enum cw_format format, bool whole, FILE *out);

#endif
