/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the memory of what is being symbolized. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "symbolize_batch.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

/* Reading the files once more costs less than naming these. */
#define CODES_PER_PART 2500
#define MAX_PARTS      8

static const char *copy(struct cw_module_work *w, const char *text)
{
	return text ? obstack_copy0(&w->mem, text, strlen(text)) : NULL;
}

struct cw_module_work *cw_batch_add(struct cw_batch *b, int64_t module_id,
				    const struct cw_module_identity *identity)
{
	struct cw_module_work *w;

	if (b->count == b->room) {
		size_t room = b->room ? b->room * 2 : 32;
		void *works = reallocarray(b->works, room, sizeof(struct cw_module_work *));

		if (!works)
			return NULL;
		b->works = works;
		b->room = room;
	}
	w = calloc(1, sizeof(*w));
	if (!w)
		return NULL;
	obstack_init(&w->mem);
	w->module_id = module_id;
	w->parts = 1;
	w->identity = *identity;
	w->identity.path = copy(w, identity->path);
	w->identity.build_id = copy(w, identity->build_id);
	w->identity.dev = copy(w, identity->dev);
	b->works[b->count++] = w;
	return w;
}

struct cw_code *cw_batch_add_code(struct cw_module_work *w)
{
	struct cw_code *c;

	/* Room doubles whenever the count is a power of two. */
	if (!(w->code_count & (w->code_count - 1))) {
		c = reallocarray(w->codes, w->code_count ? w->code_count * 2 : 1, sizeof(*c));
		if (!c)
			return NULL;
		w->codes = c;
	}
	return memset(&w->codes[w->code_count++], 0, sizeof(*c));
}

static int add_part(struct cw_batch *b, const struct cw_module_work *w, unsigned part)
{
	struct cw_module_work *more = cw_batch_add(b, w->module_id, &w->identity);

	if (!more)
		return -ENOMEM;
	more->codes = malloc(w->code_count * sizeof(*w->codes));
	if (!more->codes)
		return -ENOMEM;
	memcpy(more->codes, w->codes, w->code_count * sizeof(*w->codes));
	more->code_count = w->code_count;
	more->part = part;
	more->parts = w->parts;
	more->plain = w->plain;
	return 0;
}

int cw_batch_split(struct cw_batch *b)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t i, count = b->count;
	int err = 0;

	for (i = 0; i < count && !err; i++) {
		struct cw_module_work *w = b->works[i];
		size_t parts = w->code_count / CODES_PER_PART;
		unsigned part;

		if (cpus > 0 && parts > (size_t)cpus)
			parts = cpus;
		if (parts > MAX_PARTS)
			parts = MAX_PARTS;
		if (parts < 2)
			continue;
		w->parts = parts;
		w->plain = cw_plain_debug_new();
		for (part = 1; part < parts && !err; part++)
			err = add_part(b, w, part);
	}
	return err;
}

void cw_batch_free(struct cw_batch *b)
{
	size_t i;

	for (i = 0; i < b->count; i++)
		cw_sources_free(&b->works[i]->files);
	for (i = 0; i < b->count; i++) {
		struct cw_module_work *w = b->works[i];

		if (!w->part)
			cw_plain_debug_free(w->plain);
		obstack_free(&w->mem, NULL);
		free(w->tried);
		free(w->shown);
		free(w->perf_map);
		free(w->codes);
		free(w);
	}
	free(b->works);
}
