/* SPDX-License-Identifier: GPL-2.0-only */
/* Building a plan piece by piece: what plan.c and plan_yaml.c share. */
#ifndef CW_PLAN_BUILD_H
#define CW_PLAN_BUILD_H

#include "plan.h"

/* Write a sentence to err (CW_PLAN_ERR bytes) and return error. */
int cw_plan_fail(char *err, int error, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define CW_PLAN_MAX 4096 /* functions, and hops, of one plan */

/* A new, empty last element, or NULL without memory or beyond CW_PLAN_MAX. */
struct cw_plan_func *cw_plan_grow_funcs(struct cw_plan *p);
struct cw_plan_hop *cw_plan_grow_hops(struct cw_plan *p);

/* As cw_plan_find, but module NULL only finds a function without a module. */
int cw_plan_find_exact(const struct cw_plan *p, const char *name, const char *module);

/*
 * A name as valid UTF-8, and back: malloc'ed, or NULL without memory. Any bytes but 0 survive both
 * ways.
 */
char *cw_plan_name_to_text(const char *name);
char *cw_plan_name_from_text(const char *text);

/* May text stand in YAML without quotes? Not what other readers take for something else than text.
 */
bool cw_plan_plain_word(const char *text);

#endif
