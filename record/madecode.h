/* SPDX-License-Identifier: GPL-2.0-only */
/* Which mappings hold code that may have been made, or moved there, while the program ran. Pure. */
#ifndef CW_MADECODE_H
#define CW_MADECODE_H

#include <stdbool.h>

/* Names of memory without a file: in brackets, but for the code that the kernel gives every
 * process. */
bool cw_is_memory(const char *path);

/* That, and files that are memory: memfd, shared and on huge pages. path without " (deleted)". */
bool cw_may_be_made(const char *path);

#endif
