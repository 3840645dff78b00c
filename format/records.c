/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * This build's record types as tables, expanded from records.h. Knows nothing of files.
 */
#include <stdio.h>
#include <string.h>
#include "capture.h"
#include "describe.h"

/* clang-format off */
#define E_u8 CW_T_U8
#define E_u32 CW_T_U32
#define E_u64 CW_T_U64
#define E_i32 CW_T_I32
#define E_i64 CW_T_I64
#define E_x64 CW_T_X64

#define X_F(R, type, name, doc) { #name, E_##type, offsetof(R, name), 1, doc },
#define X_A(R, type, name, count, doc) { #name, E_##type, offsetof(R, name), count, doc },
#define X_S(R, name, doc) { #name, CW_T_STR, offsetof(R, name), 0, doc },
#define X_B(R, name, doc) { #name, CW_T_BYTES, offsetof(R, name), 0, doc },
#define X_V(R, type, name, doc) { #name, E_##type, offsetof(R, name), 0, doc },
#define X_TABLE(NAME, name, id, class, doc) \
	static const struct cw_field fields_##name[] = { \
		CW_FIELDS_##NAME(struct cw_##name, X_F, X_A, X_S, X_B, X_V) \
	};
CW_RECORDS(X_TABLE)

#define X_TYPE(NAME, name, id, class, doc) \
	{ #name, id, CW_CLASS_##class, sizeof(struct cw_##name), \
	  sizeof(fields_##name) / sizeof(fields_##name[0]), fields_##name, doc },
const struct cw_type cw_types[] = { CW_RECORDS(X_TYPE) };
const size_t cw_ntypes = sizeof(cw_types) / sizeof(cw_types[0]);

/* Place of each type in cw_types plus one, by id: looked up for every record read. */
#define X_PLACE(NAME, name, id, class, doc) PLACE_##NAME,
enum { PLACE_NONE, CW_RECORDS(X_PLACE) };
#define X_BY_ID(NAME, name, id, class, doc) [id] = PLACE_##NAME,
static const uint8_t by_id[CW_USER_TYPE_MIN] = { CW_RECORDS(X_BY_ID) };
/* clang-format on */

const struct cw_type *cw_type_by_id(uint16_t id)
{
	if (id >= CW_USER_TYPE_MIN || by_id[id] == PLACE_NONE)
		return NULL;
	return &cw_types[by_id[id] - 1];
}

const struct cw_type *cw_type_by_name(const char *name)
{
	for (size_t i = 0; i < cw_ntypes; i++)
		if (!strcmp(cw_types[i].name, name))
			return &cw_types[i];
	return NULL;
}

const struct cw_field *cw_type_field(const struct cw_type *t, const char *name)
{
	for (uint32_t i = 0; i < t->nfields; i++)
		if (!strcmp(t->fields[i].name, name))
			return &t->fields[i];
	return NULL;
}

uint32_t cw_ftype_size(enum cw_ftype type)
{
	switch (type) {
	case CW_T_U32:
	case CW_T_I32:
		return 4;
	case CW_T_U64:
	case CW_T_I64:
	case CW_T_X64:
		return 8;
	case CW_T_U8:
	case CW_T_STR:
	case CW_T_BYTES:
		break;
	}
	return 1;
}

uint32_t cw_field_elems(const struct cw_type *t, const struct cw_field *f, const struct cw_rec *rec)
{
	if (f->count)
		return f->count;
	if (rec->size <= t->fixed_size)
		return 0;
	return (rec->size - t->fixed_size) / cw_ftype_size(f->type);
}

size_t cw_tail_strlen(const struct cw_rec *rec, const char *tail)
{
	const char *end = (const char *)rec + rec->size;

	return tail < end ? strnlen(tail, end - tail) : 0;
}
