/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A chained hash table of nodes that live inside the caller's structs, and memory that is there.
 * Knows nothing of what is stored. Order of iteration is not defined: rows are never written by it.
 */
#ifndef CW_HASH_H
#define CW_HASH_H

#include <stddef.h>
#include <stdint.h>

struct cw_hnode {
	struct cw_hnode *next;
	uint64_t hash;
};

struct cw_bucket {
	struct cw_hnode *first;
};

struct cw_htab {
	struct cw_bucket *buckets;
	size_t nbuckets; /* a power of two, or 0 before the first insert */
	size_t count;
};

#define cw_container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* Mix v into h, the same in each run. */
static inline uint64_t cw_mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * 0x9e3779b97f4a7c15ull;
	h = (h ^ (h >> 32)) * 0xd6e8feb86659fd93ull;
	return h ^ (h >> 32);
}

/* Another number in each run: captures cannot be made whose keys all collide. */
extern uint64_t cw_hash_seed;

/* Mix v into h, for hash tables. */
static inline uint64_t cw_hash(uint64_t h, uint64_t v)
{
	return cw_mix(h ^ cw_hash_seed, v);
}

/* Bucket of a hash, which may be a number that the capture chose. */
static inline size_t cw_htab_bucket(const struct cw_htab *t, uint64_t hash)
{
	return ((hash ^ cw_hash_seed) * 0x9e3779b97f4a7c15ull >> 32) & (t->nbuckets - 1);
}

/* Nodes are the caller's and live in what is kept; several may have the same hash. */
void cw_htab_insert(struct cw_htab *t, struct cw_hnode *n, uint64_t hash);
void cw_htab_remove(struct cw_htab *t, struct cw_hnode *n);
/* Forget all nodes, which stay the caller's. */
void cw_htab_free(struct cw_htab *t);

static inline struct cw_hnode *cw_htab_next(struct cw_hnode *n, uint64_t hash)
{
	while (n && n->hash != hash)
		n = n->next;
	return n;
}

/* First node with this hash; go on with cw_htab_next(n->next, hash). */
static inline struct cw_hnode *cw_htab_first(const struct cw_htab *t, uint64_t hash)
{
	return t->nbuckets ? cw_htab_next(t->buckets[cw_htab_bucket(t, hash)].first, hash) : NULL;
}

/*
 * The node behind n, in no order, or the first one for NULL, with *bucket 0 then; NULL behind the
 * last. What n was in is left alone: it may be freed once the next one is known.
 */
struct cw_hnode *cw_htab_each(const struct cw_htab *t, const struct cw_hnode *n, size_t *bucket);

/* Memory, zeroed, or the end of the program with a sentence: nothing useful can be done without. */
void *cw_zalloc(size_t size);
void *cw_grow(void *old, size_t n, size_t size); /* an array of n elements of size bytes */
char *cw_strndup(const char *s, size_t n);

/* Make room for one more element in array a of n used and cap allocated ones. */
#define cw_reserve(a, n, cap) \
	do { \
		if ((n) == (cap)) { \
			(cap) = (cap) ? 2 * (cap) : 16; \
			(a) = cw_grow((a), (cap), sizeof(*(a))); \
		} \
	} while (0)

#endif
