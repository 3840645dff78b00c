/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/schema_doc.o */
/* A database with the schema's tables, which the test fills by hand: nothing is imported. */
#ifndef TABLES_FIXTURE_H
#define TABLES_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "schema_doc.h"

static sqlite3 *db;

static inline void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline void run(const char *format, ...)
{
	char *sql = NULL, *err = NULL;
	va_list ap;

	va_start(ap, format);
	assert_true(vasprintf(&sql, format, ap) >= 0);
	va_end(ap);
	if (sqlite3_exec(db, sql, NULL, NULL, &err) != SQLITE_OK)
		fail_msg("%s: %s", err, sql);
	free(sql);
}

static inline void tables_new(void)
{
	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	run("%s", cw_schema_text());
}

static inline int tables_free(void **state)
{
	(void)state;
	assert_int_equal(sqlite3_close(db), SQLITE_OK);
	return 0;
}

/* A printed text has these words. */
static inline void has(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("no '%s' in: %s", what, text);
}

#endif
