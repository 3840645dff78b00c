/* SPDX-License-Identifier: GPL-2.0-only */
/* Records as JSON, field by field, by the description of their type. */
#include <inttypes.h>
#include <string.h>
#include "jsontext.h"
#include "safetext.h"

/* Bytes of the UTF-8 character at s, or 0 when there is none that is well formed. */
static size_t utf8_length(const unsigned char *s, size_t n)
{
	static const struct {
		unsigned char lead, last, low,
			high; /* range of the first byte, then of the second */
		unsigned char length;
	} forms[] = {
		{0x20, 0x7e, 0, 0, 1},       {0xc2, 0xdf, 0x80, 0xbf, 2},
		{0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
		{0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3},
		{0xf0, 0xf0, 0x90, 0xbf, 4}, {0xf1, 0xf3, 0x80, 0xbf, 4},
		{0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	for (size_t i = 0; i < sizeof(forms) / sizeof(*forms); i++) {
		size_t length = forms[i].length;

		if (s[0] < forms[i].lead || s[0] > forms[i].last || length > n)
			continue;
		if (length > 1 && (s[1] < forms[i].low || s[1] > forms[i].high))
			return 0;
		for (size_t k = 2; k < length; k++)
			if ((s[k] & 0xc0) != 0x80)
				return 0;
		return length;
	}
	return 0;
}

void cw_json_string(FILE *out, const char *s, size_t n)
{
	putc('"', out);
	while (n) {
		const unsigned char *p = (const unsigned char *)s;
		size_t length = utf8_length(p, n);
		unsigned int c;

		if (*p == '"' || *p == '\\') {
			putc('\\', out);
			putc(*p, out);
		} else if (length > 1 && cw_utf8_decode(p, &c) && cw_char_hostile(c)) {
			fprintf(out, "\\u%04x", c);
		} else if (length) {
			fwrite(p, 1, length, out);
		} else {
			fprintf(out, "\\u%04x", *p);
		}
		s += length ? length : 1;
		n -= length ? length : 1;
	}
	putc('"', out);
}

static void put_number(FILE *out, enum cw_ftype type, const char *p)
{
	uint32_t u32 = 0;
	uint64_t u64 = 0;

	switch (type) {
	case CW_T_U32:
	case CW_T_I32:
		memcpy(&u32, p, sizeof(u32));
		fprintf(out, type == CW_T_U32 ? "%" PRIu32 : "%" PRId32, u32);
		break;
	case CW_T_X64:
		memcpy(&u64, p, sizeof(u64));
		fprintf(out, "\"0x%" PRIx64 "\"", u64);
		break;
	case CW_T_U64:
	case CW_T_I64:
		memcpy(&u64, p, sizeof(u64));
		fprintf(out, type == CW_T_U64 ? "%" PRIu64 : "%" PRId64, u64);
		break;
	case CW_T_U8:
	case CW_T_STR:
	case CW_T_BYTES:
		fprintf(out, "%u", (unsigned char)*p);
	}
}

static void put_bytes(FILE *out, const char *p, uint32_t n)
{
	putc('"', out);
	for (uint32_t i = 0; i < n; i++)
		fprintf(out, "%02x", (unsigned char)p[i]);
	putc('"', out);
}

static void put_field(FILE *out, const struct cw_type *t, const struct cw_field *f,
		      const struct cw_rec *rec, size_t max_bytes)
{
	static const uint32_t sizes[] = {
		[CW_T_U8] = 1,  [CW_T_U32] = 4, [CW_T_U64] = 8, [CW_T_I32] = 4,
		[CW_T_I64] = 8, [CW_T_X64] = 8, [CW_T_STR] = 1, [CW_T_BYTES] = 1,
	};
	const char *p = (const char *)rec + f->offset;
	uint32_t n = cw_field_elems(t, f, rec);

	fprintf(out, ",\"%s\":", f->name);
	if (f->type == CW_T_STR) {
		cw_json_string(out, p, cw_tail_strlen(rec, p));
	} else if (f->type == CW_T_BYTES || (f->type == CW_T_U8 && f->count != 1)) {
		put_bytes(out, p, n < max_bytes ? n : max_bytes);
		if (n > max_bytes)
			fprintf(out, ",\"%s_bytes\":%u", f->name, n);
	} else if (f->count == 1) {
		put_number(out, f->type, p);
	} else {
		putc('[', out);
		for (uint32_t i = 0; i < n; i++) {
			if (i)
				putc(',', out);
			put_number(out, f->type, p + i * sizes[f->type]);
		}
		putc(']', out);
	}
}

void cw_json_record(FILE *out, const struct cw_type *t, const struct cw_rec *rec, size_t max_bytes)
{
	uint32_t n = rec->size - sizeof(*rec);

	if (t)
		fprintf(out, "{\"type\":\"%s\"", t->name);
	else
		fprintf(out, "{\"type\":\"type_%u\"", rec->type);
	fprintf(out, ",\"ts\":%" PRIu64, (uint64_t)rec->ts);
	if (rec->cpu != CW_CPU_NONE)
		fprintf(out, ",\"cpu\":%u", rec->cpu);
	if (rec->flags & CW_REC_REPEATED)
		fputs(",\"repeated\":true", out);
	for (uint32_t i = 0; t && i < t->nfields; i++)
		put_field(out, t, &t->fields[i], rec, max_bytes);
	if (!t) {
		fputs(",\"bytes\":", out);
		put_bytes(out, (const char *)(rec + 1), n < max_bytes ? n : max_bytes);
	}
	fputs("}\n", out);
}
