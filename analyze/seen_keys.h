/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The keys that were submitted since the capture began, so that a target whose submission is older
 * than the capture is told from one that lost it. By hash: two keys taken for one say "lost".
 */
#ifndef CW_SEEN_KEYS_H
#define CW_SEEN_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zeroed is empty. */
struct cw_seen_keys {
	uint64_t *hashes; /* open addressing; 0 is free */
	size_t n, size;   /* size is 0 or a power of 2 */
};

/* Exits without memory, as all of the analysis does. */
void cw_seen_keys_add(struct cw_seen_keys *s, uint32_t hop, uint64_t upid, uint64_t key);
bool cw_seen_keys_has(const struct cw_seen_keys *s, uint32_t hop, uint64_t upid, uint64_t key);

/* Forget all; empty again. */
void cw_seen_keys_clear(struct cw_seen_keys *s);

#endif
