/* SPDX-License-Identifier: GPL-2.0-only */
/* Checking a capture as a whole: what the reader finds, and whether its records fit together. */
#ifndef CW_VALIDATE_H
#define CW_VALIDATE_H

#include <stdio.h>
#include "capture.h"

/*
 * Read r to its end and print what is wrong, one sentence a line, then one line that sums up.
 * Returns how many sentences were printed, or a negative errno.
 */
long cw_validate(struct cw_reader *r, const char *name, FILE *out);

#endif
