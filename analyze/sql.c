/* SPDX-License-Identifier: GPL-2.0-only */
/* Command sql: questions of the user's own, which can only read. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "commands.h"
#include "listing.h"
#include "print.h"
#include "raw_tables.h"
#include "say.h"
#include "schema_doc.h"

static const char doc[] =
	"Query a capture with SQL. Without QUERY, list the tables and views; with the name of one "
	"of them, its columns. QUERY may be '-' for standard input or @FILE. Nothing can be "
	"changed. The records themselves are in the tables "
	"raw_TYPE."
	"\vExamples:\n"
	"  callweave-analyze sql trace.cwc\n"
	"  callweave-analyze sql trace.cwc call\n"
	"  callweave-analyze sql trace.cwc 'SELECT * FROM chain ORDER BY total_ns'\n"
	"  callweave-analyze sql trace.cwc 'SELECT function, dur FROM call'\n"
	"  callweave-analyze sql trace.cwc --format csv @slow.sql >slow.csv\n"
	"  callweave-analyze sql trace.cwc 'SELECT tid, arg1 FROM raw_probe_entry'\n";

struct args {
	struct cw_listing listing;
	const char *query; /* as given; NULL: list the tables */
	char *text;        /* of it, owned */
	struct cw_raw *raw;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->listing;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0)
			a->listing.input.open.capture = arg;
		else if (state->arg_num == 1)
			a->query = arg;
		else
			argp_error(state, "put the query in quotes: one argument");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&cw_listing_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {NULL, parse, "CAPTURE [QUERY]", doc, children, NULL, NULL};

/* ---- reading only -------------------------------------------------------------------------------
 */

static const char *const readable_pragmas[] = {
	"table_info",  "table_xinfo",   "table_list",    "index_list",       "index_info",
	"index_xinfo", "user_version",  "function_list", "foreign_key_list", "compile_options",
	"module_list", "database_list", "pragma_list",   "application_id",
};

static int allow_pragma(const char *name, const char *value)
{
	for (size_t i = 0; name && i < sizeof(readable_pragmas) / sizeof(*readable_pragmas); i++)
		if (!sqlite3_stricmp(name, readable_pragmas[i]))
			return value && strstr(name, "_version") ? SQLITE_DENY : SQLITE_OK;
	return SQLITE_DENY;
}

/*
 * What a statement that only reads may still not do. Whether it only reads is asked of SQLite once
 * it is prepared: virtual tables declare themselves by a CREATE TABLE while that happens.
 */
static int authorize(void *data, int action, const char *a, const char *b, const char *database,
		     const char *view)
{
	bool *denied = data;
	int verdict = SQLITE_OK;

	(void)database, (void)view;
	if (action == SQLITE_ATTACH || action == SQLITE_DETACH)
		verdict = SQLITE_DENY;
	else if (action == SQLITE_FUNCTION && b && !sqlite3_stricmp(b, "load_extension"))
		verdict = SQLITE_DENY;
	else if (action == SQLITE_PRAGMA)
		verdict = allow_pragma(a, b);
	if (verdict == SQLITE_DENY)
		*denied = true;
	return verdict;
}

/* ---- the query ----------------------------------------------------------------------------------
 */

/* All of f as text, malloc'ed; NULL with errno set. */
static char *slurp(FILE *f)
{
	size_t size = 0, used = 0;
	char *text = NULL;

	for (;;) {
		if (used + 4096 > size) {
			char *more = realloc(text, size = size * 2 + 8192);

			if (!more) {
				free(text);
				return NULL;
			}
			text = more;
		}
		used += fread(text + used, 1, size - used - 1, f);
		if (feof(f) || ferror(f))
			break;
	}
	text[used] = 0;
	if (ferror(f)) {
		free(text);
		return NULL;
	}
	return text;
}

static char *query_text(const char *query)
{
	char *text;
	FILE *f;

	if (!strcmp(query, "-"))
		return slurp(stdin);
	if (*query != '@')
		return strdup(query);
	f = fopen(query + 1, "re");
	if (!f) {
		cw_say("cannot read the query %s: %s", query + 1, strerror(errno));
		return NULL;
	}
	text = slurp(f);
	if (!text)
		cw_say("cannot read the query %s: %s", query + 1, strerror(errno));
	fclose(f);
	return text;
}

static int sql_error(sqlite3 *db, bool denied, bool raw)
{
	const char *text = sqlite3_errmsg(db);

	if (denied)
		return cw_fail(-EPERM, "SQL error: the database is read-only here: %s", text);
	if (!raw && strstr(text, "no such table: raw_"))
		return cw_fail(-EINVAL,
			       "SQL error: %s; the raw_ tables need the capture file itself", text);
	if (strstr(text, "no such column: "))
		return cw_fail(-EINVAL,
			       "SQL error: %s; the name of a table or view as QUERY shows its "
			       "columns",
			       text);
	if (strstr(text, "no such table: "))
		return cw_fail(-EINVAL, "SQL error: %s; without QUERY, sql lists what there is",
			       text);
	return cw_fail(-EINVAL, "SQL error: %s", text);
}

static int run_statements(sqlite3 *db, const char *sql, enum cw_format format, FILE *out, bool raw)
{
	bool denied = false, first = true;
	int err = 0;

	sqlite3_set_authorizer(db, authorize, &denied);
	while (!err && *sql) {
		sqlite3_stmt *stmt = NULL;
		long rows;

		if (sqlite3_prepare_v2(db, sql, -1, &stmt, &sql) != SQLITE_OK)
			return sql_error(db, denied, raw);
		if (!stmt)
			continue; /* a comment or blanks */
		denied = !sqlite3_stmt_readonly(stmt);
		if (denied) {
			sqlite3_finalize(stmt);
			return cw_fail(-EPERM, "SQL error: the database is read-only here");
		}
		if (!first && format != CW_FORMAT_JSONL)
			fputc('\n', out);
		first = false;
		rows = cw_print_rows(db, stmt, format, out);
		if (rows == -EBADMSG)
			err = sql_error(db, denied, raw);
		else if (rows < 0)
			err = (int)rows;
		sqlite3_finalize(stmt);
	}
	return err;
}

/* ---- the list of tables -------------------------------------------------------------------------
 */

static int list_tables(sqlite3 *db, const struct cw_raw *raw, FILE *out)
{
	sqlite3_stmt *s = NULL;

	if (sqlite3_prepare_v2(
		    db,
		    "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view')"
		    " AND name NOT LIKE 'sqlite_%' ORDER BY name",
		    -1, &s, NULL) != SQLITE_OK)
		return sql_error(db, false, true);
	while (sqlite3_step(s) == SQLITE_ROW) {
		const char *name = (const char *)sqlite3_column_text(s, 0);
		char *text = cw_schema_doc(name);

		fprintf(out, "%-20s %-5s  ", name, (const char *)sqlite3_column_text(s, 1));
		if (text && strstr(text, ". "))
			strstr(text, ". ")[1] = 0; /* the first sentence */
		cw_print_safe(out, text ?: "");
		fputc('\n', out);
		free(text);
	}
	sqlite3_finalize(s);
	if (raw) {
		fputs("\nRecords of the capture file:\n", out);
		cw_raw_list(raw, out);
	}
	return 0;
}

/* A query that is the name of a table or view asks what is in it. */
static bool is_name(const char *text)
{
	size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz_0123456789");

	return n && !text[n + strspn(text + n, " \n")];
}

static int list_columns(sqlite3 *db, const char *query, FILE *out)
{
	size_t len = strcspn(query, " \n"), n = 0;
	char *name = strndup(query, len), *text;
	sqlite3_stmt *s = NULL;

	if (!name ||
	    sqlite3_prepare_v2(db, "SELECT name, type FROM pragma_table_xinfo(?1) ORDER BY cid", -1,
			       &s, NULL) != SQLITE_OK) {
		free(name);
		return sql_error(db, false, true);
	}
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	for (; sqlite3_step(s) == SQLITE_ROW; n++) {
		const char *column = (const char *)sqlite3_column_text(s, 0);

		text = n ? NULL : cw_schema_doc(name);
		if (text) {
			cw_print_safe(out, text);
			fputs("\n\n", out);
			free(text);
		}
		text = cw_schema_column_doc(name, column);
		if (text)
			fprintf(out, "%-18s  %-7s  ", column,
				(const char *)sqlite3_column_text(s, 1));
		cw_print_safe(out, text ?: column);
		fputc('\n', out);
		free(text);
	}
	sqlite3_finalize(s);
	if (!n)
		cw_say("no table or view is called %s; without QUERY, sql lists what there is",
		       name);
	free(name);
	return n ? 0 : -ENOENT;
}

/* The raw tables of a capture that is a file. An imported database has none. */
static int add_raw(struct args *a, sqlite3 *db)
{
	const char *capture = a->listing.input.open.capture;
	char err[512];
	int rc;

	if (!cw_capture_is_file(capture))
		return 0;
	rc = cw_raw_register(&a->raw, db, capture, err, sizeof(err));
	return rc < 0 ? cw_fail(rc, "%s", err) : 0;
}

/* cw_listing_run's. */
static int print(void *arg, sqlite3 *db, FILE *out)
{
	struct args *a = arg;
	int err = add_raw(a, db);

	if (err)
		return err;
	sqlite3_exec(db, "PRAGMA query_only=1", NULL, NULL, NULL);
	if (!a->text)
		return list_tables(db, a->raw, out);
	if (is_name(a->text))
		return list_columns(db, a->text, out);
	return run_statements(db, a->text, a->listing.format, out, a->raw != NULL);
}

int cw_cmd_sql(int argc, char **argv)
{
	struct args a = {0};
	int status;

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	if (a.query) {
		a.text = query_text(a.query);
		if (!a.text) {
			cw_input_free(&a.listing.input);
			return 1;
		}
	}
	status = cw_listing_run(&a.listing, print, &a);
	cw_raw_free(a.raw);
	free(a.text);
	return status;
}
