/* SPDX-License-Identifier: GPL-2.0-only */
/* The record types that one capture file describes, each with this build's type of that name. */
#ifndef CW_TYPESET_H
#define CW_TYPESET_H

#include "capture.h"

struct cw_entry {
	const struct cw_type *file;   /* as the file describes it, or this build's */
	const struct cw_type *native; /* this build's type of the same name, or NULL */
	bool described;               /* file was read from the file and is owned */
	bool same;                    /* records need no translation */
	bool clash; /* the file uses the id of a type of this build for another one */
};

struct cw_typeset;

/* A set that holds this build's types, none of them described yet. */
struct cw_typeset *cw_typeset_new(void);
void cw_typeset_free(struct cw_typeset *s);

/* What is known of an id, or NULL. */
static inline const struct cw_entry *cw_typeset_get(const struct cw_typeset *s, uint16_t id);

/* Take in a type record of this build's layout. 0, or a negative errno with the defect in *why. */
int cw_typeset_add(struct cw_typeset *s, const struct cw_type_info *info, const char **why);

/* The i-th type described, or NULL beyond the last. */
const struct cw_type *cw_typeset_at(const struct cw_typeset *s, size_t i);

struct cw_page {
	struct cw_entry *entries[256];
};

/* Entries by id, in pages of 256; those without any share one that is empty. */
struct cw_typeset {
	struct cw_page *pages[256];
	uint16_t *order; /* ids of the described types */
	size_t n;
};

static inline const struct cw_entry *cw_typeset_get(const struct cw_typeset *s, uint16_t id)
{
	return s->pages[id >> 8]->entries[id & 255];
}

#endif
