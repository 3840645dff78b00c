/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks on their way: those that wait for mappings, and those that are remembered. */
#ifndef CW_STACKS_H
#define CW_STACKS_H

#include "identity.h"
#include "passes.h"

/* cw_stack_of's, for a process in which code was replaced. */
uint64_t cw_stack_remapped(struct cw_trace *t, uint64_t id, const struct cw_proc *p, uint64_t ts);

/* Time of the oldest that is not written yet, for the mappings of its addresses may still come;
 * UINT64_MAX when there is none. */
uint64_t cw_stacks_waiting(const struct cw_trace *t);

/* A payload of a module is complete; it is copied where it is needed. */
void cw_stacks_payload(struct cw_trace *t, uint32_t module_id, uint32_t kind, const void *data,
		       size_t size);

/*
 * The stack that an id in a record of a process at ts means. A recorder gives stacks an id by their
 * addresses; where other code was mapped at those since the stack was resolved, it is another stack
 * here. 0: none, as in the record.
 */
static inline uint64_t cw_stack_of(struct cw_trace *t, uint64_t id, const struct cw_proc *p,
				   uint64_t ts)
{
	return id && p->remaps ? cw_stack_remapped(t, id, p, ts) : id;
}

/* Is the stack one that records may still refer to? */
bool cw_stack_known(const struct cw_trace *t, uint64_t id);

#endif
