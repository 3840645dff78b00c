/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/options.o analyze/sequence.o analyze/say.o analyze/print.o */
/* Values of options: what is taken, and what is refused instead of being half understood. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include "../../analyze/options.h" /* record/ has one, too */

static void test_ms(void **state)
{
	uint64_t ns;

	(void)state;
	assert_true(cw_parse_ms("100", &ns));
	assert_int_equal(ns, 100000000);
	assert_true(cw_parse_ms("0.5", &ns));
	assert_int_equal(ns, 500000);
	assert_true(cw_parse_ms("0.0275", &ns));
	assert_int_equal(ns, 27500);
	for (const char **bad = (const char *[]){"", "-1", "1x", "inf", "nan", " 1", "1e300", NULL};
	     *bad; bad++)
		assert_false(cw_parse_ms(*bad, &ns));
}

static void test_count(void **state)
{
	uint64_t n;

	(void)state;
	assert_true(cw_parse_count("1", 1, 10, &n));
	assert_int_equal(n, 1);
	assert_true(cw_parse_count("18446744073709551615", 0, UINT64_MAX, &n));
	assert_true(n == UINT64_MAX);
	for (const char **bad = (const char *[]){"", "0", "11", "-1", "+1", "1 ",
						 "18446744073709551616", NULL};
	     *bad; bad++)
		assert_false(cw_parse_count(*bad, 1, 10, &n));
}

static void test_key(void **state)
{
	int64_t key;

	(void)state;
	assert_true(cw_parse_key("0xfffffffffffddd20", &key));
	assert_int_equal(key, -140000);
	assert_true(cw_parse_key("-140000", &key));
	assert_int_equal(key, -140000);
	assert_true(cw_parse_key("010", &key));
	assert_int_equal(key, 10);
	for (const char **bad =
		     (const char *[]){"", "0x", "zz", "0x1g", "0x10000000000000000", "--1", NULL};
	     *bad; bad++)
		assert_false(cw_parse_key(*bad, &key));
}

static void moment(const char *text, bool wall, int64_t ns)
{
	struct cw_moment m = {0};

	assert_true(cw_parse_moment(text, &m));
	assert_true(m.set);
	assert_int_equal(m.wall, wall);
	assert_int_equal(m.ns, ns);
}

static void test_moment(void **state)
{
	struct cw_moment m;

	(void)state;
	moment("2.5", false, 2500000000);
	moment("2s", false, 2000000000);
	moment("300ms", false, 300000000);
	moment("12:00", true, 43200000000000);
	moment("12:00:01.5", true, 43201500000000);
	for (const char **bad = (const char *[]){"", "x", "-1", "1h", "24:00", "12:60", "12:00:61",
						 "12:00:", "12:00:1x", "1:", NULL};
	     *bad; bad++)
		assert_false(cw_parse_moment(*bad, &m));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ms),
		cmocka_unit_test(test_count),
		cmocka_unit_test(test_key),
		cmocka_unit_test(test_moment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
