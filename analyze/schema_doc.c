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

char *cw_schema_doc(const char *name)
{
	const char *line = schema, *comment = NULL;
	char *text = NULL;
	size_t size = 0;
	FILE *f;

	while (*line && !creates(line, name)) {
		bool is_comment = !strncmp(line, "--", 2);

		if (!is_comment)
			comment = NULL;
		else if (!comment)
			comment = line;
		line += strcspn(line, "\n");
		line += *line == '\n';
	}
	if (!*line || !comment)
		return NULL;
	f = open_memstream(&text, &size);
	if (!f)
		return NULL;
	while (comment < line) {
		size_t len = strcspn(comment, "\n");
		size_t skip = strspn(comment, "- ");

		fprintf(f, "%s%.*s", ftell(f) ? " " : "", (int)(len > skip ? len - skip : 0),
			comment + skip);
		comment += len + 1;
	}
	fclose(f);
	return text;
}
