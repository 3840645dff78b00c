/* SPDX-License-Identifier: GPL-2.0-only */
/* Damaged ELF files and DWARF, embedded and on disk: any answer will do, but no crash and no hang.
 */
#include "random.h"
#include "symbolize_fixture.h"
#include "symbolize_elf.h"
#include "symbolize_table.h"

static const char schema[] =
#include "schema.inc"
	;

static const char program[] =
	"static inline __attribute__((always_inline)) int one(int x) { return x * 7; }\n"
	"__attribute__((noinline)) int two(int x) { return one(x) + one(x + 3); }\n"
	"int main(int c, char **v) { (void)v; return two(c); }\n";

static char *image;
static size_t image_size;
static uint64_t text_start;
static sqlite3 *db;

static void add_frames(void)
{
	int i;

	for (i = 0; i < 24; i++)
		fx_frame(db, i + 1, 1, text_start + 2 * i, i & 1);
	fx_frame(db, 30, 1, UINT64_MAX, 1);
	fx_frame(db, 31, 1, 0, 1);
}

/* Without the C library's start files the file is small, so that most flips hit something. */
static int setup(void **state)
{
	if (folder_new(state))
		return -1;
	put_file("prog.c", program);
	if (shell("${CC:-gcc} -g -O1 -shared -fPIC -nostdlib -Wl,--build-id "
		  "-Wl,-z,noseparate-code "
		  "-o prog prog.c"))
		return -1;
	image = fx_read("prog", &image_size);
	text_start = strtoull(fx_output("nm prog | sed -n 's/ T two$//p'"), NULL, 16);
	db = fx_db(schema);
	fx_module(db, 1, "/nonexistent/prog", "");
	add_frames();
	return 0;
}

static int teardown(void **state)
{
	free(image);
	sqlite3_close(db);
	return folder_free(state);
}

/* Name frames by the image, embedded as a whole so that its DWARF is used as well. */
static void run(const char *data, size_t size)
{
	fx_blob(db, 1, "elf", data, size);
	fx_sql(db, sqlite3_mprintf("DELETE FROM symbol"));
	assert_int_equal(cw_symbolize(db, NULL), 0);
	if (data == image)
		fx_expect(db, 1, "two+0 prog.c:2");
}

static uint64_t seed = 88172645463325252ull;

/* Flip bytes of a file that names all. */
static void flip(const char *whole, size_t size, int rounds)
{
	static const unsigned char edges[] = {0, 1, 0x7f, 0x80, 0xff};
	char *copy = malloc(size);
	int round, i;

	for (round = 0; round < rounds; round++) {
		int flips = 1 + random_next(&seed) % 8;

		memcpy(copy, whole, size);
		for (i = 0; i < flips; i++) {
			/* Half of them in the headers, the section table and what is in between. */
			size_t at = random_next(&seed) % size;

			if (round & 1)
				at = random_next(&seed) & 2 ? at % 0x240 : size - 1 - at % 0x900;
			copy[at] = round & 2 ? (char)random_next(&seed)
					     : (char)edges[random_next(&seed) % 5];
		}
		run(copy, size);
	}
	free(copy);
}

static void test_flips(void **state)
{
	(void)state;
	run(image, image_size);
	flip(image, image_size, 3000);
}

/* The same with sections that are compressed, in either way. */
static void test_flips_compressed(void **state)
{
	static const char *const ways[] = {"zlib", "zstd"};

	(void)state;
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		size_t size;
		char *small;

		assert_int_equal(shell("objcopy --compress-debug-sections=%s prog small", ways[i]),
				 0);
		assert_true(atoi(fx_output("readelf -SW small | grep -c 'debug_.* C '")));
		small = fx_read("small", &size);
		run(small, size);
		fx_expect(db, 1, "two+0 prog.c:2");
		flip(small, size, 1000);
		free(small);
	}
}

static void test_truncation(void **state)
{
	size_t size;

	(void)state;
	for (size = 0; size < image_size; size += 61) {
		/* A block of exactly that size, so that reading past it is seen. */
		char *copy = malloc(size ? size : 1);

		memcpy(copy, image, size);
		run(copy, size);
		free(copy);
	}
}

static void write_file(const char *name, const char *bytes, size_t size)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	assert_int_equal(fwrite(bytes, 1, size, f), size);
	assert_int_equal(fclose(f), 0);
}

/* The same on disk, where the file is mapped and found by its build id. */
static void test_file(void **state)
{
	char *copy = malloc(image_size), id[128];
	int round, i;

	(void)state;
	strcpy(id, fx_build_id("prog"));
	fx_sql(db, sqlite3_mprintf("DELETE FROM module_blob; DELETE FROM module"));
	fx_module(db, 1, in_dir("damaged"), id);
	for (round = 0; round < 300; round++) {
		memcpy(copy, image, image_size);
		for (i = 0; i < 4; i++)
			copy[0x300 + random_next(&seed) % (image_size - 0x300)] =
				random_next(&seed);
		write_file("damaged", copy, image_size);
		fx_sql(db, sqlite3_mprintf("DELETE FROM symbol"));
		assert_int_equal(cw_symbolize(db, NULL), 0);
	}
	free(copy);
}

/* Symbols that overlap, nest and have no size, asked for in any order. */
static void test_table(void **state)
{
	struct cw_symtab *t = cw_symtab_new();
	uint64_t start;

	(void)state;
	assert_null(cw_symtab_find(t, 5, &start));
	assert_int_equal(cw_symtab_add(t, 100, 100, 1000, "outer", true), 0);
	assert_int_equal(cw_symtab_add(t, 120, 10, 1000, "inside", false), 0);
	assert_int_equal(cw_symtab_add(t, 300, 0, 1000, "sizeless", true), 0);
	assert_int_equal(cw_symtab_add(t, 400, 10, 1000, "__alias", true), 0);
	assert_int_equal(cw_symtab_add(t, 400, 10, 1000, "alias", true), 0);
	assert_int_equal(cw_symtab_add(t, 400, 10, 1000, "a", false), 0);
	assert_int_equal(cw_symtab_add(t, 900, UINT64_MAX, 1000, "huge", false), 0);
	assert_int_equal(cw_symtab_add(t, 2000, 8, 1000, "beyond", false), 0);
	assert_string_equal(cw_symtab_find(t, 999, &start), "huge");
	assert_null(cw_symtab_find(t, 1000, &start));
	assert_null(cw_symtab_find(t, 2001, &start));
	assert_string_equal(cw_symtab_find(t, 405, &start), "alias");
	assert_null(cw_symtab_find(t, 410, &start));
	assert_string_equal(cw_symtab_find(t, 399, &start), "sizeless");
	assert_int_equal(start, 300);
	assert_string_equal(cw_symtab_find(t, 119, &start), "outer");
	assert_string_equal(cw_symtab_find(t, 120, &start), "inside");
	assert_string_equal(cw_symtab_find(t, 130, &start), "outer");
	assert_int_equal(start, 100);
	assert_null(cw_symtab_find(t, 200, &start));
	assert_null(cw_symtab_find(t, 99, &start));
	cw_symtab_free(t);
}

static void test_odd_files(void **state)
{
	const char *why = NULL;

	(void)state;
	assert_null(cw_elf_open("/nonexistent", &why));
	assert_string_equal(why, "No such file or directory");
	assert_null(cw_elf_open("/dev/null", &why));
	assert_string_equal(why, "not a regular file");
	assert_null(cw_elf_open("/etc/passwd", &why));
	assert_string_equal(why, "not an ELF file");
	assert_null(cw_elf_open_memory("", 0, &why));
	assert_string_equal(why, "not an ELF file");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flips),
		cmocka_unit_test(test_truncation),
		cmocka_unit_test(test_flips_compressed),
		cmocka_unit_test(test_file),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_odd_files),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
