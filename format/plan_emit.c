/* SPDX-License-Identifier: GPL-2.0-only */
/* A plan as a YAML document that plan_yaml.c reads back as the same plan. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>
#include "plan_build.h"
#include "plan_keys.h"

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

bool cw_plan_plain_word(const char *s)
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

static bool emit_name(yaml_emitter_t *e, const char *name)
{
	char *text = cw_plan_name_to_text(name);
	bool ok = text && emit_text(e, text, !cw_plan_plain_word(text));

	free(text);
	return ok;
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
	case V_RETURNS:
		return *(const enum cw_returns *)from == CW_RETURNS_ANY;
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
		return emit_name(e, *(char *const *)from);
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
		return emit_text(e, cw_match_names[*(const enum cw_match *)from], false);
	case V_RETURNS:
		return emit_text(e, cw_returns_names[*(const enum cw_returns *)from], false);
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
	for (const struct key *k = cw_plan_filter_keys; k->name; k++)
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
	       yaml_emitter_emit(e, &ev) && emit_pairs(e, cw_plan_keys, p, true) &&
	       emit_list(e, "functions", cw_plan_func_keys, p->funcs, p->nfuncs,
			 sizeof(*p->funcs)) &&
	       emit_list(e, "hops", cw_plan_hop_keys, p->hops, p->nhops, sizeof(*p->hops)) &&
	       (!any_filter(p) || (emit_text(e, "filters", false) &&
				   emit_mapping(e, cw_plan_filter_keys, p, false))) &&
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
