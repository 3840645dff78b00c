/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is known of the traced processes. Owns the tables and their order; it must not know where
 * the facts come from.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "proctab.h"

#define BUCKETS 1024

struct cw_proctab {
	struct cw_proc *by_pid[BUCKETS];
	struct cw_proc *by_rec_pid[BUCKETS];
};

struct cw_proctab *cw_proctab_new(void)
{
	return calloc(1, sizeof(struct cw_proctab));
}

static void free_proc(struct cw_proc *p)
{
	size_t i;

	for (i = 0; i < p->nrecs; i++)
		free(p->recs[i]);
	free(p->recs);
	if (p->perf_fd)
		close(p->perf_fd - 1);
	free(p->maps);
	free(p);
}

void cw_proctab_free(struct cw_proctab *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < BUCKETS; i++) {
		struct cw_proc *p, *next;

		for (p = t->by_pid[i]; p; p = next) {
			next = p->next;
			free_proc(p);
		}
	}
	free(t);
}

struct cw_proc *cw_proctab_get(struct cw_proctab *t, uint32_t pid, bool create)
{
	struct cw_proc **head = &t->by_pid[pid % BUCKETS], *p;

	for (p = *head; p; p = p->next) {
		if (p->pid == pid)
			return p;
	}
	p = create ? calloc(1, sizeof(*p)) : NULL;
	if (!p)
		return NULL;
	p->pid = pid;
	p->next = *head;
	*head = p;
	return p;
}

struct cw_proc *cw_proctab_by_rec_pid(struct cw_proctab *t, uint32_t rec_pid)
{
	struct cw_proc *p = t->by_rec_pid[rec_pid % BUCKETS];

	while (p && p->rec_pid != rec_pid)
		p = p->next_rec;
	return p;
}

static void unlink_rec_pid(struct cw_proctab *t, struct cw_proc *p)
{
	struct cw_proc **at = &t->by_rec_pid[p->rec_pid % BUCKETS];

	for (; *at; at = &(*at)->next_rec) {
		if (*at == p) {
			*at = p->next_rec;
			return;
		}
	}
}

void cw_proctab_set_rec_pid(struct cw_proctab *t, struct cw_proc *p, uint32_t rec_pid)
{
	if (p->rec_pid == rec_pid)
		return;
	unlink_rec_pid(t, p);
	p->rec_pid = rec_pid;
	p->next_rec = t->by_rec_pid[rec_pid % BUCKETS];
	t->by_rec_pid[rec_pid % BUCKETS] = p;
}

void cw_proctab_drop(struct cw_proctab *t, uint32_t pid)
{
	struct cw_proc **at = &t->by_pid[pid % BUCKETS], *p;

	for (; (p = *at); at = &p->next) {
		if (p->pid != pid)
			continue;
		*at = p->next;
		unlink_rec_pid(t, p);
		free_proc(p);
		return;
	}
}

int cw_proctab_each(struct cw_proctab *t, int (*fn)(void *arg, struct cw_proc *p), void *arg)
{
	size_t i;

	for (i = 0; i < BUCKETS; i++) {
		struct cw_proc *p;

		for (p = t->by_pid[i]; p; p = p->next) {
			int rc = fn(arg, p);

			if (rc)
				return rc;
		}
	}
	return 0;
}

/* Number of the first mapping that ends above addr. */
static size_t first_above(const struct cw_proc *p, uint64_t addr)
{
	size_t lo = 0, hi = p->nmaps;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (p->maps[mid].end > addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo;
}

const struct cw_map_entry *cw_proc_find_map(const struct cw_proc *p, uint64_t addr)
{
	size_t i = first_above(p, addr);

	return i < p->nmaps && p->maps[i].start <= addr ? &p->maps[i] : NULL;
}

const struct cw_map_entry *cw_proc_next_map(const struct cw_proc *p, uint64_t addr)
{
	size_t i = first_above(p, addr);

	return i < p->nmaps ? &p->maps[i] : NULL;
}

static int reserve(void **array, size_t *capacity, size_t wanted, size_t size)
{
	size_t n = *capacity ? *capacity : 16;
	void *bigger;

	if (wanted <= *capacity)
		return 0;
	while (n < wanted)
		n *= 2;
	bigger = realloc(*array, n * size);
	if (!bigger)
		return -ENOMEM;
	*array = bigger;
	*capacity = n;
	return 0;
}

static void shift(struct cw_proc *p, size_t from, size_t to)
{
	memmove(&p->maps[to], &p->maps[from], (p->nmaps - from) * sizeof(*p->maps));
	p->nmaps = p->nmaps - from + to;
}

/* Make room in the address range; returns where the new entry goes. Two slots must be free. */
static size_t clear_range(struct cw_proc *p, uint64_t start, uint64_t end)
{
	size_t i = first_above(p, start), j;
	struct cw_map_entry *m = &p->maps[i];

	if (i < p->nmaps && m->start < start) {
		if (m->end > end) {
			shift(p, i, i + 1);
			m[1].pgoff += end - m[1].start;
			m[1].start = end;
			m->end = start;
			return i + 1;
		}
		m->end = start;
		i++;
	}
	for (j = i; j < p->nmaps && p->maps[j].end <= end;)
		j++;
	if (j > i)
		shift(p, j, i);
	if (i < p->nmaps && p->maps[i].start < end) {
		p->maps[i].pgoff += end - p->maps[i].start;
		p->maps[i].start = end;
	}
	return i;
}

/* Is something in the range from number i on that was mapped later? Reports come CPU by CPU. */
static bool covered_since(const struct cw_proc *p, size_t i, const struct cw_map_entry *e)
{
	for (; i < p->nmaps && p->maps[i].start < e->end; i++) {
		if (p->maps[i].ts > e->ts)
			return true;
	}
	return false;
}

int cw_proc_add_map(struct cw_proc *p, const struct cw_map_entry *e)
{
	size_t i = first_above(p, e->start);
	struct cw_map_entry *m = i < p->nmaps ? &p->maps[i] : NULL;
	int rc;

	if (e->start >= e->end)
		return 0;
	if (m && m->start == e->start && m->end == e->end && m->pgoff == e->pgoff &&
	    m->module_id == e->module_id && m->prot == e->prot &&
	    !((m->flags ^ e->flags) & CW_MAP_MOVED)) {
		m->generation = p->generation;
		if (e->ts >= m->ts)
			return 0;
		/* /proc only shows it; the event that says since when came later. */
		m->ts = e->ts;
		m->flags = e->flags;
		m->cpu = e->cpu;
		return 1;
	}
	if (covered_since(p, i, e))
		return 1;
	rc = reserve((void **)&p->maps, &p->maps_capacity, p->nmaps + 2, sizeof(*p->maps));
	if (rc)
		return rc;
	i = clear_range(p, e->start, e->end);
	shift(p, i, i + 1);
	p->maps[i] = *e;
	p->maps[i].generation = p->generation;
	return 1;
}

void cw_proc_drop_old_maps(struct cw_proc *p)
{
	size_t i, n = 0;

	for (i = 0; i < p->nmaps; i++) {
		if (p->maps[i].generation == p->generation)
			p->maps[n++] = p->maps[i];
	}
	p->nmaps = n;
}

void cw_proc_clear(struct cw_proc *p, uint64_t ts)
{
	size_t i, n = 0;

	for (i = 0; i < p->nmaps; i++) {
		if (p->maps[i].ts >= ts || p->maps[i].start >> 63)
			p->maps[n++] = p->maps[i];
	}
	p->nmaps = n;
}

static uint32_t rec_id(const struct cw_rec *rec)
{
	return rec->type == CW_THREAD ? ((const struct cw_thread *)rec)->tid : 0;
}

static bool same_content(const struct cw_rec *a, const struct cw_rec *b)
{
	return a->size == b->size && !memcmp(a + 1, b + 1, a->size - sizeof(*a));
}

int cw_proc_keep_rec(struct cw_proc *p, const struct cw_rec *rec)
{
	struct cw_rec *copy;
	size_t i;

	for (i = 0; i < p->nrecs; i++) {
		if (p->recs[i]->type == rec->type && rec_id(p->recs[i]) == rec_id(rec))
			break;
	}
	if (i < p->nrecs && same_content(p->recs[i], rec))
		return 0;
	if (reserve((void **)&p->recs, &p->recs_capacity, i + 1, sizeof(void *)))
		return -ENOMEM;
	copy = malloc(rec->size);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, rec, rec->size);
	if (i < p->nrecs)
		free(p->recs[i]);
	else
		p->nrecs++;
	p->recs[i] = copy;
	return 1;
}
