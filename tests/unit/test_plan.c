/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans made of options, what finishing adds to them, and patterns in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "plan.h"

#define UNUSED(x) (void)(x)

static void hop_options(void **state)
{
	static const struct {
		const char *text;
		struct cw_plan_hop hop;
	} good[] = {
		{"a,2,b", {.source = "a", .source_arg = 2, .target = "b"}},
		{"a,1,b,8", {.source = "a", .source_arg = 1, .target = "b", .target_arg = 8}},
		{"a,1,b,auto", {.source = "a", .source_arg = 1, .target = "b"}},
		{"lib.so:a,1,/usr/lib/x.so.1:b",
		 {.source = "a",
		  .source_module = "lib.so",
		  .source_arg = 1,
		  .target = "b",
		  .target_module = "/usr/lib/x.so.1"}},
		{"q::put(int, char),3,std::map<int, long>::get(int),4",
		 {.source = "q::put(int, char)",
		  .source_arg = 3,
		  .target = "std::map<int, long>::get(int)",
		  .target_arg = 4}},
		{"lib.so:ns::operator<<(A, B),1,operator,,2",
		 {.source = "ns::operator<<(A, B)",
		  .source_module = "lib.so",
		  .source_arg = 1,
		  .target = "operator,",
		  .target_arg = 2}},
		{"<T as q::Put<U, V>>::put,1,work::{{closure}},auto",
		 {.source = "<T as q::Put<U, V>>::put",
		  .source_arg = 1,
		  .target = "work::{{closure}}"}},
	};
	char err[CW_PLAN_ERR];

	UNUSED(state);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct cw_plan *p = cw_plan_new();
		const struct cw_plan_hop *h, *want = &good[i].hop;

		assert_int_equal(cw_plan_add_hop(p, good[i].text, err), 0);
		assert_int_equal(p->nhops, 1);
		h = &p->hops[0];
		assert_string_equal(h->source, want->source);
		assert_string_equal(h->target, want->target);
		assert_int_equal(h->source_arg, want->source_arg);
		assert_int_equal(h->target_arg, want->target_arg);
		assert_int_equal(h->match, CW_MATCH_NEWEST);
		if (want->source_module)
			assert_string_equal(h->source_module, want->source_module);
		else
			assert_null(h->source_module);
		if (want->target_module)
			assert_string_equal(h->target_module, want->target_module);
		else
			assert_null(h->target_module);
		cw_plan_free(p);
	}
}

static void bad_hop_options(void **state)
{
	static const struct {
		const char *text, *said;
	} bad[] = {
		{"", "1 parts"},
		{"a,2", "2 parts"},
		{"a,1,b,2,3", "5 parts"},
		{"a,0,b", "'0'"},
		{"a,9,b", "'9'"},
		{"a,12,b", "'12'"},
		{"a,auto,b", "'auto'"},
		{"a,1,b,none", "'none'"},
		{"a,x,b", "'x'"},
		{",1,b", "names no function"},
		{"a,1,", "names no function"},
		{"lib.so:,1,b", "names no function"},
		{":a,1,b", "names no function"},
	};
	struct cw_plan *p = cw_plan_new();
	char err[CW_PLAN_ERR];

	UNUSED(state);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_int_equal(cw_plan_add_hop(p, bad[i].text, err), -EINVAL);
		assert_non_null(strstr(err, bad[i].said));
		assert_non_null(strstr(err, "expected"));
	}
	assert_int_equal(p->nhops, 0);
	cw_plan_free(p);
}

static void func_options(void **state)
{
	struct cw_plan *p = cw_plan_new();
	char err[CW_PLAN_ERR];

	UNUSED(state);
	assert_int_equal(cw_plan_add_func(p, "work", err), 0);
	assert_int_equal(cw_plan_add_func(p, "work", err), 0);
	assert_int_equal(cw_plan_add_func(p, "libc.so.6:malloc", err), 0);
	assert_int_equal(cw_plan_add_func(p, "+0x11c9", err), 0);
	assert_int_equal(cw_plan_add_func(p, "lib.so:+16", err), 0);
	assert_int_equal(cw_plan_add_func(p, "ns::f(a::b)", err), 0);
	assert_int_equal(cw_plan_add_func(p, "", err), -EINVAL);
	assert_int_equal(cw_plan_add_func(p, "lib.so:+0x0", err), -EINVAL);
	assert_int_equal(p->nfuncs, 5);
	assert_string_equal(p->funcs[1].module, "libc.so.6");
	assert_string_equal(p->funcs[1].name, "malloc");
	assert_null(p->funcs[2].name);
	assert_int_equal(p->funcs[2].offset, 0x11c9);
	assert_int_equal(p->funcs[3].offset, 16);
	assert_string_equal(p->funcs[3].module, "lib.so");
	assert_string_equal(p->funcs[4].name, "ns::f(a::b)");
	assert_true(p->funcs[0].target);
	assert_int_equal(cw_plan_find(p, "malloc", NULL), 1);
	assert_int_equal(cw_plan_find(p, "malloc", "libc.so.6"), 1);
	assert_int_equal(cw_plan_find(p, "malloc", "other"), -1);
	assert_int_equal(cw_plan_find(p, "work", "libc.so.6"), -1);
	assert_int_equal(cw_plan_find(p, "nothing", NULL), -1);
	cw_plan_free(p);
	cw_plan_free(NULL);
}

static void finishing(void **state)
{
	struct cw_plan *p = cw_plan_new();
	char err[CW_PLAN_ERR];

	UNUSED(state);
	assert_int_equal(cw_plan_finish(p, err), -EINVAL);
	assert_non_null(strstr(err, "nothing to trace"));
	assert_int_equal(p->max_age_ns, 30000000000ull);
	assert_true(p->stacks);
	assert_int_equal(cw_plan_add_hop(p, "a,1,b", err), 0);
	assert_int_equal(cw_plan_add_hop(p, "b,2,lib.so:c", err), 0);
	for (int again = 0; again < 2; again++) {
		assert_int_equal(cw_plan_finish(p, err), 0);
		assert_int_equal(p->nfuncs, 3);
		assert_true(p->time && p->attribution && !p->ret);
		assert_string_equal(p->funcs[0].name, "a");
		assert_false(p->funcs[0].ret ||
			     p->funcs[0].target); /* a source: entries are enough */
		assert_true(p->funcs[1].ret && !p->funcs[1].target);
		assert_true(p->funcs[2].ret && p->funcs[2].target);
		assert_string_equal(p->funcs[2].module, "lib.so");
	}
	assert_int_equal(cw_plan_add_hop(p, "a,1,b", err), 0);
	assert_int_equal(cw_plan_finish(p, err), -EINVAL);
	assert_non_null(strstr(err, "given twice"));
	cw_plan_free(p);

	p = cw_plan_new(); /* entries alone need no return probe */
	assert_int_equal(cw_plan_add_func(p, "work", err), 0);
	assert_int_equal(cw_plan_finish(p, err), 0);
	assert_false(p->time || p->funcs[0].ret);
	p->ret = true;
	assert_int_equal(cw_plan_finish(p, err), 0);
	assert_true(p->funcs[0].ret && !p->time);
	cw_plan_free(p);

	p = cw_plan_new();
	p->attribution = true;
	assert_int_equal(cw_plan_add_func(p, "work", err), 0);
	assert_int_equal(cw_plan_finish(p, err), 0);
	assert_true(p->time && p->funcs[0].ret);
	cw_plan_free(p);
}

/* A pattern becomes what it matched, in its place; a name that is there already does not come
 * twice. */
static void expanding(void **state)
{
	char *const names[] = {"b[*", "c", "d"};
	struct cw_plan *p = cw_plan_new();
	char err[CW_PLAN_ERR];

	UNUSED(state);
	assert_int_equal(cw_plan_add_func(p, "a", err), 0);
	assert_int_equal(cw_plan_add_func(p, "b[*", err), 0);
	assert_int_equal(cw_plan_add_func(p, "c", err), 0);
	assert_int_equal(cw_plan_expand_func(p, 1, names, 3), 0);
	assert_int_equal(p->nfuncs, 4);
	assert_string_equal(p->funcs[0].name, "a");
	assert_string_equal(p->funcs[1].name, "b[*");
	assert_string_equal(p->funcs[2].name, "d");
	assert_string_equal(p->funcs[3].name, "c");
	cw_plan_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(hop_options),  cmocka_unit_test(bad_hop_options),
		cmocka_unit_test(func_options), cmocka_unit_test(finishing),
		cmocka_unit_test(expanding),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
