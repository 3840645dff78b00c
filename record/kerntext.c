/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Symbols between _stext and _etext, which stay as they are while the kernel runs: read once,
 * before anything is recorded. To read the table takes 35 ms of a CPU that the target may want.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "kerntext.h"

#define PIECE (64u << 10)

struct symbol {
	uint32_t at;   /* from the first one's address on */
	uint32_t name; /* offset in names */
};

struct cw_kerntext {
	uint64_t start, end; /* of the code; end 0: not known */
	struct symbol *symbols;
	size_t n, capacity;
	char *names;
	size_t used, room;
	bool no_memory;
};

static bool make_room(struct cw_kerntext *t, size_t len)
{
	if (t->n == t->capacity) {
		size_t capacity = t->capacity ? t->capacity * 2 : 1u << 16;
		struct symbol *bigger = realloc(t->symbols, capacity * sizeof(*bigger));

		if (!bigger)
			return false;
		t->symbols = bigger;
		t->capacity = capacity;
	}
	if (t->used + len + 1 > t->room) {
		size_t room = t->room ? t->room * 2 : 1u << 20;
		char *bigger = realloc(t->names, room);

		if (!bigger)
			return false;
		t->names = bigger;
		t->room = room;
	}
	return true;
}

/* "ADDRESS TYPE NAME"; a module's name follows behind a tab. */
static void take_line(struct cw_kerntext *t, const char *line, size_t len)
{
	const char *name = memchr(line, ' ', len);
	uint64_t addr = 0;
	const char *p;

	if (!name || name + 3 >= line + len || name[2] != ' ' || memchr(line, '\t', len))
		return;
	for (p = line; p < name; p++)
		addr = addr << 4 | (uint64_t)(*p <= '9' ? *p - '0' : (*p | 0x20) - 'a' + 10);
	len -= (size_t)(name + 3 - line);
	if (len == 6 && !memcmp(name + 3, "_stext", 6))
		t->start = addr;
	else if (len == 6 && !memcmp(name + 3, "_etext", 6))
		t->end = addr;
	if (!t->start || addr < t->start || addr - t->start > UINT32_MAX ||
	    !strchr("tTwWvViuU", name[1]))
		return;
	if (t->no_memory || !make_room(t, len)) {
		t->no_memory = true;
		return;
	}
	t->symbols[t->n].at = (uint32_t)(addr - t->start);
	t->symbols[t->n++].name = (uint32_t)t->used;
	memcpy(t->names + t->used, name + 3, len);
	t->names[t->used + len] = '\0';
	t->used += len + 1;
}

static void read_table(struct cw_kerntext *t, int fd, char *buf)
{
	size_t have = 0;
	ssize_t got;

	while ((got = read(fd, buf + have, PIECE - have)) > 0 || (got < 0 && errno == EINTR)) {
		char *line = buf, *end;

		have += got > 0 ? (size_t)got : 0;
		while ((end = memchr(line, '\n', (size_t)(buf + have - line)))) {
			take_line(t, line, (size_t)(end - line));
			line = end + 1;
		}
		have = (size_t)(buf + have - line);
		memmove(buf, line, have);
		if (have == PIECE)
			break; /* no line is that long */
	}
}

/* Names stand in the order of the file, so that the first of aliases stays the first. */
static int by_address(const void *a, const void *b)
{
	const struct symbol *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

static void put_in_order(struct cw_kerntext *t)
{
	size_t i, n = 0;

	if (t->no_memory || !t->n || t->end <= t->start || t->end - t->start > UINT32_MAX) {
		t->n = t->end = 0;
		return;
	}
	qsort(t->symbols, t->n, sizeof(*t->symbols), by_address);
	for (i = 0; i < t->n && t->symbols[i].at < t->end - t->start; i++) {
		if (!n || t->symbols[n - 1].at != t->symbols[i].at)
			t->symbols[n++] = t->symbols[i];
	}
	t->n = n;
}

struct cw_kerntext *cw_kerntext_new(const char *path)
{
	struct cw_kerntext *t = calloc(1, sizeof(*t));
	char *buf = malloc(PIECE);
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (t && buf && fd >= 0)
		read_table(t, fd, buf);
	if (fd >= 0)
		close(fd);
	free(buf);
	if (t)
		put_in_order(t);
	return t;
}

void cw_kerntext_free(struct cw_kerntext *t)
{
	if (!t)
		return;
	free(t->symbols);
	free(t->names);
	free(t);
}

const char *cw_kerntext_find(const struct cw_kerntext *t, uint64_t addr, uint64_t *start,
			     uint64_t *end)
{
	size_t lo = 0, hi = t->n;

	if (!t->n || addr < t->start || addr >= t->end)
		return NULL;
	while (hi - lo > 1) {
		size_t mid = lo + (hi - lo) / 2;

		if (t->start + t->symbols[mid].at <= addr)
			lo = mid;
		else
			hi = mid;
	}
	*start = t->start + t->symbols[lo].at;
	*end = lo + 1 < t->n ? t->start + t->symbols[lo + 1].at : t->end;
	return t->names + t->symbols[lo].name;
}
