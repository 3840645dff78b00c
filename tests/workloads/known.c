/* SPDX-License-Identifier: GPL-2.0-only */
/* Notes of a program's own stacks; see known.h. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>
#include "known.h"
#include "truth.h"

#define MAX_DEPTH 512
#define MAX_MAPS  256

struct note {
	const char *function;
	uintptr_t ret;
};

struct map {
	uintptr_t start, end, offset;
	char name[64];
};

struct walk {
	uintptr_t from; /* return addresses before this one are left out; 0 none */
	uintptr_t found[MAX_DEPTH];
	unsigned n, skip;
};

static __thread struct note notes[MAX_DEPTH];
static __thread unsigned depth;

static _Unwind_Reason_Code step(struct _Unwind_Context *context, void *arg)
{
	uintptr_t ip = _Unwind_GetIP(context);
	struct walk *w = arg;

	if (w->from && ip != w->from)
		return _URC_NO_REASON;
	w->from = 0;
	if (w->skip)
		w->skip--;
	else if (ip && w->n < MAX_DEPTH)
		w->found[w->n++] = ip;
	return _URC_NO_REASON;
}

void known_enter(const char *function, void *ret)
{
	if (!ret) {
		struct walk w = {.from = (uintptr_t)__builtin_return_address(0), .skip = 1};

		_Unwind_Backtrace(step, &w);
		ret = (void *)w.found[0];
	}
	notes[depth++] = (struct note){function, (uintptr_t)ret};
	/* raise is declared never to call back. */
	asm volatile("" ::: "memory");
}

void known_leave(void)
{
	depth--;
}

static unsigned read_maps(struct map *maps)
{
	FILE *f = fopen("/proc/self/maps", "r");
	char line[4608], path[4096], *slash;
	unsigned n = 0;

	while (f && n < MAX_MAPS && fgets(line, sizeof(line), f)) {
		struct map *m = &maps[n];

		path[0] = 0;
		if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %" SCNxPTR " %*s %*s %4095[^\n]",
			   &m->start, &m->end, &m->offset, path) < 3)
			continue;
		slash = strrchr(path, '/');
		snprintf(m->name, sizeof(m->name), "%.63s", slash ? slash + 1 : path);
		n++;
	}
	if (f)
		fclose(f);
	return n;
}

/* An address as JSON, name+0xoffset. */
static void put_place(FILE *f, const struct map *maps, unsigned n, uintptr_t address)
{
	for (unsigned i = 0; i < n; i++) {
		if (address < maps[i].start || address >= maps[i].end)
			continue;
		fprintf(f, "\"%s+0x%" PRIxPTR "\"", maps[i].name,
			address - maps[i].start + maps[i].offset);
		return;
	}
	fprintf(f, "\"0x%" PRIxPTR "\"", address);
}

void known_write(const char *path, const char *kind, uint64_t begin, uint64_t end)
{
	struct walk w = {.from = (uintptr_t)__builtin_return_address(0), .skip = 1};
	struct map *maps = calloc(MAX_MAPS, sizeof(*maps));
	unsigned n = maps ? read_maps(maps) : 0;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	_Unwind_Backtrace(step, &w);
	if (!f || !n)
		abort();
	fputs("\"functions\":[", f);
	for (unsigned i = depth; i-- > 0;)
		fprintf(f, "\"%s\"%s", notes[i].function, i ? "," : "");
	fputs("],\"returns\":[", f);
	for (unsigned i = depth; i-- > 0;) {
		put_place(f, maps, n, notes[i].ret);
		fputs(i ? "," : "", f);
	}
	fputs("],\"unwound\":[", f);
	for (unsigned i = 0; i < w.n; i++) {
		fputs(i ? "," : "", f);
		put_place(f, maps, n, w.found[i]);
	}
	fputc(']', f);
	fclose(f);
	truth_note(
		"\"event\":\"stack\",\"program\":\"%s\",\"path\":\"%s\",\"kind\":\"%s\",\"tid\":%u,"
		"\"begin_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 ",%s",
		program_invocation_short_name, path, kind, truth_tid(), begin, end, text);
	free(text);
	free(maps);
}

void known_begin(int argc, char **argv, uint64_t *recursion)
{
	const struct workload_option options[] = {
		{"recursion", recursion, false, "depth of the deep path"},
		{0},
	};
	static struct workload me = {
		.name = "stack_test",
		.about = "known ways to one function and to system calls",
		.trace = "--attribution --stack dwarf stack_leaf",
		.count = 1,
	};

	me.options = options;
	workload_begin(&me, argc, argv);
	me.options = NULL;
}

int known_end(void)
{
	return workload_end();
}

uint64_t known_now(void)
{
	return truth_now();
}
