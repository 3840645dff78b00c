/* SPDX-License-Identifier: GPL-2.0-only */
/* Names as people write them. */
/* LINK: analyze/demangle.o */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

static void check(const char *name, const char *wanted)
{
	struct obstack mem;

	obstack_init(&mem);
	assert_string_equal(cw_demangle(name, &mem), wanted);
	/* Nothing is left growing. */
	assert_int_equal(obstack_object_size(&mem), 0);
	obstack_free(&mem, NULL);
}

static void test_plain(void **state)
{
	(void)state;
	check("main", "main");
	check("_start", "_start");
	check("", "");
	check("_", "_");
	check("_Z", "_Z");
	check("__libc_start_main", "__libc_start_main");
}

static void test_cxx(void **state)
{
	(void)state;
	check("_Z3foov", "foo()");
	check("_ZN3app6Server6handleERKSs", "app::Server::handle(std::string const&)");
	check("_ZN3appC1Ev", "app::app()");
	check("_Z3maxIiET_S0_S0_", "int max<int>(int, int)");
}

static void test_rust(void **state)
{
	(void)state;
	check("_ZN4core3fmt9Formatter3pad17h0123456789abcdefE", "core::fmt::Formatter::pad");
	check("_RNvC6_123foo3bar", "123foo::bar");
}

static void test_clones(void **state)
{
	(void)state;
	check("work.constprop.0", "work");
	check("work.part.0.isra.3", "work");
	check("work.cold", "work");
	check("_ZL4workv.constprop.0", "work()");
	check("work.llvm.1234567", "work");
	/* Not a clone's suffix. */
	check("main._omp_fn.0", "main._omp_fn.0");
	check(".cold", ".cold");
}

static void test_version_and_plt(void **state)
{
	(void)state;
	check("malloc@@GLIBC_2.2.5", "malloc");
	check("malloc@plt", "malloc@plt");
	check("_Znwm@plt", "operator new(unsigned long)@plt");
	check("@plt", "@plt");
}

/* Every S_ doubles what is printed: sixty of them are more than any memory. */
static void test_explosion(void **state)
{
	char name[1024] = "_Z3foo1AIiiE";
	int i;

	(void)state;
	for (i = 0; i < 60; i++) {
		char part[32];
		static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
		char ref[8];

		if (i == 0)
			strcpy(ref, "S0_");
		else if (i < 36)
			sprintf(ref, "S%c_", digits[i]);
		else
			sprintf(ref, "S%c%c_", digits[i / 36], digits[i % 36]);
		sprintf(part, "S_I%s%sE", ref, ref);
		strcat(name, part);
	}
	check(name, name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_rust),
		cmocka_unit_test(test_clones),
		cmocka_unit_test(test_version_and_plt),
		cmocka_unit_test(test_explosion),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
