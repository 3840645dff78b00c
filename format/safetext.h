/* SPDX-License-Identifier: GPL-2.0-only */
/* Text that others chose, such as names of threads, files and symbols, before it reaches a
 * terminal. */
#ifndef CW_SAFETEXT_H
#define CW_SAFETEXT_H

#include <stdbool.h>

/* Bytes of the UTF-8 character at s, and the character; 0 when no valid one starts there. */
int cw_utf8_decode(const unsigned char *s, unsigned int *out);

/* Does this character move the cursor, start an escape or reorder what is read? */
bool cw_char_hostile(unsigned int c);

#endif
