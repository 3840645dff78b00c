/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Record types described in words: written into every file, parsed from one, compared, and used to
 * bring a record from a file's layout into this build's. Input may be hostile.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "describe.h"

static const char *const class_names[] = {
	[CW_CLASS_STREAM] = "stream",
	[CW_CLASS_REF] = "ref",
	[CW_CLASS_EVENT] = "event",
};

static const char *const ftype_names[] = {
	[CW_T_U8] = "u8",   [CW_T_U32] = "u32", [CW_T_U64] = "u64", [CW_T_I32] = "i32",
	[CW_T_I64] = "i64", [CW_T_X64] = "x64", [CW_T_STR] = "str", [CW_T_BYTES] = "bytes",
};

/* snprintf at the end of what is there already, counting what did not fit. */
static int append_field(char *buf, size_t size, int at, const struct cw_field *f)
{
	size_t left = (size_t)at < size ? size - at : 0;
	char *to = left ? buf + at : NULL;
	const char *type = ftype_names[f->type];

	if (f->count > 1)
		return snprintf(to, left, " %s:%s[%u]", f->name, type, f->count);
	if (f->count == 1 || f->type == CW_T_STR || f->type == CW_T_BYTES)
		return snprintf(to, left, " %s:%s", f->name, type);
	return snprintf(to, left, " %s:%s[]", f->name, type);
}

int cw_type_describe(const struct cw_type *t, char *buf, size_t size)
{
	int at = snprintf(buf, size, "%s %s", t->name, class_names[t->class]);

	for (uint32_t i = 0; i < t->nfields; i++)
		at += append_field(buf, size, at, &t->fields[i]);
	return at;
}

/* ---- parsing --------------------------------------------------------------------------------- */

#define MAX_NAME 63u

/* One allocation: the type, its fields, and behind them the text that the names point into. */
struct described {
	struct cw_type type;
	struct cw_field fields[];
};

/* Fields that text can describe at most: no more memory than the text itself warrants. */
static size_t field_room(const char *text, size_t len)
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++)
		n += text[i] == ' ';
	return n < CW_MAX_FIELDS ? n : CW_MAX_FIELDS;
}

static bool name_valid(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > MAX_NAME || !islower((unsigned char)s[0]))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!islower((unsigned char)s[i]) && !isdigit((unsigned char)s[i]) && s[i] != '_')
			return false;
	return true;
}

static bool parse_class(const char *word, enum cw_class *out)
{
	for (size_t i = 0; i < sizeof(class_names) / sizeof(class_names[0]); i++) {
		if (!strcmp(word, class_names[i])) {
			*out = i;
			return true;
		}
	}
	return false;
}

/* "[N]", "[]" or nothing, at s. */
static bool parse_count(char *s, uint32_t *count)
{
	char *end;
	unsigned long n;

	if (!*s) {
		*count = 1;
		return true;
	}
	if (!strcmp(s, "[]")) {
		*count = 0;
		return true;
	}
	if (s[0] != '[' || !isdigit((unsigned char)s[1]))
		return false;
	n = strtoul(s + 1, &end, 10);
	if (strcmp(end, "]") != 0 || n < 1 || n > CW_MAX_RECORD)
		return false;
	*count = n;
	return true;
}

/* "name:type", "name:type[N]" or "name:type[]"; word is cut up in place. */
static bool parse_field(char *word, struct cw_field *f)
{
	char *colon = strchr(word, ':');
	char *bracket;
	char type[8];
	size_t len;

	if (!colon)
		return false;
	*colon++ = '\0';
	bracket = strchr(colon, '[');
	len = bracket ? (size_t)(bracket - colon) : strlen(colon);
	if (len >= sizeof(type) || !parse_count(colon + len, &f->count))
		return false;
	memcpy(type, colon, len);
	type[len] = '\0';
	f->name = word;
	for (size_t i = 0; i < sizeof(ftype_names) / sizeof(ftype_names[0]); i++) {
		if (!strcmp(type, ftype_names[i])) {
			f->type = i;
			if (i == CW_T_STR || i == CW_T_BYTES) {
				f->count = 0;
				return !bracket;
			}
			return name_valid(word);
		}
	}
	return false;
}

static const char *parse_fields(struct described *d, size_t room, char **save)
{
	uint32_t offset = sizeof(struct cw_rec);
	bool tail = false;
	char *word;

	while ((word = strtok_r(NULL, " ", save))) {
		struct cw_field *f = &d->fields[d->type.nfields];
		uint32_t size;

		if (tail)
			return "has a field behind its tail";
		if (d->type.nfields == room)
			return "has too many fields";
		if (!parse_field(word, f) || !name_valid(f->name))
			return "has a malformed field";
		size = cw_ftype_size(f->type);
		if (offset % size)
			return "has a misaligned field";
		f->offset = offset;
		tail = f->count == 0;
		offset += size * f->count;
		if (offset > CW_MAX_RECORD)
			return "is too large";
		d->type.nfields++;
	}
	return offset == d->type.fixed_size ? NULL : "has fields that do not add up to its size";
}

struct cw_type *cw_type_parse(uint16_t id, uint32_t fixed_size, const char *text, size_t len,
			      const char **why)
{
	size_t room = field_room(text, len);
	size_t head = sizeof(struct described) + room * sizeof(struct cw_field);
	struct described *d = calloc(1, head + len + 1);
	char *save = NULL, *copy, *name, *class;

	*why = "does not fit in memory";
	if (!d)
		return NULL;
	copy = memcpy((char *)d + head, text, len);
	d->type.id = id;
	d->type.fixed_size = fixed_size;
	d->type.fields = d->fields;
	name = strtok_r(copy, " ", &save);
	class = strtok_r(NULL, " ", &save);
	d->type.name = name;
	if (!name || !name_valid(name))
		*why = "has no valid name";
	else if (!class || !parse_class(class, &d->type.class))
		*why = "is of no known class";
	else
		*why = parse_fields(d, room, &save);
	if (!*why)
		return &d->type;
	free(d);
	return NULL;
}

bool cw_type_same(const struct cw_type *a, const struct cw_type *b)
{
	if (a->id != b->id || a->fixed_size != b->fixed_size || a->nfields != b->nfields)
		return false;
	for (uint32_t i = 0; i < a->nfields; i++) {
		const struct cw_field *f = &a->fields[i], *g = &b->fields[i];

		if (f->type != g->type || f->offset != g->offset || f->count != g->count ||
		    strcmp(f->name, g->name) != 0)
			return false;
	}
	return true;
}

/* ---- translation ----------------------------------------------------------------------------- */

static uint64_t load(enum cw_ftype type, const char *p)
{
	uint32_t u32;
	uint64_t u64;

	switch (cw_ftype_size(type)) {
	case 1:
		return (uint8_t)*p;
	case 4:
		memcpy(&u32, p, 4);
		return type == CW_T_I32 ? (uint64_t)(int32_t)u32 : u32;
	default:
		memcpy(&u64, p, 8);
		return u64;
	}
}

static void store(enum cw_ftype type, char *p, uint64_t v)
{
	uint32_t u32 = v;

	switch (cw_ftype_size(type)) {
	case 1:
		*p = v;
		break;
	case 4:
		memcpy(p, &u32, 4);
		break;
	default:
		memcpy(p, &v, 8);
	}
}

static bool is_text(enum cw_ftype type)
{
	return type == CW_T_STR || type == CW_T_BYTES;
}

static void translate_field(const struct cw_type *from, const struct cw_rec *rec,
			    const struct cw_field *f, const struct cw_field *g, struct cw_rec *out)
{
	uint32_t n = cw_field_elems(from, f, rec);
	uint32_t fsize = cw_ftype_size(f->type), gsize = cw_ftype_size(g->type);
	const char *src = (const char *)rec + f->offset;
	char *dst = (char *)out + g->offset;

	if (is_text(f->type) != is_text(g->type) && fsize + gsize > 2)
		return; /* text and numbers have nothing in common */
	if (g->count && n > g->count)
		n = g->count;
	if (!g->count && n > (CW_MAX_RECORD - g->offset) / gsize)
		n = (CW_MAX_RECORD - g->offset) / gsize;
	for (uint32_t i = 0; i < n; i++)
		store(g->type, dst + i * gsize, load(f->type, src + i * fsize));
	if (!g->count)
		out->size += n * gsize;
}

void cw_type_translate(const struct cw_type *from, const struct cw_rec *rec,
		       const struct cw_type *to, struct cw_rec *out)
{
	memset(out, 0, to->fixed_size);
	*out = *rec;
	out->type = to->id;
	out->size = to->fixed_size;
	for (uint32_t i = 0; i < to->nfields; i++) {
		const struct cw_field *f = cw_type_field(from, to->fields[i].name);

		if (f)
			translate_field(from, rec, f, &to->fields[i], out);
	}
}

/* ---- byte order ------------------------------------------------------------------------------ */

static void swap_header(struct cw_rec *rec)
{
	rec->type = __builtin_bswap16(rec->type);
	rec->size = __builtin_bswap16(rec->size);
	rec->cpu = __builtin_bswap16(rec->cpu);
	rec->flags = __builtin_bswap16(rec->flags);
	rec->ts = __builtin_bswap64(rec->ts);
}

static void swap_elems(char *p, uint32_t size, uint32_t n)
{
	for (uint32_t i = 0; i < n && size > 1; i++, p += size) {
		uint32_t v4;
		uint64_t v8;

		if (size == 4) {
			memcpy(&v4, p, 4);
			v4 = __builtin_bswap32(v4);
			memcpy(p, &v4, 4);
		} else {
			memcpy(&v8, p, 8);
			v8 = __builtin_bswap64(v8);
			memcpy(p, &v8, 8);
		}
	}
}

void cw_rec_swap(const struct cw_type *t, struct cw_rec *rec, bool to_native)
{
	if (to_native)
		swap_header(rec);
	for (uint32_t i = 0; t && i < t->nfields; i++) {
		const struct cw_field *f = &t->fields[i];

		swap_elems((char *)rec + f->offset, cw_ftype_size(f->type),
			   cw_field_elems(t, f, rec));
	}
	if (!to_native)
		swap_header(rec);
}
