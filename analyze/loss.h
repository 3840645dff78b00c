/* SPDX-License-Identifier: GPL-2.0-only */
/* Ranges of time in which records are missing, and what they may hide. */
#ifndef CW_LOSS_H
#define CW_LOSS_H

#include "passes.h"

#define CW_ANY_CPU      0xffffffffu
#define CW_LOST_DAMAGED 100u /* reasons of the analyzer's own, beside enum cw_lost_reason */
#define CW_LOST_LATE    101u
#define CW_LOST_FOUND   102u

/* True when a record of these types (CW_TYPE_BIT) may be missing between from and to. */
bool cw_loss_touches(const struct cw_trace *t, uint64_t from, uint64_t to, uint64_t types);

/*
 * How many records of these types may be missing between from and to on cpu (CW_ANY_CPU any), and
 * in which part of it: *lo to *hi, clipped. 0 leaves them alone. Unknown counts as plenty; when all
 * of it is covered, not all are counted.
 */
uint64_t cw_loss_within(const struct cw_trace *t, uint64_t from, uint64_t to, uint64_t types,
			uint32_t cpu, uint64_t *lo, uint64_t *hi);

/*
 * From which moment on nothing is recorded of a probe, as it was detached; UINT64_MAX when it was
 * not. Such a loss is none for the functions above: it hides nothing of any other probe.
 */
uint64_t cw_loss_detached(const struct cw_trace *t, uint32_t probe_id);
/* The probes that were detached, by index, and since when; false behind the last. */
bool cw_loss_detached_at(const struct cw_trace *t, size_t i, uint32_t *probe_id, uint64_t *ts);

/*
 * Events contradict each other: a record of this type must be missing between from and to, though
 * nobody counted it. Written as a loss; who found it marks what it touches.
 */
void cw_loss_found(struct cw_trace *t, uint32_t kind, uint32_t cpu, uint64_t from, uint64_t to);

/* Write a row about records that cannot be put in order any more; nothing that was said changes. */
void cw_loss_late(struct cw_trace *t, const struct cw_rec *rec);

#endif
