/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Captures of every format version stay readable, and FORMAT.md says what records.h and the example
 * say. Runs in the top folder of the sources.
 */
#include <dirent.h>
#include "capture_fixture.h"

#define FOLDER "tests/captures"

/* The program that makes FORMAT.md's generated parts, as a function. */
int format_tables_main(int argc, char **argv);
#define main format_tables_main
#include "../format_tables.c"
#undef main

static struct cw_reader *open_capture(const char *name)
{
	struct cw_reader *r;
	char path[256], err[512];

	snprintf(path, sizeof(path), FOLDER "/%s", name);
	if (cw_reader_open(&r, path, err, sizeof(err)))
		fail_msg("%s", err);
	return r;
}

static void all_are_readable(void **state)
{
	DIR *d = opendir(FOLDER);
	struct dirent *e;
	unsigned seen = 0;

	UNUSED(state);
	assert_non_null(d);
	while ((e = readdir(d))) {
		const char *end = strrchr(e->d_name, '.');
		const struct cw_rec *rec;
		struct cw_reader *r;
		unsigned events = 0;

		/* Beside a capture may be the cache of whoever looked into it. */
		if (!end || strcmp(end, ".cwc") != 0)
			continue;
		seen++;
		r = open_capture(e->d_name);
		while (cw_reader_next(r, &rec, NULL) > 0)
			events += rec->type == CW_PROBE_ENTRY;
		assert_true(events > 0);
		assert_int_equal(cw_reader_nproblems(r), 0);
		assert_int_equal(cw_reader_unknown_records(r), 0);
		assert_true(cw_reader_clean_end(r));
		cw_reader_free(r);
	}
	closedir(d);
	assert_true(seen >= 2);
}

/* Every field of version 1's example keeps its meaning. */
static void version_1(void **state)
{
	struct cw_reader *r = open_capture("v1-tiny.cwc");
	const struct cw_rec *rec;
	unsigned seen = 0;

	UNUSED(state);
	assert_string_equal(cw_reader_meta(r, "capture_id"), "00112233445566778899aabbccddeeff");
	assert_string_equal(cw_reader_meta(r, "arch"), "x86_64");
	while (cw_reader_next(r, &rec, NULL) > 0) {
		const struct cw_module *m = (const void *)rec;
		const struct cw_probe *p = (const void *)rec;
		const struct cw_probe_entry *e = (const void *)rec;
		const struct cw_probe_return *ret = (const void *)rec;

		seen++;
		if (rec->type == CW_MODULE) {
			assert_int_equal(m->module_id, 1);
			assert_int_equal(m->ino, 77);
			assert_int_equal(cw_tail_strlen(rec, m->path), 16);
			assert_memory_equal(m->path, "/usr/bin/example", 16);
		} else if (rec->type == CW_PROBE) {
			assert_int_equal(p->placed, 0x114d);
			assert_int_equal(p->flags,
					 CW_PROBE_HAS_ENTRY | CW_PROBE_HAS_RETURN | CW_PROBE_MOVED);
			assert_memory_equal(p->name, "work", 4);
		} else if (rec->type == CW_PROBE_ENTRY) {
			assert_int_equal(rec->cpu, 1);
			assert_int_equal(rec->ts, 1000050000);
			assert_int_equal(e->tid, 4243);
			assert_int_equal(e->args[0], 0x5555deadbeef);
			assert_int_equal(e->args[1], 7);
		} else if (rec->type == CW_PROBE_RETURN) {
			assert_int_equal(ret->sp, 0x7ffc1008);
			assert_int_equal(ret->ret, 42);
		}
	}
	assert_int_equal(seen, 6);
	cw_reader_free(r);
}

static void the_document_is_up_to_date(void **state)
{
	char *args[] = {"format_tables", "--check", "format/FORMAT.md", FOLDER "/v1-tiny.cwc",
			NULL};

	UNUSED(state);
	assert_int_equal(format_tables_main(4, args), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_are_readable),
		cmocka_unit_test(version_1),
		cmocka_unit_test(the_document_is_up_to_date),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
