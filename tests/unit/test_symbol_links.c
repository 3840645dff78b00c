/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that complete one another: debug files, dwz's alternates, symbols that are compressed. */
#include "symbolize_fixture.h"

static const char schema[] =
#include "schema.inc"
	;

/* Two programs that share a type and an inlined function, so that dwz has something to move. */
static const char program[] =
	"struct shared_type { long a, b, c, d; struct shared_type *next; char name[40]; };\n"
	"static inline __attribute__((always_inline)) long shared_inlined(struct shared_type *t) "
	"{\n"
	"	return t->a * t->b + t->c / (t->d | 1);\n" /* 3 */
	"}\n"
	"__attribute__((noinline)) long hidden_function(struct shared_type *t) {\n"
	"	return shared_inlined(t) + WHICH;\n" /* 6 */
	"}\n"
	"int main(int argc, char **argv) {\n"
	"	struct shared_type t = { argc, 2, 3, 4, 0, {0} };\n"
	"	(void)argv;\n"
	"	return (int)hidden_function(&t);\n"
	"}\n";

static void compile(const char *name, const char *flags)
{
	put_file("links.c", program);
	assert_int_equal(
		shell("${CC:-gcc} -g -gno-column-info -O2 -Wl,--build-id -DWHICH=%d %s -o %s "
		      "links.c",
		      name[0], flags, name),
		0);
}

static uint64_t offset_of(const char *file, const char *function)
{
	uint64_t value =
		strtoull(fx_output("nm %s | sed -n 's/ [Tt] %s$//p'", file, function), NULL, 16);
	char *load = fx_output(
		"readelf -lW %s | awk '$1 == \"LOAD\" && /R E/ { print $2 \",\" $3 }'", file);
	uint64_t offset = strtoull(load, &load, 16);

	return value - strtoull(load + 1, NULL, 16) + offset;
}

static void payload(sqlite3 *db, const char *kind, const char *file)
{
	size_t size;
	char *blob = fx_read(file, &size);

	fx_blob(db, 1, kind, blob, size);
	free(blob);
}

/* Name hidden_function of the program whose symbols are in file, with these options and payloads.
 */
static sqlite3 *name_it(const char *file, const char *id_of, const struct cw_open_opts *o,
			const char *debug, const char *alternate)
{
	sqlite3 *db = fx_db(schema);

	fx_module(db, 1, "/not/here/program", fx_build_id(id_of));
	fx_frame(db, 1, 1, offset_of(file, "hidden_function"), 0);
	if (debug)
		payload(db, "debug", debug);
	if (alternate)
		payload(db, "alternate", alternate);
	payload(db, "symbols", "a.stripped");
	assert_int_equal(cw_symbolize(db, o), 0);
	return db;
}

static void make_stripped(void)
{
	compile("a", "-no-pie");
	compile("b", "-no-pie");
	assert_int_equal(shell("objcopy --only-keep-debug a a.debug && "
			       "objcopy --only-keep-debug b b.debug && cp a a.stripped && "
			       "strip a.stripped"),
			 0);
}

#define SHOWN   "shared_inlined links.c:3 < hidden_function+0 links.c:6"
#define UNNAMED "? links.c:3 < hidden_function+0 links.c:6"

static void test_debug_payload(void **state)
{
	struct cw_open_opts bare = {.no_lines = true};
	sqlite3 *db;

	(void)state;
	make_stripped();
	db = name_it("a", "a", NULL, "a.debug", NULL);
	fx_expect(db, 1, SHOWN);
	assert_string_equal(fx_module_text(db, 1, "lines_from"), "capture");
	assert_string_equal(fx_module_text(db, 1, "symbols_from"), "capture");
	sqlite3_close(db);
	db = name_it("a", "a", &bare, "a.debug", NULL);
	fx_expect(db, 1, "hidden_function+0");
	assert_string_equal(fx_module_text(db, 1, "lines_from"), "");
	sqlite3_close(db);
	/* The debug file of another program, however alike. */
	db = name_it("a", "a", NULL, "b.debug", NULL);
	fx_expect(db, 1, "");
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "another build id"));
	sqlite3_close(db);
}

/* Debug files are compressed as a rule. */
static void test_compressed(void **state)
{
	static const char *const ways[] = {"zlib", "zstd", "zlib-gnu"};
	sqlite3 *db;

	(void)state;
	make_stripped();
	for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++) {
		assert_int_equal(
			shell("objcopy --compress-debug-sections=%s a.debug a.small", ways[i]), 0);
		assert_true(atoi(fx_output(
			"readelf -SW a.small 2>/dev/null | grep -cE '\\.zdebug_|debug_.* C '")));
		db = name_it("a", "a", NULL, "a.small", NULL);
		fx_expect(db, 1, SHOWN);
		sqlite3_close(db);
	}
}

/* What the recorder took of a debug file: names, and no lines. */
static sqlite3 *with_symbols_of(const char *debug)
{
	sqlite3 *db = fx_db(schema);
	struct cw_open_opts o = {0};

	fx_module(db, 1, "/not/here/program", fx_build_id("a"));
	fx_frame(db, 1, 1, offset_of("a", "hidden_function"), 0);
	payload(db, "symbols", "a.stripped");
	payload(db, "debug symbols", debug);
	assert_int_equal(cw_symbolize(db, &o), 0);
	return db;
}

static void test_debug_symbols(void **state)
{
	sqlite3 *db;

	(void)state;
	make_stripped();
	assert_int_equal(shell("strip -g -o a.symbols a && strip -g -o b.symbols b && "
			       "objcopy --remove-section=.note.gnu.build-id a.symbols a.no-id"),
			 0);
	db = with_symbols_of("a.symbols");
	fx_expect(db, 1, "hidden_function+0");
	assert_string_equal(fx_module_text(db, 1, "symbols_from"), "capture");
	assert_string_equal(fx_module_text(db, 1, "lines_from"), "");
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "names only, no lines"));
	sqlite3_close(db);
	/* Found by its checksum where it was recorded. */
	db = with_symbols_of("a.no-id");
	fx_expect(db, 1, "hidden_function+0");
	sqlite3_close(db);
	db = with_symbols_of("b.symbols");
	fx_expect(db, 1, "");
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "another build id"));
	sqlite3_close(db);
}

/* A folder with debug files by build id, and the names that .gnu_debuglink gives. */
static void test_debug_folders(void **state)
{
	char *dir = strdup(in_dir("folder"));
	const char *dirs[] = {dir, NULL};
	struct cw_open_opts o = {.debug_dirs = dirs};
	char *id;
	sqlite3 *db;

	(void)state;
	make_stripped();
	id = fx_build_id("a");
	assert_int_equal(shell("mkdir -p folder/.build-id/%.2s && cp a.debug "
			       "folder/.build-id/%.2s/%s.debug",
			       id, id, id + 2),
			 0);
	db = name_it("a", "a", &o, NULL, NULL);
	fx_expect(db, 1, SHOWN);
	assert_non_null(strstr(fx_module_text(db, 1, "lines_from"), "/folder/.build-id/"));
	sqlite3_close(db);
	/* What is found first has the wrong build id; the link's name leads to the right one. */
	assert_int_equal(shell("cp b.debug folder/.build-id/%.2s/%s.debug && "
			       "cp a.debug folder/odd-name.dbg && cp a.debug odd-name.dbg && "
			       "objcopy --add-gnu-debuglink=odd-name.dbg a.stripped",
			       id, id + 2),
			 0);
	db = name_it("a", "a", &o, NULL, NULL);
	fx_expect(db, 1, SHOWN);
	assert_non_null(strstr(fx_module_text(db, 1, "lines_from"), "/folder/odd-name.dbg"));
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "another build id"));
	sqlite3_close(db);
	/* Folders that are none, or that nobody may enter, are said, and no more. */
	assert_int_equal(shell("rm -r folder && : >folder"), 0);
	db = name_it("a", "a", &o, NULL, NULL);
	fx_expect(db, 1, "");
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "Not a directory"));
	sqlite3_close(db);
	assert_int_equal(shell("rm folder && ln -s folder folder"), 0);
	db = name_it("a", "a", &o, NULL, NULL);
	assert_non_null(
		strstr(fx_module_text(db, 1, "tried"), "Too many levels of symbolic links"));
	sqlite3_close(db);
	assert_int_equal(shell("rm folder"), 0);
	free(dir);
}

static void test_alternate(void **state)
{
	char *dir = strdup(in_dir("alternates"));
	const char *dirs[] = {dir, NULL};
	struct cw_open_opts o = {.debug_dirs = dirs};
	sqlite3 *db;

	(void)state;
	make_stripped();
	if (shell("command -v dwz >/dev/null && dwz -m moved.dwz -M '%s' a.debug b.debug "
		  "2>/dev/null && "
		  "readelf -S a.debug | grep -q gnu_debugaltlink",
		  in_dir("absent/moved.dwz"))) {
		free(dir);
		skip();
	}
	/* Without what was moved there are lines, and no invented names. */
	db = name_it("a", "a", NULL, "a.debug", NULL);
	fx_expect(db, 1, UNNAMED);
	assert_non_null(strstr(fx_module_text(db, 1, "tried"),
			       "moved.dwz, which the debug information refers to, is missing"));
	sqlite3_close(db);
	db = name_it("a", "a", NULL, "a.debug", "moved.dwz");
	fx_expect(db, 1, SHOWN);
	sqlite3_close(db);
	assert_int_equal(shell("mkdir alternates && cp moved.dwz alternates"), 0);
	db = name_it("a", "a", &o, "a.debug", NULL);
	fx_expect(db, 1, SHOWN);
	sqlite3_close(db);
	/* The same, but for the build id: libdw by itself would take it. */
	assert_int_equal(
		shell("objcopy --dump-section .note.gnu.build-id=note moved.dwz same.dwz && "
		      "printf "
		      "other | dd of=note bs=1 seek=20 conv=notrunc 2>/dev/null && objcopy "
		      "--update-section .note.gnu.build-id=note moved.dwz other.dwz && "
		      "mkdir absent && cp other.dwz absent/moved.dwz && "
		      "cp other.dwz alternates/moved.dwz"),
		0);
	db = name_it("a", "a", &o, "a.debug", "other.dwz");
	fx_expect(db, 1, UNNAMED);
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "another build id"));
	sqlite3_close(db);
	free(dir);
}

static void test_mini_debug(void **state)
{
	sqlite3 *db;

	(void)state;
	make_stripped();
	if (shell("command -v xz >/dev/null 2>&1"))
		skip();
	assert_int_equal(shell("objcopy -S --remove-section .gnu_debuglink --keep-symbol="
			       "hidden_function a.debug mini && xz -kf mini && "
			       "objcopy --add-section .gnu_debugdata=mini.xz a.stripped"),
			 0);
	db = name_it("a", "a", NULL, NULL, NULL);
	fx_expect(db, 1, "hidden_function+0");
	assert_string_equal(fx_module_text(db, 1, "symbols_from"), "capture");
	sqlite3_close(db);
	/* Damaged, no compressed file at all, and one that would fill the memory. */
	assert_int_equal(
		shell("cp mini.xz bad && printf '\\377\\377\\377' | dd of=bad bs=1 seek=40 "
		      "conv=notrunc 2>/dev/null && objcopy --update-section "
		      ".gnu_debugdata=bad a.stripped"),
		0);
	db = name_it("a", "a", NULL, NULL, NULL);
	fx_expect(db, 1, "");
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), ".gnu_debugdata"));
	sqlite3_close(db);
	assert_int_equal(shell("head -c 200000000 /dev/zero | xz -0 >bad && objcopy "
			       "--update-section .gnu_debugdata=bad a.stripped"),
			 0);
	db = name_it("a", "a", NULL, NULL, NULL);
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "cannot be decompressed"));
	sqlite3_close(db);
}

static void test_mangled(void **state)
{
	static const char source[] = "namespace app { __attribute__((noinline)) int twice(int v) "
				     "{ return v * 2; } }\n"
				     "int main(int c, char **) { return app::twice(c); }\n";
	struct cw_open_opts o = {.mangled = true};
	sqlite3 *db = fx_db(schema);

	(void)state;
	put_file("m.cc", source);
	if (shell("g++ -g -O1 -Wl,--build-id -o m m.cc 2>/dev/null")) {
		sqlite3_close(db);
		skip();
	}
	fx_module(db, 1, in_dir("m"), fx_build_id("m"));
	fx_frame(db, 1, 1, offset_of("m", "_ZN3app5twiceEi"), 0);
	assert_int_equal(cw_symbolize(db, &o), 0);
	fx_expect(db, 1, "_ZN3app5twiceEi+0 m.cc:1");
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_debug_payload), cmocka_unit_test(test_debug_symbols),
		cmocka_unit_test(test_debug_folders), cmocka_unit_test(test_alternate),
		cmocka_unit_test(test_mini_debug),    cmocka_unit_test(test_mangled),
		cmocka_unit_test(test_compressed),
	};

	return cmocka_run_group_tests(tests, folder_new, folder_free);
}
