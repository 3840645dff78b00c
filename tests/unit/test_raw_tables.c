/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/raw_tables.o analyze/sequence.o */
/* Records as SQL rows, by the file's own description. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "cache_fixture.h"
#include "raw_tables.h"

static struct cw_raw *raw;
static sqlite3 *db;

static int open_capture(void **state)
{
	char path[256], err[256];

	if (folder_new(state))
		return -1;
	fixture_path(path, "a.cwc");
	fixture_capture(path, 1000);
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	assert_true(cw_raw_register(&raw, db, path, err, sizeof(err)) >= 20);
	return 0;
}

static int close_capture(void **state)
{
	sqlite3_close(db);
	cw_raw_free(raw);
	return folder_free(state);
}

static void query(const char *sql, const char *wanted)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK)
		fail_msg("%s: %s", sql, sqlite3_errmsg(db));
	assert_int_equal(sqlite3_step(s), SQLITE_ROW);
	assert_string_equal(sqlite3_column_text(s, 0), wanted);
	sqlite3_finalize(s);
}

static void test_values(void **state)
{
	(void)state;
	query("SELECT count(*) FROM raw_probe_entry", "1000");
	query("SELECT sum(arg1) FROM raw_probe_entry", "499500");
	query("SELECT min(ts) || ' ' || max(ts) FROM raw_probe_entry", "1000000000 1000999000");
	/* 64-bit words are INTEGERs in two's complement. */
	query("SELECT arg2 FROM raw_probe_entry WHERE arg1 = 5", "-5");
	query("SELECT typeof(sp) || sp FROM raw_probe_entry LIMIT 1", "integer-4294967296");
	query("SELECT group_concat(DISTINCT cpu) FROM raw_probe_entry", "0,1");
	query("SELECT group_concat(DISTINCT pid || '/' || tid || '/' || probe_id) FROM "
	      "raw_probe_entry",
	      "7/8/1");
}

static void test_tails(void **state)
{
	(void)state;
	query("SELECT quote(comm) FROM raw_thread", "'work\033'");
	/* The recorder's own records have no CPU. */
	query("SELECT coalesce(cpu, 'none') FROM raw_thread", "none");
	query("SELECT json_valid(lost) FROM raw_chunk LIMIT 1", "1");
}

static void test_joins(void **state)
{
	(void)state;
	/* Two cursors on one file do not disturb each other. */
	query("SELECT count(*) FROM raw_thread t JOIN raw_probe_entry e USING(tid) WHERE e.arg1 < "
	      "10",
	      "10");
	query("SELECT count(*) FROM raw_probe_entry a, raw_probe_entry b WHERE a.arg1 < 2 AND "
	      "b.arg1 = a.arg1",
	      "2");
	query("SELECT count(DISTINCT record_index) FROM raw_probe_entry", "1000");
}

static void test_no_file(void **state)
{
	struct cw_raw *none = NULL;
	char err[256] = "";

	(void)state;
	assert_true(cw_raw_register(&none, db, "/nonexistent.cwc", err, sizeof(err)) < 0);
	assert_non_null(strstr(err, "/nonexistent.cwc"));
	cw_raw_free(none);
	cw_raw_free(NULL);
}

/* The file goes away between the listing and the query: an error, not a crash. */
static void test_file_goes(void **state)
{
	char path[256], moved[256];
	sqlite3_stmt *s = NULL;

	(void)state;
	fixture_path(path, "a.cwc");
	fixture_path(moved, "b.cwc");
	assert_int_equal(rename(path, moved), 0);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT * FROM raw_probe_entry", -1, &s, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(s), SQLITE_ERROR);
	assert_non_null(strstr(sqlite3_errmsg(db), path));
	sqlite3_finalize(s);
	assert_int_equal(rename(moved, path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),    cmocka_unit_test(test_tails),
		cmocka_unit_test(test_joins),     cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_file_goes),
	};

	return cmocka_run_group_tests(tests, open_capture, close_capture);
}
