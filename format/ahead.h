/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decoding ahead: the frames of a capture in their order, decoded a few before they are asked for,
 * on a thread of its own where that is worth one. For the reader only.
 */
#ifndef CW_AHEAD_H
#define CW_AHEAD_H

#include <time.h>
#include "frames.h"

struct cw_ahead;

/* fd stays the caller's, and stays open until cw_ahead_free. NULL without memory or descriptors. */
struct cw_ahead *cw_ahead_new(int fd);

/* Ends the thread, even one that waits for input, and frees every item given out. */
void cw_ahead_free(struct cw_ahead *a);

/* The bytes below, to read the header from; not behind cw_ahead_start. Stays a's. */
struct cw_frames *cw_ahead_frames(struct cw_ahead *a);

/* From now on decode on a thread, with all signals blocked. 0, or negative errno of the thread. */
int cw_ahead_start(struct cw_ahead *a);

/* The next item, waiting for it; it stays a's, and whole until the next call. */
struct cw_item *cw_ahead_next(struct cw_ahead *a);

/*
 * Will cw_ahead_next not wait? Waits for that until a time of CLOCK_MONOTONIC at most. Without a
 * thread always true: then it is cw_ahead_next that waits.
 */
bool cw_ahead_ready(struct cw_ahead *a, const struct timespec *until);

#endif
