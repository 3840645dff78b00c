/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the way of text to the terminal. Knows nothing of what is said. */
#include <stdarg.h>
#include <stdlib.h>
#include "safetext.h"
#include "say.h"

static void put_safe(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int c;

	while (*s) {
		int n = cw_utf8_decode(s, &c), size = n ? n : 1;

		if (n && !cw_char_hostile(c))
			fwrite(s, 1, (size_t)n, out);
		else
			for (int i = 0; i < size; i++)
				fprintf(out, "\\x%02x", s[i]);
		s += size;
	}
}

static void vput(FILE *out, const char *fmt, va_list ap)
{
	char *text;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	put_safe(out, text);
	free(text);
}

void cw_put(FILE *out, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vput(out, fmt, ap);
	va_end(ap);
}

void cw_say(const char *fmt, ...)
{
	va_list ap;

	fputs("callweave-record: ", stderr);
	va_start(ap, fmt);
	vput(stderr, fmt, ap);
	va_end(ap);
	fputc('\n', stderr);
}
