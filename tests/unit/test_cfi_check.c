/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/unwind_cfi.o analyze/cfi_check.o analyze/hash.o analyze/symbolize_elf.o */
/* LINK: analyze/plain_debug.o analyze/symbolize_table.o */
/*
 * Unwind information that would take all memory is not run; what lies beside it is. This program
 * has such functions itself, in .eh_frame, with its table and without, and in .debug_frame.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <cmocka.h>
#include <elf.h>
#include "symbolize_elf.h"
#include "unwind_cfi.h"

#define PEAK_KIB 65536 /* the worst of them would take 2 GiB */

__asm__(".cfi_sections .eh_frame, .debug_frame");

/* DW_CFA_undefined of a register. */
static __attribute__((noinline)) void register_of_134_million(void)
{
	__asm__ volatile(".cfi_escape 0x07, 0xff, 0xff, 0xff, 0x3f" ::: "memory");
}

static __attribute__((noinline)) void register_2047(void)
{
	__asm__ volatile(".cfi_escape 0x07, 0xff, 0x0f\n\tnop" ::: "memory");
}

static __attribute__((noinline)) void register_2048(void)
{
	__asm__ volatile(".cfi_escape 0x07, 0x80, 0x10\n\tnop" ::: "memory");
}

/* An expression for a register, and its block is not gone through: what looks like a register. */
static __attribute__((noinline)) void block(void)
{
	__asm__ volatile(".cfi_escape 0x16, 0x03, 0x05, 0x07, 0xff, 0xff, 0xff, 0x3f\n\tnop" ::
				 : "memory");
}

static __attribute__((noinline)) void remembers_a_million(void)
{
	__asm__ volatile(".rept 1000000\n\t.cfi_escape 0x0a\n\t.endr\n\tnop" ::: "memory");
}

static __attribute__((noinline)) void remembers_and_restores(void)
{
	__asm__ volatile(".rept 1000\n\t.cfi_escape 0x0a, 0x0b\n\t.endr\n\tnop" ::: "memory");
}

static __attribute__((noinline)) void plain(void)
{
	__asm__ volatile("nop" ::: "memory");
}

static char *image;
static size_t image_size;
static long peak_before;

static long peak_kib(void)
{
	struct rusage u;

	getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

/* Where a function of this program is in its file. */
static uint64_t offset_of(void (*function)(void))
{
	unsigned long start, end, offset;
	uint64_t at = 0;
	FILE *f = fopen("/proc/self/maps", "re");
	char line[512];

	assert_non_null(f);
	while (!at && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) == 3 &&
		    (uintptr_t)function >= start && (uintptr_t)function < end)
			at = (uintptr_t)function - start + offset;
	fclose(f);
	return at;
}

/* Whether rules are found for the first instruction of a function; all of its own are for that. */
static bool has_rules(struct cw_cfi *c, void (*function)(void))
{
	const struct cw_rules *r;

	function();
	r = cw_cfi_rules(c, offset_of(function));
	return r && r->found;
}

static struct cw_cfi *open_image(void)
{
	const char *why;
	struct cw_elf *elf = cw_elf_open_memory(image, image_size, &why);

	assert_non_null(elf);
	return cw_cfi_new(elf);
}

static void close_image(struct cw_cfi *c)
{
	cw_cfi_free(c);
	assert_true(peak_kib() - peak_before < PEAK_KIB);
}

/* Give a section of the image another name, which is as long. */
static void rename_section(const char *name, const char *other)
{
	const Elf64_Ehdr *h = (const void *)image;
	const Elf64_Shdr *s = (const void *)(image + h->e_shoff);
	char *names = image + s[h->e_shstrndx].sh_offset;

	for (unsigned i = 0; i < h->e_shnum; i++)
		if (!strcmp(names + s[i].sh_name, name)) {
			memcpy(names + s[i].sh_name, other, strlen(other));
			return;
		}
	fail();
}

static void read_image(void)
{
	FILE *f = fopen("/proc/self/exe", "re");

	assert_non_null(f);
	image = realloc(image, 64u << 20);
	image_size = fread(image, 1, 64u << 20, f);
	fclose(f);
}

static int setup(void **state)
{
	(void)state;
	read_image();
	peak_before = peak_kib();
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	free(image);
	image = NULL;
	return 0;
}

/* Each is judged alone. Here .debug_frame has the same functions, and no table: none of it is used.
 */
static void by_the_table(void **state)
{
	struct cw_cfi *c = open_image();

	(void)state;
	assert_true(cw_cfi_any(c));
	assert_true(has_rules(c, plain));
	assert_false(has_rules(c, register_of_134_million));
	assert_true(has_rules(c, register_2047));
	assert_false(has_rules(c, register_2048));
	assert_true(has_rules(c, block));
	assert_false(has_rules(c, remembers_a_million));
	assert_true(has_rules(c, remembers_and_restores));
	assert_true(has_rules(c, plain));
	close_image(c);
}

/* Entry after entry is read, so that any of them may run. */
static void without_a_table(void **state)
{
	struct cw_cfi *c;

	(void)state;
	rename_section(".eh_frame_hdr", ".eh_frame_xxx");
	c = open_image();
	assert_false(cw_cfi_any(c));
	assert_false(has_rules(c, register_of_134_million));
	close_image(c);
}

static void debug_frame_alone(void **state)
{
	struct cw_cfi *c;

	(void)state;
	rename_section(".eh_frame", ".eh_other");
	c = open_image();
	assert_false(has_rules(c, register_of_134_million));
	assert_false(has_rules(c, remembers_a_million));
	close_image(c);
}

/* Without section headers the program headers lead to the table. */
static void by_segments(void **state)
{
	Elf64_Ehdr *h = (void *)image;
	struct cw_cfi *c;

	(void)state;
	h->e_shoff = h->e_shnum = h->e_shstrndx = 0;
	c = open_image();
	assert_true(has_rules(c, plain));
	assert_true(has_rules(c, register_2047));
	assert_false(has_rules(c, register_2048));
	close_image(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(by_the_table, setup, teardown),
		cmocka_unit_test_setup_teardown(without_a_table, setup, teardown),
		cmocka_unit_test_setup_teardown(debug_frame_alone, setup, teardown),
		cmocka_unit_test_setup_teardown(by_segments, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
