/* SPDX-License-Identifier: GPL-2.0-only */
/* The record types that one capture file describes. Descriptions may be hostile. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "describe.h"
#include "typeset.h"

static struct cw_page empty_page;

/* Where the entry of an id stands, on a page of its own set; NULL without memory. */
static struct cw_entry **place_of(struct cw_typeset *s, uint16_t id)
{
	struct cw_page **page = &s->pages[id >> 8];

	if (*page == &empty_page) {
		struct cw_page *fresh = calloc(1, sizeof(*fresh));

		if (!fresh)
			return NULL;
		*page = fresh;
	}
	return &(*page)->entries[id & 255];
}

static int put(struct cw_typeset *s, const struct cw_type *file, const struct cw_type *native,
	       bool described)
{
	const struct cw_type *of_id = cw_type_by_id(file->id);
	struct cw_entry **place = place_of(s, file->id);
	struct cw_entry *e = place ? *place : NULL;

	if (place && !e)
		e = *place = calloc(1, sizeof(*e));
	if (!e)
		return -ENOMEM;
	e->file = file;
	e->native = native;
	e->described = described;
	e->same = native && cw_type_same(file, native);
	e->clash = of_id && !native;
	return 0;
}

struct cw_typeset *cw_typeset_new(void)
{
	struct cw_typeset *s = calloc(1, sizeof(*s));
	int err = s ? 0 : -ENOMEM;

	for (size_t i = 0; s && i < 256; i++)
		s->pages[i] = &empty_page;
	for (size_t i = 0; i < cw_ntypes && !err; i++)
		err = put(s, &cw_types[i], &cw_types[i], false);
	if (!err)
		return s;
	cw_typeset_free(s);
	return NULL;
}

static void free_page(struct cw_page *page)
{
	for (size_t i = 0; i < 256; i++) {
		struct cw_entry *e = page->entries[i];

		if (e && e->described)
			free((void *)e->file);
		free(e);
	}
	free(page);
}

void cw_typeset_free(struct cw_typeset *s)
{
	if (!s)
		return;
	for (size_t i = 0; i < 256; i++)
		if (s->pages[i] && s->pages[i] != &empty_page)
			free_page(s->pages[i]);
	free(s->order);
	free(s);
}

static int keep(struct cw_typeset *s, struct cw_type *t)
{
	uint16_t *bigger = s->order;
	int err;

	if (s->n % 32 == 0)
		bigger = realloc(s->order, (s->n + 32) * sizeof(*bigger));
	if (!bigger)
		return -ENOMEM;
	s->order = bigger;
	err = put(s, t, cw_type_by_name(t->name), true);
	if (!err)
		s->order[s->n++] = t->id;
	return err;
}

int cw_typeset_add(struct cw_typeset *s, const struct cw_type_info *info, const char **why)
{
	const struct cw_entry *e;
	struct cw_type *t;
	int err = -EINVAL;

	*why = "has an id that no record can carry";
	if (info->id == 0 || info->id > UINT16_MAX)
		return -EINVAL;
	t = cw_type_parse(info->id, info->fixed_size, info->text,
			  cw_tail_strlen(&info->h, info->text), why);
	if (!t)
		return -EINVAL;
	e = cw_typeset_get(s, t->id);
	if (!e || !e->described) {
		*why = "does not fit in memory";
		err = keep(s, t);
		if (!err)
			return 0;
	} else if (cw_type_same(e->file, t) && !strcmp(e->file->name, t->name)) {
		err = 0; /* written again for a new epoch */
	} else {
		*why = "differs from an earlier description of the same type";
	}
	free(t);
	return err;
}

const struct cw_type *cw_typeset_at(const struct cw_typeset *s, size_t i)
{
	return i < s->n ? cw_typeset_get(s, s->order[i])->file : NULL;
}
