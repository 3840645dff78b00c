/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Lineage: a link stands for one handoff on the way of one request and knows the link before it.
 * A chain is the way back from the last one, written when the last target is over.
 */
#ifndef CW_CHAINS_H
#define CW_CHAINS_H

#include "calls.h"

/* Reasons for doubt, of edges and of chains. */
enum cw_doubt {
	CW_DOUBT_AMBIGUOUS = 1,
	CW_DOUBT_AUTO = 2,
	CW_DOUBT_LOSS = 4,
	CW_DOUBT_EDGE = 8,
	CW_DOUBT_MISSING = 16,
	CW_DOUBT_UNMATCHED = 32,
	CW_DOUBT_NO_RETURN = 64,
	CW_DOUBT_ALL = 127
};

struct cw_link {
	struct cw_link *prev; /* NULL: the chain begins here */
	unsigned refs;
	unsigned doubt;
	uint32_t stage;
	uint64_t edge_id;
	uint64_t src_ts, dst_ts;
	struct cw_parts prev_work; /* of the target before, up to this handoff */
};

static inline struct cw_link *cw_link_get(struct cw_link *l)
{
	if (l)
		l->refs++;
	return l;
}

/* Give a reference back; NULL is accepted. The last one frees l, and those before it. */
void cw_link_put(struct cw_link *l);

/* How the last target of a chain ended. */
struct cw_chain_end {
	bool returned;
	bool cut;         /* the end of it is missing from the capture */
	unsigned doubt;   /* beside that of the links */
	uint64_t seen_ts; /* up to here losses matter */
	uint32_t nstages; /* of the plan */
	uint64_t last_slice;
	uint64_t end_ts; /* when it returned */
	struct cw_parts work;
};

/* Write the chain that ends with link l as number chain_id. */
void cw_chain_write(struct cw_trace *t, uint64_t chain_id, const struct cw_link *l,
		    const struct cw_chain_end *end);

/* The reasons joined by '+', or none; text that stays. */
const char *cw_doubt_text(unsigned doubt, const char *none);

#endif
