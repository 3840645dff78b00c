/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns records between the ring's order and the order of time. Few are out of order and not by much
 * (2-3 %, tenths of ms), so a record is inserted from the end; one that belongs far back only marks
 * the lot as unsorted, and sorting then waits until it pays. Must not know what records say.
 */
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "sort.h"

#define SLAB_BYTES   (1u << 20)
#define NEAR_STEPS   32u   /* places looked at one by one */
#define MAX_SHIFT    8192u /* entries moved at most for one record */
#define UNSORTED_MIN 4096u

struct slab {
	size_t used;
	size_t live; /* records that have not left */
	struct slab *next_free;
	uint64_t data[SLAB_BYTES / 8];
};

struct entry {
	uint64_t ts;
	uint64_t order; /* cpu << 48 | position */
	struct slab *slab;
	const struct cw_rec *rec;
};

struct cw_sorter {
	uint64_t window_ns;
	size_t max_bytes, bytes;
	cw_sorted_fn out;
	void *arg;
	struct entry *e; /* sorted in [head, n) unless unsorted */
	size_t head, n, cap;
	bool unsorted;
	size_t since_sorted;
	uint64_t position, max_ts;
	uint64_t left_ts; /* ts of the last record that left */
	bool any_left;
	struct slab *filling, *free_slabs;
};

struct cw_sorter *cw_sorter_new(uint64_t window_ns, size_t max_bytes, cw_sorted_fn out, void *arg)
{
	struct cw_sorter *s = cw_zalloc(sizeof(*s));

	s->window_ns = window_ns;
	s->max_bytes = max_bytes;
	s->out = out;
	s->arg = arg;
	return s;
}

static struct slab *slab_new(struct cw_sorter *s)
{
	struct slab *slab = s->free_slabs;

	if (slab)
		s->free_slabs = slab->next_free;
	else
		slab = cw_grow(NULL, 1, sizeof(*slab));
	slab->used = slab->live = 0;
	return slab;
}

static const struct cw_rec *keep(struct cw_sorter *s, const struct cw_rec *rec)
{
	size_t size = (rec->size + 7u) & ~7u;
	void *copy;

	if (!s->filling || s->filling->used + size > SLAB_BYTES)
		s->filling = slab_new(s);
	copy = (char *)s->filling->data + s->filling->used;
	memcpy(copy, rec, rec->size);
	s->filling->used += size;
	s->filling->live++;
	s->bytes += size + sizeof(struct entry);
	return copy;
}

static void release(struct cw_sorter *s, const struct entry *e)
{
	s->bytes -= ((e->rec->size + 7u) & ~7u) + sizeof(*e);
	if (--e->slab->live)
		return;
	if (e->slab == s->filling) {
		e->slab->used = 0;
		return;
	}
	e->slab->next_free = s->free_slabs;
	s->free_slabs = e->slab;
}

static bool before(const struct entry *a, const struct entry *b)
{
	return a->ts != b->ts ? a->ts < b->ts : a->order < b->order;
}

static int compare(const void *a, const void *b)
{
	return before(a, b) ? -1 : before(b, a);
}

/* First place in [head, n) whose entry comes after x. */
static size_t place_of(const struct cw_sorter *s, const struct entry *x)
{
	size_t lo = s->head, hi = s->n;

	for (unsigned i = 0; i < NEAR_STEPS; i++, hi--)
		if (hi == lo || before(&s->e[hi - 1], x))
			return hi;
	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (before(x, &s->e[mid]))
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

static void insert(struct cw_sorter *s, const struct entry *x)
{
	size_t at = s->n;

	if (s->n == s->cap && s->head > s->n / 2) {
		memmove(s->e, s->e + s->head, (s->n - s->head) * sizeof(*s->e));
		s->n -= s->head;
		s->head = 0;
		at = s->n;
	}
	cw_reserve(s->e, s->n, s->cap);
	if (s->n > s->head && !s->unsorted && before(x, &s->e[s->n - 1])) {
		at = place_of(s, x);
		if (s->n - at > MAX_SHIFT) {
			s->unsorted = true;
			s->since_sorted = 0;
			at = s->n;
		} else {
			memmove(&s->e[at + 1], &s->e[at], (s->n - at) * sizeof(*s->e));
		}
	}
	s->e[at] = *x;
	s->n++;
	s->since_sorted++;
}

static void sort_all(struct cw_sorter *s)
{
	if (s->unsorted)
		qsort(s->e + s->head, s->n - s->head, sizeof(*s->e), compare);
	s->unsorted = false;
}

/* Pass on the records up to and with ts, at least min of them. */
static int pass_on(struct cw_sorter *s, uint64_t ts, size_t min)
{
	int err = 0;

	while (s->head < s->n && !err) {
		struct entry e = s->e[s->head];

		if (e.ts > ts && !min)
			break;
		min -= min > 0;
		s->head++;
		s->left_ts = e.ts;
		s->any_left = true;
		err = s->out(s->arg, e.rec);
		release(s, &e);
	}
	if (s->head == s->n)
		s->head = s->n = 0;
	return err;
}

int cw_sorter_push(struct cw_sorter *s, const struct cw_rec *rec, bool leads)
{
	struct entry e = {.ts = rec->ts};

	if (s->any_left && rec->ts < s->left_ts)
		return 1;
	e.order = (uint64_t)rec->cpu << 48 | (s->position++ & 0xffffffffffffull);
	e.rec = keep(s, rec);
	e.slab = s->filling;
	insert(s, &e);
	if (leads && e.ts > s->max_ts)
		s->max_ts = e.ts;
	if (s->bytes > s->max_bytes) {
		sort_all(s);
		return pass_on(s, 0, (s->n - s->head) / 2 + 1);
	}
	if (s->unsorted && s->since_sorted < UNSORTED_MIN + (s->n - s->head) / 4)
		return 0;
	sort_all(s);
	return s->max_ts > s->window_ns ? pass_on(s, s->max_ts - s->window_ns, 0) : 0;
}

int cw_sorter_flush(struct cw_sorter *s)
{
	sort_all(s);
	return pass_on(s, UINT64_MAX, 0);
}

void cw_sorter_free(struct cw_sorter *s)
{
	if (!s)
		return;
	while (s->head < s->n)
		release(s, &s->e[s->head++]);
	for (struct slab *slab = s->free_slabs, *next; slab; slab = next) {
		next = slab->next_free;
		free(slab);
	}
	free(s->filling);
	free(s->e);
	free(s);
}
