/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/symbolize.o analyze/symbolize_module.o analyze/symbolize_batch.o */
/* LINK: analyze/symbolize_dwarf.o analyze/symbolize_elf.o analyze/symbolize_table.o */
/* LINK: analyze/symbolize_perfmap.o analyze/symbol_sources.o analyze/demangle.o */
/* LINK: analyze/symbol_links.o analyze/debuginfod.o analyze/symbol_places.o analyze/embedded.o */
/* LINK: analyze/symbolize_pool.o analyze/plain_debug.o analyze/say.o analyze/print.o */
/* A database like import's with modules and frames of programs that the test compiles. */
#ifndef SYMBOLIZE_FIXTURE_H
#define SYMBOLIZE_FIXTURE_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "database.h"
#include "folder.h"

#define UNUSED __attribute__((unused))

/* A small file as text; to be freed. *size may be NULL. */
static UNUSED char *fx_read(const char *name, size_t *size)
{
	FILE *f = fopen(name[0] == '/' ? name : in_dir(name), "r");
	size_t room = 64u << 20, len;
	char *text = malloc(room);

	assert_non_null(f);
	assert_non_null(text);
	len = fread(text, 1, room - 1, f);
	fclose(f);
	text[len] = 0;
	text = realloc(text, len + 1);
	if (size)
		*size = len;
	return text;
}

/* First word that a command prints. */
static UNUSED char *fx_output(const char *fmt, ...)
{
	static char word[4][512];
	static unsigned n;
	char cmd[2048], *out = word[n++ % 4];
	va_list ap;
	FILE *f;
	int len = snprintf(cmd, sizeof(cmd), "cd '%s' && ", test_dir);

	va_start(ap, fmt);
	vsnprintf(cmd + len, sizeof(cmd) - len, fmt, ap);
	va_end(ap);
	f = popen(cmd, "r");
	assert_non_null(f);
	out[0] = 0;
	if (fscanf(f, "%511s", out) != 1)
		out[0] = 0;
	pclose(f);
	return out;
}

static UNUSED char *fx_build_id(const char *name)
{
	return fx_output("readelf -n '%s' | sed -n 's/.*Build ID: //p'", name);
}

static UNUSED void fx_sql(sqlite3 *db, char *sql)
{
	char *msg = NULL;

	if (sqlite3_exec(db, sql, NULL, NULL, &msg))
		fail_msg("%s: %s", sql, msg);
	sqlite3_free(sql);
}

static UNUSED sqlite3 *fx_db(const char *schema)
{
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	fx_sql(db, sqlite3_mprintf("%s", schema));
	return db;
}

static UNUSED void fx_module(sqlite3 *db, int id, const char *path, const char *build_id)
{
	const char *slash = strrchr(path, '/');

	fx_sql(db, sqlite3_mprintf("INSERT INTO module(module_id, path, name, build_id, dev, ino) "
				   "VALUES(%d, %Q, %Q, nullif(%Q, ''), '0:0', 0)",
				   id, path, slash ? slash + 1 : path, build_id));
}

static UNUSED void fx_blob(sqlite3 *db, int id, const char *kind, const void *data, size_t size)
{
	sqlite3_stmt *stmt;

	sqlite3_prepare_v2(db, "INSERT OR REPLACE INTO module_blob VALUES(?, ?, ?)", -1, &stmt,
			   NULL);
	sqlite3_bind_int(stmt, 1, id);
	sqlite3_bind_text(stmt, 2, kind, -1, SQLITE_STATIC);
	sqlite3_bind_blob(stmt, 3, data, size, SQLITE_STATIC);
	assert_int_equal(sqlite3_step(stmt), SQLITE_DONE);
	sqlite3_finalize(stmt);
}

static UNUSED void fx_frame(sqlite3 *db, int frame, int module, uint64_t rel_pc, int is_return)
{
	fx_sql(db, sqlite3_mprintf("INSERT INTO frame VALUES(%d, %d, %lld, %lld, %d)", frame,
				   module, (long long)rel_pc, (long long)rel_pc, is_return));
}

/* Names of a frame as "function+offset file:line", innermost first, joined by " < "; to be freed.
 */
static UNUSED char *fx_names(sqlite3 *db, int frame)
{
	sqlite3_stmt *stmt;
	char *text = NULL, *old;

	sqlite3_prepare_v2(db,
			   "SELECT coalesce(function, '?') || coalesce('+' || offset, '') || "
			   "coalesce(' ' || file || ':' || coalesce(line, 0), '') "
			   "FROM symbol WHERE frame_id = ? ORDER BY inline_depth",
			   -1, &stmt, NULL);
	sqlite3_bind_int(stmt, 1, frame);
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		old = text;
		if (asprintf(&text, "%s%s%s", old ? old : "", old ? " < " : "",
			     (const char *)sqlite3_column_text(stmt, 0)) < 0)
			fail();
		free(old);
	}
	sqlite3_finalize(stmt);
	return text ? text : strdup("");
}

static UNUSED void fx_expect(sqlite3 *db, int frame, const char *fmt, ...)
{
	char wanted[1024], *got = fx_names(db, frame);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(wanted, sizeof(wanted), fmt, ap);
	va_end(ap);
	assert_string_equal(got, wanted);
	free(got);
}

/* A column of a module as text, "" for NULL. */
static UNUSED char *fx_module_text(sqlite3 *db, int id, const char *column)
{
	static char text[4096];
	char *sql = sqlite3_mprintf("SELECT coalesce(%s, '') FROM module WHERE module_id = %d",
				    column, id);
	sqlite3_stmt *stmt;

	sqlite3_prepare_v2(db, sql, -1, &stmt, NULL);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	snprintf(text, sizeof(text), "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return text;
}

#endif
