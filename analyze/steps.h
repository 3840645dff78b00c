/* SPDX-License-Identifier: GPL-2.0-only */
/* Steps: calls of hop targets that have not ended, and which of them are around a call. */
#ifndef CW_STEPS_H
#define CW_STEPS_H

#include "chains.h"
#include "state.h"

/* Of cw_call.step; owned by the stitch pass, with a reference to link. */
struct cw_step {
	struct cw_link *link; /* NULL: no submission matched */
	uint32_t stage, hop;
	unsigned doubt; /* why none matched */
	bool handed;    /* the next hop was submitted in it */
	/* The innermost call around it of a lower stage, as index + 1: any, and among those with a
	 * link. */
	size_t lower[2];
	bool written;
	uint64_t took; /* hops that it took a submission of, as bits; none above 63 */
	bool done;     /* its work is over: that was told */
	bool freed;
	struct cw_futex_waits futex; /* at its begin */
};

/* The innermost step of the thread that is of a stage before this one, or NULL; matched ones first.
 */
struct cw_call *cw_steps_around(const struct cw_task *task, uint32_t stage);

/* Tell the calls inside c, the thread's innermost, what is around them; its step is set by now. */
void cw_steps_enter(const struct cw_task *task, struct cw_call *c);

/*
 * Tell who follows, once, that the work of c ended at ts; known: that it did is recorded. For all
 * hops that c took a submission of.
 */
void cw_steps_tell_done(const struct cw_trace *t, const struct cw_task *task,
			const struct cw_call *c, uint64_t ts, bool known);

/* As that, that its worker can take the next; no_handoff: c should have submitted and did not. */
void cw_steps_tell_free(const struct cw_trace *t, const struct cw_task *task,
			const struct cw_call *c, uint64_t ts, bool no_handoff);

#endif
