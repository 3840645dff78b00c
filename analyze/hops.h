/* SPDX-License-Identifier: GPL-2.0-only */
/* The hops of the plan, tied to the probes of the capture, and what was counted for each. */
#ifndef CW_HOPS_H
#define CW_HOPS_H

#include "probes.h"

struct cw_hop {
	const struct cw_plan_hop *plan;
	uint32_t stage; /* hops in a row with the same target are one stage: ways into a join */
	uint64_t max_age_ns;
	uint64_t submitted, matched, unmatched, duplicate_keys, superseded, expired, ambiguous;
	uint64_t no_handoff, open_at_end;
};

/* In which hops a probe is source or target, by number, ascending. */
struct cw_roles {
	struct cw_roles *next; /* all of them, to free */
	uint32_t *sources, *targets;
	uint32_t nsources, ntargets;
	uint32_t target_stage; /* of the first of targets */
};

struct cw_hops {
	struct cw_hop *h;
	uint32_t n, nstages;
	struct cw_roles *roles;
};

/* The age, in ns, of hops that have none of their own; max_age_ns 0: the plan says it. */
uint64_t cw_hops_max_age(const struct cw_plan *plan, uint64_t max_age_ns);

/* plan may be NULL: no hops; else it must outlive hops. */
void cw_hops_init(struct cw_hops *hops, const struct cw_plan *plan, uint64_t max_age_ns);
void cw_hops_free(struct cw_hops *hops);

/* Roles of a probe, never NULL; worked out once. */
const struct cw_roles *cw_hops_roles(struct cw_trace *t, struct cw_hops *hops,
				     struct cw_probe_info *p);

/*
 * -EINVAL, having said so in t->err, when what a hop needs was not recorded: calls of its
 * functions, the arguments that are its keys, or returns that source_returns asks for.
 */
int cw_hops_check(struct cw_trace *t, const struct cw_hops *hops);

/* Does the return value of a source say that something was submitted? */
bool cw_hop_submitted(const struct cw_hop *h, uint64_t ret);

/* Was the source or target of a hop detached by ts? What is not seen may then have happened. */
bool cw_hops_cut_off(struct cw_trace *t, struct cw_hops *hops, uint32_t hop, uint64_t ts);

/* Write a row a hop, with what was counted. */
void cw_hops_write(struct cw_trace *t, const struct cw_hops *hops);

#endif
