/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Records that no recorder would write, in frames and with checksums that are right: any type, any
 * field, from a source of bytes (a fuzzer's input, or a generator with a seed). Few ids, so that
 * records meet; times that jump; sizes that lie. Knows the types by their descriptions only, so
 * that new ones are tried without a word here.
 */
#ifndef WILD_H
#define WILD_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include "capture.h"

struct wild {
	const uint8_t *p; /* bytes to decide by; NULL: from the generator */
	size_t left;
	uint64_t seed; /* state of the generator, never 0 */
	uint64_t ts;
};

static inline uint64_t wild_random(struct wild *w)
{
	w->seed ^= w->seed << 13;
	w->seed ^= w->seed >> 7;
	w->seed ^= w->seed << 17;
	return w->seed;
}

static inline uint8_t wild_byte(struct wild *w)
{
	if (!w->p)
		return wild_random(w) >> 32;
	if (!w->left)
		return 0;
	w->left--;
	return *w->p++;
}

static inline uint64_t wild_extreme(struct wild *w, uint8_t b)
{
	const uint64_t list[] = {0,          1,
				 UINT32_MAX, UINT32_MAX - 1,
				 INT32_MAX,  1u << 31,
				 63,         64,
				 65,         4096,
				 0xfffe,     0x10000,
				 w->ts,      w->ts + 1,
				 w->ts - 1,  1ull << 32,
				 1ull << 56, INT64_MAX,
				 ~0ull,      1ull << 63,
				 1ull << 47, 0x7fff00000000ull,
				 1000000000, 0x400000,
				 ~0ull - 1};

	return list[b % (sizeof(list) / sizeof(*list))];
}

static inline bool wild_ends(const char *name, const char *end)
{
	size_t n = strlen(name), m = strlen(end);

	return n >= m && !strcmp(name + n - m, end);
}

/* A value that suits the field, or one of those that break things. */
static inline uint64_t wild_value(struct wild *w, const char *name)
{
	static const int32_t calls[] = {202, 0, 1, 7, 230, 232, 281, -1, 449};
	uint8_t b = wild_byte(w);

	if (b >= 244)
		return wild_extreme(w, wild_byte(w));
	if (wild_ends(name, "pid") || wild_ends(name, "tid"))
		return b < 240 ? 1 + b % 6 : 0;
	if (!strcmp(name, "probe_id"))
		return b % 4;
	if (wild_ends(name, "syscall"))
		return (uint64_t)(int64_t)calls[b % 9];
	if (wild_ends(name, "stack") || !strcmp(name, "id") || wild_ends(name, "module_id") ||
	    wild_ends(name, "file") || !strcmp(name, "args") || !strcmp(name, "key"))
		return b % 5;
	if (!strcmp(name, "sp"))
		return 0x7fff0000 + 8 * (b % 32);
	if (!strcmp(name, "start") || !strcmp(name, "frames") || !strcmp(name, "caller"))
		return 0x400000 + 16 * b;
	if (!strcmp(name, "end"))
		return 0x400000 + 64 * b;
	if (wild_ends(name, "_ts"))
		return w->ts + 1000 * b - 64000;
	if (wild_ends(name, "boottime"))
		return 1000000007ull * (b % 4);
	if (!strcmp(name, "kind"))
		return b < 128 ? b % 5 : 32 + b % 9;
	if (!strcmp(name, "build_id_size"))
		return b < 200 ? 20 : b;
	return b < 128 ? b % 8 : b;
}

static inline uint64_t wild_time(struct wild *w)
{
	uint8_t b = wild_byte(w);

	if (b < 150)
		w->ts += 1 + 1000 * b;
	else if (b < 200)
		w->ts += 1000000ull * (b - 149);
	else if (b < 220)
		return w->ts - 20000ull * (b - 200);
	else if (b < 228)
		w->ts += 3000000000ull;
	else if (b == 240)
		w->ts += 31536000ull * 1000000000;
	else if (b >= 254)
		return wild_extreme(w, wild_byte(w));
	return w->ts;
}

static inline size_t wild_text(struct wild *w, char *out, const char *name)
{
	static const char *const names[] = {
		"a", "b",  "c",        "d",   "/bin/a",        "[vdso]", "\033[31mred\n",
		"",  "..", "\xff\xfe", "x=1", "/proc/self/exe"};
	uint8_t b = wild_byte(w);
	size_t n;

	if (!strcmp(name, "name") && b < 224) {
		out[0] = "abcd"[b % 4];
		return 1;
	}
	if (b < 240) {
		n = strlen(names[b % 12]);
		memcpy(out, names[b % 12], n);
		return n;
	}
	n = b == 255 ? 4000 : wild_byte(w);
	for (size_t i = 0; i < n; i++)
		out[i] = b == 255 ? 'x' : (char)wild_byte(w);
	return n;
}

static inline size_t wild_tail(struct wild *w, const struct cw_field *f, uint8_t *out)
{
	size_t size = f->type == CW_T_U8 || f->type == CW_T_BYTES  ? 1
		      : f->type == CW_T_U32 || f->type == CW_T_I32 ? 4
								   : 8;
	size_t n;

	if (f->type == CW_T_STR)
		return wild_text(w, (char *)out, f->name);
	n = wild_byte(w);
	n = n < 200 ? n % 8 : n;
	for (size_t i = 0; i < n; i++) {
		uint64_t v = wild_value(w, f->name);

		memcpy(out + i * size, &v, size);
	}
	n *= size;
	return wild_byte(w) < 250 ? n : n + 3; /* a tail that is no whole number of elements */
}

static inline const struct cw_type *wild_type(struct wild *w)
{
	static const uint16_t usual[] = {
		CW_PROBE_ENTRY,  CW_PROBE_ENTRY,  CW_PROBE_ENTRY,  CW_PROBE_ENTRY,
		CW_PROBE_RETURN, CW_PROBE_RETURN, CW_SCHED_SWITCH, CW_SCHED_SWITCH,
		CW_SCHED_BLOCK,  CW_SCHED_BLOCK,  CW_SCHED_WAKING, CW_SCHED_WAKING,
		CW_SCHED_WAKEUP, CW_FORK,         CW_EXEC,         CW_EXIT};
	uint8_t b = wild_byte(w);
	const struct cw_type *t;

	if (b >= 80)
		return cw_type_by_id(usual[b % 16]);
	t = &cw_types[b % cw_ntypes];
	/* The frame is the writer's own business. */
	return t->id == CW_CHUNK ? cw_type_by_id(CW_STACK) : t;
}

/* A file that payloads are made of now and then, so that what looks into them has something to see;
 * NULL none. */
static uint8_t *wild_elf;
static size_t wild_elf_size;

static inline void wild_blob(struct wild *w, struct cw_blob *blob)
{
	uint8_t b = wild_byte(w);

	if (wild_elf && b < 120) { /* a good file, or one with bytes changed */
		memcpy(blob->data, wild_elf, wild_elf_size);
		blob->h.size = (uint16_t)(sizeof(*blob) + wild_elf_size);
		blob->kind = 1 + b % 6;
		for (b %= 10; b; b--)
			blob->data[(wild_byte(w) << 8 | wild_byte(w)) % wild_elf_size] =
				wild_byte(w);
	} else if (b >= 200) { /* a piece of something larger */
		return;
	}
	blob->offset = 0;
	blob->total = blob->h.size - sizeof(*blob);
}

/* Fill buf with a record of CW_MAX_RECORD bytes at most. */

static inline const struct cw_rec *wild_record(struct wild *w, uint64_t *buf)
{
	const struct cw_type *t = wild_type(w);
	struct cw_rec *rec = (struct cw_rec *)buf;
	uint8_t *bytes = (uint8_t *)buf, b;

	memset(buf, 0, t->fixed_size);
	rec->type = t->id;
	rec->ts = wild_time(w);
	b = wild_byte(w);
	rec->cpu = b < 250 ? b % 3 : b == 250 ? 0xfffe : CW_CPU_NONE;
	rec->size = (uint16_t)t->fixed_size;
	for (uint32_t i = 0; i < t->nfields; i++) {
		const struct cw_field *f = &t->fields[i];
		size_t size = f->type == CW_T_U8                           ? 1
			      : f->type == CW_T_U32 || f->type == CW_T_I32 ? 4
									   : 8;

		if (!f->count)
			rec->size =
				(uint16_t)(t->fixed_size + wild_tail(w, f, bytes + t->fixed_size));
		for (uint32_t k = 0; k < f->count; k++) {
			uint64_t v = wild_value(w, f->name);

			memcpy(bytes + f->offset + k * size, &v, size);
		}
	}
	if (t->id == CW_BLOB)
		wild_blob(w, (struct cw_blob *)buf);
	return rec;
}

static const char *const wild_plans[] = {
	"functions:\n- name: a\n  ret: true\n- name: b\n  ret: true\n- name: c\n  ret: true\n"
	"hops:\n- {source: a, source_arg: 1, target: b, target_arg: 1}\n"
	"- {source: b, source_arg: 2, target: c, target_arg: auto}\n",
	"functions:\n- name: a\nhops:\n- {source: a, source_arg: 1, target: a, target_arg: 1, "
	"match: all}\n",
	"functions:\n- name: a\n- name: b\nattribution: true\n",
	"functions:\n- name: a\n- name: b\n- name: c\nhops:\n"
	"- {source: a, source_arg: 1, target: b, target_arg: 1, match: oldest, max_age_ms: 1}\n"
	"- {source: c, source_arg: 1, target: b, target_arg: 2}\n"
	"- {source: a, source_arg: 2, target: d, target_arg: auto, match: all}\n"
	"- {source: b, source_arg: 3, target: a, target_arg: 1}\n",
	"functions: [",
	"hops: 1\n",
	"&a [*a, *a]\n",
};
#define WILD_PLANS (sizeof(wild_plans) / sizeof(*wild_plans))

#endif
