/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Rows of a statement as a text table, JSONL or CSV. Knows columns and values, nothing of what
 * they mean. JSON is made by SQLite.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "print.h"
#include "safetext.h"

int cw_format_parse(const char *name, enum cw_format *out)
{
	if (!strcmp(name, "text") || !strcmp(name, "table"))
		*out = CW_FORMAT_TEXT;
	else if (!strcmp(name, "jsonl") || !strcmp(name, "json"))
		*out = CW_FORMAT_JSONL;
	else if (!strcmp(name, "csv"))
		*out = CW_FORMAT_CSV;
	else
		return -EINVAL;
	return 0;
}

/* ---- text that others chose ---------------------------------------------------------------------
 */

/* Bytes at s that need no thought: printable ASCII. */
static size_t plain(const unsigned char *s)
{
	size_t n = 0;

	while (s[n] >= 0x20 && s[n] < 0x7f)
		n++;
	return n;
}

/* Write text; returns the columns used. out may be NULL to measure. */
static int put_safe(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int c = 0;
	int columns = 0;

	while (*s) {
		size_t run = plain(s);
		int n = run ? (int)run : cw_utf8_decode(s, &c);

		if (run || (n && !cw_char_hostile(c))) {
			if (out)
				fwrite(s, 1, (size_t)n, out);
			columns += run ? n : 1;
			s += n;
			continue;
		}
		for (int i = 0; i < (n ? n : 1); i++) {
			if (out)
				fprintf(out, "\\x%02x", s[i]);
			columns += 4;
		}
		s += n ? n : 1;
	}
	return columns;
}

void cw_print_safe(FILE *out, const char *text)
{
	put_safe(out, text);
}

int cw_print_columns(const char *text)
{
	return put_safe(NULL, text);
}

void cw_print_json(FILE *out, const char *json)
{
	const unsigned char *s = (const unsigned char *)json;
	unsigned int c = 0;

	/* Outside of strings JSON text from SQLite is plain ASCII, so an escape is always in one.
	 */
	while (*s) {
		size_t run = plain(s);
		int n = run ? (int)run : cw_utf8_decode(s, &c);

		if (!n)
			fputs("\\ufffd", out);
		else if (!run && cw_char_hostile(c))
			fprintf(out, "\\u%04x", c);
		else
			fwrite(s, 1, (size_t)n, out);
		s += n ? n : 1;
	}
}

/* ---- cells --------------------------------------------------------------------------------------
 */

/* The value as text, in buf when it is not text already. A blob is hexadecimal, NULL is null. */
static char *cell_text(sqlite3_stmt *stmt, int col, const char *null)
{
	static const char hex[] = "0123456789abcdef";
	const unsigned char *blob;
	char *text;
	int size;

	if (sqlite3_column_type(stmt, col) == SQLITE_NULL)
		return strdup(null);
	if (sqlite3_column_type(stmt, col) != SQLITE_BLOB)
		return strdup((const char *)sqlite3_column_text(stmt, col) ?: "");
	blob = sqlite3_column_blob(stmt, col);
	size = sqlite3_column_bytes(stmt, col);
	text = malloc((size_t)size * 2 + 1);
	if (!text)
		return NULL;
	for (int i = 0; i < size; i++) {
		text[2 * i] = hex[blob[i] >> 4];
		text[2 * i + 1] = hex[blob[i] & 15];
	}
	text[2 * size] = 0;
	return text;
}

static int write_error(FILE *out)
{
	if (!ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

static int step(sqlite3_stmt *stmt)
{
	int rc = sqlite3_step(stmt);

	if (rc == SQLITE_ROW)
		return 1;
	return rc == SQLITE_DONE ? 0 : -EBADMSG;
}

/* ---- text table ---------------------------------------------------------------------------------
 */

#define SAMPLE 1000 /* rows that decide the widths; the rest streams */

struct table {
	FILE *out;
	int ncols;
	int *width;
	bool *number; /* right-aligned: no row of the sample holds text */
	char **cells; /* of the sample, row by row */
	bool *blank;  /* number[] saw only NULL so far */
	long nrows;
};

static void put_cell(struct table *t, int col, const char *text)
{
	int pad = t->width[col] - cw_print_columns(text);
	bool last = col == t->ncols - 1;

	if (t->number[col])
		fprintf(t->out, "%*s", pad > 0 ? pad : 0, "");
	cw_print_safe(t->out, text);
	if (!t->number[col] && !last)
		fprintf(t->out, "%*s", pad > 0 ? pad : 0, "");
	fputs(last ? "\n" : "  ", t->out);
}

static int sample_row(struct table *t, sqlite3_stmt *stmt)
{
	for (int c = 0; c < t->ncols; c++) {
		char *text = cell_text(stmt, c, "-");
		int type = sqlite3_column_type(stmt, c);
		int columns;

		if (!text)
			return -ENOMEM;
		t->cells[t->nrows * t->ncols + c] = text;
		columns = cw_print_columns(text);
		if (columns > t->width[c])
			t->width[c] = columns;
		if (type == SQLITE_TEXT || type == SQLITE_BLOB)
			t->number[c] = false;
		if (type != SQLITE_NULL)
			t->blank[c] = false;
	}
	t->nrows++;
	return 0;
}

static void put_sample(struct table *t, sqlite3_stmt *stmt)
{
	for (int c = 0; c < t->ncols; c++) {
		if (t->blank[c])
			t->number[c] = false;
		put_cell(t, c, sqlite3_column_name(stmt, c));
	}
	for (int c = 0; c < t->ncols; c++) {
		for (int i = 0; i < t->width[c]; i++)
			fputc('-', t->out);
		fputs(c == t->ncols - 1 ? "\n" : "  ", t->out);
	}
	for (long i = 0; i < t->nrows * t->ncols; i++)
		put_cell(t, (int)(i % t->ncols), t->cells[i]);
}

static long rows_streamed(struct table *t, sqlite3_stmt *stmt)
{
	long rows = t->nrows;
	int rc;

	while ((rc = step(stmt)) == 1) {
		for (int c = 0; c < t->ncols; c++) {
			char *text = cell_text(stmt, c, "-");

			if (!text)
				return -ENOMEM;
			put_cell(t, c, text);
			free(text);
		}
		rows++;
		if (ferror(t->out))
			break;
	}
	return rc < 0 ? rc : rows;
}

static long print_table(sqlite3_stmt *stmt, FILE *out)
{
	int n = sqlite3_column_count(stmt), rc = 0;
	struct table t = {.out = out, .ncols = n};
	long rows = -ENOMEM;

	t.width = calloc((size_t)n, sizeof(*t.width));
	t.number = calloc((size_t)n, sizeof(*t.number));
	t.blank = malloc((size_t)n);
	t.cells = calloc((size_t)n * SAMPLE, sizeof(*t.cells));
	if (!t.width || !t.number || !t.blank || !t.cells)
		goto cleanup;
	for (int c = 0; c < n; c++) {
		t.number[c] = t.blank[c] = true;
		t.width[c] = cw_print_columns(sqlite3_column_name(stmt, c));
	}
	while (t.nrows < SAMPLE && (rc = step(stmt)) == 1) {
		rc = sample_row(&t, stmt);
		if (rc)
			break;
	}
	if (rc < 0) {
		rows = rc;
		goto cleanup;
	}
	put_sample(&t, stmt);
	rows = t.nrows == SAMPLE ? rows_streamed(&t, stmt) : t.nrows;
cleanup:
	for (long i = 0; t.cells && i < SAMPLE * n; i++)
		free(t.cells[i]);
	free(t.cells);
	free(t.width);
	free(t.number);
	free(t.blank);
	return rows;
}

/* ---- CSV ----------------------------------------------------------------------------------------
 */

static void put_csv(FILE *out, const char *text)
{
	if (!strpbrk(text, ",\"") && *text != ' ' && (!*text || text[strlen(text) - 1] != ' ')) {
		cw_print_safe(out, text);
		return;
	}
	fputc('"', out);
	for (const char *quote; (quote = strchr(text, '"')); text = quote + 1) {
		char *part = strndup(text, (size_t)(quote - text));

		if (part)
			cw_print_safe(out, part);
		free(part);
		fputs("\"\"", out);
	}
	cw_print_safe(out, text);
	fputc('"', out);
}

static long print_csv(sqlite3_stmt *stmt, FILE *out)
{
	int n = sqlite3_column_count(stmt), rc;
	long rows = 0;

	for (int c = 0; c < n; c++) {
		put_csv(out, sqlite3_column_name(stmt, c));
		fputc(c == n - 1 ? '\n' : ',', out);
	}
	while ((rc = step(stmt)) == 1) {
		for (int c = 0; c < n; c++) {
			char *text = cell_text(stmt, c, "");

			if (!text)
				return -ENOMEM;
			put_csv(out, text);
			fputc(c == n - 1 ? '\n' : ',', out);
			free(text);
		}
		rows++;
		if (ferror(out))
			break;
	}
	return rc < 0 ? rc : rows;
}

/* ---- JSONL --------------------------------------------------------------------------------------
 */

#define PER_OBJECT 60 /* a function takes at most 127 arguments */
/* The members of an object without its braces, to be joined with those of others. */
#define OPEN  "(SELECT substr(o,2,length(o)-2)FROM(SELECT json_object("
#define CLOSE ")AS o))"

static bool is_json_column(const char *name, size_t *len)
{
	*len = strlen(name);
	if (*len <= 5 || strcmp(name + *len - 5, "_json") != 0)
		return false;
	*len -= 5;
	return true;
}

/* SELECT one JSON text made of parameters 1..n, named as stmt's columns. */
static int prepare_object(sqlite3 *db, sqlite3_stmt *stmt, sqlite3_stmt **out)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	int n = sqlite3_column_count(stmt), rc;
	char *text;

	sqlite3_str_appendall(sql, n > PER_OBJECT ? "SELECT '{'||" : "SELECT ");
	for (int c = 0; c < n; c++) {
		const char *name = sqlite3_column_name(stmt, c);
		size_t len;
		bool json = is_json_column(name, &len);

		if (n > PER_OBJECT && c % PER_OBJECT == 0)
			sqlite3_str_appendf(sql, "%s" OPEN, c ? CLOSE "||','||" : "");
		else if (!c)
			sqlite3_str_appendall(sql, "json_object(");
		else
			sqlite3_str_appendall(sql, ",");
		sqlite3_str_appendf(sql, "'%.*q',", (int)len, name);
		if (json)
			sqlite3_str_appendf(sql,
					    "CASE WHEN json_valid(?%d) THEN json(?%d) ELSE ?%d END",
					    c + 1, c + 1, c + 1);
		else
			sqlite3_str_appendf(sql, "?%d", c + 1);
	}
	sqlite3_str_appendall(sql, n > PER_OBJECT ? CLOSE "||'}'" : ")");
	text = sqlite3_str_finish(sql);
	if (!text)
		return -ENOMEM;
	rc = sqlite3_prepare_v2(db, text, -1, out, NULL);
	sqlite3_free(text);
	return rc == SQLITE_OK ? 0 : -EBADMSG;
}

static int bind_row(sqlite3_stmt *object, sqlite3_stmt *stmt, int n)
{
	for (int c = 0; c < n; c++) {
		int rc;

		if (sqlite3_column_type(stmt, c) == SQLITE_BLOB)
			rc = sqlite3_bind_text(object, c + 1, cell_text(stmt, c, ""), -1, free);
		else
			rc = sqlite3_bind_value(object, c + 1, sqlite3_column_value(stmt, c));
		if (rc != SQLITE_OK)
			return -ENOMEM;
	}
	return 0;
}

static long print_jsonl(sqlite3 *db, sqlite3_stmt *stmt, FILE *out)
{
	sqlite3_stmt *object = NULL;
	int rc = prepare_object(db, stmt, &object);
	long rows = 0;

	if (rc)
		return rc;
	while ((rc = step(stmt)) == 1) {
		rc = bind_row(object, stmt, sqlite3_column_count(stmt));
		if (!rc && step(object) != 1)
			rc = -EBADMSG;
		if (rc < 0)
			break;
		cw_print_json(out, (const char *)sqlite3_column_text(object, 0));
		fputc('\n', out);
		sqlite3_reset(object);
		rows++;
		if (ferror(out))
			break;
	}
	sqlite3_finalize(object);
	return rc < 0 ? rc : rows;
}

long cw_print_rows(sqlite3 *db, sqlite3_stmt *stmt, enum cw_format format, FILE *out)
{
	long rows;
	int err;

	errno = 0;
	if (format == CW_FORMAT_JSONL)
		rows = print_jsonl(db, stmt, out);
	else if (format == CW_FORMAT_CSV)
		rows = print_csv(stmt, out);
	else
		rows = print_table(stmt, out);
	err = write_error(out);
	return err ? err : rows;
}
