/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions by pattern. */
#ifndef CW_PATTERNS_H
#define CW_PATTERNS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "plan.h"
#include "resolve.h"
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

/* Whether a name is a pattern. */
bool cw_patterns_is(const char *name);

/*
 * Call fn for each function of a file that a pattern matches, by name: with its address and its
 * file offset (0: not in an executable segment). pid as for cw_resolve_symbol. Returns -ENOENT when
 * there is none, -E2BIG when there are more than it calls fn for; err gets one sentence.
 */
int cw_patterns_each(int fd, const char *path, uint32_t pid, const char *pattern,
		     void (*fn)(void *arg, const char *name, const struct cw_func *func), void *arg,
		     char *err);

#endif
