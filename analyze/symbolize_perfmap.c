/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the text format of perf maps. The text is not trusted: any program can write one. */
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize_perfmap.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

/* A hexadecimal number and the blanks behind it; *at moves past both. */
static bool take_number(const char **at, const char *end, uint64_t *value)
{
	const char *p = *at;
	int digits = 0;

	if (end - p > 2 && p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	for (*value = 0; p < end && digits <= 16; p++, digits++) {
		unsigned c = (unsigned char)*p, lower = c | 0x20;

		if (c >= '0' && c <= '9')
			*value = *value << 4 | (c - '0');
		else if (lower >= 'a' && lower <= 'f')
			*value = *value << 4 | (lower - 'a' + 10);
		else
			break;
	}
	if (!digits || digits > 16 || p == end || *p != ' ')
		return false;
	while (p < end && *p == ' ')
		p++;
	*at = p;
	return true;
}

long cw_perfmap_add(const char *text, size_t size, struct obstack *mem, struct cw_symtab *table)
{
	const char *end = text + size, *next;
	long taken = 0;

	for (; text < end; text = next) {
		const char *eol = memchr(text, '\n', end - text);
		uint64_t start, length;

		next = eol ? eol + 1 : end;
		if (!eol)
			eol = end;
		if (!take_number(&text, eol, &start) || !take_number(&text, eol, &length) ||
		    text == eol || !length || memchr(text, 0, eol - text))
			continue;
		if (cw_symtab_add(table, start, length, UINT64_MAX,
				  obstack_copy0(mem, text, eol - text), true))
			return -ENOMEM;
		taken++;
	}
	return taken;
}
