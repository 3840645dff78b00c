/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns hash tables and memory. Must not know what is kept in them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include "hash.h"

uint64_t cw_hash_seed;

__attribute__((constructor)) static void choose_seed(void)
{
	const void *random = (const void *)getauxval(AT_RANDOM); /* 16 bytes from the kernel */

	if (random)
		memcpy(&cw_hash_seed, random, sizeof(cw_hash_seed));
}

static void out_of_memory(size_t size)
{
	fprintf(stderr, "callweave-analyze: out of memory (%zu bytes more were needed)\n", size);
	exit(1);
}

void *cw_zalloc(size_t size)
{
	void *p = calloc(1, size ? size : 1);

	if (!p)
		out_of_memory(size);
	return p;
}

void *cw_grow(void *old, size_t n, size_t size)
{
	void *p = reallocarray(old, n, size);

	if (!p)
		out_of_memory(n * size);
	return p;
}

char *cw_strndup(const char *s, size_t n)
{
	char *p = strndup(s, n);

	if (!p)
		out_of_memory(n);
	return p;
}

static void rehash(struct cw_htab *t, size_t nbuckets)
{
	struct cw_htab grown = *t;

	grown.nbuckets = nbuckets;
	grown.buckets = cw_zalloc(nbuckets * sizeof(*grown.buckets));
	for (size_t i = 0; i < t->nbuckets; i++)
		for (struct cw_hnode *n = t->buckets[i].first, *next; n; n = next) {
			struct cw_bucket *b = &grown.buckets[cw_htab_bucket(&grown, n->hash)];

			next = n->next;
			n->next = b->first;
			b->first = n;
		}
	free(t->buckets);
	*t = grown;
}

void cw_htab_insert(struct cw_htab *t, struct cw_hnode *n, uint64_t hash)
{
	struct cw_bucket *b;

	if (t->count >= t->nbuckets)
		rehash(t, t->nbuckets ? 2 * t->nbuckets : 64);
	b = &t->buckets[cw_htab_bucket(t, hash)];
	n->hash = hash;
	n->next = b->first;
	b->first = n;
	t->count++;
}

void cw_htab_remove(struct cw_htab *t, struct cw_hnode *n)
{
	struct cw_hnode **p = &t->buckets[cw_htab_bucket(t, n->hash)].first;

	while (*p && *p != n)
		p = &(*p)->next;
	if (*p) {
		*p = n->next;
		t->count--;
	}
}

struct cw_hnode *cw_htab_each(const struct cw_htab *t, const struct cw_hnode *n, size_t *bucket)
{
	struct cw_hnode *next = n ? n->next : NULL;

	if (n && !next)
		++*bucket;
	for (; !next && *bucket < t->nbuckets; *bucket += !next)
		next = t->buckets[*bucket].first;
	return next;
}

void cw_htab_free(struct cw_htab *t)
{
	free(t->buckets);
	memset(t, 0, sizeof(*t));
}
