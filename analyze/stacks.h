/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks on their way: those that wait for mappings, and those that are remembered. */
#ifndef CW_STACKS_H
#define CW_STACKS_H

#include "passes.h"

/* Time of the oldest that is not written yet, for the mappings of its addresses may still come;
 * UINT64_MAX when there is none. */
uint64_t cw_stacks_waiting(const struct cw_trace *t);

/* A payload of a module is complete; it is copied where it is needed. */
void cw_stacks_payload(struct cw_trace *t, uint32_t module_id, uint32_t kind, const void *data,
		       size_t size);

/* Is the stack one that records may still refer to? */
bool cw_stack_known(const struct cw_trace *t, uint64_t id);

#endif
