/* SPDX-License-Identifier: GPL-2.0-only */
/* Mangled C++ and Rust names, and what a user may write for one. Pure. */
#ifndef CW_CXXNAME_H
#define CW_CXXNAME_H

#include <stdbool.h>
#include <stddef.h>

#define CW_CXX_LONGEST  2048  /* longer names are left mangled */
#define CW_CXX_READABLE 16384 /* so are those that stand for more than this */

/* Whether a symbol's name is a mangled one. */
bool cw_cxx_is_mangled(const char *name);

/*
 * The readable name, malloc'ed, or NULL when it is not a mangled name: with parameters
 * (`ns::f(int)`) or the qualified name alone (`ns::f`).
 */
char *cw_cxx_demangle(const char *name, bool params);

struct cw_cxx_query {
	char text[256]; /* as asked for, without blanks */
	char hint[128]; /* letters that a mangled name must hold to match; may be empty */
	bool params;    /* the text names parameters: one overload is meant, or two that differ in
			   const */
};

/* Prepare a search for a readable name; false when text cannot be one (too long, mangled). */
bool cw_cxx_query_init(struct cw_cxx_query *q, const char *text);

/*
 * Whether the mangled name is what q asks for. Without parameters any overload matches, and
 * template arguments and ABI tags may be left out; with them, a method's qualifiers and a
 * template's return type.
 */
bool cw_cxx_matches(const struct cw_cxx_query *q, const char *mangled);

#endif
