/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/print.o analyze/text.o */
/* Rows as text, JSONL and CSV, with names that mean harm; and numbers with units. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "print.h"
#include "text.h"

static sqlite3 *db;

static int setup(void **state)
{
	(void)state;
	return sqlite3_open(":memory:", &db);
}

static int teardown(void **state)
{
	(void)state;
	return sqlite3_close(db);
}

/* What cw_print_rows writes for a query, malloc'ed. */
static char *rows(const char *sql, enum cw_format format, long expected)
{
	sqlite3_stmt *stmt = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	assert_int_equal(sqlite3_prepare_v2(db, sql, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(cw_print_rows(db, stmt, format, f), expected);
	sqlite3_finalize(stmt);
	fclose(f);
	return text;
}

static void check(const char *sql, enum cw_format format, long nrows, const char *wanted)
{
	char *text = rows(sql, format, nrows);

	assert_string_equal(text, wanted);
	free(text);
}

static void test_formats(void **state)
{
	enum cw_format f;

	(void)state;
	assert_int_equal(cw_format_parse("table", &f), 0);
	assert_int_equal(f, CW_FORMAT_TEXT);
	assert_int_equal(cw_format_parse("json", &f), 0);
	assert_int_equal(f, CW_FORMAT_JSONL);
	assert_int_equal(cw_format_parse("csv", &f), 0);
	assert_int_equal(f, CW_FORMAT_CSV);
	assert_int_equal(cw_format_parse("xml", &f), -EINVAL);
}

static void test_table(void **state)
{
	(void)state;
	check("SELECT 1 AS n, 'ab' AS t, NULL AS missing UNION ALL SELECT 1000, 'c', NULL",
	      CW_FORMAT_TEXT, 2,
	      "   n  t   missing\n"
	      "----  --  -------\n"
	      "   1  ab  -\n"
	      "1000  c   -\n");
	/* Columns are counted in characters. */
	check("SELECT 'é' AS a, 1 AS b UNION ALL SELECT 'xy', 22", CW_FORMAT_TEXT, 2,
	      "a    b\n"
	      "--  --\n"
	      "é    1\n"
	      "xy  22\n");
	check("SELECT 1 AS a WHERE 0", CW_FORMAT_TEXT, 0, "a\n-\n");
}

/* Rows behind the sample that decides the widths are printed too, in order. */
static void test_long_table(void **state)
{
	char *text, *line;
	int n = -2;

	(void)state;
	text = rows("WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c WHERE i < 2499)"
		    " SELECT i FROM c",
		    CW_FORMAT_TEXT, 2500);
	for (line = strtok(text, "\n"); line; line = strtok(NULL, "\n"), n++)
		if (n >= 0)
			assert_int_equal(atoi(line), n);
	assert_int_equal(n, 2500);
	free(text);
}

static void test_jsonl(void **state)
{
	(void)state;
	check("SELECT 1 AS n, 'a\"b' AS t, NULL AS x, 1.5 AS f, x'00ff' AS b, '[1,{\"k\":2}]' AS "
	      "list_json",
	      CW_FORMAT_JSONL, 1,
	      "{\"n\":1,\"t\":\"a\\\"b\",\"x\":null,\"f\":1.5,\"b\":\"00ff\",\"list\":[1,{\"k\":2}]"
	      "}\n");
	/* What claims to be JSON and is not stays a string. */
	check("SELECT '[1' AS list_json", CW_FORMAT_JSONL, 1, "{\"list\":\"[1\"}\n");
}

static void test_json_is_safe(void **state)
{
	(void)state;
	check("SELECT char(27) || '[31m' || char(155) || char(8238) AS t", CW_FORMAT_JSONL, 1,
	      "{\"t\":\"\\u001b[31m\\u009b\\u202e\"}\n");
	check("SELECT CAST(x'61ff62' AS TEXT) AS t", CW_FORMAT_JSONL, 1, "{\"t\":\"a\\ufffdb\"}\n");
}

/* More columns than a function takes arguments: the object is put together. */
static void test_wide_json(void **state)
{
	char sql[4000] = "SELECT '{}' AS c0_json", *text, *at;

	(void)state;
	for (int i = 1; i < 150; i++)
		sprintf(sql + strlen(sql), ", %d AS c%d", i, i);
	text = rows(sql, CW_FORMAT_JSONL, 1);
	at = text;
	assert_int_equal(strncmp(at, "{\"c0\":{}", 8), 0);
	for (int i = 1; i < 150; i++) {
		char member[32];

		sprintf(member, ",\"c%d\":%d", i, i);
		at = strstr(at, member);
		assert_non_null(at);
	}
	assert_string_equal(at, ",\"c149\":149}\n");
	free(text);
}

static void test_csv(void **state)
{
	(void)state;
	check("SELECT 1 AS n, 'a,b' AS \"x,y\", 'say \"hi\"' AS q, NULL AS e, ' pad' AS p, 'l' || "
	      "char(10) AS l",
	      CW_FORMAT_CSV, 1,
	      "n,\"x,y\",q,e,p,l\n"
	      "1,\"a,b\",\"say \"\"hi\"\"\",,\" pad\",l\\x0a\n");
}

static void test_safe(void **state)
{
	char *text = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&text, &size);

	(void)state;
	cw_print_safe(f, "a\033[2Jb\xc2\x9b"
			 "c\xff\xe2\x80\xae"
			 "d\xc3\xa9\xed\xa0\x80\x7f");
	fclose(f);
	assert_string_equal(
		text, "a\\x1b[2Jb\\xc2\\x9bc\\xff\\xe2\\x80\\xaed\xc3\xa9\\xed\\xa0\\x80\\x7f");
	free(text);
	assert_int_equal(cw_print_columns("a\033é"), 6);
}

static void test_failing_statement(void **state)
{
	(void)state;
	/* The first row is printed, the second overflows. */
	free(rows("SELECT abs(v) FROM (SELECT 1 AS v UNION ALL SELECT -9223372036854775807 - 1)",
		  CW_FORMAT_CSV, -EBADMSG));
}

static long print_to(FILE *f)
{
	sqlite3_stmt *stmt = NULL;
	long n;

	sqlite3_prepare_v2(db,
			   "WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM c"
			   " WHERE i < 99999) SELECT i FROM c",
			   -1, &stmt, NULL);
	n = cw_print_rows(db, stmt, CW_FORMAT_CSV, f);
	sqlite3_finalize(stmt);
	fclose(f);
	return n;
}

static void test_reader_gone(void **state)
{
	int ends[2];

	(void)state;
	signal(SIGPIPE, SIG_IGN);
	assert_int_equal(pipe(ends), 0);
	close(ends[0]);
	assert_int_equal(print_to(fdopen(ends[1], "w")), -EPIPE);
	assert_int_equal(print_to(fopen("/dev/full", "w")), -ENOSPC);
}

static void duration(int64_t ns, const char *wanted)
{
	char buf[CW_DURATION_SIZE];

	assert_string_equal(cw_duration(buf, ns), wanted);
}

static void test_units(void **state)
{
	char buf[CW_DURATION_SIZE];

	(void)state;
	duration(0, "0 ns");
	duration(999, "999 ns");
	duration(8742, "8.742 us");
	duration(20112345, "20.112 ms");
	duration(248643000, "248.643 ms");
	duration(1250000000, "1.250 s");
	duration(-1500, "-1.500 us");
	/* Rounding does not leave the unit: no "1000.000 us". */
	duration(999999, "999.999 us");
	duration(999999999, "1.000 s");
	assert_string_equal(cw_number(buf, 1234567), "1,234,567");
	assert_string_equal(cw_number(buf, 100), "100");
	assert_string_equal(cw_number(buf, -1000), "-1,000");
}

static void test_wall_time(void **state)
{
	struct cw_text t = {.wall_offset_ns = 1795958400000000000, .utc_offset_s = -3600};
	char buf[CW_TIME_SIZE];

	(void)state;
	assert_string_equal(cw_wall_time(buf, &t, 209099123456), "2026-11-29 12:23:29.099123");
}

/* A line wraps between fields, never inside one, and is indented where it goes on. */
static void test_wrap(void **state)
{
	char *text = NULL;
	size_t size = 0;
	struct cw_text t = {.out = open_memstream(&text, &size), .width = 20};

	(void)state;
	cw_line_begin(&t, 2, CW_BOLD, "RETURN");
	cw_field(&t, CW_PLAIN, "duration=%d", 12);
	cw_field(&t, CW_PLAIN, "oncpu=%d", 3);
	cw_field_ns(&t, "queue", false, 0);
	cw_line_end(&t);
	fclose(t.out);
	assert_string_equal(text, "  RETURN duration=12\n    oncpu=3\n    queue=unknown\n");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_long_table),
		cmocka_unit_test(test_jsonl),
		cmocka_unit_test(test_json_is_safe),
		cmocka_unit_test(test_wide_json),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_safe),
		cmocka_unit_test(test_failing_statement),
		cmocka_unit_test(test_reader_gone),
		cmocka_unit_test(test_units),
		cmocka_unit_test(test_wall_time),
		cmocka_unit_test(test_wrap),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
