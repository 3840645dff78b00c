/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Puts records, which come in ring order, into the total order (ts, cpu, position). A record leaves
 * once a window of time has passed behind the greatest ts seen of those that lead. Knows only
 * record headers.
 */
#ifndef CW_SORT_H
#define CW_SORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "records.h"

struct cw_sorter;

/* Called for each record in order; what it returns, unless 0, ends the sorting. */
typedef int (*cw_sorted_fn)(void *arg, const struct cw_rec *rec);

#define CW_SORT_WINDOW_NS (300ull * 1000 * 1000)
#define CW_SORT_MAX_BYTES (192ull << 20)

/*
 * Sort behind window_ns. Holds at most about max_bytes: when there is more, the older half leaves
 * before its time (and what should have gone before it is late).
 */
struct cw_sorter *cw_sorter_new(uint64_t window_ns, size_t max_bytes, cw_sorted_fn out, void *arg);
void cw_sorter_free(struct cw_sorter *s);

/*
 * Take a copy of rec and pass on what is due. Events lead; what the recorder writes itself does
 * not, as it may be seconds ahead of the ring after the recorder did not run for a while. Returns
 * 0, what the callback returned, or 1 when rec is late: its place has gone, nothing was taken.
 */
int cw_sorter_push(struct cw_sorter *s, const struct cw_rec *rec, bool leads);

/* Pass on everything. */
int cw_sorter_flush(struct cw_sorter *s);

#endif
