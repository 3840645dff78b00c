/* SPDX-License-Identifier: GPL-2.0-only */
/* The keys of a plan's YAML document: one table for reading and writing. */
#ifndef CW_PLAN_KEYS_H
#define CW_PLAN_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <yaml.h>

struct load;

enum value_kind {
	V_NAME,
	V_BOOL,
	V_COUNT,
	V_OFFSET,
	V_MS,
	V_SECONDS,
	V_ARG,
	V_ARG_AUTO,
	V_MATCH,
	V_RETURNS,
	V_NODE
};

/* One key of a mapping and where its value goes. */
struct key {
	const char *name;
	enum value_kind kind;
	size_t offset;
	bool required;
	int (*node)(struct load *l, yaml_node_t *value); /* for V_NODE */
};

extern const struct key cw_plan_keys[]; /* each table ends with a NULL name */
extern const struct key cw_plan_func_keys[];
extern const struct key cw_plan_hop_keys[];
extern const struct key cw_plan_filter_keys[]; /* offsets from the start of struct cw_plan */
extern const char *const cw_returns_names[];   /* by enum cw_returns */
extern const char *const cw_match_names[];     /* by enum cw_match */

#endif
