/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns a set of hashes. Must not know when a key is submitted, or for how long that matters. */
#include <stdlib.h>
#include "hash.h"
#include "seen_keys.h"

#define FIRST_SIZE 1024u

/* Never 0, which is a free place. */
static uint64_t hash_of(uint32_t hop, uint64_t upid, uint64_t key)
{
	return cw_hash(cw_hash(hop + 1, upid), key) | 1;
}

/* Where hash is, or the free place for it; there is one. */
static uint64_t *place_of(const struct cw_seen_keys *s, uint64_t hash)
{
	size_t i = (hash >> 8) & (s->size - 1);

	while (s->hashes[i] && s->hashes[i] != hash)
		i = (i + 1) & (s->size - 1);
	return &s->hashes[i];
}

static void grow(struct cw_seen_keys *s)
{
	struct cw_seen_keys old = *s;

	s->size = old.size ? 2 * old.size : FIRST_SIZE;
	s->hashes = cw_zalloc(s->size * sizeof(*s->hashes));
	for (size_t i = 0; i < old.size; i++)
		if (old.hashes[i])
			*place_of(s, old.hashes[i]) = old.hashes[i];
	free(old.hashes);
}

void cw_seen_keys_add(struct cw_seen_keys *s, uint32_t hop, uint64_t upid, uint64_t key)
{
	uint64_t hash = hash_of(hop, upid, key), *place;

	if (2 * s->n >= s->size)
		grow(s);
	place = place_of(s, hash);
	s->n += !*place;
	*place = hash;
}

bool cw_seen_keys_has(const struct cw_seen_keys *s, uint32_t hop, uint64_t upid, uint64_t key)
{
	return s->size && *place_of(s, hash_of(hop, upid, key));
}

void cw_seen_keys_clear(struct cw_seen_keys *s)
{
	free(s->hashes);
	*s = (struct cw_seen_keys){0};
}
