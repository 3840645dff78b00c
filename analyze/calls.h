/* SPDX-License-Identifier: GPL-2.0-only */
/* Calls of probed functions that have not ended, by thread, outermost first. */
#ifndef CW_CALLS_H
#define CW_CALLS_H

#include "probes.h"
#include "state.h"

struct cw_step;

struct cw_call {
	uint64_t slice_id, parent_id, ts, sp, stack;
	struct cw_probe_info *probe;
	uint32_t depth;
	bool has_return;   /* a return probe is on it and the kernel had room for it */
	bool kernel_limit; /* 64 returns were pending: there will be no return */
	size_t outer;      /* the next outer call of the same kind, as index + 1; see calls.c */
	uint64_t args[CW_NARGS];
	struct cw_parts parts; /* counters at entry */
	uint64_t end_ts;       /* at its end: of the return, or when it must have ended */
	struct cw_parts spent; /* at its end, when it returned: the parts of its duration */
	uint64_t ret;          /* at its end, when it returned */
	struct cw_step *step;  /* the stitch pass's, for calls of hop targets */
	size_t step_at[2]; /* its too: the innermost call with a step, itself included, as index + 1
			    */
};

/* Calls of task that have not ended, and the i-th of them (0 is the outermost). */
size_t cw_calls_depth(const struct cw_task *task);
struct cw_call *cw_call_at(const struct cw_task *task, size_t i);

#endif
