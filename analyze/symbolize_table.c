/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the order of symbols and which of several names wins. Must not know what an ELF file is. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize_table.h"

struct sym {
	uint64_t start;
	uint64_t end;
	const char *name;
	bool global;
	bool sized;
};

struct cw_symtab {
	struct sym *syms;
	size_t count, room;
	bool sorted;

	/* Symbols that hold last, innermost on top: a sweep upwards costs O(1) an address. */
	uint32_t *open;
	size_t open_count;
	size_t next;
	uint64_t last;
};

struct cw_symtab *cw_symtab_new(void)
{
	return calloc(1, sizeof(struct cw_symtab));
}

void cw_symtab_free(struct cw_symtab *t)
{
	if (!t)
		return;
	free(t->syms);
	free(t->open);
	free(t);
}

int cw_symtab_add(struct cw_symtab *t, uint64_t start, uint64_t size, uint64_t limit,
		  const char *name, bool global)
{
	struct sym *s;

	if (start >= limit)
		return 0;
	if (t->count == t->room) {
		size_t room = t->room ? t->room * 2 : 1024;

		if (room > UINT32_MAX)
			return -ENOMEM;
		s = reallocarray(t->syms, room, sizeof(*s));
		if (!s)
			return -ENOMEM;
		t->syms = s;
		t->room = room;
	}
	s = &t->syms[t->count++];
	s->start = start;
	s->end = size && size < limit - start ? start + size : limit;
	s->name = name;
	s->global = global;
	s->sized = size != 0;
	t->sorted = false;
	return 0;
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/* By address; of one address the best name first. */
static int by_start(const void *pa, const void *pb)
{
	const struct sym *a = pa, *b = pb;
	size_t na, nb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	if (a->sized != b->sized)
		return a->sized ? -1 : 1;
	if (a->global != b->global)
		return a->global ? -1 : 1;
	na = underscores(a->name);
	nb = underscores(b->name);
	if (na != nb)
		return na < nb ? -1 : 1;
	na = strlen(a->name);
	nb = strlen(b->name);
	if (na != nb)
		return na < nb ? -1 : 1;
	return strcmp(a->name, b->name);
}

/* Sort, keep one symbol an address (with the greatest end of all) and end the sizeless ones. */
static bool prepare(struct cw_symtab *t)
{
	size_t i, kept = 0;

	if (t->sorted)
		return t->open;
	qsort(t->syms, t->count, sizeof(*t->syms), by_start);
	for (i = 0; i < t->count; i++) {
		struct sym *s = &t->syms[i], *k = kept ? &t->syms[kept - 1] : NULL;

		if (k && k->start == s->start) {
			if (s->sized && s->end > k->end)
				k->end = s->end;
			continue;
		}
		if (k && !k->sized && k->end > s->start)
			k->end = s->start;
		t->syms[kept++] = *s;
	}
	t->count = kept;
	free(t->open);
	t->open = malloc((kept + 1) * sizeof(*t->open));
	t->open_count = 0;
	t->next = 0;
	t->last = 0;
	t->sorted = true;
	return t->open;
}

const char *cw_symtab_find(struct cw_symtab *t, uint64_t address, uint64_t *start)
{
	if (!t->count || !prepare(t))
		return NULL;
	if (address < t->last) {
		t->open_count = 0;
		t->next = 0;
	}
	t->last = address;
	for (; t->next < t->count && t->syms[t->next].start <= address; t->next++) {
		if (t->syms[t->next].end > address)
			t->open[t->open_count++] = t->next;
	}
	/* Whoever starts last is on top; one that ended before address is of no use any more. */
	while (t->open_count && t->syms[t->open[t->open_count - 1]].end <= address)
		t->open_count--;
	if (!t->open_count)
		return NULL;
	*start = t->syms[t->open[t->open_count - 1]].start;
	return t->syms[t->open[t->open_count - 1]].name;
}
