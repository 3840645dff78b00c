/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plan from a YAML document. Each mapping is described by a table of its keys; messages name
 * file, line, column, value and what was expected.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include "plan_build.h"
#include "plan_keys.h"

#define MAX_YAML (1u << 20) /* bytes of a document */

struct load {
	yaml_document_t *doc;
	struct cw_plan *plan;
	const char *file;
	char *err;
};

const char *const cw_returns_names[] = {
	[CW_RETURNS_ANY] = "any",
	[CW_RETURNS_NONZERO] = "nonzero",
	[CW_RETURNS_ZERO] = "zero",
	[CW_RETURNS_NONNEGATIVE] = "nonnegative",
};

const char *const cw_match_names[] = {
	[CW_MATCH_NEWEST] = "newest",
	[CW_MATCH_OLDEST] = "oldest",
	[CW_MATCH_ALL] = "all",
};

__attribute__((format(printf, 3, 4))) static int complain(struct load *l, const yaml_node_t *node,
							  const char *format, ...)
{
	char text[CW_PLAN_ERR];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	return cw_plan_fail(l->err, -EINVAL, "%s:%zu:%zu: %s", l->file, node->start_mark.line + 1,
			    node->start_mark.column + 1, text);
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Text of a scalar, or NULL when node is none or holds a NUL byte. */
static const char *scalar(const yaml_node_t *node)
{
	const char *s;

	if (node->type != YAML_SCALAR_NODE)
		return NULL;
	s = (const char *)node->data.scalar.value;
	return strlen(s) == node->data.scalar.length ? s : NULL;
}

static const char *expectation(enum value_kind kind)
{
	switch (kind) {
	case V_NAME:
		return "a name";
	case V_BOOL:
		return "true or false";
	case V_COUNT:
		return "a whole number";
	case V_OFFSET:
		return "a file offset such as 0x11c9";
	case V_MS:
		return "milliseconds, a number of at most 6 decimals";
	case V_SECONDS:
		return "seconds, a number of at most 9 decimals";
	case V_ARG:
		return "an argument position, 1-8";
	case V_ARG_AUTO:
		return "an argument position, 1-8, or auto";
	case V_MATCH:
		return "newest, oldest or all";
	case V_RETURNS:
		return "any, nonzero, zero or nonnegative";
	case V_NODE:
		break;
	}
	return "another kind of value";
}

static bool parse_bool(const char *s, bool *out)
{
	*out = !strcmp(s, "true");
	return *out || !strcmp(s, "false");
}

static bool parse_u64(const char *s, int base, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)*s))
		return false;
	errno = 0;
	*out = strtoull(s, &end, base);
	return !errno && !*end;
}

/* A decimal number times 10^decimals, exact: "1.5" with 3 decimals is 1500. */
static bool parse_scaled(const char *s, unsigned decimals, uint64_t *out)
{
	bool point = false;
	uint64_t v = 0;

	if (!isdigit((unsigned char)*s))
		return false;
	for (; *s; s++) {
		if (*s == '.' && !point && isdigit((unsigned char)s[1])) {
			point = true;
			continue;
		}
		if (!isdigit((unsigned char)*s) || (point && decimals == 0))
			return false;
		if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, *s - '0', &v))
			return false;
		decimals -= point;
	}
	for (; decimals; decimals--)
		if (__builtin_mul_overflow(v, 10, &v))
			return false;
	*out = v;
	return true;
}

static bool parse_arg(const char *s, bool may_auto, uint32_t *out)
{
	*out = may_auto && !strcmp(s, "auto") ? CW_ARG_AUTO : s[0] - '0';
	return (may_auto && !strcmp(s, "auto")) || (s[0] >= '1' && s[0] <= '8' && !s[1]);
}

static bool parse_returns(const char *s, enum cw_returns *out)
{
	for (size_t i = 0; i < sizeof(cw_returns_names) / sizeof(cw_returns_names[0]); i++) {
		if (!strcmp(s, cw_returns_names[i])) {
			*out = i;
			return true;
		}
	}
	return false;
}

static bool parse_match(const char *s, enum cw_match *out)
{
	for (size_t i = 0; i < sizeof(cw_match_names) / sizeof(cw_match_names[0]); i++) {
		if (!strcmp(s, cw_match_names[i])) {
			*out = i;
			return true;
		}
	}
	return false;
}

static bool parse_name(const char *s, char **out)
{
	free(*out);
	*out = *s ? cw_plan_name_from_text(s) : NULL;
	return *out;
}

static bool parse_value(enum value_kind kind, const char *s, void *to)
{
	switch (kind) {
	case V_NAME:
		return parse_name(s, to);
	case V_BOOL:
		return parse_bool(s, to);
	case V_COUNT:
		return parse_u64(s, 10, to);
	case V_OFFSET:
		return parse_u64(s, 0, to);
	case V_MS:
		return parse_scaled(s, 6, to);
	case V_SECONDS:
		return parse_scaled(s, 9, to);
	case V_ARG:
		return parse_arg(s, false, to);
	case V_ARG_AUTO:
		return parse_arg(s, true, to);
	case V_MATCH:
		return parse_match(s, to);
	case V_RETURNS:
		return parse_returns(s, to);
	case V_NODE:
		break;
	}
	return false;
}

/* ---- mappings -------------------------------------------------------------------------------- */

static const struct key *find_key(const struct key *keys, const char *name)
{
	for (; name && keys->name; keys++)
		if (!strcmp(keys->name, name))
			return keys;
	return NULL;
}

static int unknown_key(struct load *l, const struct key *keys, const yaml_node_t *node)
{
	const char *name = scalar(node);
	char known[300] = "";

	for (const struct key *k = keys; k->name; k++)
		snprintf(known + strlen(known), sizeof(known) - strlen(known), "%s%s",
			 k == keys ? "" : ", ", k->name);
	return complain(l, node, "unknown key '%.80s': expected one of %s",
			name ? name : "(not a word)", known);
}

static int take_value(struct load *l, const struct key *k, yaml_node_t *value, void *base)
{
	const char *s = scalar(value);

	if (k->kind == V_NODE)
		return k->node(l, value);
	if (s && parse_value(k->kind, s, (char *)base + k->offset))
		return 0;
	return complain(l, value, "%s is '%.80s': expected %s", k->name,
			s                                 ? s
			: value->type == YAML_SCALAR_NODE ? "(binary)"
							  : "(a list or mapping)",
			expectation(k->kind));
}

/* Take a mapping's values to where the table says, relative to base. */
static int load_mapping(struct load *l, const struct key *keys, yaml_node_t *node, const char *what,
			void *base)
{
	yaml_node_pair_t *pair;
	uint64_t seen = 0;

	if (node->type != YAML_MAPPING_NODE)
		return complain(l, node, "%s is '%.80s': expected a mapping of keys to values",
				what, scalar(node) ? scalar(node) : "(a list)");
	for (pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
		yaml_node_t *name = yaml_document_get_node(l->doc, pair->key);
		yaml_node_t *value = yaml_document_get_node(l->doc, pair->value);
		const struct key *k = find_key(keys, scalar(name));
		int ret;

		if (!k)
			return unknown_key(l, keys, name);
		if (seen & 1ull << (k - keys))
			return complain(l, name, "key '%s' is given twice: leave one out", k->name);
		seen |= 1ull << (k - keys);
		ret = take_value(l, k, value, base);
		if (ret)
			return ret;
	}
	for (const struct key *k = keys; k->name; k++)
		if (k->required && !(seen & 1ull << (k - keys)))
			return complain(l, node, "%s has no %s: expected %s", what, k->name,
					expectation(k->kind));
	return 0;
}

static int load_sequence(struct load *l, yaml_node_t *node, const char *what,
			 int (*element)(struct load *l, yaml_node_t *node))
{
	yaml_node_item_t *item;
	int ret = 0;

	if (node->type != YAML_SEQUENCE_NODE)
		return complain(l, node, "%s is '%.80s': expected a list, each entry with a '-'",
				what, scalar(node) ? scalar(node) : "(a mapping)");
	for (item = node->data.sequence.items.start; item < node->data.sequence.items.top && !ret;
	     item++)
		ret = element(l, yaml_document_get_node(l->doc, *item));
	return ret;
}

/* ---- the schema ------------------------------------------------------------------------------ */

#define FUNC(member)   offsetof(struct cw_plan_func, member)
#define HOP(member)    offsetof(struct cw_plan_hop, member)
#define FILTER(member) offsetof(struct cw_plan, filters.member)
#define PLAN(member)   offsetof(struct cw_plan, member)

static const struct key target_keys[] = {
	{"function", V_NAME, FUNC(name), true, NULL},
	{"module", V_NAME, FUNC(module), false, NULL},
	{NULL, V_NODE, 0, false, NULL},
};

const struct key cw_plan_func_keys[] = {
	{"name", V_NAME, FUNC(name), false, NULL},
	{"module", V_NAME, FUNC(module), false, NULL},
	{"offset", V_OFFSET, FUNC(offset), false, NULL},
	{"ret", V_BOOL, FUNC(ret), false, NULL},
	{"target", V_BOOL, FUNC(target), false, NULL},
	{NULL, V_NODE, 0, false, NULL},
};

const struct key cw_plan_hop_keys[] = {
	{"source", V_NAME, HOP(source), true, NULL},
	{"source_module", V_NAME, HOP(source_module), false, NULL},
	{"source_arg", V_ARG, HOP(source_arg), true, NULL},
	{"target", V_NAME, HOP(target), true, NULL},
	{"target_module", V_NAME, HOP(target_module), false, NULL},
	{"target_arg", V_ARG_AUTO, HOP(target_arg), false, NULL},
	{"source_returns", V_RETURNS, HOP(source_returns), false, NULL},
	{"match", V_MATCH, HOP(match), false, NULL},
	{"max_age_ms", V_MS, HOP(max_age_ns), false, NULL},
	{NULL, V_NODE, 0, false, NULL},
};

const struct key cw_plan_filter_keys[] = {
	{"min_total_ms", V_MS, FILTER(min_total_ns), false, NULL},
	{"min_queue_ms", V_MS, FILTER(min_queue_ns), false, NULL},
	{"min_work_ms", V_MS, FILTER(min_work_ns), false, NULL},
	{"max_events", V_COUNT, FILTER(max_events), false, NULL},
	{"duration", V_SECONDS, FILTER(duration_ns), false, NULL},
	{"diagnostic_interval_ms", V_MS, FILTER(diagnostic_interval_ns), false, NULL},
	{NULL, V_NODE, 0, false, NULL},
};

static int too_many(struct load *l, const yaml_node_t *node)
{
	return complain(l, node, "one too many: expected at most %d functions and hops",
			CW_PLAN_MAX);
}

static int load_func(struct load *l, yaml_node_t *node)
{
	struct cw_plan_func *f;
	int ret;

	if (scalar(node)) {
		char why[CW_PLAN_ERR];

		ret = cw_plan_add_func(l->plan, scalar(node), why);
		return ret ? complain(l, node, "%s", why) : 0;
	}
	f = cw_plan_grow_funcs(l->plan);
	if (!f)
		return too_many(l, node);
	f->target = true;
	ret = load_mapping(l, cw_plan_func_keys, node, "a function", f);
	if (!ret && !f->name && !f->offset)
		return complain(l, node, "a function has no name: expected name, or offset");
	return ret;
}

static int load_hop(struct load *l, yaml_node_t *node)
{
	struct cw_plan_hop *h = cw_plan_grow_hops(l->plan);

	return h ? load_mapping(l, cw_plan_hop_keys, node, "a hop", h) : too_many(l, node);
}

static int load_target(struct load *l, yaml_node_t *node)
{
	struct cw_plan_func *f = cw_plan_grow_funcs(l->plan);

	if (!f)
		return too_many(l, node);
	f->target = true;
	return load_mapping(l, target_keys, node, "target", f);
}

static int load_funcs(struct load *l, yaml_node_t *node)
{
	return load_sequence(l, node, "functions", load_func);
}

static int load_hops(struct load *l, yaml_node_t *node)
{
	return load_sequence(l, node, "hops", load_hop);
}

static int load_filters(struct load *l, yaml_node_t *node)
{
	return load_mapping(l, cw_plan_filter_keys, node, "filters", l->plan);
}

const struct key cw_plan_keys[] = {
	{"target", V_NODE, 0, false, load_target},
	{"functions", V_NODE, 0, false, load_funcs},
	{"hops", V_NODE, 0, false, load_hops},
	{"filters", V_NODE, 0, false, load_filters},
	{"max_age_ms", V_MS, PLAN(max_age_ns), false, NULL},
	{"ret", V_BOOL, PLAN(ret), false, NULL},
	{"time", V_BOOL, PLAN(time), false, NULL},
	{"attribution", V_BOOL, PLAN(attribution), false, NULL},
	{"stacks", V_BOOL, PLAN(stacks), false, NULL},
	{NULL, V_NODE, 0, false, NULL},
};

/* ---- reading --------------------------------------------------------------------------------- */

static int parser_error(const yaml_parser_t *parser, const char *file, char *err)
{
	const yaml_mark_t *at = &parser->problem_mark;

	if (parser->error == YAML_MEMORY_ERROR)
		return cw_plan_fail(err, -ENOMEM, "%s: out of memory", file);
	if (parser->error == YAML_READER_ERROR)
		return cw_plan_fail(err, -EINVAL, "%s: byte %zu: %s: expected UTF-8 text", file,
				    parser->problem_offset, parser->problem);
	return cw_plan_fail(err, -EINVAL, "%s:%zu:%zu: not valid YAML: %s%s%s", file, at->line + 1,
			    at->column + 1, parser->context ? parser->context : "",
			    parser->context ? ", " : "",
			    parser->problem ? parser->problem : "unknown problem");
}

static int load_document(struct load *l, yaml_parser_t *parser)
{
	yaml_node_t *root = yaml_document_get_root_node(l->doc);
	yaml_document_t second;
	yaml_node_t *rest;
	int ret;

	if (!root)
		return cw_plan_fail(l->err, -EINVAL,
				    "%s:1:1: the plan is empty: expected target, functions or hops",
				    l->file);
	ret = load_mapping(l, cw_plan_keys, root, "the plan", l->plan);
	if (ret)
		return ret;
	if (!yaml_parser_load(parser, &second))
		return parser_error(parser, l->file, l->err);
	rest = yaml_document_get_root_node(&second);
	if (rest)
		ret = complain(l, rest, "a second document begins: expected only one");
	yaml_document_delete(&second);
	return ret;
}

int cw_plan_from_yaml(struct cw_plan **out, const char *yaml, size_t size, const char *file,
		      char *err)
{
	struct load l = {.file = file, .err = err};
	yaml_parser_t parser;
	yaml_document_t doc;
	int ret;

	*out = NULL;
	if (size > MAX_YAML)
		return cw_plan_fail(err, -E2BIG, "%s has %zu bytes: a plan has at most %u", file,
				    size, MAX_YAML);
	l.plan = cw_plan_new();
	if (!l.plan || !yaml_parser_initialize(&parser)) {
		cw_plan_free(l.plan);
		return cw_plan_fail(err, -ENOMEM, "%s: out of memory", file);
	}
	yaml_parser_set_input_string(&parser, (const unsigned char *)yaml, size);
	if (yaml_parser_load(&parser, &doc)) {
		l.doc = &doc;
		ret = load_document(&l, &parser);
		yaml_document_delete(&doc);
	} else {
		ret = parser_error(&parser, file, err);
	}
	yaml_parser_delete(&parser);
	if (ret)
		cw_plan_free(l.plan);
	else
		*out = l.plan;
	return ret;
}
