/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Mangled C++ and Rust names, and what a user may write for one. Owns the comparison; it must not
 * know files or symbol tables.
 */
#include <ctype.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <libiberty/demangle.h>
#include "cxxname.h"

bool cw_cxx_is_mangled(const char *name)
{
	return name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
}

struct sink {
	char text[CW_CXX_READABLE + 1];
	size_t len;
	jmp_buf too_long;
};

/*
 * A made-up name of 100 letters can stand for gigabytes. The demanglers cannot be stopped from
 * their callback, but keep all they have on the stack, so that leaving by longjmp loses nothing.
 */
static void add_text(const char *text, size_t len, void *arg)
{
	struct sink *s = arg;

	if (len > CW_CXX_READABLE - s->len)
		longjmp(s->too_long, 1);
	memcpy(s->text + s->len, text, len);
	s->len += len;
}

static bool expand(struct sink *s, const char *name, int options)
{
	s->len = 0;
	if (setjmp(s->too_long))
		return false;
	if (!rust_demangle_callback(name, options, add_text, s)) {
		s->len = 0;
		if (!cplus_demangle_v3_callback(name, options, add_text, s))
			return false;
	}
	s->text[s->len] = '\0';
	return true;
}

static char *demangle(const char *name, int options)
{
	struct sink s;

	if (!cw_cxx_is_mangled(name) || strlen(name) > CW_CXX_LONGEST || !expand(&s, name, options))
		return NULL;
	return strdup(s.text);
}

char *cw_cxx_demangle(const char *name, bool params)
{
	return demangle(name, params ? DMGL_PARAMS | DMGL_ANSI : 0);
}

static void drop_blanks(char *to, const char *from, size_t size)
{
	size_t n = 0;

	for (; *from && n + 1 < size; from++) {
		if (!isspace((unsigned char)*from))
			to[n++] = *from;
	}
	to[n] = '\0';
}

/* An operator's name holds brackets that are not template arguments; its blanks are gone. */
static bool is_operator(const char *s)
{
	if (strncmp(s, "operator", 8) != 0)
		return false;
	s += 8;
	return (!isalnum((unsigned char)*s) && *s != '_') || !strcmp(s, "new[]") ||
	       !strcmp(s, "delete[]");
}

/* Remove template arguments and ABI tags, up to an operator's name, in place. */
static void drop_arguments(char *s)
{
	char *to = s;
	int depth = 0;

	for (; *s; s++) {
		if (!depth && is_operator(s)) {
			memmove(to, s, strlen(s) + 1);
			return;
		}
		if (*s == '<' || *s == '[')
			depth++;
		if (!depth)
			*to++ = *s;
		if ((*s == '>' || *s == ']') && depth)
			depth--;
	}
	*to = '\0';
}

/* The last identifier of the qualified name stands in the mangled one letter by letter. */
static void find_hint(struct cw_cxx_query *q)
{
	char bare[sizeof(q->text)];
	char *last = bare, *p;
	size_t len;

	memcpy(bare, q->text, sizeof(bare));
	p = strchr(bare, '(');
	if (p && p != bare)
		*p = '\0';
	if (strstr(bare, "operator"))
		return;
	drop_arguments(bare);
	while ((p = strstr(last, "::")))
		last = p + 2;
	if (*last == '~')
		last++;
	len = strlen(last);
	if (len < sizeof(q->hint) && strspn(last, "abcdefghijklmnopqrstuvwxyz"
						  "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == len)
		memcpy(q->hint, last, len + 1);
}

/* Cut what follows the parameters of a method, when s has parameters and no blanks. */
static void drop_qualifiers(char *s)
{
	static const char *const words[] = {"const", "volatile", "&"};
	size_t len = strlen(s), i = 0;

	while (i < sizeof(words) / sizeof(words[0])) {
		size_t n = strlen(words[i]);

		if (len > n && !strcmp(s + len - n, words[i])) {
			s[len -= n] = '\0';
			i = 0;
		} else {
			i++;
		}
	}
}

static bool has_parameters(const char *text)
{
	char bare[256];

	memcpy(bare, text, strlen(text) + 1);
	drop_qualifiers(bare);
	if (bare[strlen(bare) - 1] != ')')
		return false;
	return !strstr(bare, "operator()") || strstr(bare, "operator()(");
}

bool cw_cxx_query_init(struct cw_cxx_query *q, const char *text)
{
	memset(q, 0, sizeof(*q));
	if (!*text || strlen(text) >= sizeof(q->text) || cw_cxx_is_mangled(text))
		return false;
	drop_blanks(q->text, text, sizeof(q->text));
	q->params = has_parameters(q->text);
	find_hint(q);
	return true;
}

/* With parameters: the method's qualifiers may be left out. */
static bool matches_with(const struct cw_cxx_query *q, const char *mangled, int options)
{
	char *name = demangle(mangled, DMGL_PARAMS | DMGL_ANSI | options);
	bool same = false;

	if (name) {
		drop_blanks(name, name, strlen(name) + 1);
		same = !strcmp(name, q->text);
		drop_qualifiers(name);
		same |= !strcmp(name, q->text);
	}
	free(name);
	return same;
}

bool cw_cxx_matches(const struct cw_cxx_query *q, const char *mangled)
{
	char *name;
	bool same;

	if (q->hint[0] && !strstr(mangled, q->hint))
		return false;
	/* Of templates the return type is a part of the name, and may be left out. */
	if (q->params)
		return matches_with(q, mangled, 0) || matches_with(q, mangled, DMGL_RET_DROP);
	name = cw_cxx_demangle(mangled, false);
	if (!name)
		return false;
	drop_blanks(name, name, strlen(name) + 1);
	same = !strcmp(name, q->text);
	if (!same) {
		drop_arguments(name);
		same = !strcmp(name, q->text);
	}
	free(name);
	return same;
}
