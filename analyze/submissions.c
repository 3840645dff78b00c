/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns open submissions. Must not know plans or matching. */
#include <stdlib.h>
#include "submissions.h"

static uint64_t hash_of(uint32_t hop, uint64_t upid, uint64_t key)
{
	return cw_hash(cw_hash(hop, upid), key);
}

void cw_submissions_init(struct cw_submissions *s, uint32_t nhops)
{
	s->nhops = nhops;
	s->queues = cw_zalloc(nhops * sizeof(*s->queues));
}

void cw_submissions_free(struct cw_submissions *s)
{
	for (uint32_t i = 0; i < s->nhops; i++) {
		struct cw_submission *x = s->queues[i].first, *next;

		for (; x; x = next) {
			next = x->later;
			cw_submission_free(s, x);
		}
	}
	free(s->queues);
	cw_htab_free(&s->slots);
}

struct cw_slot *cw_slot_find(const struct cw_submissions *s, uint32_t hop, uint64_t upid,
			     uint64_t key)
{
	uint64_t hash = hash_of(hop, upid, key);

	for (struct cw_hnode *n = cw_htab_first(&s->slots, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		struct cw_slot *slot = cw_container(n, struct cw_slot, by_key);

		if (slot->hop == hop && slot->upid == upid && slot->key == key)
			return slot;
	}
	return NULL;
}

struct cw_submission *cw_submission_new(struct cw_submissions *s, uint32_t hop, uint64_t upid,
					uint64_t key, uint64_t ts, bool weak)
{
	struct cw_slot *slot = cw_slot_find(s, hop, upid, key);
	struct cw_submission *x = cw_zalloc(sizeof(*x));
	struct cw_queue *q = &s->queues[hop];

	if (!slot) {
		slot = cw_zalloc(sizeof(*slot));
		slot->hop = hop;
		slot->upid = upid;
		slot->key = key;
		cw_htab_insert(&s->slots, &slot->by_key, hash_of(hop, upid, key));
	}
	x->slot = slot;
	x->ts = ts;
	x->weak = weak;
	x->older = slot->newest;
	*(x->older ? &x->older->newer : &slot->oldest) = x;
	slot->newest = x;
	slot->n++;
	slot->strong += !weak;
	x->earlier = q->last;
	*(x->earlier ? &x->earlier->later : &q->first) = x;
	q->last = x;
	return x;
}

void cw_submission_taken(struct cw_submission *x)
{
	x->slot->strong -= !x->taken && !x->weak;
	x->taken++;
}

void cw_submission_free(struct cw_submissions *s, struct cw_submission *x)
{
	struct cw_slot *slot = x->slot;
	struct cw_queue *q = &s->queues[slot->hop];

	*(x->older ? &x->older->newer : &slot->oldest) = x->newer;
	*(x->newer ? &x->newer->older : &slot->newest) = x->older;
	*(x->earlier ? &x->earlier->later : &q->first) = x->later;
	*(x->later ? &x->later->earlier : &q->last) = x->earlier;
	slot->strong -= !x->weak && !x->taken;
	if (!--slot->n) {
		cw_htab_remove(&s->slots, &slot->by_key);
		free(slot);
	}
	cw_link_put(x->prev);
	free(x);
}
