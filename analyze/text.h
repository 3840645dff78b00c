/* SPDX-License-Identifier: GPL-2.0-only */
/* Building blocks of text reports: colours, numbers with units, times, and lines that wrap. */
#ifndef CW_TEXT_H
#define CW_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum cw_color { CW_COLOR_AUTO, CW_COLOR_ALWAYS, CW_COLOR_NEVER };

/* How a text report writes. */
struct cw_text {
	FILE *out;
	bool color;
	bool utf8;              /* the terminal or reader takes UTF-8, by the locale's name */
	int width;              /* columns at which lines wrap; 0: never */
	int64_t wall_offset_ns; /* add to a ts to get ns since 1970 */
	int64_t utc_offset_s;   /* local time of the recorded host */
	int column;             /* of the line being written */
};

enum cw_style { CW_PLAIN, CW_BOLD, CW_DIM, CW_WARN };

/* Decide colour and width for out: auto means a terminal, and NO_COLOR unset. */
void cw_text_init(struct cw_text *t, FILE *out, enum cw_color color);

/* "12 ns", "8.742 us", "20.112 ms", "1.250 s" into buf, which it returns. */
#define CW_DURATION_SIZE 32
const char *cw_duration(char buf[CW_DURATION_SIZE], int64_t ns);

/* 1234567 as "1,234,567" into buf, which it returns. */
const char *cw_number(char buf[CW_DURATION_SIZE], int64_t n);

/* ts as "2026-07-25 12:00:00.123456" in the recorded host's time. */
#define CW_TIME_SIZE 48
const char *cw_wall_time(char buf[CW_TIME_SIZE], const struct cw_text *t, int64_t ts);

/* Write text in a style; what it holds is neutralized. Does not count columns. */
void cw_styled(struct cw_text *t, enum cw_style style, const char *text);

/*
 * A line of fields: begin writes text at the start, each field follows after a blank or, where it
 * would pass the width, on a new line that is indented; end closes it.
 */
void cw_line_begin(struct cw_text *t, int indent, enum cw_style style, const char *fmt, ...)
	__attribute__((format(printf, 4, 5)));
void cw_field(struct cw_text *t, enum cw_style style, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
/* A word of a sentence: as cw_field, but , ; ) and . follow without a blank. */
void cw_word_field(struct cw_text *t, enum cw_style style, const char *word);
void cw_field_ns(struct cw_text *t, const char *name, bool known, int64_t ns);
void cw_line_end(struct cw_text *t);

#endif
