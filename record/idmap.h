/* SPDX-License-Identifier: GPL-2.0-only */
/* A growing map from 64-bit keys to 32-bit numbers. Pure; nothing is ever removed. */
#ifndef CW_IDMAP_H
#define CW_IDMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_idmap {
	struct cw_idmap_slot {
		uint64_t key;
		uint32_t value;
		uint32_t used;
	} * slots;
	size_t capacity; /* a power of two, or 0 */
	size_t count;
};

/* Zeroed is empty. */
void cw_idmap_clear(struct cw_idmap *m);

/* The number stored for key, or 0. */
uint32_t cw_idmap_get(const struct cw_idmap *m, uint64_t key);

/* Store value, which is not 0, in place of what key had. -ENOMEM. */
int cw_idmap_put(struct cw_idmap *m, uint64_t key, uint32_t value);

/* A 64-bit hash of bytes, to chain from seed. */
uint64_t cw_hash(uint64_t seed, const void *data, size_t size);

#endif
