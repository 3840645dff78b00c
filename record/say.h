/* SPDX-License-Identifier: GPL-2.0-only */
/* What the recorder prints. Names that the target chose cannot do anything to the terminal. */
#ifndef CW_SAY_H
#define CW_SAY_H

#include <stdio.h>

/* A sentence on stderr, behind the program's name and with a newline; in one line whatever is in
 * it. */
void cw_say(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* Text alone. */
void cw_put(FILE *out, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
