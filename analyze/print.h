/* SPDX-License-Identifier: GPL-2.0-only */
/* One printer over rows of a statement: text table, JSONL or CSV. Formats, and decides nothing. */
#ifndef CW_PRINT_H
#define CW_PRINT_H

#include <sqlite3.h>
#include <stdio.h>

enum cw_format { CW_FORMAT_TEXT, CW_FORMAT_JSONL, CW_FORMAT_CSV };

/* "text" or "table", "jsonl" or "json", "csv"; -EINVAL otherwise. */
int cw_format_parse(const char *name, enum cw_format *out);

/*
 * Step stmt to its end and print each row. JSONL is built by json_object; a column named *_json
 * is embedded as JSON under the name before that. CSV and text have a line of column names first.
 * Control characters in text are neutralized, blobs are hexadecimal. Returns rows printed or a
 * negative errno: -EPIPE when the reader went away, another one of writing, or -EBADMSG when
 * the statement failed, which sqlite3_errmsg(db) then explains.
 */
long cw_print_rows(sqlite3 *db, sqlite3_stmt *stmt, enum cw_format format, FILE *out);

/* Write text with control characters, terminal escapes and invalid UTF-8 replaced, as \xNN. */
void cw_print_safe(FILE *out, const char *text);

/* Columns that cw_print_safe needs for text. */
int cw_print_columns(const char *text);

/* Write JSON text made by SQLite; what is no UTF-8 or not printable in it becomes an escape. */
void cw_print_json(FILE *out, const char *json);

#endif
