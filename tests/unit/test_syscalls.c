/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/syscalls.o analyze/rows.o analyze/hash.o */
/* The table of system calls against the headers of the machine that this runs on. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include "syscall_table.h"
#include "syscalls.h"

#define MAX_MACROS 2048

struct macro {
	char name[64], value[64];
};

static struct macro macros[MAX_MACROS];
static size_t nmacros;

/* All of a header's __NR_ macros. Returns their number; 0: there is no such header or no compiler.
 */
static size_t read_header(const char *flags, const char *header)
{
	char command[512], line[512];
	FILE *p;

	nmacros = 0;
	snprintf(command, sizeof(command),
		 "echo '#include <%s>' | ${CC:-cc} %s -E -dM - 2>/dev/null", header, flags);
	p = popen(command, "r");
	while (p && fgets(line, sizeof(line), p) && nmacros < MAX_MACROS) {
		struct macro *m = &macros[nmacros];

		nmacros += sscanf(line, "#define __NR%63s %63s", m->name, m->value) == 2;
	}
	if (p)
		pclose(p);
	return nmacros;
}

/* The number that a macro stands for, maybe by way of another one; -1: none. */
static int value_of(const char *value)
{
	if (*value >= '0' && *value <= '9')
		return atoi(value);
	for (size_t i = 0; i < nmacros && !strncmp(value, "__NR", 4); i++)
		if (!strcmp(macros[i].name, value + 4) && strcmp(macros[i].value, value) != 0)
			return value_of(macros[i].value);
	return -1;
}

/* Every system call of the header, but for what it only counts with, is in the table with its
 * number. */
static void check_header(const char *arch)
{
	size_t checked = 0;

	for (size_t i = 0; i < nmacros; i++) {
		const char *name = macros[i].name + 1;
		int nr = value_of(macros[i].value);

		if (macros[i].name[0] != '_' || nr < 0 || !strcmp(name, "syscalls") ||
		    !strcmp(name, "arch_specific_syscall"))
			continue;
		if (cw_syscall_number(arch, name) != nr)
			fail_msg("%s: %s is %d in the header and %d in the table", arch, name, nr,
				 cw_syscall_number(arch, name));
		checked++;
	}
	assert_true(checked > 250);
}

static void test_x86_64(void **state)
{
	(void)state;
	if (!read_header("", "asm/unistd_64.h"))
		skip();
	check_header("x86_64");
}

static void test_arm64(void **state)
{
	(void)state;
	if (!read_header("-D__ARCH_WANT_RENAMEAT -D__ARCH_WANT_NEW_STAT"
			 " -D__ARCH_WANT_SET_GET_RLIMIT -D__ARCH_WANT_SYS_CLONE3"
			 " -D__ARCH_WANT_MEMFD_SECRET",
			 "asm-generic/unistd.h"))
		skip();
	check_header("aarch64");
}

/* The headers that this very program was compiled with. */
static void test_this_machine(void **state)
{
#if defined(__x86_64__)
	const char *arch = "x86_64";
#else
	const char *arch = "aarch64";
#endif
	(void)state;
	assert_int_equal(cw_syscall_number(arch, "futex"), SYS_futex);
	assert_int_equal(cw_syscall_number(arch, "sched_setaffinity"), SYS_sched_setaffinity);
	assert_int_equal(cw_syscall_number(arch, "ppoll"), SYS_ppoll);
	assert_int_equal(cw_syscall_number(arch, "statx"), SYS_statx);
	assert_int_equal(cw_syscall_number(arch, "no_such_call"), -1);
}

#define X_BOTH(name, x86_64, arm64) {#name, {x86_64, arm64}},
static const struct {
	const char *name;
	int nr[2];
} all[] = {CW_SYSCALLS(X_BOTH)};

/* No name and no number comes twice. */
static void test_unique(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		for (size_t k = 0; k < i; k++) {
			assert_string_not_equal(all[i].name, all[k].name);
			for (int arch = 0; arch < 2; arch++)
				if (all[i].nr[arch] >= 0)
					assert_int_not_equal(all[i].nr[arch], all[k].nr[arch]);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_x86_64),
		cmocka_unit_test(test_arm64),
		cmocka_unit_test(test_this_machine),
		cmocka_unit_test(test_unique),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
