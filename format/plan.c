/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The plan as the command line gives it, and what it takes to be complete. plan_yaml.c stores it.
 * Knows nothing of ELF files: names are resolved elsewhere.
 */
#include <ctype.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "plan.h"
#include "plan_build.h"

#define MAX_AGE_DEFAULT_NS 30000000000ull
#define HOP_SHAPE          "SOURCE,ARG,TARGET[,ARG|auto]"

int cw_plan_fail(char *err, int error, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(err, CW_PLAN_ERR, format, args);
	va_end(args);
	return error;
}

/* A list could not grow: it is full, or memory is. */
static int no_room(char *err)
{
	return cw_plan_fail(
		err, -ENOMEM,
		"the plan does not fit in memory, or has more than %d functions or hops",
		CW_PLAN_MAX);
}

struct cw_plan *cw_plan_new(void)
{
	struct cw_plan *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->max_age_ns = MAX_AGE_DEFAULT_NS;
	p->stacks = true;
	return p;
}

void cw_plan_clear_funcs(struct cw_plan *p)
{
	for (size_t i = 0; i < p->nfuncs; i++) {
		free(p->funcs[i].name);
		free(p->funcs[i].module);
	}
	free(p->funcs);
	p->funcs = NULL;
	p->nfuncs = 0;
}

void cw_plan_clear_hops(struct cw_plan *p)
{
	for (size_t i = 0; i < p->nhops; i++) {
		free(p->hops[i].source);
		free(p->hops[i].source_module);
		free(p->hops[i].target);
		free(p->hops[i].target_module);
	}
	free(p->hops);
	p->hops = NULL;
	p->nhops = 0;
}

void cw_plan_free(struct cw_plan *p)
{
	if (!p)
		return;
	cw_plan_clear_funcs(p);
	cw_plan_clear_hops(p);
	free(p);
}

static bool set_module(char **to, const char *module)
{
	if (!*to)
		*to = strdup(module);
	return *to;
}

int cw_plan_set_module(struct cw_plan *p, const char *module)
{
	bool ok = true;

	for (size_t i = 0; i < p->nfuncs; i++)
		ok &= set_module(&p->funcs[i].module, module);
	for (size_t i = 0; i < p->nhops; i++)
		ok &= set_module(&p->hops[i].source_module, module) &&
		      set_module(&p->hops[i].target_module, module);
	return ok ? 0 : -ENOMEM;
}

/* Room for one more element, cleared, at the end of a list that grows by doubling. */
static void *grow(void *list, size_t n, size_t size, void **element)
{
	*element = NULL;
	if (n == CW_PLAN_MAX)
		return list;
	if ((n & (n - 1)) == 0) {
		void *bigger = reallocarray(list, n ? 2 * n : 1, size);

		if (!bigger)
			return list;
		list = bigger;
	}
	*element = memset((char *)list + n * size, 0, size);
	return list;
}

struct cw_plan_func *cw_plan_grow_funcs(struct cw_plan *p)
{
	void *f;

	p->funcs = grow(p->funcs, p->nfuncs, sizeof(*p->funcs), &f);
	p->nfuncs += f != NULL;
	return f;
}

struct cw_plan_hop *cw_plan_grow_hops(struct cw_plan *p)
{
	void *h;

	p->hops = grow(p->hops, p->nhops, sizeof(*p->hops), &h);
	p->nhops += h != NULL;
	return h;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Bytes of an operator's own symbol behind "operator" at s, so that its <, ( or , mean nothing. */
static size_t operator_length(const char *s)
{
	static const char *const signs[] = {"<=>", "->*", "<<=", ">>=", "()", "[]", "<<",
					    ">>",  "<=",  ">=",  "->",  ",",  "<",  ">"};
	static const char word[] = "operator";

	if (strncmp(s, word, sizeof(word) - 1) != 0)
		return 0;
	for (size_t i = 0; i < sizeof(signs) / sizeof(signs[0]); i++)
		if (!strncmp(s + sizeof(word) - 1, signs[i], strlen(signs[i])))
			return sizeof(word) - 1 + strlen(signs[i]);
	return 0;
}

/* The first c outside brackets at or behind s, or NULL: C++ and Rust names contain commas. */
static const char *find_outside(const char *s, char c)
{
	int depth = 0;

	while (*s) {
		size_t skip = operator_length(s);

		if (skip) {
			s += skip;
			continue;
		}
		if (*s == c && depth == 0)
			return s;
		if (strchr("(<[{", *s))
			depth++;
		else if (strchr(")>]}", *s))
			depth -= depth > 0;
		s++;
	}
	return NULL;
}

/* The colon between MODULE and SYMBOL, which is never one of "::" and stands before any bracket. */
static const char *module_colon(const char *s, const char *end)
{
	for (; s < end && !strchr("(<", *s); s++) {
		if (*s != ':')
			continue;
		if (s + 1 < end && s[1] == ':')
			s++;
		else
			return s;
	}
	return NULL;
}

/* Split [MODULE:]SYMBOL of len bytes into two new strings; *module stays NULL without one. */
static int split_name(const char *text, size_t len, char **module, char **name, char *err)
{
	const char *colon = module_colon(text, text + len);

	*module = *name = NULL;
	if (len == 0 || colon == text || colon == text + len - 1) {
		cw_plan_fail(err, 0, "'%.*s' names no function: expected [MODULE:]SYMBOL", (int)len,
			     text);
		return -EINVAL;
	}
	if (colon) {
		*module = strndup(text, colon - text);
		len -= colon + 1 - text;
		text = colon + 1;
	}
	*name = strndup(text, len);
	if (*name && (*module || !colon))
		return 0;
	free(*module);
	free(*name);
	*module = *name = NULL;
	no_room(err);
	return -ENOMEM;
}

/* ---- options --------------------------------------------------------------------------------- */

struct span {
	const char *s;
	size_t n;
};

static int parse_arg(const struct span *part, bool may_auto, uint32_t *out, const char *hop,
		     char *err)
{
	if (may_auto && part->n == 4 && !memcmp(part->s, "auto", 4)) {
		*out = CW_ARG_AUTO;
		return 0;
	}
	if (part->n == 1 && part->s[0] >= '1' && part->s[0] <= '8') {
		*out = part->s[0] - '0';
		return 0;
	}
	return cw_plan_fail(err, -EINVAL,
			    "'%.*s' in hop '%s' is no argument position: expected 1-8%s",
			    (int)part->n, part->s, hop, may_auto ? " or auto" : "");
}

int cw_plan_add_hop(struct cw_plan *p, const char *text, char *err)
{
	struct cw_plan_hop *h, hop = {0};
	struct span part[4];
	const char *s = text, *comma;
	size_t n = 0;
	int ret;

	for (;; s = comma + 1) {
		comma = find_outside(s, ',');
		if (n < 4) {
			part[n].s = s;
			part[n].n = comma ? (size_t)(comma - s) : strlen(s);
		}
		n++;
		if (!comma)
			break;
	}
	if (n < 3 || n > 4)
		return cw_plan_fail(err, -EINVAL, "hop '%s' has %zu parts: expected " HOP_SHAPE,
				    text, n);
	ret = parse_arg(&part[1], false, &hop.source_arg, text, err);
	if (!ret && n == 4)
		ret = parse_arg(&part[3], true, &hop.target_arg, text, err);
	if (!ret)
		ret = split_name(part[0].s, part[0].n, &hop.source_module, &hop.source, err);
	if (!ret)
		ret = split_name(part[2].s, part[2].n, &hop.target_module, &hop.target, err);
	h = ret ? NULL : cw_plan_grow_hops(p);
	if (h) {
		*h = hop;
		return 0;
	}
	free(hop.source);
	free(hop.source_module);
	free(hop.target);
	free(hop.target_module);
	return ret ? ret : no_room(err);
}

/* "+0xOFFSET" or "+OFFSET", all of it. */
static bool parse_offset(const char *s, uint64_t *out)
{
	char *end;

	if (s[0] != '+' || !isdigit((unsigned char)s[1]))
		return false;
	errno = 0;
	*out = strtoull(s + 1, &end, 0);
	return !errno && !*end;
}

int cw_plan_add_func(struct cw_plan *p, const char *text, char *err)
{
	struct cw_plan_func *f;
	char *module, *name;
	uint64_t offset = 0;
	bool at_offset;
	int i, ret = split_name(text, strlen(text), &module, &name, err);

	if (ret)
		return ret;
	at_offset = parse_offset(name, &offset);
	if (at_offset && !offset) {
		free(module);
		free(name);
		return cw_plan_fail(
			err, -EINVAL,
			"'%s' is no place for a function: a file begins with its header", text);
	}
	i = at_offset ? -1 : cw_plan_find_exact(p, name, module);
	f = i >= 0 ? &p->funcs[i] : cw_plan_grow_funcs(p);
	if (f && i < 0) {
		f->module = module;
		f->name = at_offset ? NULL : name;
		f->offset = offset;
	}
	if (i >= 0 || !f)
		free(module);
	if (i >= 0 || !f || at_offset)
		free(name);
	if (!f)
		return no_room(err);
	f->target = true;
	return 0;
}

/* ---- completing ------------------------------------------------------------------------------ */

static bool same_module(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

int cw_plan_find_exact(const struct cw_plan *p, const char *name, const char *module)
{
	for (size_t i = 0; i < p->nfuncs; i++)
		if (p->funcs[i].name && !strcmp(p->funcs[i].name, name) &&
		    same_module(p->funcs[i].module, module))
			return i;
	return -1;
}

int cw_plan_find(const struct cw_plan *p, const char *name, const char *module)
{
	int found = cw_plan_find_exact(p, name, module);

	if (found >= 0 || module)
		return found;
	for (size_t i = 0; i < p->nfuncs; i++)
		if (p->funcs[i].name && !strcmp(p->funcs[i].name, name))
			return i;
	return -1;
}

/* The function of a hop, added when it is new. */
static struct cw_plan_func *join(struct cw_plan *p, const char *name, const char *module)
{
	int i = cw_plan_find_exact(p, name, module);
	struct cw_plan_func *f;

	if (i >= 0)
		return &p->funcs[i];
	f = cw_plan_grow_funcs(p);
	if (!f)
		return NULL;
	f->name = strdup(name);
	f->module = module ? strdup(module) : NULL;
	if (f->name && (f->module || !module))
		return f;
	free(f->name);
	free(f->module);
	p->nfuncs--;
	return NULL;
}

static int check_doubles(const struct cw_plan *p, char *err)
{
	for (size_t i = 0; i < p->nhops; i++) {
		for (size_t j = 0; j < i; j++) {
			const struct cw_plan_hop *a = &p->hops[i], *b = &p->hops[j];

			if (!strcmp(a->source, b->source) && !strcmp(a->target, b->target) &&
			    same_module(a->source_module, b->source_module) &&
			    same_module(a->target_module, b->target_module) &&
			    a->source_arg == b->source_arg && a->target_arg == b->target_arg)
				return cw_plan_fail(err, -EINVAL,
						    "hop %s,%u,%s is given twice: leave one out",
						    a->source, a->source_arg, a->target);
		}
	}
	return 0;
}

/* i: where from stands in p; a name may match itself as a pattern. */
static bool expand_one(struct cw_plan *fresh, const struct cw_plan *p, int i,
		       const struct cw_plan_func *from, const char *name)
{
	int known = cw_plan_find_exact(p, name, from->module);
	struct cw_plan_func *f;

	if (known >= 0 && known != i)
		return true;
	f = cw_plan_grow_funcs(fresh);
	if (!f)
		return false;
	*f = *from;
	f->name = strdup(name);
	f->module = from->module ? strdup(from->module) : NULL;
	return f->name && (f->module || !from->module);
}

int cw_plan_expand_func(struct cw_plan *p, size_t i, char *const *names, size_t n)
{
	struct cw_plan_func old = p->funcs[i];
	struct cw_plan fresh = {0};
	bool ok = true;

	for (size_t j = 0; j < p->nfuncs; j++) {
		if (j != i) {
			struct cw_plan_func *f = cw_plan_grow_funcs(&fresh);

			if (f)
				*f = p->funcs[j];
			else
				ok = false;
			continue;
		}
		for (size_t k = 0; ok && k < n; k++)
			ok = expand_one(&fresh, p, (int)i, &old, names[k]);
	}
	free(p->funcs);
	p->funcs = fresh.funcs;
	p->nfuncs = fresh.nfuncs;
	free(old.name);
	free(old.module);
	return ok ? 0 : -ENOMEM;
}

int cw_plan_finish(struct cw_plan *p, char *err)
{
	int ret = check_doubles(p, err);

	if (ret)
		return ret;
	if (!p->nfuncs && !p->nhops)
		return cw_plan_fail(
			err, -EINVAL,
			"nothing to trace: name a function or give --async-hop " HOP_SHAPE);
	if (p->nhops)
		p->attribution = true;
	if (p->attribution)
		p->time = true;
	for (size_t i = 0; i < p->nhops; i++) {
		const struct cw_plan_hop *h = &p->hops[i];
		struct cw_plan_func *source = join(p, h->source, h->source_module);
		struct cw_plan_func *target = source ? join(p, h->target, h->target_module) : NULL;

		if (!target)
			return no_room(err);
		if (h->source_returns)
			p->funcs[cw_plan_find_exact(p, h->source, h->source_module)].ret = true;
		target->ret = true; /* its work ends there at the latest */
		if (i == p->nhops - 1)
			target->target = true;
	}
	for (size_t i = 0; i < p->nfuncs; i++)
		if (p->funcs[i].target && (p->ret || p->time))
			p->funcs[i].ret = true;
	return 0;
}
