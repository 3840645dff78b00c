/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/database.o analyze/cache.o analyze/schema_doc.o analyze/say.o analyze/print.o */
/* LINK: analyze/sequence.o analyze/unfinished.o */
/* When a cached database is used, when it is made again, and whose file is never trusted. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include "cache.h"
#include "cache_fixture.h"
#include "database.h"
#include "file_state.h"
#include "schema_doc.h"

static int imports; /* how often the capture was imported */
static int import_result;

/* Stands for the passes: what matters here is only whether they run. */
int cw_import(sqlite3 *db, const struct cw_open_opts *o)
{
	(void)o;
	imports++;
	assert_int_equal(sqlite3_exec(db, cw_schema_text(), NULL, NULL, NULL), SQLITE_OK);
	return import_result;
}

static int names_result;
static char looked_at[256]; /* what did not serve; "" a server */
static bool looks;

static void note_looked(sqlite3 *db)
{
	char state[CW_FILE_STATE];
	char *text = NULL, *sql;
	size_t size;
	FILE *f = open_memstream(&text, &size);

	cw_file_state(state, looked_at);
	cw_file_state_write(f, "-", "/nowhere/program");
	if (*looked_at)
		cw_file_state_write(f, state, looked_at);
	else
		fputs(CW_STATE_OF_BEFORE, f);
	fclose(f);
	sql = sqlite3_mprintf("INSERT INTO capture_info VALUES('symbol_files.3', %Q)", text);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_free(sql);
	free(text);
}

int cw_symbolize(sqlite3 *db, const struct cw_open_opts *o)
{
	assert_true(o->stoppable);
	if (looks)
		note_looked(db);
	return names_result;
}

static char capture[256], cached[256];

static int start(void **state)
{
	char home[256];

	if (folder_new(state))
		return -1;
	fixture_path(capture, "t.cwc");
	fixture_path(cached, "t.cwc.db");
	fixture_path(home, "cache");
	setenv("XDG_CACHE_HOME", home, 1);
	return 0;
}

/* A capture without a cached database. */
static int fresh(void **state)
{
	(void)state;
	fixture_capture(capture, 100);
	unlink(cached);
	imports = 0;
	import_result = 0;
	names_result = 0;
	looks = false;
	return 0;
}

/* Open, close; returns the result. */
static int open_it(const struct cw_open_opts *o)
{
	sqlite3 *db = NULL;
	int err = cw_database_open(&db, o);

	assert_true(err || db);
	sqlite3_close(db);
	return err;
}

static void expect(const struct cw_open_opts *o, int wanted)
{
	assert_int_equal(open_it(o), 0);
	assert_int_equal(imports, wanted);
}

/* A database is made again when a file comes that gives names, not when one goes. */
static void test_more_names(void **state)
{
	struct cw_open_opts o = {.capture = capture};
	char other[256];

	(void)state;
	fixture_path(looked_at, "program.debug");
	fixture_path(other, "other");
	unlink(looked_at);
	looks = true;
	expect(&o, 1);
	expect(&o, 1);
	fixture_capture(looked_at, 3);
	expect(&o, 2);
	expect(&o, 2);
	fixture_capture(other, 3);
	assert_int_equal(rename(other, looked_at), 0);
	expect(&o, 3);
	unlink(looked_at);
	expect(&o, 3);
	/* A server that did not answer is asked again. */
	looked_at[0] = 0;
	unlink(cached);
	expect(&o, 4);
	expect(&o, 5);
}

/* A database without all names is used, and made again the next time. */
static void test_interrupted(void **state)
{
	struct cw_open_opts o = {.capture = capture};

	(void)state;
	names_result = 1;
	expect(&o, 1);
	names_result = 0;
	expect(&o, 2);
	expect(&o, 2);
}

static void test_hit(void **state)
{
	struct cw_open_opts o = {.capture = capture};
	struct stat st;

	(void)state;
	expect(&o, 1);
	assert_int_equal(stat(cached, &st), 0);
	expect(&o, 1);
	/* Another analysis has a place of its own, and does not push the plain one out. */
	o.max_age_ns = 5;
	expect(&o, 2);
	expect(&o, 2);
	o.max_age_ns = 0;
	expect(&o, 2);
	o.no_symbols = true;
	expect(&o, 3);
	o.sysroot = "/nowhere";
	expect(&o, 4);
	o.debug_dirs = (const char *const[]){"/tmp", NULL};
	expect(&o, 5);
	expect(&o, 5);
}

static void test_other_capture(void **state)
{
	struct cw_open_opts o = {.capture = capture};

	(void)state;
	expect(&o, 1);
	fixture_capture(capture, 101);
	expect(&o, 2);
	expect(&o, 2);
}

static void test_plan(void **state)
{
	struct cw_plan *a = cw_plan_new(), *b = cw_plan_new();
	struct cw_open_opts o = {.capture = capture, .plan = a};
	char err[CW_PLAN_ERR];

	(void)state;
	assert_int_equal(cw_plan_add_hop(a, "put,1,take,1", err), 0);
	assert_int_equal(cw_plan_add_hop(b, "put,2,take,1", err), 0);
	expect(&o, 1);
	expect(&o, 1);
	o.plan = b;
	expect(&o, 2);
	cw_plan_free(a);
	cw_plan_free(b);
}

static void test_no_cache(void **state)
{
	struct cw_open_opts o = {.capture = capture, .no_cache = true};

	(void)state;
	expect(&o, 1);
	expect(&o, 2);
	assert_int_equal(access(cached, F_OK), -1);
}

static void test_not_trusted(void **state)
{
	struct cw_open_opts o = {.capture = capture};
	char other[256];

	(void)state;
	expect(&o, 1);
	/* Others could have written it. */
	assert_int_equal(chmod(cached, 0666), 0);
	expect(&o, 2);
	/* A link to a good one is not it. */
	fixture_path(other, "other.db");
	assert_int_equal(rename(cached, other), 0);
	assert_int_equal(symlink(other, cached), 0);
	expect(&o, 3);
	assert_int_equal(unlink(other), 0);
	if (!geteuid()) {
		assert_int_equal(chown(cached, 12345, 12345), 0);
		expect(&o, 4);
	}
}

static void damage(const char *sql)
{
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(cached, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
}

static void test_foreign(void **state)
{
	struct cw_open_opts o = {.capture = capture};
	FILE *f;

	(void)state;
	expect(&o, 1);
	damage("PRAGMA application_id=1");
	expect(&o, 2);
	damage("PRAGMA user_version=99");
	expect(&o, 3);
	damage("UPDATE capture_info SET value = value || 'x' WHERE key = 'cache_key'");
	expect(&o, 4);
	damage("DELETE FROM capture_info WHERE key = 'imported'");
	expect(&o, 5);
	f = fopen(cached, "w");
	fputs("no database at all", f);
	fclose(f);
	expect(&o, 6);
}

static void test_failed_import(void **state)
{
	struct cw_open_opts o = {.capture = capture};

	(void)state;
	import_result = -EINVAL;
	assert_int_equal(open_it(&o), -EINVAL);
	assert_int_equal(access(cached, F_OK), -1);
	import_result = 0;
	fixture_path(cached, "t.cwc.db");
	expect(&o, 2);
}

static void test_kept(void **state)
{
	char db[256];
	struct cw_open_opts o = {.capture = capture, .database = db};
	struct cw_open_opts again = {.capture = db};
	FILE *f;

	(void)state;
	fixture_path(db, "kept.db");
	expect(&o, 1);
	expect(&o, 2); /* ours: replaced */
	assert_int_equal(access(cached, F_OK), -1);
	/* It is an input like a capture, but cannot be stitched again. */
	expect(&again, 2);
	again.max_age_ns = 1;
	assert_int_equal(open_it(&again), -EINVAL);
	f = fopen(db, "w");
	fputs("a letter", f);
	fclose(f);
	assert_int_equal(open_it(&o), -EEXIST);
	/* A device must not be replaced by a file. */
	o.database = "/dev/null";
	assert_int_equal(open_it(&o), -EINVAL);
	assert_int_equal(imports, 2);
}

static void test_foreign_database(void **state)
{
	char path[256];
	struct cw_open_opts o = {.capture = path};
	sqlite3 *db = NULL;

	(void)state;
	fixture_path(path, "foreign.db");
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db, "CREATE TABLE t(a)", NULL, NULL, NULL), SQLITE_OK);
	sqlite3_close(db);
	assert_int_equal(open_it(&o), -EINVAL);
	assert_int_equal(imports, 0);
}

/* The directory cannot be written: the cache lies in the user's cache directory. */
static void test_elsewhere(void **state)
{
	struct cw_open_opts o = {.capture = capture};
	char *places[CW_CACHE_PLACES];

	(void)state;
	cw_cache_places(&o, "some-id", places);
	assert_string_equal(places[0], cached);
	assert_non_null(strstr(places[1], "/cache/callweave/t.cwc-"));
	for (int i = 0; i < CW_CACHE_PLACES; i++)
		free(places[i]);
}

static void test_schema_doc(void **state)
{
	char *text = cw_schema_doc("loss");

	(void)state;
	assert_string_equal(text, "Ranges of time in which records are missing.");
	free(text);
	assert_null(cw_schema_doc("los"));
	assert_null(cw_schema_doc("nothing"));
}

#define TEST(name) cmocka_unit_test_setup(name, fresh)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_hit),
		TEST(test_interrupted),
		TEST(test_more_names),
		TEST(test_other_capture),
		TEST(test_plan),
		TEST(test_no_cache),
		TEST(test_not_trusted),
		TEST(test_foreign),
		TEST(test_failed_import),
		TEST(test_kept),
		TEST(test_foreign_database),
		TEST(test_elsewhere),
		TEST(test_schema_doc),
	};

	return cmocka_run_group_tests(tests, start, folder_free);
}
