/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The last executable mappings of processes that nobody traces yet: a new program is reported here
 * before the recorder hears that it matters. Bounded; the oldest are dropped, and counted.
 */
#ifndef CW_PENDING_H
#define CW_PENDING_H

#include "mmapwatch.h"

struct cw_pending;

/* Mappings of a process that were dropped, made from since to until (CLOCK_MONOTONIC, ns). */
struct cw_dropped {
	uint32_t pid, n;
	uint64_t since, until;
};

struct cw_pending *cw_pending_new(void);
void cw_pending_free(struct cw_pending *p);

/* Keep a copy of the event. */
void cw_pending_add(struct cw_pending *p, const struct cw_mmap_event *e);

/* Call fn for each event of the process, oldest first, and drop it. Returns fn's first nonzero. */
int cw_pending_replay(struct cw_pending *p, uint32_t pid,
		      int (*fn)(void *arg, const struct cw_mmap_event *e), void *arg);

/*
 * What was dropped of the program that the process runs, as far as that is known, and count anew.
 * Call it behind cw_pending_replay: a program that is among those events was executed later.
 */
struct cw_dropped cw_pending_dropped(struct cw_pending *p, uint32_t pid);

#endif
