/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the memory of stacks' records. Must not know what becomes of them. */
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "stack_parts.h"

void *cw_stack_part_copy(const struct cw_rec *rec)
{
	void *copy = cw_grow(NULL, rec->size, 1);

	memcpy(copy, rec, rec->size);
	return copy;
}

struct cw_stack_parts cw_stack_parts_copy(const struct cw_stack_parts *s)
{
	return (struct cw_stack_parts){
		cw_stack_part_copy(&s->rec->h),
		s->begin ? cw_stack_part_copy(&s->begin->h) : NULL,
		s->end ? cw_stack_part_copy(&s->end->h) : NULL,
	};
}

void cw_stack_parts_free(struct cw_stack_parts *s)
{
	free(s->rec);
	free(s->begin);
	free(s->end);
}

size_t cw_stack_parts_size(const struct cw_stack_parts *s)
{
	return s->rec->h.size + (s->begin ? s->begin->h.size : 0) + (s->end ? s->end->h.size : 0);
}

void cw_saved_parts_add(struct cw_saved_parts *all, const struct cw_stack_regs *r)
{
	struct cw_stack_regs **at = &all->at[all->next++ % CW_MAX_SAVED];

	free(*at);
	*at = cw_stack_part_copy(&r->h);
}

void cw_saved_parts_take(struct cw_saved_parts *all, uint64_t id, struct cw_stack_parts *s)
{
	for (unsigned i = 0; i < CW_MAX_SAVED; i++) {
		struct cw_stack_regs *r = all->at[i], **to;

		if (!r || r->id != id)
			continue;
		all->at[i] = NULL;
		to = r->frame ? &s->end : &s->begin;
		free(*to);
		*to = r;
	}
}

void cw_saved_parts_free(struct cw_saved_parts *all)
{
	for (unsigned i = 0; i < CW_MAX_SAVED; i++)
		free(all->at[i]);
}
