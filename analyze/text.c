/* SPDX-License-Identifier: GPL-2.0-only */
/* Text building blocks. Knows units and terminals, nothing of calls and chains. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>
#include "print.h"
#include "text.h"

#define WRAP_INDENT 4

/* Does the locale's name say UTF-8? The first that is set of these decides. */
static bool locale_is_utf8(void)
{
	static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const char *value = getenv(names[i]);

		if (value && *value)
			return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
	}
	return false;
}

void cw_text_init(struct cw_text *t, FILE *out, enum cw_color color)
{
	const char *no_color = getenv("NO_COLOR"), *term = getenv("TERM");
	bool tty = isatty(fileno(out));
	struct winsize size;

	memset(t, 0, sizeof(*t));
	t->out = out;
	t->utf8 = locale_is_utf8();
	t->color = color == CW_COLOR_ALWAYS ||
		   (color == CW_COLOR_AUTO && tty && !(no_color && *no_color) &&
		    !(term && !strcmp(term, "dumb")));
	if (tty && !ioctl(fileno(out), TIOCGWINSZ, &size) && size.ws_col >= 40)
		t->width = size.ws_col;
}

const char *cw_duration(char buf[CW_DURATION_SIZE], int64_t ns)
{
	int64_t size = ns < 0 ? -ns : ns;

	if (size < 1000)
		snprintf(buf, CW_DURATION_SIZE, "%" PRId64 " ns", ns);
	else if (size < 1000000)
		snprintf(buf, CW_DURATION_SIZE, "%.3f us", (double)ns / 1e3);
	else if (size < 999999500) /* what would round to 1000.000 ms is a second */
		snprintf(buf, CW_DURATION_SIZE, "%.3f ms", (double)ns / 1e6);
	else
		snprintf(buf, CW_DURATION_SIZE, "%.3f s", (double)ns / 1e9);
	return buf;
}

const char *cw_number(char buf[CW_DURATION_SIZE], int64_t n)
{
	char digits[24], *to = buf;
	int len = snprintf(digits, sizeof(digits), "%" PRIu64, n < 0 ? -(uint64_t)n : (uint64_t)n);

	if (n < 0)
		*to++ = '-';
	for (int i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			*to++ = ',';
		*to++ = digits[i];
	}
	*to = 0;
	return buf;
}

const char *cw_wall_time(char buf[CW_TIME_SIZE], const struct cw_text *t, int64_t ts)
{
	int64_t ns = ts + t->wall_offset_ns;
	time_t s = (time_t)(ns / 1000000000 + t->utc_offset_s);
	size_t used;
	struct tm tm;

	if (!gmtime_r(&s, &tm)) {
		snprintf(buf, CW_TIME_SIZE, "?");
		return buf;
	}
	used = strftime(buf, CW_TIME_SIZE, "%Y-%m-%d %H:%M:%S", &tm);
	snprintf(buf + used, CW_TIME_SIZE - used, ".%06d", (int)(ns % 1000000000 / 1000));
	return buf;
}

void cw_styled(struct cw_text *t, enum cw_style style, const char *text)
{
	static const char *const on[] = {"", "\033[1m", "\033[2m", "\033[33m"};

	if (t->color)
		fputs(on[style], t->out);
	cw_print_safe(t->out, text);
	if (t->color && style != CW_PLAIN)
		fputs("\033[0m", t->out);
}

/* Text after a separator, or on a new line when it and room more columns would pass the width. */
static void put(struct cw_text *t, enum cw_style style, const char *before, int room,
		const char *fmt, va_list ap)
{
	char *text = NULL;
	int columns;

	if (vasprintf(&text, fmt, ap) < 0)
		return;
	columns = cw_print_columns(text);
	if (*before && t->width && t->column + 1 + columns + room > t->width) {
		fprintf(t->out, "\n%*s", WRAP_INDENT, "");
		t->column = WRAP_INDENT;
	} else {
		fputs(before, t->out);
		t->column += (int)strlen(before);
	}
	cw_styled(t, style, text);
	t->column += columns;
	free(text);
}

void cw_line_begin(struct cw_text *t, int indent, enum cw_style style, const char *fmt, ...)
{
	va_list ap;

	fprintf(t->out, "%*s", indent, "");
	t->column = indent;
	va_start(ap, fmt);
	put(t, style, "", 0, fmt, ap);
	va_end(ap);
}

void cw_field(struct cw_text *t, enum cw_style style, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(t, style, " ", 0, fmt, ap);
	va_end(ap);
}

static void put_word(struct cw_text *t, enum cw_style style, const char *before, const char *fmt,
		     ...) __attribute__((format(printf, 4, 5)));

static void put_word(struct cw_text *t, enum cw_style style, const char *before, const char *fmt,
		     ...)
{
	va_list ap;

	va_start(ap, fmt);
	put(t, style, before, 1, fmt, ap); /* room for the comma that may follow */
	va_end(ap);
}

void cw_word_field(struct cw_text *t, enum cw_style style, const char *word)
{
	put_word(t, style, *word && strchr(",;).", *word) ? "" : " ", "%s", word);
}

void cw_field_ns(struct cw_text *t, const char *name, bool known, int64_t ns)
{
	char buf[CW_DURATION_SIZE];

	cw_field(t, CW_PLAIN, "%s=%s", name, known ? cw_duration(buf, ns) : "unknown");
}

void cw_line_end(struct cw_text *t)
{
	fputc('\n', t->out);
	t->column = 0;
}
