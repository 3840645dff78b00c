/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A plan as a YAML document, and back. Each mapping is described by a table of its keys; messages
 * name file, line, column, value and what was expected.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include "plan_build.h"

#define MAX_YAML (1u << 20) /* bytes of a document */

struct load {
	yaml_document_t *doc;
	struct cw_plan *plan;
	const char *file;
	char *err;
	size_t values; /* taken so far: aliases must not multiply work */
};

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

static const char *const match_names[] = {
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

static bool parse_match(const char *s, enum cw_match *out)
{
	for (size_t i = 0; i < sizeof(match_names) / sizeof(match_names[0]); i++) {
		if (!strcmp(s, match_names[i])) {
			*out = i;
			return true;
		}
	}
	return false;
}

static bool parse_name(const char *s, char **out)
{
	free(*out);
	*out = *s ? strdup(s) : NULL;
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
		if (++l->values > MAX_YAML)
			return complain(l, name, "the document repeats too much by aliases");
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

static const struct key func_keys[] = {
	{"name", V_NAME, FUNC(name), false, NULL},
	{"module", V_NAME, FUNC(module), false, NULL},
	{"offset", V_OFFSET, FUNC(offset), false, NULL},
	{"ret", V_BOOL, FUNC(ret), false, NULL},
	{"target", V_BOOL, FUNC(target), false, NULL},
	{NULL, V_NODE, 0, false, NULL},
};

static const struct key hop_keys[] = {
	{"source", V_NAME, HOP(source), true, NULL},
	{"source_module", V_NAME, HOP(source_module), false, NULL},
	{"source_arg", V_ARG, HOP(source_arg), true, NULL},
	{"target", V_NAME, HOP(target), true, NULL},
	{"target_module", V_NAME, HOP(target_module), false, NULL},
	{"target_arg", V_ARG_AUTO, HOP(target_arg), false, NULL},
	{"match", V_MATCH, HOP(match), false, NULL},
	{"max_age_ms", V_MS, HOP(max_age_ns), false, NULL},
	{NULL, V_NODE, 0, false, NULL},
};

static const struct key filter_keys[] = {
	{"min_total_ms", V_MS, FILTER(min_total_ns), false, NULL},
	{"min_queue_ms", V_MS, FILTER(min_queue_ns), false, NULL},
	{"min_work_ms", V_MS, FILTER(min_work_ns), false, NULL},
	{"max_events", V_COUNT, FILTER(max_events), false, NULL},
	{"duration", V_SECONDS, FILTER(duration_ns), false, NULL},
	{"diagnostic_interval_ms", V_MS, FILTER(diagnostic_interval_ns), false, NULL},
	{NULL, V_NODE, 0, false, NULL},
};

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
		return -ENOMEM;
	f->target = true;
	ret = load_mapping(l, func_keys, node, "a function", f);
	if (!ret && !f->name && !f->offset)
		return complain(l, node, "a function has no name: expected name, or offset");
	return ret;
}

static int load_hop(struct load *l, yaml_node_t *node)
{
	struct cw_plan_hop *h = cw_plan_grow_hops(l->plan);

	return h ? load_mapping(l, hop_keys, node, "a hop", h) : -ENOMEM;
}

static int load_target(struct load *l, yaml_node_t *node)
{
	struct cw_plan_func *f = cw_plan_grow_funcs(l->plan);

	if (!f)
		return -ENOMEM;
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
	return load_mapping(l, filter_keys, node, "filters", l->plan);
}

static const struct key plan_keys[] = {
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
	ret = load_mapping(l, plan_keys, root, "the plan", l->plan);
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
		if (ret == -ENOMEM)
			cw_plan_fail(err, ret, "%s: out of memory", file);
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

/* ---- writing --------------------------------------------------------------------------------- */

struct text {
	char *mem;
	size_t n, room;
};

static int grow(void *arg, unsigned char *data, size_t n)
{
	struct text *t = arg;

	if (t->n + n + 1 > t->room) {
		size_t room = 2 * (t->n + n + 1);
		char *bigger = realloc(t->mem, room);

		if (!bigger)
			return 0;
		t->mem = bigger;
		t->room = room;
	}
	memcpy(t->mem + t->n, data, n);
	t->n += n;
	t->mem[t->n] = '\0';
	return 1;
}

/* Words that other YAML readers take for something else than text are quoted. */
static bool plain_word(const char *s)
{
	static const char *const taken[] = {"true", "false", "null", "yes", "no",
					    "on",   "off",   "y",    "n"};

	for (size_t i = 0; i < sizeof(taken) / sizeof(taken[0]); i++)
		if (!strcasecmp(s, taken[i]))
			return false;
	if (!isalpha((unsigned char)*s) && *s != '_')
		return false;
	for (; *s; s++)
		if (!isalnum((unsigned char)*s) && !strchr("_.", *s))
			return false;
	return true;
}

static bool emit_text(yaml_emitter_t *e, const char *s, bool quoted)
{
	yaml_event_t ev;

	return yaml_scalar_event_initialize(&ev, NULL, NULL, (yaml_char_t *)s, strlen(s), 1, 1,
					    quoted ? YAML_DOUBLE_QUOTED_SCALAR_STYLE
						   : YAML_PLAIN_SCALAR_STYLE) &&
	       yaml_emitter_emit(e, &ev);
}

/* value times 10^-decimals, exact and without needless zeros. */
static void format_scaled(char *buf, size_t size, uint64_t value, int decimals)
{
	uint64_t unit = decimals == 6 ? 1000000 : 1000000000;
	int n = snprintf(buf, size, "%" PRIu64 ".%0*" PRIu64, value / unit, decimals, value % unit);

	while (n > 0 && buf[n - 1] == '0')
		buf[--n] = '\0';
	if (n > 0 && buf[n - 1] == '.')
		buf[n - 1] = '\0';
}

/* What is read when the key is left out; such values are not written. */
static bool is_default(const struct key *k, const void *from)
{
	switch (k->kind) {
	case V_NAME:
		return !*(char *const *)from;
	case V_MATCH:
		return *(const enum cw_match *)from == CW_MATCH_NEWEST;
	case V_COUNT:
	case V_OFFSET:
	case V_MS:
	case V_SECONDS:
		return !*(const uint64_t *)from;
	default:
		return false;
	}
}

static bool emit_value(yaml_emitter_t *e, const struct key *k, const void *from)
{
	char buf[48];

	switch (k->kind) {
	case V_NAME:
		return emit_text(e, *(char *const *)from, !plain_word(*(char *const *)from));
	case V_BOOL:
		return emit_text(e, *(const bool *)from ? "true" : "false", false);
	case V_COUNT:
		snprintf(buf, sizeof(buf), "%" PRIu64, *(const uint64_t *)from);
		break;
	case V_OFFSET:
		snprintf(buf, sizeof(buf), "0x%" PRIx64, *(const uint64_t *)from);
		break;
	case V_MS:
		format_scaled(buf, sizeof(buf), *(const uint64_t *)from, 6);
		break;
	case V_SECONDS:
		format_scaled(buf, sizeof(buf), *(const uint64_t *)from, 9);
		break;
	case V_ARG:
	case V_ARG_AUTO:
		snprintf(buf, sizeof(buf), "%u", *(const uint32_t *)from);
		if (*(const uint32_t *)from == CW_ARG_AUTO)
			strcpy(buf, "auto");
		break;
	case V_MATCH:
		return emit_text(e, match_names[*(const enum cw_match *)from], false);
	case V_NODE:
		return true;
	}
	return emit_text(e, buf, false);
}

static bool emit_pairs(yaml_emitter_t *e, const struct key *keys, const void *base, bool keep_zero)
{
	for (const struct key *k = keys; k->name; k++) {
		const void *from = (const char *)base + k->offset;

		if (k->kind == V_NODE || (is_default(k, from) && !(keep_zero && k->kind == V_MS)))
			continue;
		if (!emit_text(e, k->name, false) || !emit_value(e, k, from))
			return false;
	}
	return true;
}

static bool emit_mapping(yaml_emitter_t *e, const struct key *keys, const void *base,
			 bool keep_zero)
{
	yaml_event_t ev;

	return yaml_mapping_start_event_initialize(&ev, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE) &&
	       yaml_emitter_emit(e, &ev) && emit_pairs(e, keys, base, keep_zero) &&
	       yaml_mapping_end_event_initialize(&ev) && yaml_emitter_emit(e, &ev);
}

/* A list of n structs of size bytes, under its name; nothing for none. */
static bool emit_list(yaml_emitter_t *e, const char *name, const struct key *keys,
		      const void *first, size_t n, size_t size)
{
	yaml_event_t ev;

	if (!n)
		return true;
	if (!emit_text(e, name, false) ||
	    !yaml_sequence_start_event_initialize(&ev, NULL, NULL, 1, YAML_BLOCK_SEQUENCE_STYLE) ||
	    !yaml_emitter_emit(e, &ev))
		return false;
	for (size_t i = 0; i < n; i++)
		if (!emit_mapping(e, keys, (const char *)first + i * size, false))
			return false;
	return yaml_sequence_end_event_initialize(&ev) && yaml_emitter_emit(e, &ev);
}

static bool any_filter(const struct cw_plan *p)
{
	for (const struct key *k = filter_keys; k->name; k++)
		if (!is_default(k, (const char *)p + k->offset))
			return true;
	return false;
}

static bool emit_plan(yaml_emitter_t *e, const struct cw_plan *p)
{
	yaml_event_t ev;

	return yaml_stream_start_event_initialize(&ev, YAML_UTF8_ENCODING) &&
	       yaml_emitter_emit(e, &ev) &&
	       yaml_document_start_event_initialize(&ev, NULL, NULL, NULL, 1) &&
	       yaml_emitter_emit(e, &ev) &&
	       yaml_mapping_start_event_initialize(&ev, NULL, NULL, 1, YAML_BLOCK_MAPPING_STYLE) &&
	       yaml_emitter_emit(e, &ev) && emit_pairs(e, plan_keys, p, true) &&
	       emit_list(e, "functions", func_keys, p->funcs, p->nfuncs, sizeof(*p->funcs)) &&
	       emit_list(e, "hops", hop_keys, p->hops, p->nhops, sizeof(*p->hops)) &&
	       (!any_filter(p) ||
		(emit_text(e, "filters", false) && emit_mapping(e, filter_keys, p, false))) &&
	       yaml_mapping_end_event_initialize(&ev) && yaml_emitter_emit(e, &ev) &&
	       yaml_document_end_event_initialize(&ev, 1) && yaml_emitter_emit(e, &ev) &&
	       yaml_stream_end_event_initialize(&ev) && yaml_emitter_emit(e, &ev);
}

char *cw_plan_to_yaml(const struct cw_plan *p)
{
	struct text t = {0};
	yaml_emitter_t e;
	bool ok;

	if (!yaml_emitter_initialize(&e))
		return NULL;
	yaml_emitter_set_output(&e, grow, &t);
	yaml_emitter_set_unicode(&e, 1);
	yaml_emitter_set_width(&e, -1);
	ok = emit_plan(&e, p);
	yaml_emitter_delete(&e);
	if (ok)
		return t.mem;
	free(t.mem);
	return NULL;
}
