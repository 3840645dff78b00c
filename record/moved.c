/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns where such text may come from and the comparison of memory with a file. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "madecode.h"
#include "moved.h"

#define PIECE     4096u
#define PIECES    16u
#define HUGE_PAGE (2ull << 20)
#define PART      64u /* one byte of code in so many may differ, and one more */

struct sample {
	unsigned differ, code; /* bytes that differ, and those of the file that are not 0 */
};

static bool compare(int mem, uint64_t address, int fd, uint64_t offset, size_t size,
		    struct sample *s)
{
	unsigned char ours[PIECE], file[PIECE];
	size_t i;

	if (pread(mem, ours, size, (off_t)address) != (ssize_t)size ||
	    pread(fd, file, size, (off_t)offset) != (ssize_t)size)
		return false;
	for (i = 0; i < size; i++) {
		s->differ += ours[i] != file[i];
		s->code += file[i] != 0;
	}
	return true;
}

bool cw_moved_is_text(int fd, uint64_t offset, uint32_t pid, uint64_t start, uint64_t end)
{
	uint64_t size = end - start, step, at;
	struct sample s = {0};
	bool ok = true;
	char path[64];
	int mem;

	if (end <= start)
		return false;
	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	mem = open(path, O_RDONLY | O_CLOEXEC);
	if (mem < 0)
		return false;
	step = (size + PIECES - 1) / PIECES;
	step = (step + PIECE - 1) / PIECE * PIECE;
	for (at = 0; ok && at < size; at += step) {
		size_t n = size - at < PIECE ? size - at : PIECE;

		ok = compare(mem, start + at, fd, offset + at, n, &s);
	}
	close(mem);
	/* Gaps of the file are like memory that was never written: they say nothing. */
	return ok && s.code && s.differ <= 1 + s.code / PART;
}

static bool is_moved(struct cw_modtab *t, const struct cw_proc *p, const struct cw_mapped_file *f,
		     const struct cw_map_entry *from, struct cw_map_entry *e)
{
	uint64_t offset = from->pgoff + (f->start - from->start);
	uint32_t owner;
	bool yes;
	int fd;

	/* The text that was there may begin before what is left of it. */
	if (f->start < from->start && from->pgoff < from->start - f->start)
		return false;
	if (cw_modtab_is_memory(t, from->module_id, &owner))
		return false;
	fd = cw_modtab_file(t, from->module_id);
	if (fd < 0)
		return false;
	yes = cw_moved_is_text(fd, offset, p->rec_pid, f->start, f->end);
	close(fd);
	if (yes) {
		e->module_id = from->module_id;
		e->pgoff = offset;
		e->flags |= CW_MAP_MOVED;
	}
	return yes;
}

/* May it be compared with files? Permission to look at maps is less than that. */
static bool can_tell(struct cw_modtab *t, uint32_t pid, uint32_t module_id)
{
	int fd = cw_modtab_file(t, module_id), mem;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/mem", pid);
	mem = fd < 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0)
		close(fd);
	if (mem >= 0)
		close(mem);
	return mem >= 0;
}

bool cw_moved_over(struct cw_modtab *t, const struct cw_proc *p, struct cw_mapped_file *f,
		   uint64_t end)
{
	const struct cw_map_entry *e;
	uint32_t owner;

	for (; cw_may_be_made(f->path) && f->start < end; f->start = e->end) {
		e = cw_proc_next_map(p, f->start);
		if (!e || e->start >= end)
			return false;
		if ((e->flags & CW_MAP_MOVED) || cw_modtab_is_memory(t, e->module_id, &owner) ||
		    !can_tell(t, p->rec_pid, e->module_id))
			continue;
		if (f->start < e->start)
			f->start = e->start;
		f->end = e->end < end ? e->end : end;
		return true;
	}
	return false;
}

bool cw_moved_find(struct cw_modtab *t, const struct cw_proc *p, const struct cw_mapped_file *f,
		   struct cw_map_entry *e)
{
	const uint64_t places[] = {f->start, f->start - 1, f->end};
	size_t i;

	for (i = 0; cw_may_be_made(f->path) && i < sizeof(places) / sizeof(places[0]); i++) {
		const struct cw_map_entry *from = cw_proc_find_map(p, places[i]);

		if (from && is_moved(t, p, f, from, e))
			return true;
	}
	return false;
}

/* What lies there may be rounded up to a huge page. */
static bool is_this_text(const struct cw_text_place *at, struct cw_modtab *t,
			 const struct cw_proc *p, const struct cw_mapped_file *f)
{
	uint64_t end = f->end < at->end ? f->end : at->end;
	bool yes;
	int fd;

	if (f->end > (at->end + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE)
		return false;
	fd = cw_modopen_file(cw_modtab_opener(t), &at->of);
	if (fd < 0)
		return false;
	yes = cw_moved_is_text(fd, at->offset, p->rec_pid, f->start, end);
	close(fd);
	return yes;
}

bool cw_moved_deduce(struct cw_modtab *t, struct cw_missing_text **missing, const struct cw_proc *p,
		     const struct cw_mapped_file *f, struct cw_map_entry *e)
{
	const struct cw_map_entry *known = cw_proc_find_map(p, f->start);
	struct cw_text_place at;
	unsigned i;

	if (!cw_may_be_made(f->path) || (known && known->start == f->start && known->end == f->end))
		return false;
	if (!*missing)
		*missing = cw_missing_text_new(cw_modtab_opener(t), p->rec_pid, p->start_boottime);
	for (i = 0; *missing && cw_missing_text_find(*missing, f->start, i, &at); i++) {
		if (!is_this_text(&at, t, p, f))
			continue;
		e->module_id = cw_modtab_add_mapped(t, &at.of, e->ts);
		e->pgoff = at.offset;
		e->flags |= CW_MAP_MOVED;
		return true;
	}
	return false;
}
