/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names in a YAML document. Symbols and paths may hold any byte, YAML only UTF-8: each byte that is
 * not part of a valid character stands as the private-use character U+F700 plus its value. Must not
 * know what has the name.
 */
#include <stdlib.h>
#include <string.h>
#include "plan_build.h"
#include "safetext.h"

#define STAND_IN 0xf700u

/* Bytes below 0x80 are characters always. */
static bool is_stand_in(unsigned int c)
{
	return c >= STAND_IN + 0x80 && c <= STAND_IN + 0xff;
}

char *cw_plan_name_to_text(const char *name)
{
	const unsigned char *s = (const unsigned char *)name;
	char *text = malloc(3 * strlen(name) + 1), *to = text;
	unsigned int c;

	while (text && *s) {
		int n = cw_utf8_decode(s, &c);

		if (n && !is_stand_in(c)) {
			memcpy(to, s, n);
			to += n;
			s += n;
			continue;
		}
		/* A character that would be taken for a stand-in goes byte by byte, too. */
		c = STAND_IN + *s++;
		*to++ = (char)(0xe0 | c >> 12);
		*to++ = (char)(0x80 | (c >> 6 & 0x3f));
		*to++ = (char)(0x80 | (c & 0x3f));
	}
	if (text)
		*to = '\0';
	return text;
}

char *cw_plan_name_from_text(const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	char *name = malloc(strlen(text) + 1), *to = name;
	unsigned int c;

	while (name && *s) {
		int n = cw_utf8_decode(s, &c);

		if (n && is_stand_in(c)) {
			*to++ = (char)(c - STAND_IN);
			s += n;
			continue;
		}
		n = n ? n : 1;
		memcpy(to, s, n);
		to += n;
		s += n;
	}
	if (name)
		*to = '\0';
	return name;
}
