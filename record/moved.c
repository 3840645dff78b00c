/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns where such text may come from and the comparison of memory with a file. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "moved.h"

#define PIECE  4096u
#define PIECES 16u
#define PART   64u /* one byte of code in so many may differ, and one more */

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

bool cw_is_memory(const char *path)
{
	static const char *const kernels[] = {"[vdso]", "[vsyscall]", "[uprobes]"};
	bool own = path[0] == '[';

	for (size_t i = 0; own && i < sizeof(kernels) / sizeof(*kernels); i++)
		own = strcmp(path, kernels[i]) != 0;
	return own;
}

/* Nothing that was compiled is there at first. */
static bool may_be_moved(const char *path)
{
	return cw_is_memory(path) || !strncmp(path, "/anon_hugepage", 14) ||
	       strstr(path, "/hugepages/");
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

bool cw_moved_find(struct cw_modtab *t, const struct cw_proc *p, const struct cw_mapped_file *f,
		   struct cw_map_entry *e)
{
	const uint64_t places[] = {f->start, f->start - 1, f->end};
	size_t i;

	for (i = 0; may_be_moved(f->path) && i < sizeof(places) / sizeof(places[0]); i++) {
		const struct cw_map_entry *from = cw_proc_find_map(p, places[i]);

		if (from && is_moved(t, p, f, from, e))
			return true;
	}
	return false;
}
