/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns which code addresses have a row. Must not know stacks. */
#include <stdlib.h>
#include "frame_ids.h"
#include "hash.h"

struct frame {
	struct cw_hnode by_place;
	struct frame *next;
	int64_t module;
	uint64_t rel_pc, id;
	bool is_return;
};

struct cw_frame_ids {
	struct cw_htab by_place;
	struct frame *all; /* to free them */
	uint64_t n;
};

struct cw_frame_ids *cw_frame_ids_new(void)
{
	return cw_zalloc(sizeof(struct cw_frame_ids));
}

void cw_frame_ids_free(struct cw_frame_ids *f)
{
	if (!f)
		return;
	for (struct frame *x = f->all, *next; x; x = next) {
		next = x->next;
		free(x);
	}
	cw_htab_free(&f->by_place);
	free(f);
}

uint64_t cw_frame_id(struct cw_frame_ids *f, struct cw_rows *rows, int64_t module, uint64_t rel_pc,
		     uint64_t address, bool is_return)
{
	uint64_t hash = cw_hash(cw_hash((uint64_t)module, rel_pc), is_return), *w;
	struct frame *x;

	for (struct cw_hnode *n = cw_htab_first(&f->by_place, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		x = cw_container(n, struct frame, by_place);
		if (x->module == module && x->rel_pc == rel_pc && x->is_return == is_return)
			return x->id;
	}
	x = cw_zalloc(sizeof(*x));
	x->module = module;
	x->rel_pc = rel_pc;
	x->is_return = is_return;
	cw_htab_insert(&f->by_place, &x->by_place, hash);
	x->next = f->all;
	f->all = x;
	x->id = ++f->n;
	w = cw_rows_put(rows, CW_ROW_FRAME, module == CW_NO_MODULE ? 2 : 0);
	w[0] = x->id;
	w[1] = (uint64_t)module;
	w[2] = rel_pc;
	w[3] = address;
	w[4] = is_return;
	return x->id;
}
