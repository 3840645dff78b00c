/* SPDX-License-Identifier: GPL-2.0-only */
/* Sentences for the user on stderr, and the end of an output that may have lost its reader. */
#ifndef CW_SAY_H
#define CW_SAY_H

#include <stdio.h>

/* "callweave-analyze: SENTENCE". Control characters of names in it are neutralized. */
void cw_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* As cw_say, and returns err, so that a leaf can say and fail in one line. */
int cw_fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/*
 * Flush out, which is called name, and close it unless it is stdout. err is what happened before
 * (0 or a negative errno): one of writing, or want of memory, is said here, others were by who met
 * them. Returns the exit status: a reader that went away is no failure.
 */
int cw_output_finish(FILE *out, const char *name, int err);

#endif
