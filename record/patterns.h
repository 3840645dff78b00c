/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions by pattern. */
#ifndef CW_PATTERNS_H
#define CW_PATTERNS_H

#include <stddef.h>
#include "plan.h"
#include "target.h"

#define CW_MAX_BY_PATTERN 200

/*
 * Put the functions that patterns (names with *, ? or [ as for file names) match in their places in
 * the plan: those with a size, clones left out, at most CW_MAX_BY_PATTERN. say is told of them, a
 * line each. *last gets how many functions the plan's last one became (1 when it is no pattern).
 * err gets one sentence.
 */
int cw_patterns_expand(struct cw_plan *plan, const struct cw_target *t, size_t *last,
		       void (*say)(const char *text), char *err);

#endif
