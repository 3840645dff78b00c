/* SPDX-License-Identifier: GPL-2.0-only */
/* Finds the comment of a table in the schema's text. Knows only that comments stand above. */
#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "schema_doc.h"

static const char schema[] =
#include "schema.inc"
	;

const char *cw_schema_text(void)
{
	return schema;
}

/* Does the line at p create name? */
static bool creates(const char *p, const char *name)
{
	size_t len = strlen(name);

	if (!strncmp(p, "CREATE TABLE ", 13))
		p += 13;
	else if (!strncmp(p, "CREATE VIEW ", 12))
		p += 12;
	else
		return false;
	return !strncmp(p, name, len) && !isalnum((unsigned char)p[len]) && p[len] != '_';
}

static const char *next_line(const char *line)
{
	line += strcspn(line, "\n");
	return line + (*line == '\n');
}

static bool is_comment(const char *line)
{
	return !strncmp(line + strspn(line, "\t "), "--", 2);
}

/* The comment lines from..to as one line, malloc'ed. */
static char *joined(const char *from, const char *to)
{
	char *line = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&line, &size);

	if (!f)
		return NULL;
	for (; from < to; from = next_line(from)) {
		const char *text = from + strspn(from, "\t ") + 2;

		text += *text == ' ';
		fprintf(f, "%s%.*s", ftell(f) ? " " : "", (int)strcspn(text, "\n"), text);
	}
	fclose(f);
	return line;
}

/* The line that creates name, and the comment right above it; NULL when there is none. */
static const char *find(const char *name, const char **comment)
{
	const char *line = schema;

	*comment = NULL;
	for (; *line && !creates(line, name); line = next_line(line)) {
		if (!is_comment(line))
			*comment = NULL;
		else if (!*comment)
			*comment = line;
	}
	return *line ? line : NULL;
}

char *cw_schema_doc(const char *name)
{
	const char *comment, *line = find(name, &comment);

	return line && comment ? joined(comment, line) : NULL;
}

/* Does the line, of len bytes, of a table's or a view's definition give the column its name? */
static bool names(const char *line, size_t len, bool view, const char *column)
{
	size_t n = strlen(column);

	if (!view)
		return !strncmp(line + 1, column, n) && strchr(" ,\n", line[1 + n]);
	while (len && strchr(",;", line[len - 1]))
		len--;
	return len > n + 4 && !strncmp(line + len - n, column, n) &&
	       strchr(" \t", line[len - n - 4]) && !strncmp(line + len - n - 3, "AS ", 3);
}

/* As schema/doc.sh reads it: in a view, a comment is about all columns up to the next one. */
char *cw_schema_column_doc(const char *object, const char *column)
{
	const char *comment, *end = NULL, *from = NULL, *to = NULL, *line = find(object, &comment);
	bool view = line && !strncmp(line, "CREATE VIEW", 11), open = false;

	comment = NULL;
	for (line = line ? next_line(line) : ""; *line; line = next_line(line)) {
		if (*line == ')' || !strncmp(line, "FROM", 4))
			break;
		if (is_comment(line)) {
			comment = open ? comment : line;
			open = true;
			end = next_line(line);
			continue;
		}
		open = false;
		if (comment && names(line, strcspn(line, "\n"), view, column)) {
			from = comment;
			to = end;
		}
		if (!view)
			comment = NULL;
	}
	return from ? joined(from, to) : NULL;
}
