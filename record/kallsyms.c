/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Kernel addresses that were seen, and their symbols. Owns which were described already. What is
 * not in the kernel's own code, which kerntext.c keeps, comes and goes: for a batch of such
 * addresses the table (some 200,000 lines) is read and not kept; it is not sorted there, so each
 * wanted address collects the symbols between it and the one below.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "idmap.h"
#include "kallsyms.h"
#include "kerntext.h"

#define MAX_NAME 128

#define FARTHEST (1u << 20) /* no function is longer; beyond it lies a gap between modules */

/* One wanted address, and the symbols from the next lower wanted address up to it. */
struct want {
	uint64_t addr;
	uint64_t lowest, highest; /* addresses of such symbols; highest 0: there is none */
	char name[MAX_NAME];      /* of the highest */
};

struct cw_kallsyms {
	char *path;
	struct cw_kerntext *text; /* NULL until it is needed */
	struct cw_idmap seen;     /* addresses noted */
	struct cw_idmap written;  /* starts of symbols written */
	uint64_t *fresh;          /* addresses not looked up yet */
	size_t nfresh, capacity;
	struct cw_rec **recs; /* written, to be written again */
	size_t nrecs, recs_capacity;
	bool hidden; /* kptr_restrict: all addresses are zero, and will be */
};

struct cw_kallsyms *cw_kallsyms_new(const char *path)
{
	struct cw_kallsyms *k = calloc(1, sizeof(*k));

	if (!k)
		return NULL;
	k->path = strdup(path);
	if (!k->path) {
		free(k);
		return NULL;
	}
	return k;
}

void cw_kallsyms_free(struct cw_kallsyms *k)
{
	size_t i;

	if (!k)
		return;
	for (i = 0; i < k->nrecs; i++)
		free(k->recs[i]);
	cw_kerntext_free(k->text);
	free(k->recs);
	free(k->fresh);
	free(k->path);
	cw_idmap_clear(&k->seen);
	cw_idmap_clear(&k->written);
	free(k);
}

void cw_kallsyms_note(struct cw_kallsyms *k, uint64_t addr)
{
	if (k->hidden || !addr || cw_idmap_get(&k->seen, addr) || cw_idmap_put(&k->seen, addr, 1))
		return;
	if (k->nfresh == k->capacity) {
		size_t capacity = k->capacity ? k->capacity * 2 : 256;
		uint64_t *bigger = realloc(k->fresh, capacity * sizeof(*bigger));

		if (!bigger)
			return;
		k->fresh = bigger;
		k->capacity = capacity;
	}
	k->fresh[k->nfresh++] = addr;
}

static int by_addr(const void *a, const void *b)
{
	const struct want *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

/* Sort the symbol in: wants has n addresses and one slot more for what is above them all. */
static void offer(struct want *wants, size_t n, uint64_t addr, const char *name)
{
	size_t lo = 0, hi = n;
	struct want *w;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (wants[mid].addr >= addr)
			hi = mid;
		else
			lo = mid + 1;
	}
	w = &wants[lo];
	if (!w->highest || addr < w->lowest)
		w->lowest = addr;
	if (addr > w->highest) { /* of aliases the first name stays */
		w->highest = addr;
		snprintf(w->name, MAX_NAME, "%s", name);
	}
}

/* "ADDRESS TYPE NAME[\t[MODULE]]"; only code is of interest. */
static bool parse_line(char *line, uint64_t *addr, char **name)
{
	char *end;

	*addr = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ')
		return false;
	if (!strchr("tTwWvViuU", end[1]))
		return false;
	*name = end + 3;
	(*name)[strcspn(*name, "\t\n")] = '\0';
	return true;
}

static bool look_up(struct cw_kallsyms *k, struct want *wants, size_t n)
{
	FILE *f = fopen(k->path, "re");
	size_t size = 0;
	char *line = NULL, *name;
	bool any = false;
	uint64_t addr;

	if (!f)
		return false;
	while (getline(&line, &size, f) > 0) {
		if (!parse_line(line, &addr, &name) || !addr)
			continue;
		any = true;
		offer(wants, n, addr, name);
	}
	free(line);
	fclose(f);
	return any;
}

static int write_symbol(struct cw_kallsyms *k, struct cw_writer *w, const char *name,
			uint64_t start, uint64_t end, uint64_t ts)
{
	size_t len = strnlen(name, MAX_NAME - 1);
	struct cw_ksym *rec;

	if (k->nrecs == k->recs_capacity) {
		size_t capacity = k->recs_capacity ? k->recs_capacity * 2 : 64;
		struct cw_rec **bigger = realloc(k->recs, capacity * sizeof(void *));

		if (!bigger)
			return -ENOMEM;
		k->recs = bigger;
		k->recs_capacity = capacity;
	}
	rec = calloc(1, sizeof(*rec) + len);
	if (!rec || cw_idmap_put(&k->written, start, 1)) {
		free(rec);
		return -ENOMEM;
	}
	rec->h.type = CW_KSYM;
	rec->h.size = (uint16_t)(sizeof(*rec) + len);
	rec->h.cpu = CW_CPU_NONE;
	rec->h.ts = ts;
	rec->start = start;
	rec->end = end;
	memcpy(rec->name, name, len);
	k->recs[k->nrecs++] = &rec->h;
	return cw_writer_append(w, &rec->h);
}

/* A symbol covers the addresses up to the next one, which may be in a later slot. */
static int write_symbols(struct cw_kallsyms *k, struct cw_writer *w, const struct want *wants,
			 size_t n, uint64_t ts)
{
	const struct want *sym = NULL;
	size_t i, next;
	int rc = 0;

	for (i = 0; !rc && i < n; i++) {
		if (wants[i].highest)
			sym = &wants[i];
		if (!sym || wants[i].addr - sym->highest > FARTHEST ||
		    cw_idmap_get(&k->written, sym->highest))
			continue;
		for (next = i + 1; next < n && !wants[next].highest;)
			next++;
		rc = write_symbol(k, w, sym->name, sym->highest,
				  wants[next].highest ? wants[next].lowest : wants[i].addr + 1, ts);
	}
	return rc;
}

/* New addresses are mostly in symbols that are known: drop them, as the table takes long to read.
 */
static void drop_known(struct cw_kallsyms *k)
{
	size_t i, j, n = 0;

	for (i = 0; i < k->nfresh; i++) {
		uint64_t addr = k->fresh[i];

		for (j = 0; j < k->nrecs; j++) {
			const struct cw_ksym *sym = (const struct cw_ksym *)k->recs[j];

			if (addr >= sym->start && addr < sym->end)
				break;
		}
		if (j == k->nrecs)
			k->fresh[n++] = addr;
	}
	k->nfresh = n;
}

/* Those in the kernel's own code; the others stay. */
static int flush_text(struct cw_kallsyms *k, struct cw_writer *w, uint64_t ts)
{
	uint64_t start, end;
	const char *name;
	size_t i, n = 0;
	int rc = 0;

	cw_kallsyms_load(k);
	for (i = 0; !rc && k->text && i < k->nfresh; i++) {
		name = cw_kerntext_find(k->text, k->fresh[i], &start, &end);
		if (!name)
			k->fresh[n++] = k->fresh[i];
		else if (!cw_idmap_get(&k->written, start))
			rc = write_symbol(k, w, name, start, end, ts);
	}
	if (k->text)
		k->nfresh = n;
	return rc;
}

void cw_kallsyms_load(struct cw_kallsyms *k)
{
	if (!k->text)
		k->text = cw_kerntext_new(k->path);
}

int cw_kallsyms_flush(struct cw_kallsyms *k, struct cw_writer *w, uint64_t ts)
{
	struct want *wants;
	size_t i, n;
	int rc = 0;

	drop_known(k);
	if (k->nfresh)
		rc = flush_text(k, w, ts);
	n = k->nfresh;
	if (!n || rc)
		return rc;
	wants = calloc(n + 1, sizeof(*wants));
	if (!wants)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		wants[i].addr = k->fresh[i];
	k->nfresh = 0;
	qsort(wants, n, sizeof(*wants), by_addr);
	k->hidden = !look_up(k, wants, n);
	if (!k->hidden)
		rc = write_symbols(k, w, wants, n, ts);
	free(wants);
	return rc;
}

int cw_kallsyms_repeat(struct cw_kallsyms *k, struct cw_writer *w)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < k->nrecs; i++) {
		k->recs[i]->flags = CW_REC_REPEATED;
		rc = cw_writer_append(w, k->recs[i]);
	}
	return rc;
}
