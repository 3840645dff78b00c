/* SPDX-License-Identifier: GPL-2.0-only */
/* Copies of a stack's record and of what was saved of the stack. */
#ifndef CW_STACK_PARTS_H
#define CW_STACK_PARTS_H

#include "capture.h"

/* begin and end may be NULL. */
struct cw_stack_parts {
	struct cw_stack *rec;
	struct cw_stack_regs *begin, *end;
};

void *cw_stack_part_copy(const struct cw_rec *rec);
struct cw_stack_parts cw_stack_parts_copy(const struct cw_stack_parts *s);
void cw_stack_parts_free(struct cw_stack_parts *s);
/* Bytes of the records; rec is there. */
size_t cw_stack_parts_size(const struct cw_stack_parts *s);

#define CW_MAX_SAVED 64u

/* What was saved of stacks whose own records did not come yet. */
struct cw_saved_parts {
	struct cw_stack_regs *at[CW_MAX_SAVED]; /* the newest; the oldest makes room */
	unsigned next;
};

void cw_saved_parts_add(struct cw_saved_parts *all, const struct cw_stack_regs *r);
/* Those of a stack become the parts', instead of what is there. */
void cw_saved_parts_take(struct cw_saved_parts *all, uint64_t id, struct cw_stack_parts *s);
void cw_saved_parts_free(struct cw_saved_parts *all);

#endif
