/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where text should be: from each mapping of a file and its program headers follows what was added
 * to the file's addresses, and from that the place of its executable segments. Owns that
 * arithmetic; it must not know what lies there, or what comes of it.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "elffile.h"
#include "missing_text.h"
#include "snapshot.h"

#define MAX_GAPS 256 /* a file has one or two executable segments */

struct mapping {
	struct cw_mapped_file f;
	uint64_t pgoff;
	uint32_t prot;
	bool looked; /* into its file */
};

struct cw_missing_text {
	struct cw_modopen *opener;
	struct mapping *maps; /* of files, by address */
	size_t nmaps, room;
	struct gap {
		uint64_t start, end; /* addresses of a segment */
		uint64_t offset;     /* of start in the file */
		size_t of;           /* a mapping of the file */
	} * gaps;
	size_t ngaps; /* of the files that were looked into */
	uint64_t page;
};

static int take(void *arg, const struct cw_mapped_file *f, uint64_t pgoff, uint32_t prot)
{
	struct cw_missing_text *t = arg;
	struct mapping *bigger;

	if (!f->ino || f->path[0] != '/')
		return 0;
	if (t->nmaps == t->room) {
		bigger = realloc(t->maps, (t->room + 64) * sizeof(*t->maps));
		if (!bigger)
			return -ENOMEM;
		t->maps = bigger;
		t->room += 64;
	}
	t->maps[t->nmaps] = (struct mapping){.f = *f, .pgoff = pgoff, .prot = prot};
	t->maps[t->nmaps].f.path = strdup(f->path);
	if (!t->maps[t->nmaps].f.path)
		return -ENOMEM;
	t->nmaps++;
	return 0;
}

static bool same_file(const struct mapping *a, const struct mapping *b)
{
	return a->f.ino == b->f.ino && a->f.dev_major == b->f.dev_major &&
	       a->f.dev_minor == b->f.dev_minor;
}

/* Is all of it mapped from the file, executable? */
static bool is_there(const struct cw_missing_text *t, const struct gap *g)
{
	uint64_t found = 0;
	size_t i;

	for (i = 0; i < t->nmaps; i++) {
		const struct mapping *m = &t->maps[i];
		uint64_t from = m->f.start > g->start ? m->f.start : g->start;
		uint64_t to = m->f.end < g->end ? m->f.end : g->end;

		if (from < to && (m->prot & PROT_EXEC) && same_file(m, &t->maps[g->of]))
			found += to - from;
	}
	return found == g->end - g->start;
}

static int add_gap(struct cw_missing_text *t, const struct gap *g)
{
	struct gap *bigger;
	size_t i;

	for (i = 0; i < t->ngaps; i++) {
		if (t->gaps[i].start == g->start &&
		    same_file(&t->maps[t->gaps[i].of], &t->maps[g->of]))
			return 0;
	}
	if (t->ngaps == MAX_GAPS || g->end <= g->start || is_there(t, g))
		return 0;
	bigger = realloc(t->gaps, (t->ngaps + 1) * sizeof(*t->gaps));
	if (!bigger)
		return -ENOMEM;
	t->gaps = bigger;
	t->gaps[t->ngaps++] = *g;
	return 0;
}

/* The executable segments of a file whose addresses are moved by bias. */
static int add_segments(struct cw_missing_text *t, Elf *elf, uint64_t bias, size_t of)
{
	GElf_Phdr ph;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && cw_elf_segment(elf, i, &ph); i++) {
		struct gap g = {.of = of};
		uint64_t before;

		if (ph.p_type != PT_LOAD || !(ph.p_flags & PF_X))
			continue;
		before = ph.p_vaddr & (t->page - 1);
		if (ph.p_offset < before)
			continue;
		g.start = bias + ph.p_vaddr - before;
		g.end = bias + ph.p_vaddr + ph.p_filesz;
		g.offset = ph.p_offset - before;
		rc = add_gap(t, &g);
	}
	return rc;
}

/* A page of the file may be in two segments: both are tried, and what lies there decides. */
static int add_of_mapping(struct cw_missing_text *t, Elf *elf, size_t of)
{
	const struct mapping *m = &t->maps[of];
	GElf_Phdr ph;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && cw_elf_segment(elf, i, &ph); i++) {
		uint64_t first;

		if (ph.p_type != PT_LOAD)
			continue;
		first = ph.p_offset & ~(t->page - 1);
		if (m->pgoff >= first && m->pgoff - first < ph.p_filesz + (ph.p_offset - first))
			rc = add_segments(t, elf,
					  m->f.start - (m->pgoff - first) -
						  (ph.p_vaddr & ~(t->page - 1)),
					  of);
	}
	return rc;
}

/* Look into the file of a mapping, for all its mappings. */
static int look_into(struct cw_missing_text *t, size_t of)
{
	Elf *elf = NULL;
	size_t i;
	int rc = 0, fd;

	if (t->maps[of].looked)
		return 0;
	fd = cw_modopen_file(t->opener, &t->maps[of].f);
	if (fd >= 0)
		cw_elf_open(&elf, fd, t->maps[of].f.path, NULL);
	for (i = 0; !rc && i < t->nmaps; i++) {
		if (!same_file(&t->maps[i], &t->maps[of]))
			continue;
		t->maps[i].looked = true;
		if (elf)
			rc = add_of_mapping(t, elf, i);
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return rc;
}

struct cw_missing_text *cw_missing_text_new(struct cw_modopen *opener, uint32_t pid,
					    uint64_t start_boottime)
{
	struct cw_missing_text *t = calloc(1, sizeof(*t));

	if (!t)
		return NULL;
	t->opener = opener;
	t->page = (uint64_t)sysconf(_SC_PAGESIZE);
	if (!cw_snapshot_all_maps(pid, start_boottime, take, t))
		return t;
	cw_missing_text_free(t);
	return NULL;
}

void cw_missing_text_free(struct cw_missing_text *t)
{
	size_t i;

	if (!t)
		return;
	for (i = 0; i < t->nmaps; i++)
		free((char *)t->maps[i].f.path);
	free(t->maps);
	free(t->gaps);
	free(t);
}

/* Text lies between other parts of its file, or is the first or last of them. */
static int look_around(struct cw_missing_text *t, uint64_t address)
{
	size_t lo = 0, hi = t->nmaps;
	int rc = 0;

	while (lo < hi) {
		size_t mid = (lo + hi) / 2;

		if (t->maps[mid].f.start > address)
			hi = mid;
		else
			lo = mid + 1;
	}
	if (lo)
		rc = look_into(t, lo - 1);
	return rc || lo == t->nmaps ? rc : look_into(t, lo);
}

bool cw_missing_text_find(struct cw_missing_text *t, uint64_t address, unsigned nth,
			  struct cw_text_place *out)
{
	size_t i;

	if (look_around(t, address))
		return false;
	for (i = 0; i < t->ngaps; i++) {
		const struct gap *g = &t->gaps[i];

		if (address < g->start || address >= g->end || nth--)
			continue;
		*out = (struct cw_text_place){.of = t->maps[g->of].f,
					      .offset = g->offset + (address - g->start),
					      .end = g->end};
		return true;
	}
	return false;
}
