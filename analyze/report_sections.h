/* SPDX-License-Identifier: GPL-2.0-only */
/* Sections of the text report, by name and in their order on the screen. */
#ifndef CW_REPORT_SECTIONS_H
#define CW_REPORT_SECTIONS_H

#include <stdbool.h>

/* X(NAME, name, whether it is shown when no section is asked for, what it is) */
/* clang-format off */
#define CW_SECTIONS(X) \
	X(ANSWER, "answer", true, "what took the time, and why") \
	X(CAPTURE, "capture", true, "what was recorded, lost and filtered") \
	X(RECORDS, "records", true, "the chains and calls themselves") \
	X(SUMMARY, "summary", true, "counts, latencies and queues of each hop and function") \
	X(HISTOGRAMS, "histograms", false, "how durations spread") \
	X(QUEUES, "queues", false, "queue and thread pool diagnostics, as `diagnostics`") \
	X(BLOCKED, "blocked", false, "top reasons of waits, as `blocked`") \
	X(DOUBTS, "doubts", true, "what is in doubt")
/* clang-format on */

#define CW_X_SECTION(NAME, name, shown, text) CW_SECTION_##NAME,
enum cw_section { CW_SECTIONS(CW_X_SECTION) CW_NSECTIONS };
#undef CW_X_SECTION

/* Bits of the sections shown when none is asked for. */
unsigned int cw_sections_default(void);

/* Bits of a list such as "answer,summary", or of "all"; false when a name in it is unknown. */
bool cw_sections_parse(const char *list, unsigned int *out);

#endif
