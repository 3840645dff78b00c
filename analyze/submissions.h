/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Submissions of hops that wait for their target, by (hop, process, key). Holds what is open and
 * says in which order; which one a target takes is decided by the stitch pass.
 */
#ifndef CW_SUBMISSIONS_H
#define CW_SUBMISSIONS_H

#include "chains.h"

struct cw_slot;

struct cw_submission {
	struct cw_submission *earlier, *later; /* of the hop, any key */
	struct cw_submission *older, *newer;   /* of the same key */
	struct cw_slot *slot;
	uint64_t ts, utid, slice_id;
	bool weak;            /* its source serves several hops, and this is not the likely one */
	uint64_t taken;       /* by how many targets (match all) */
	struct cw_link *prev; /* handoff whose target submitted this; NULL: a chain begins */
	struct cw_parts prev_work;
	unsigned doubt; /* why prev is missing */
};

/* All open submissions of one key. */
struct cw_slot {
	struct cw_hnode by_key;
	uint32_t hop;
	uint64_t upid, key;
	struct cw_submission *oldest, *newest;
	uint64_t n, strong; /* all, and those that are not weak and not taken */
};

/* All open submissions of one hop, in the order of time. */
struct cw_queue {
	struct cw_submission *first, *last;
};

struct cw_submissions {
	struct cw_htab slots;
	struct cw_queue *queues; /* by hop */
	uint32_t nhops;
};

void cw_submissions_init(struct cw_submissions *s, uint32_t nhops);
void cw_submissions_free(struct cw_submissions *s);

/* The open submissions of a key, or NULL when there is none. */
struct cw_slot *cw_slot_find(const struct cw_submissions *s, uint32_t hop, uint64_t upid,
			     uint64_t key);

/* Add an open submission; the caller fills the rest of it. */
struct cw_submission *cw_submission_new(struct cw_submissions *s, uint32_t hop, uint64_t upid,
					uint64_t key, uint64_t ts, bool weak);

/* It is not open any more; frees it, and its slot when that was the last. */
void cw_submission_free(struct cw_submissions *s, struct cw_submission *x);

/* Note that a target took it and it stays open. */
void cw_submission_taken(struct cw_submission *x);

#endif
