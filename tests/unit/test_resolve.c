/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/resolve.o record/debugfile.o record/elffile.o record/nearest.o record/cxxname.o */
/* Names to functions: the test's library is compiled here, so that every kind of symbol is known.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>
#include <fcntl.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../record/cxxname.h"
#include "../../record/nearest.h"
#include "../../record/resolve.h"
#include "folder.h"

static char lib[64];
static int lib_fd;

static const char source[] =
	"int plain(int x) { return x + 1; }\n"
	"int overload_int(int x) __asm__(\"_ZN2ns5Class6methodEi\");\n"
	"int overload_int(int x) { return x + 2; }\n"
	"int overload_dbl(double x) __asm__(\"_ZN2ns5Class6methodEd\");\n"
	"int overload_dbl(double x) { return (int) x * 3; }\n"
	"int only(int x) __asm__(\"_ZN2ns4onlyEi\");\n"
	"int only(int x) { return x * 5; }\n"
	"int tmpl(int x) __asm__(\"_ZN2ns4tmplIiEEiT_\");\n"
	"int tmpl(int x) { return x * 55; }\n"
	"int get(int x) __asm__(\"_ZNK2ns3Box3getEi\");\n"
	"int get(int x) { return x * 56; }\n"
	"int cloned(int x) __asm__(\"cloned.constprop.0\");\n"
	"int cloned(int x) { return x * 7; }\n"
	"int llvm(int x) __asm__(\"thin.llvm.123\");\n"
	"int llvm(int x) { return x * 77; }\n"
	"int old(int x) { return x * 11; }\n"
	"int new(int x) { return x * 13; }\n"
	"__asm__(\".symver old, versioned@V1\");\n"
	"__asm__(\".symver new, versioned@@V2\");\n"
	"static int impl(int x) { return x * 17; }\n"
	"static void *pick(void) { return impl; }\n"
	"int chosen(int x) __attribute__((ifunc(\"pick\")));\n"
	"int data_object = 1;\n"
	"int undefined_here(int); int user(int x) { return undefined_here(x); }\n"
	"__asm__(\".text; .type twin,@function; twin: nop; ret; .size twin, 2\");\n";
static const char second[] =
	"__asm__(\".text; .type twin,@function; twin: nop; nop; ret; .size twin, 3\");\n";

static void run(const char *cmd)
{
	assert_int_equal(shell("%s", cmd), 0);
}

static int setup(void **state)
{
	assert_int_equal(folder_new(state), 0);
	put_file("a.c", source);
	put_file("b.c", second);
	put_file("v.map", "V1 { global: versioned; }; V2 { global: *; } V1;\n");
	run("cc -O1 -fPIC -shared -Wl,--version-script=v.map -o lib.so a.c b.c");
	run("cp lib.so stripped.so && strip stripped.so && cc -c a.c -o a.o");
	snprintf(lib, sizeof(lib), "%s", in_dir("lib.so"));
	lib_fd = open(lib, O_RDONLY);
	return lib_fd < 0;
}

static int teardown(void **state)
{
	close(lib_fd);
	return folder_free(state);
}

static struct cw_func found(const char *name)
{
	struct cw_func fn;
	char err[CW_ERR];
	int rc = cw_resolve_symbol(lib_fd, lib, 0, name, &fn, err);

	if (rc)
		fail_msg("%s: %s", name, err);
	return fn;
}

static void refused(const char *name, int rc, const char *says)
{
	struct cw_func fn;
	char err[CW_ERR];

	assert_int_equal(cw_resolve_symbol(lib_fd, lib, 0, name, &fn, err), rc);
	if (!strstr(err, says))
		fail_msg("%s: \"%s\" does not say \"%s\"", name, err, says);
	assert_null(strchr(err, '\n'));
}

static uint64_t nm(const char *name)
{
	char cmd[256], line[64] = "";
	FILE *f;

	snprintf(cmd, sizeof(cmd), "nm %s | awk '$3 == \"%s\" { print $1 }'", lib, name);
	f = popen(cmd, "r");
	assert_non_null(f);
	assert_non_null(fgets(line, sizeof(line), f));
	pclose(f);
	return strtoull(line, NULL, 16);
}

static void test_plain(void **state)
{
	struct cw_func fn = found("plain");
	uint8_t code[64], byte;

	(void)state;
	assert_int_equal(fn.value, nm("plain"));
	assert_true(fn.size > 0 && fn.size < sizeof(code));
	assert_false(fn.ifunc);
	/* The offset is that of the code: it ends with a ret. */
	assert_int_equal(pread(lib_fd, &byte, 1, (off_t)(fn.offset + fn.size - 1)), 1);
#ifdef __x86_64__
	assert_int_equal(byte, 0xc3);
#endif
	refused("data_object", -ENOENT, "no function data_object");
	refused("undefined_here", -ENOENT, "no function undefined_here");
	refused("", -EINVAL, "empty");
}

static void test_ifunc(void **state)
{
	(void)state;
	assert_true(found("chosen").ifunc);
	assert_int_equal(found("chosen").value, found("pick").value);
}

static void test_versions(void **state)
{
	struct cw_func fn;
	char err[CW_ERR], path[64];
	int fd;

	(void)state;
	assert_int_equal(found("versioned").value, nm("new"));
	assert_int_equal(found("versioned@V1").value, nm("old"));
	assert_int_equal(found("versioned@@V2").value, nm("new"));
	refused("versioned@V3", -ENOENT, "no version V3");
	/* Without .symtab the versions come from the version section. */
	snprintf(path, sizeof(path), "%s/stripped.so", test_dir);
	fd = open(path, O_RDONLY);
	assert_int_equal(cw_resolve_symbol(fd, path, 0, "versioned@V1", &fn, err), 0);
	assert_int_equal(fn.value, nm("old"));
	assert_int_equal(cw_resolve_symbol(fd, path, 0, "versioned", &fn, err), 0);
	assert_int_equal(fn.value, nm("new"));
	close(fd);
}

static void test_cxx(void **state)
{
	(void)state;
	assert_int_equal(found("ns::only").value, nm("_ZN2ns4onlyEi"));
	assert_int_equal(found("_ZN2ns4onlyEi").value, nm("_ZN2ns4onlyEi"));
	assert_int_equal(found("ns::Class::method(double)").value, nm("_ZN2ns5Class6methodEd"));
	assert_int_equal(found("ns::tmpl<int>").value, nm("_ZN2ns4tmplIiEEiT_"));
	assert_int_equal(found("ns::tmpl").value, nm("_ZN2ns4tmplIiEEiT_"));
	assert_int_equal(found("ns::tmpl<int>(int)").value, nm("_ZN2ns4tmplIiEEiT_"));
	assert_int_equal(found("int ns::tmpl<int>(int)").value, nm("_ZN2ns4tmplIiEEiT_"));
	assert_int_equal(found("ns::Box::get(int) const").value, nm("_ZNK2ns3Box3getEi"));
	assert_int_equal(found("ns::Box::get(int)").value, nm("_ZNK2ns3Box3getEi"));
	refused("ns::Box::get(int) volatile", -ENOENT, "no function");
	refused("ns::Box::get(long) const", -ENOENT, "no function");
	refused("ns::Class::method", -ENOTUNIQ, "_ZN2ns5Class6methodEi (ns::Class::method(int))");
	refused("ns::Class::method", -ENOTUNIQ,
		"_ZN2ns5Class6methodEd (ns::Class::method(double))");
	refused("ns::Class::methd", -ENOENT, "nearest names are ns::Class::method");
	refused("method", -ENOENT, "ns::Class::method");
}

/* A name in which each parameter is made of two of the one before: 2^31 of the first. */
static void test_huge_name(void **state)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char name[2048], *readable;
	size_t n = (size_t)sprintf(name, "_Z3bad1PI1x1xE");

	(void)state;
	for (int i = 1; i < 36; i++)
		n += (size_t)sprintf(name + n, "S_IS%c_S%c_E", digits[i], digits[i]);
	assert_null(cw_cxx_demangle(name, true));
	readable = cw_cxx_demangle(name, false);
	assert_string_equal(readable, "bad");
	free(readable);
}

/* A file without build-id names its debug file by a checksum: one that never ends has none. */
static void test_endless_link(void **state)
{
	struct cw_func fn;
	char err[CW_ERR], path[64];
	int fd;

	(void)state;
	run("ln -s /dev/zero zeros && truncate -s 4T sparse && cc -O1 -fPIC -shared -s"
	    " -Wl,--build-id=none -o bare.so b.c");
	for (int i = 0; i < 2; i++) {
		run(i ? "printf 'zeros\\0\\0\\0abcd' >link" : "printf 'sparse\\0\\0abcd' >link");
		run("objcopy --remove-section .gnu_debuglink --add-section .gnu_debuglink=link"
		    " bare.so");
		snprintf(path, sizeof(path), "%s/bare.so", test_dir);
		fd = open(path, O_RDONLY);
		alarm(20);
		assert_int_equal(cw_resolve_symbol(fd, path, 0, "nothing", &fn, err), -ENOENT);
		alarm(0);
		close(fd);
	}
}

static void test_clones(void **state)
{
	(void)state;
	refused("cloned", -ENOENT, "cloned.constprop.0");
	assert_int_equal(found("cloned.constprop.0").value, nm("cloned.constprop.0"));
	/* A renamed local is the function itself. */
	assert_int_equal(found("thin").value, nm("thin.llvm.123"));
}

static void test_twins(void **state)
{
	(void)state;
	refused("twin", -ENOTUNIQ, "2 functions called twin: +0x");
}

static void test_nearest(void **state)
{
	struct cw_nearest nr;

	(void)state;
	refused("plian", -ENOENT, "plain");
	refused("qqqqqqqqqqqq", -ENOENT, "no function qqqqqqqqqqqq");
	cw_nearest_init(&nr, "handler");
	cw_nearest_offer(&nr, "nothing_like_it");
	cw_nearest_offer(&nr, "http_handler");
	cw_nearest_offer(&nr, "handled");
	cw_nearest_offer(&nr, "hadler");
	cw_nearest_offer(&nr, "hadler");
	cw_nearest_offer(&nr, "handlers");
	assert_int_equal(nr.n, 3);
	assert_string_equal(nr.best[0].name, "http_handler");
	assert_string_equal(nr.best[1].name, "handled");
	assert_string_equal(nr.best[2].name, "hadler");
}

static void test_offset(void **state)
{
	struct cw_func fn = found("plain"), at;
	char err[CW_ERR];

	(void)state;
	assert_int_equal(cw_resolve_offset(lib_fd, lib, 0, fn.offset + 1, &at, err), 0);
	assert_int_equal(at.value, fn.value);
	assert_int_equal(at.offset, fn.offset);
	assert_int_equal(at.size, fn.size);
	assert_int_equal(cw_resolve_offset(lib_fd, lib, 0, 1 << 30, &at, err), -ERANGE);
	assert_non_null(strstr(err, "is not code"));
}

static void refuse_file(const char *name, int want, const char *says)
{
	struct cw_func fn;
	char err[CW_ERR] = "", path[64];
	int fd;

	snprintf(path, sizeof(path), "%s/%s", test_dir, name);
	fd = open(path, O_RDONLY);
	assert_true(fd >= 0);
	assert_int_equal(cw_resolve_symbol(fd, path, 0, "plain", &fn, err), want);
	if (!strstr(err, says))
		fail_msg("%s: \"%s\" does not say \"%s\"", name, err, says);
	close(fd);
}

static void test_other_files(void **state)
{
	(void)state;
	put_file("script", "#!/bin/sh\n");
	put_file("empty", "");
	run("printf '\\177ELF\\1\\1\\1' >elf32 && head -c 45 /dev/zero >>elf32");
	run("head -c 100 lib.so >cut.so");
	refuse_file("script", -ENOEXEC, "is not an ELF file");
	refuse_file("empty", -ENOEXEC, "is empty");
	refuse_file(".", -ENOEXEC, "not a regular file");
	refuse_file("elf32", -ENOEXEC, "32-bit");
	refuse_file("cut.so", -ENOENT, "no function plain");
	refuse_file("a.o", -ENOEXEC, "does not hold the code of plain");
}

/* The number of sections in the file's header becomes 0. */
static int without_sections(void)
{
	char path[64];
	uint8_t zeros[24] = {0};
	int fd;

	run("cp lib.so nosections.so");
	snprintf(path, sizeof(path), "%s/nosections.so", test_dir);
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, zeros, 8, 40), 8);
	assert_int_equal(pwrite(fd, zeros, 4, 60), 4);
	return fd;
}

static void test_build_id(void **state)
{
	uint8_t id[24], again[24];
	char hex[64] = "", line[64] = "", cmd[160];
	FILE *f;
	int i, fd;

	(void)state;
	assert_int_equal(cw_elf_build_id(lib_fd, id), 20);
	fd = without_sections();
	assert_int_equal(cw_elf_build_id(fd, again), 20);
	assert_memory_equal(id, again, 20);
	close(fd);
	for (i = 0; i < 20; i++)
		sprintf(hex + 2 * i, "%02x", id[i]);
	snprintf(cmd, sizeof(cmd), "readelf -n %s | awk '/Build ID/ { print $3 }'", lib);
	f = popen(cmd, "r");
	assert_non_null(fgets(line, sizeof(line), f));
	pclose(f);
	line[40] = '\0';
	assert_string_equal(line, hex);
}

/* Wrong bytes in headers and symbol tables: any answer, but no crash. */
static void test_damaged(void **state)
{
	static uint8_t good[1 << 20], bad[1 << 20];
	ssize_t size = pread(lib_fd, good, sizeof(good), 0);
	struct cw_func fn;
	char err[CW_ERR], path[64];
	uint8_t id[24];

	(void)state;
	assert_true(size > 4096 && size < (ssize_t)sizeof(good));
	snprintf(path, sizeof(path), "%s/bad.so", test_dir);
	for (unsigned int i = 0; i < 1000; i++) {
		int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);

		srandom(i);
		memcpy(bad, good, (size_t)size);
		for (int j = 0; j < 4; j++) {
			size_t at = (size_t)random() % (size_t)size;

			/* Headers are small and matter most. */
			if (j < 2)
				at = j ? (size_t)size - 1 - at % 2200 : 4 + at % 700;
			bad[at] = (uint8_t)random();
		}
		assert_int_equal(write(fd, bad, (size_t)size), size);
		cw_resolve_symbol(fd, path, 0, "plain", &fn, err);
		cw_resolve_symbol(fd, path, 0, "versioned@V1", &fn, err);
		cw_resolve_symbol(fd, path, 0, "ns::nowhere", &fn, err);
		cw_resolve_offset(fd, path, 0, 0x1100, &fn, err);
		cw_elf_build_id(fd, id);
		close(fd);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),        cmocka_unit_test(test_ifunc),
		cmocka_unit_test(test_versions),     cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_clones),       cmocka_unit_test(test_twins),
		cmocka_unit_test(test_nearest),      cmocka_unit_test(test_offset),
		cmocka_unit_test(test_other_files),  cmocka_unit_test(test_build_id),
		cmocka_unit_test(test_damaged),      cmocka_unit_test(test_huge_name),
		cmocka_unit_test(test_endless_link),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
