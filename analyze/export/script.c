/* SPDX-License-Identifier: GPL-2.0-only */
/* Runs the scripts of the formats and writes their rows, one at a time. Knows no format. */
#include <errno.h>
#include <string.h>
#include "export.h"
#include "../print.h"
#include "../report.h"
#include "../say.h"

static const struct {
	const char *name, *text;
} scripts[] = {
#include "export.inc"
};

const char *cw_export_asset(const char *name)
{
	for (size_t i = 0; i < sizeof(scripts) / sizeof(scripts[0]); i++)
		if (!strcmp(scripts[i].name, name))
			return scripts[i].text;
	return NULL;
}

static int query_failed(struct cw_export *x, const char *name)
{
	return cw_fail(-EBADMSG, "cannot export (%s): %s", name, sqlite3_errmsg(x->db));
}

static void bind(struct cw_export *x, sqlite3_stmt *s)
{
	sqlite3_bind_text(s, sqlite3_bind_parameter_index(s, ":weight"), x->weight, -1,
			  SQLITE_STATIC);
	sqlite3_bind_int(s, sqlite3_bind_parameter_index(s, ":filtered"), x->filtered);
}

/* Write one column, as its name says. */
static void write_column(struct cw_export *x, const char *name, const char *value)
{
	if (!strcmp(name, "item")) {
		if (value && x->comma)
			fputs(",\n", x->out);
		x->comma |= value != NULL;
		cw_print_json(x->out, value ?: "");
	} else if (!strcmp(name, "text")) {
		x->comma &= value == NULL;
		cw_print_json(x->out, value ?: "");
		if (value)
			fputc('\n', x->out);
	} else {
		cw_print_safe(x->out, value ?: "");
		if (value)
			fputc('\n', x->out);
	}
}

/* The statement was prepared; write its rows. -EBADMSG without a word: SQLite knows what failed. */
static int run_statement(struct cw_export *x, sqlite3_stmt *s)
{
	int columns = sqlite3_column_count(s), rc, err = 0;

	while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW) {
		for (int c = 0; c < columns; c++)
			write_column(x, sqlite3_column_name(s, c),
				     (const char *)sqlite3_column_text(s, c));
		err = cw_write_error(x->out);
	}
	return err ? err : rc == SQLITE_DONE ? 0 : -EBADMSG;
}

int cw_export_script(struct cw_export *x, const char *name)
{
	const char *sql = cw_export_asset(name);
	int err = 0;

	if (!sql)
		return cw_fail(-EINVAL, "cannot export: there is no script %s", name);
	while (!err && *sql) {
		sqlite3_stmt *s = NULL;

		if (sqlite3_prepare_v2(x->db, sql, -1, &s, &sql) != SQLITE_OK)
			return query_failed(x, name);
		if (!s)
			continue; /* a comment or blanks */
		bind(x, s);
		err = run_statement(x, s);
		if (err == -EBADMSG)
			query_failed(x, name);
		sqlite3_finalize(s);
	}
	return err;
}
