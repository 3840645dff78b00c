/* SPDX-License-Identifier: GPL-2.0-only */
/* From pairs to handoffs: one group for each, ranked. Only suggest*.c includes this. */
#ifndef CW_SUGGEST_GROUPS_H
#define CW_SUGGEST_GROUPS_H

#include "suggest_pairs.h"

/* Another argument that has the same key at the same time. */
struct cw_sg_member {
	uint32_t node;
	uint64_t matched;
};

struct cw_sg_group {
	const struct cw_sg_pair *pair;
	double score;
	double share_source, share_target; /* matched, of the calls of either function */
	int64_t median_ns;
	uint32_t stage; /* 0: its source is called inside no other group's target */
	struct cw_sg_member *sources, *targets; /* wrappers */
	size_t nsources, ntargets;
	const struct cw_sg_pair **others; /* the same handing over by another key */
	size_t nothers;
};

struct cw_sg_groups {
	struct cw_sg_group *g; /* the best one first */
	size_t n;
};

void cw_sg_group(struct cw_sg_groups *out, const struct cw_sg_data *d, const struct cw_sg_stats *s);
void cw_sg_groups_free(struct cw_sg_groups *out);

#endif
