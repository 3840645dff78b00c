/* SPDX-License-Identifier: GPL-2.0-only */
/* The modules whose frames are to be named, in memory. Must not know the database. */
#ifndef CW_SYMBOLIZE_BATCH_H
#define CW_SYMBOLIZE_BATCH_H

#include <stddef.h>
#include "symbolize_module.h"

struct cw_batch {
	struct cw_module_work **works;
	size_t count, room;
};

/* A new module at the end; identity is copied. NULL when there is no memory. */
struct cw_module_work *cw_batch_add(struct cw_batch *b, int64_t module_id,
				    const struct cw_module_identity *identity);

/* One more address of a module, all zero; NULL when there is no memory. */
struct cw_code *cw_batch_add_code(struct cw_module_work *w);

/*
 * Split modules with very many addresses so that several threads can share each. Call when all
 * addresses are there and nothing embedded is opened yet. -ENOMEM.
 */
int cw_batch_split(struct cw_batch *b);

/* Frees the works with all they own. */
void cw_batch_free(struct cw_batch *b);

#endif
