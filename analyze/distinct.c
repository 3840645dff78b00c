/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns remembered tuples. Must not know what they stand for. */
#include <stdlib.h>
#include <string.h>
#include "distinct.h"

#define MAX_REMEMBERED (1u << 18)

struct cw_tuple {
	struct cw_hnode node;
	struct cw_tuple *next;
	uint64_t id;
	uint64_t words[];
};

void cw_distinct_free(struct cw_distinct *d)
{
	for (struct cw_tuple *x = d->all, *next; x; x = next) {
		next = x->next;
		free(x);
	}
	d->all = NULL;
	cw_htab_free(&d->tab);
}

uint64_t cw_distinct_id(struct cw_distinct *d, const uint64_t *words, bool *fresh)
{
	size_t size = d->nwords * sizeof(*words);
	uint64_t hash = 0;
	struct cw_tuple *x;

	for (unsigned i = 0; i < d->nwords; i++)
		hash = cw_hash(hash, words[i]);
	*fresh = false;
	for (struct cw_hnode *n = cw_htab_first(&d->tab, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		x = cw_container(n, struct cw_tuple, node);
		if (!memcmp(x->words, words, size))
			return x->id;
	}
	if (d->tab.count >= MAX_REMEMBERED)
		cw_distinct_free(d);
	x = cw_zalloc(sizeof(*x) + size);
	memcpy(x->words, words, size);
	x->id = ++d->ids;
	x->next = d->all;
	d->all = x;
	cw_htab_insert(&d->tab, &x->node, hash);
	*fresh = true;
	return x->id;
}
