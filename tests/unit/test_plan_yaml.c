/* SPDX-License-Identifier: GPL-2.0-only */
/* Plans as YAML: there and back, as people write it, and what is said about what is wrong. */
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
#include "plan_keys.h"
#include "random.h"

#define UNUSED(x) (void)(x)

static uint64_t seed = 20240301;

/* ---- there and back ----------------------------------------------------------------------------
 */

static void same_text(const char *a, const char *b)
{
	if (a && b)
		assert_string_equal(a, b);
	else
		assert_ptr_equal(a, b);
}

static void same_plan(const struct cw_plan *a, const struct cw_plan *b)
{
	assert_int_equal(a->nfuncs, b->nfuncs);
	assert_int_equal(a->nhops, b->nhops);
	for (size_t i = 0; i < a->nfuncs; i++) {
		same_text(a->funcs[i].name, b->funcs[i].name);
		same_text(a->funcs[i].module, b->funcs[i].module);
		assert_int_equal(a->funcs[i].offset, b->funcs[i].offset);
		assert_int_equal(a->funcs[i].ret, b->funcs[i].ret);
		assert_int_equal(a->funcs[i].target, b->funcs[i].target);
	}
	for (size_t i = 0; i < a->nhops; i++) {
		same_text(a->hops[i].source, b->hops[i].source);
		same_text(a->hops[i].source_module, b->hops[i].source_module);
		same_text(a->hops[i].target, b->hops[i].target);
		same_text(a->hops[i].target_module, b->hops[i].target_module);
		assert_int_equal(a->hops[i].source_arg, b->hops[i].source_arg);
		assert_int_equal(a->hops[i].target_arg, b->hops[i].target_arg);
		assert_int_equal(a->hops[i].match, b->hops[i].match);
		assert_int_equal(a->hops[i].max_age_ns, b->hops[i].max_age_ns);
	}
	assert_memory_equal(&a->filters, &b->filters, sizeof(a->filters));
	assert_int_equal(a->max_age_ns, b->max_age_ns);
	assert_int_equal(a->ret, b->ret);
	assert_int_equal(a->time, b->time);
	assert_int_equal(a->attribution, b->attribution);
	assert_int_equal(a->stacks, b->stacks);
}

static char *random_name(void)
{
	static const char *const odd[] = {"true",
					  "null",
					  "~",
					  "123",
					  "1.5e3",
					  "- x",
					  "a: b",
					  "#x",
					  "x #y",
					  "'q'",
					  "\"q\"",
					  "@x",
					  "%x",
					  "&a",
					  "*a",
					  "!t",
					  "|",
					  ">",
					  "{}",
					  "[]",
					  "?",
					  "operator,",
					  "operator<<",
					  "std::map<int, std::less<int> >::at(int const&)",
					  "<T as X>::f::{{closure}}",
					  "f\\n",
					  "tab\tname",
					  "line\nname",
					  " lead",
					  "trail ",
					  "über::größe",
					  "\xe6\x97\xa5\xe6\x9c\xac",
					  "\x01\x02",
					  "=",
					  "<<",
					  "a,b",
					  "---",
					  "...",
					  "x:",
					  ":x",
					  "lib.so:sym"};
	char *s;
	size_t n;

	if (random_next(&seed) % 2)
		return strdup(odd[random_next(&seed) % (sizeof(odd) / sizeof(odd[0]))]);
	n = 1 + random_next(&seed) % 300;
	s = malloc(n + 1);
	for (size_t i = 0; i < n; i++)
		s[i] = ' ' + random_next(&seed) % 95;
	s[n] = '\0';
	return s;
}

static char *maybe_name(void)
{
	return random_next(&seed) % 2 ? random_name() : NULL;
}

static uint64_t random_ns(void)
{
	uint64_t v = random_next(&seed);

	return random_next(&seed) % 3 == 0 ? 0 : v >> random_next(&seed) % 64;
}

static struct cw_plan *random_plan(void)
{
	struct cw_plan *p = cw_plan_new();

	p->nfuncs = random_next(&seed) % 6;
	p->funcs = calloc(p->nfuncs + 1, sizeof(*p->funcs));
	for (size_t i = 0; i < p->nfuncs; i++) {
		struct cw_plan_func *f = &p->funcs[i];

		f->name = maybe_name();
		f->module = maybe_name();
		f->offset = f->name ? 0 : 1 + random_ns() / 2;
		f->ret = random_next(&seed) % 2;
		f->target = random_next(&seed) % 2;
	}
	p->nhops = random_next(&seed) % 6;
	p->hops = calloc(p->nhops + 1, sizeof(*p->hops));
	for (size_t i = 0; i < p->nhops; i++) {
		struct cw_plan_hop *h = &p->hops[i];

		h->source = random_name();
		h->source_module = maybe_name();
		h->source_arg = 1 + random_next(&seed) % 8;
		h->target = random_name();
		h->target_module = maybe_name();
		h->target_arg = random_next(&seed) % 9;
		h->match = random_next(&seed) % 3;
		h->max_age_ns = random_ns();
	}
	p->filters.min_total_ns = random_ns();
	p->filters.min_queue_ns = random_ns();
	p->filters.min_work_ns = random_ns();
	p->filters.max_events = random_ns();
	p->filters.duration_ns = random_ns();
	p->filters.diagnostic_interval_ns = random_ns();
	p->max_age_ns = random_ns();
	p->ret = random_next(&seed) % 2;
	p->time = random_next(&seed) % 2;
	p->attribution = random_next(&seed) % 2;
	p->stacks = random_next(&seed) % 2;
	return p;
}

static void there_and_back(void **state)
{
	char err[CW_PLAN_ERR];

	UNUSED(state);
	for (int round = 0; round < 2000; round++) {
		struct cw_plan *p = random_plan(), *back;
		char *yaml = cw_plan_to_yaml(p);

		assert_non_null(yaml);
		if (cw_plan_from_yaml(&back, yaml, strlen(yaml), "x.yaml", err))
			fail_msg("%s\n%s", err, yaml);
		same_plan(p, back);
		free(yaml);
		cw_plan_free(p);
		cw_plan_free(back);
	}
}

/* ---- as people write it -------------------------------------------------------------------------
 */

static struct cw_plan *load(const char *yaml)
{
	struct cw_plan *p;
	char err[CW_PLAN_ERR];

	if (cw_plan_from_yaml(&p, yaml, strlen(yaml), "plan.yaml", err))
		fail_msg("%s", err);
	return p;
}

static void the_documented_form(void **state)
{
	struct cw_plan *p =
		load("# a comment\n"
		     "target:\n"
		     "  function: write_result\n"
		     "\n"
		     "hops:\n"
		     "  - source: submit_compute_task\n"
		     "    source_arg: 2\n"
		     "    target: process_request\n"
		     "    target_arg: 1\n"
		     "  - source: submit_storage_task\n"
		     "    source_arg: 2\n"
		     "    target: write_result\n"
		     "    source_returns: nonzero\n"
		     "    match: oldest\n"
		     "    max_age_ms: 0.5\n"
		     "\n"
		     "filters:\n"
		     "  min_total_ms: 100\n"
		     "  min_queue_ms: 10.25\n"
		     "  min_work_ms: 20\n"
		     "  max_events: 10\n"
		     "  duration: 30\n"
		     "  diagnostic_interval_ms: 1000\n"
		     "functions: [extra, 'libc.so.6:malloc', {offset: 0x11c9, ret: true}]\n");
	char err[CW_PLAN_ERR];

	UNUSED(state);
	assert_int_equal(p->nhops, 2);
	assert_string_equal(p->hops[0].source, "submit_compute_task");
	assert_int_equal(p->hops[0].target_arg, 1);
	assert_int_equal(p->hops[1].target_arg, CW_ARG_AUTO);
	assert_int_equal(p->hops[1].match, CW_MATCH_OLDEST);
	assert_int_equal(p->hops[0].source_returns, CW_RETURNS_ANY);
	assert_int_equal(p->hops[1].source_returns, CW_RETURNS_NONZERO);
	assert_int_equal(p->hops[1].max_age_ns, 500000);
	assert_int_equal(p->filters.min_total_ns, 100000000);
	assert_int_equal(p->filters.min_queue_ns, 10250000);
	assert_int_equal(p->filters.max_events, 10);
	assert_int_equal(p->filters.duration_ns, 30000000000ull);
	assert_int_equal(p->filters.diagnostic_interval_ns, 1000000000);
	assert_int_equal(p->nfuncs, 4);
	assert_true(p->funcs[0].target);
	assert_string_equal(p->funcs[2].module, "libc.so.6");
	assert_int_equal(p->funcs[3].offset, 0x11c9);
	assert_int_equal(cw_plan_finish(p, err), 0);
	assert_int_equal(p->nfuncs, 7);
	cw_plan_free(p);
}

/* A condition on what a source returns wants its returns, and survives being stored. */
static void condition(void **state)
{
	static const char yaml[] = "hops:\n  - source: a\n    source_arg: 1\n    target: b\n"
				   "    source_returns: nonnegative\n"
				   "  - source: c\n    source_arg: 1\n    target: d\n";
	struct cw_plan *p = NULL, *again = NULL;
	char err[CW_PLAN_ERR] = "", *stored;

	(void)state;
	assert_int_equal(cw_plan_from_yaml(&p, yaml, strlen(yaml), "p", err), 0);
	assert_int_equal(cw_plan_finish(p, err), 0);
	assert_true(p->funcs[cw_plan_find(p, "a", NULL)].ret);
	assert_false(p->funcs[cw_plan_find(p, "c", NULL)].ret);
	stored = cw_plan_to_yaml(p);
	assert_int_equal(cw_plan_from_yaml(&again, stored, strlen(stored), "p", err), 0);
	assert_int_equal(again->hops[0].source_returns, CW_RETURNS_NONNEGATIVE);
	assert_int_equal(again->hops[1].source_returns, CW_RETURNS_ANY);
	free(stored);
	cw_plan_free(again);
	cw_plan_free(p);
}

static void complaints(void **state)
{
	static const struct {
		const char *yaml, *where, *said;
	} bad[] = {
		{"", "p:1:1:", "empty"},
		{"hello", "p:1:1:", "mapping"},
		{"hops:\n  - source: a\n    source_arg: 9\n    target: b\n", "p:3:17:", "'9'"},
		{"hops:\n  - source: a\n    source_arg: auto\n    target: b\n",
		 "p:3:17:", "'auto'"},
		{"hops:\n  - source: a\n    source_arg: 1\n", "p:2:5:", "no target"},
		{"hops:\n  - source: a\n    target: b\n", "p:2:5:", "no source_arg"},
		{"hops:\n  - source: a\n    sauce: b\n", "p:3:5:", "'sauce'"},
		{"hops: 5\n", "p:1:7:", "a list"},
		{"hops:\n  - 5\n", "p:2:5:", "mapping"},
		{"hops:\n  - source: [a]\n", "p:2:13:", "a name"},
		{"hops:\n  - source: ''\n", "p:2:13:", "a name"},
		{"hops:\n  - source: \"a\\0b\"\n", "p:2:13:", "binary"},
		{"hops:\n  - match: first\n", "p:2:12:", "newest, oldest or all"},
		{"hops:\n  - source_returns: 1\n", "p:2:21:", "any, nonzero, zero or nonnegative"},
		{"target:\n  func: x\n", "p:2:3:", "function"},
		{"target: x\n", "p:1:9:", "mapping"},
		{"functions:\n  - {ret: true}\n", "p:2:5:", "no name"},
		{"functions:\n  - 'lib.so:'\n", "p:2:5:", "names no function"},
		{"functions:\n  - +0\n", "p:2:5:", "begins with its header"},
		{"filters:\n  min_total_ms: ten\n", "p:2:17:", "milliseconds"},
		{"filters:\n  min_total_ms: -1\n", "p:2:17:", "'-1'"},
		{"filters:\n  min_total_ms: 1.0000001\n", "p:2:17:", "6 decimals"},
		{"filters:\n  min_total_ms: 99999999999999999\n", "p:2:17:", "milliseconds"},
		{"filters:\n  max_events: 1.5\n", "p:2:15:", "whole number"},
		{"filters:\n  max_events: 99999999999999999999\n", "p:2:15:", "whole number"},
		{"filters:\n  duration: 1e3\n", "p:2:13:", "seconds"},
		{"ret: yes\n", "p:1:6:", "true or false"},
		{"ret: true\nret: true\n", "p:2:1:", "twice"},
		{"wrong: 1\n", "p:1:1:", "hops"},
		{"[a]: 1\n", "p:1:1:", "not a word"},
		{"ret: true\n---\nret: true\n", "p:3:1:", "second document"},
		{"hops:\n - {\n", "p:3:1:", "not valid YAML"},
		{"ret: \xff\n", "p:", "UTF-8"},
		{"\tret: true\n", "p:1:1:", "not valid YAML"},
	};
	char err[CW_PLAN_ERR];
	struct cw_plan *p;

	UNUSED(state);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		int ret = cw_plan_from_yaml(&p, bad[i].yaml, strlen(bad[i].yaml), "p", err);

		if (ret != -EINVAL || !strstr(err, bad[i].where) || !strstr(err, bad[i].said))
			fail_msg("%d '%s' for '%s'", ret, ret ? err : "", bad[i].yaml);
		assert_null(p);
	}
}

/* Every key of the tables: a list, and a word where there is no word to give, is said in its place.
 */
static void every_key(void **state)
{
	static const struct {
		const struct key *keys;
		const char *before;
		int line, column; /* of the key */
	} tables[] = {
		{cw_plan_keys, "", 1, 1},
		{cw_plan_func_keys, "functions:\n  - ", 2, 5},
		{cw_plan_hop_keys, "hops:\n  - ", 2, 5},
		{cw_plan_filter_keys, "filters:\n  ", 2, 3},
	};
	char err[CW_PLAN_ERR], yaml[128], where[128];
	struct cw_plan *p;
	int n = 0;

	UNUSED(state);
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++)
		for (const struct key *k = tables[i].keys; k->name; k++)
			for (int word = 0; word < 2; word++, n++) {
				/* A mapping is wrong everywhere; names take any word. */
				if ((word && k->kind == V_NAME) || (!word && k->kind == V_NODE))
					continue;
				snprintf(yaml, sizeof(yaml), "%s%s: %s\n", tables[i].before,
					 k->name, word ? "purple" : "{a: b}");
				snprintf(where, sizeof(where), "p:%d:%d: %s is '%s': expected ",
					 tables[i].line,
					 tables[i].column + (int)strlen(k->name) + 2, k->name,
					 word ? "purple" : "(a list or mapping)");
				assert_int_equal(
					cw_plan_from_yaml(&p, yaml, strlen(yaml), "p", err),
					-EINVAL);
				if (strncmp(err, where, strlen(where)) != 0)
					fail_msg("'%s' instead of '%s' for '%s'", err, where, yaml);
			}
	assert_true(n > 50);
}

/* Aliases are fine, and cannot be used to make much work of little text. */
static void aliases(void **state)
{
	struct cw_plan *p = load("hops:\n  - &h {source: a, source_arg: 1, target: b}\n  - *h\n");
	size_t room = 900000, n;
	char *yaml = malloc(room + 100), err[CW_PLAN_ERR];

	UNUSED(state);
	assert_int_equal(p->nhops, 2);
	assert_string_equal(p->hops[1].target, "b");
	cw_plan_free(p);
	n = sprintf(yaml, "hops:\n- &h {source: a, source_arg: 1, target: b}\n");
	while (n < room)
		n += sprintf(yaml + n, "- *h\n");
	assert_int_equal(cw_plan_from_yaml(&p, yaml, n, "p", err), -EINVAL);
	assert_non_null(strstr(err, "one too many"));
	n = sprintf(yaml, "hops: &a [*a, *a]\n"); /* a list inside itself */
	assert_int_equal(cw_plan_from_yaml(&p, yaml, n, "p", err), -EINVAL);
	free(yaml);
	yaml = calloc(1, 2000000);
	assert_int_equal(cw_plan_from_yaml(&p, yaml, 2000000, "p", err), -E2BIG);
	free(yaml);
}

/* Symbols and paths hold any bytes; what stands in for those that YAML cannot hold is no exception.
 */
static void odd_names(void **state)
{
	static const char *const names[] = {
		"caf\xe9",          "\xff",         "a\x80\xbf z",      "\xe2\x82",
		"\xef\x9f\xbf",     "\xef\x9e\x80", "\xef\x9e\xff\x80", "\xed\xa0\x80",
		"\033[31mred\n\t%", "\xc2\x85",     "\xef\xbb\xbf",     "\xef\xbf\xbe",
		"'\"\\x41",         "\x7f",         "\xe2\x80\xae",     "\xf4\x90\x80\x80",
	};
	char err[CW_PLAN_ERR] = "", *yaml;

	UNUSED(state);
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		struct cw_plan *p = cw_plan_new(), *back;

		assert_int_equal(cw_plan_add_func(p, names[i], err), 0);
		yaml = cw_plan_to_yaml(p);
		assert_non_null(yaml);
		if (cw_plan_from_yaml(&back, yaml, strlen(yaml), "p", err))
			fail_msg("%s", err);
		assert_string_equal(back->funcs[0].name, names[i]);
		free(yaml);
		cw_plan_free(p);
		cw_plan_free(back);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(there_and_back), cmocka_unit_test(the_documented_form),
		cmocka_unit_test(condition),      cmocka_unit_test(complaints),
		cmocka_unit_test(every_key),      cmocka_unit_test(aliases),
		cmocka_unit_test(odd_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
