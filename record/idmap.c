/* SPDX-License-Identifier: GPL-2.0-only */
/* A growing map from 64-bit keys to 32-bit numbers: open addressing, half full at most. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "idmap.h"

void cw_idmap_clear(struct cw_idmap *m)
{
	free(m->slots);
	memset(m, 0, sizeof(*m));
}

/* Neighbouring keys (pids, addresses) must not land in neighbouring slots. */
static size_t spread(uint64_t key)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	return (size_t)(key ^ key >> 29);
}

static struct cw_idmap_slot *find(const struct cw_idmap *m, uint64_t key)
{
	size_t i = spread(key) & (m->capacity - 1);

	while (m->slots[i].used && m->slots[i].key != key)
		i = (i + 1) & (m->capacity - 1);
	return &m->slots[i];
}

uint32_t cw_idmap_get(const struct cw_idmap *m, uint64_t key)
{
	return m->capacity ? find(m, key)->value : 0;
}

static int grow(struct cw_idmap *m)
{
	struct cw_idmap bigger = {.capacity = m->capacity ? m->capacity * 2 : 64};
	size_t i;

	bigger.slots = calloc(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (i = 0; i < m->capacity; i++) {
		if (m->slots[i].used)
			*find(&bigger, m->slots[i].key) = m->slots[i];
	}
	bigger.count = m->count;
	free(m->slots);
	*m = bigger;
	return 0;
}

int cw_idmap_put(struct cw_idmap *m, uint64_t key, uint32_t value)
{
	struct cw_idmap_slot *slot;

	if (m->count * 2 >= m->capacity && grow(m))
		return -ENOMEM;
	slot = find(m, key);
	if (!slot->used)
		m->count++;
	slot->used = 1;
	slot->key = key;
	slot->value = value;
	return 0;
}

uint64_t cw_hash(uint64_t seed, const void *data, size_t size)
{
	const unsigned char *p = data;
	uint64_t h = seed ^ 0xcbf29ce484222325ull;

	while (size--) {
		h ^= *p++;
		h *= 0x100000001b3ull;
	}
	return h;
}
