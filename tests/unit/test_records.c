/* SPDX-License-Identifier: GPL-2.0-only */
/* Record types as tables and in words, and records brought from one layout into another. */
#include "capture_fixture.h"

static void tables_are_sound(void **state)
{
	UNUSED(state);
	assert_true(cw_ntypes > 20);
	for (size_t i = 0; i < cw_ntypes; i++) {
		const struct cw_type *t = &cw_types[i];
		uint32_t at = sizeof(struct cw_rec);

		assert_ptr_equal(cw_type_by_id(t->id), t);
		assert_ptr_equal(cw_type_by_name(t->name), t);
		assert_true(t->doc && t->doc[0]);
		for (uint32_t k = 0; k < t->nfields; k++) {
			const struct cw_field *f = &t->fields[k];

			assert_int_equal(f->offset, at);
			assert_int_equal(f->offset % cw_ftype_size(f->type), 0);
			assert_true(f->doc && f->doc[0]);
			assert_true(f->count || k == t->nfields - 1);
			at += f->count * cw_ftype_size(f->type);
		}
		assert_int_equal(at, t->fixed_size);
	}
	assert_null(cw_type_by_id(0));
	assert_null(cw_type_by_id(255));
	assert_null(cw_type_by_id(65535));
	assert_null(cw_type_by_name("nothing"));
}

static void offsets_are_the_structs(void **state)
{
	const struct cw_type *t = cw_type_by_id(CW_PROBE_ENTRY);

	UNUSED(state);
	assert_int_equal(t->fixed_size, sizeof(struct cw_probe_entry));
	assert_string_equal(t->fields[6].name, "args");
	assert_int_equal(t->fields[6].offset, offsetof(struct cw_probe_entry, args));
	assert_int_equal(t->fields[6].count, CW_NARGS);
	assert_int_equal(t->class, CW_CLASS_EVENT);
	t = cw_type_by_id(CW_STACK);
	assert_int_equal(t->fixed_size, offsetof(struct cw_stack, frames));
}

static struct cw_type *parse(uint16_t id, uint32_t size, const char *text)
{
	const char *why;

	return cw_type_parse(id, size, text, strlen(text), &why);
}

static void described_and_parsed(void **state)
{
	UNUSED(state);
	for (size_t i = 0; i < cw_ntypes; i++) {
		const struct cw_type *t = &cw_types[i];
		char text[4096], small[10];
		int n = cw_type_describe(t, text, sizeof(text));
		struct cw_type *back;

		assert_int_equal(n, strlen(text));
		assert_int_equal(cw_type_describe(t, small, sizeof(small)), n);
		assert_int_equal(strlen(small), sizeof(small) - 1);
		back = parse(t->id, t->fixed_size, text);
		assert_non_null(back);
		assert_true(cw_type_same(t, back));
		assert_string_equal(back->name, t->name);
		assert_int_equal(back->class, t->class);
		assert_null(parse(t->id, t->fixed_size + 8, text));
		free(back);
	}
}

static void malformed_descriptions(void **state)
{
	static const struct {
		const char *text;
		uint32_t size;
	} bad[] = {
		{"", 16},
		{"x", 16},
		{"x thing", 16},
		{"X event", 16},
		{"x event a", 20},
		{"x event a:u16", 18},
		{"x event a:", 16},
		{"x event :u32", 20},
		{"x event A:u32", 20},
		{"x event a:u32 b:u64", 28}, /* misaligned */
		{"x event a:str b:u32", 20}, /* behind the tail */
		{"x event a:u64[] b:u64", 24},
		{"x event a:u64[0]", 16},
		{"x event a:u64[-1]", 16},
		{"x event a:u64[2", 32},
		{"x event a:u64[2]]", 32},
		{"x event a:u64[99999]", 16},
		{"x event a:u64[8190] b:u64[8190]", 131056},
		{"x event a:str[4]", 20},
		{"x event a:u32 b:u32", 20}, /* does not add up */
	};
	char many[8192] = "x event";

	UNUSED(state);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_null(parse(300, bad[i].size, bad[i].text));
	for (int i = 0; i < 300; i++)
		sprintf(many + strlen(many), " a%d:u64", i);
	assert_null(parse(300, 16 + 300 * 8, many));
}

/* ---- translation ------------------------------------------------------------------------------
 */

static void missing_and_unknown_fields(void **state)
{
	struct cw_type *from =
		parse(CW_FORK, 32, "fork event tid:u32 pid:u32 colour:u32 shape:u32");
	uint32_t words[8] = {0};
	uint64_t out[64];
	struct cw_rec *rec = (struct cw_rec *)words;
	struct cw_fork *f = (struct cw_fork *)out;

	UNUSED(state);
	assert_non_null(from);
	*rec = (struct cw_rec){.type = CW_FORK, .size = 32, .cpu = 3, .ts = 77};
	words[4] = 11; /* tid */
	words[5] = 22; /* pid */
	words[6] = words[7] = 99;
	memset(out, 0xff, sizeof(out));
	cw_type_translate(from, rec, cw_type_by_id(CW_FORK), (struct cw_rec *)out);
	assert_int_equal(f->h.size, sizeof(*f));
	assert_int_equal(f->h.ts, 77);
	assert_int_equal(f->h.cpu, 3);
	assert_int_equal(f->tid, 11);
	assert_int_equal(f->pid, 22);
	assert_int_equal(f->child_pid, 0);
	assert_int_equal(f->child_start_boottime, 0);
	free(from);
}

static void widened_arrays_and_signs(void **state)
{
	struct cw_type *from = parse(CW_EXIT, 24 + 8, "exit event pid:u64 code:i32 flags:u32");
	uint64_t words[8] = {0}, out[64];
	struct cw_rec *rec = (struct cw_rec *)words;
	struct cw_exit *e = (struct cw_exit *)out;
	struct cw_type *short_args = parse(CW_PROBE_ENTRY, 32, "probe_entry event args:x64[2]");
	struct cw_probe_entry *p = (struct cw_probe_entry *)out;

	UNUSED(state);
	*rec = (struct cw_rec){.type = CW_EXIT, .size = 32};
	words[2] = 0x100000007ull;
	((int32_t *)words)[6] = -9;
	cw_type_translate(from, rec, cw_type_by_id(CW_EXIT), (struct cw_rec *)out);
	assert_int_equal(e->pid, 7);
	assert_int_equal(e->code, -9);

	words[2] = 0xaaaa;
	words[3] = 0xbbbb;
	cw_type_translate(short_args, rec, cw_type_by_id(CW_PROBE_ENTRY), (struct cw_rec *)out);
	assert_int_equal(p->args[0], 0xaaaa);
	assert_int_equal(p->args[1], 0xbbbb);
	assert_int_equal(p->args[2], 0);
	free(from);
	free(short_args);
}

/* A tail moves with the fixed part, and is cut where the result would be too large. */
static void tails(void **state)
{
	struct cw_type *from = parse(CW_STACK, 24, "stack ref id:x64 frames:x64[]");
	static uint64_t words[8192], out[8192];
	struct cw_rec *rec = (struct cw_rec *)words;
	struct cw_stack *s = (struct cw_stack *)out;

	UNUSED(state);
	*rec = (struct cw_rec){.type = CW_STACK, .size = 24 + 5 * 8};
	words[2] = 42;
	for (int i = 0; i < 8000; i++)
		words[3 + i] = i + 1;
	cw_type_translate(from, rec, cw_type_by_id(CW_STACK), (struct cw_rec *)out);
	assert_int_equal(s->h.size, sizeof(*s) + 5 * 8);
	assert_int_equal(s->id, 42);
	assert_int_equal(s->frames[0], 1);
	assert_int_equal(s->frames[4], 5);
	rec->size = CW_MAX_RECORD;
	cw_type_translate(from, rec, cw_type_by_id(CW_STACK), (struct cw_rec *)out);
	assert_int_equal(s->h.size, CW_MAX_RECORD);
	assert_int_equal(
		cw_field_elems(cw_type_by_id(CW_STACK), &cw_type_by_id(CW_STACK)->fields[4], &s->h),
		(CW_MAX_RECORD - sizeof(*s)) / 8);
	free(from);
}

static void text_is_never_a_number(void **state)
{
	struct cw_type *from = parse(CW_EXEC, 16, "exec event pid:str");
	uint64_t words[4] = {0}, out[16];
	struct cw_rec *rec = (struct cw_rec *)words;
	struct cw_exec *e = (struct cw_exec *)out;

	UNUSED(state);
	*rec = (struct cw_rec){.type = CW_EXEC, .size = 24};
	words[2] = 0x4141414141414141;
	cw_type_translate(from, rec, cw_type_by_id(CW_EXEC), (struct cw_rec *)out);
	assert_int_equal(e->pid, 0);
	assert_int_equal(e->h.size, sizeof(*e));
	free(from);
}

static void swapped_and_back(void **state)
{
	struct cw_probe_entry e = entry_at(0x1122334455667788, 0x01020304, 0xaabb), copy = e;
	const struct cw_type *t = cw_type_by_id(CW_PROBE_ENTRY);

	UNUSED(state);
	cw_rec_swap(t, &e.h, false);
	assert_int_equal(e.h.ts, 0x8877665544332211);
	assert_int_equal(e.tid, 0x04030201);
	assert_int_equal(e.args[0], 0xbbaa000000000000);
	cw_rec_swap(t, &e.h, true);
	assert_memory_equal(&e, &copy, sizeof(e));
}

static void tail_lengths(void **state)
{
	struct {
		struct cw_end h;
		char text[16];
	} r = {.h = {.h = {.type = CW_END, .size = sizeof(struct cw_end) + 4}}, .text = "abcdef"};

	UNUSED(state);
	assert_int_equal(cw_tail_strlen(&r.h.h, r.text), 4);
	r.text[2] = '\0';
	assert_int_equal(cw_tail_strlen(&r.h.h, r.text), 2);
	r.h.h.size = sizeof(struct cw_end);
	assert_int_equal(cw_tail_strlen(&r.h.h, r.text), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(tables_are_sound),
		cmocka_unit_test(offsets_are_the_structs),
		cmocka_unit_test(described_and_parsed),
		cmocka_unit_test(malformed_descriptions),
		cmocka_unit_test(missing_and_unknown_fields),
		cmocka_unit_test(widened_arrays_and_signs),
		cmocka_unit_test(tails),
		cmocka_unit_test(text_is_never_a_number),
		cmocka_unit_test(swapped_and_back),
		cmocka_unit_test(tail_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
