/* SPDX-License-Identifier: GPL-2.0-only */
/* What chains that have not ended hold on to. */
#ifndef CW_STITCH_H
#define CW_STITCH_H

#include "passes.h"

struct cw_open_refs {
	void *arg;
	void (*edge)(void *arg, uint64_t edge_id);   /* may come several times */
	void (*slice)(void *arg, uint64_t slice_id); /* of a source whose target has not come */
};

/*
 * Give the edges of all chains under way, and the sources of submissions that are open since
 * before before_ts.
 */
void cw_stitch_open_refs(const struct cw_trace *t, uint64_t before_ts,
			 const struct cw_open_refs *refs);

/* -EINVAL, having said so in t->err, when a hop names a function that was not recorded. */
int cw_stitch_check(struct cw_trace *t);

#endif
