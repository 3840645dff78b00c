/* SPDX-License-Identifier: GPL-2.0-only */
/* Names, lines and inlined functions of real programs, against what those print themselves. */
#include "symbolize_fixture.h"
#include "symbolize.h"
#include "symbolize_batch.h"
#include "symbolize_pool.h"

static const char schema[] =
#include "schema.inc"
	;

/* The numbers of these lines are what is checked: probe() prints the return address it was called
 * with. */
static const char program[] =
	"#include <stdio.h>\n"
	"static unsigned long offset_of(unsigned long pc) {\n"
	"	unsigned long start, end, off; char line[512];\n"
	"	FILE *f = fopen(\"/proc/self/maps\", \"r\");\n"
	"	while (fgets(line, sizeof(line), f))\n"
	"		if (sscanf(line, \"%lx-%lx %*s %lx\", &start, &end, &off) == 3 &&\n"
	"		    pc >= start && pc < end) { fclose(f); return pc - start + off; }\n"
	"	return 0;\n"
	"}\n"
	"__attribute__((noinline)) void probe(const char *who) {\n"
	"	printf(\"%s=0x%lx\\n\", who, offset_of((unsigned "
	"long)__builtin_return_address(0)));\n"
	"}\n"
	"__attribute__((noinline)) void plain(void) {\n"
	"	probe(\"plain\");\n" /* 14 */
	"	asm volatile(\"\");\n"
	"}\n"
	"static inline __attribute__((always_inline)) void inner(void) {\n"
	"	probe(\"inlined\");\n" /* 18 */
	"	asm volatile(\"\");\n"
	"}\n"
	"static inline __attribute__((always_inline)) void middle(void) {\n"
	"	inner();\n" /* 22 */
	"}\n"
	"__attribute__((noinline)) void outer(void) {\n"
	"	middle();\n" /* 25 */
	"	asm volatile(\"\");\n"
	"}\n"
	"__attribute__((noinline, noreturn)) void never_returns(void) {\n"
	"	printf(\"ends=0x%lx\\n\", offset_of((unsigned long)__builtin_return_address(0)));\n"
	"	__builtin_exit(0);\n"
	"}\n"
	"__attribute__((noinline)) void last_call(void) {\n"
	"	never_returns();\n" /* 33 */
	"}\n"
	"__attribute__((noinline)) void after_it(void) { puts(\"\"); }\n"
	"int main(void) { plain(); outer(); last_call(); after_it(); return 0; }\n";

/* Compile the program as src/prog.c, relative to where the compiler runs, and run it. */
static void build(const char *name, const char *flags)
{
	assert_int_equal(shell("mkdir -p src"), 0);
	put_file("src/prog.c", program);
	assert_int_equal(shell("${CC:-gcc} -g -O2 -fno-reorder-functions -Wl,--build-id %s "
			       "-o %s src/prog.c && ./%s >%s.truth",
			       flags, name, name, name),
			 0);
}

/* File offset of the return address that the program printed for who. */
static uint64_t truth(const char *name, const char *who)
{
	return strtoull(fx_output("sed -n 's/^%s=//p' %s.truth", who, name), NULL, 16);
}

/* File offset where a function begins: text is mapped so that both differ by a constant. */
static uint64_t offset_of(const char *name, const char *function)
{
	uint64_t value =
		strtoull(fx_output("nm %s | sed -n 's/ [Tt] %s$//p'", name, function), NULL, 16);
	char *load = fx_output(
		"readelf -lW %s | awk '$1 == \"LOAD\" && /R E/ { print $2 \",\" $3 }'", name);
	uint64_t offset = strtoull(load, &load, 16);

	return value - strtoull(load + 1, NULL, 16) + offset;
}

static void check_frames(sqlite3 *db, const char *name)
{
	uint64_t plain = offset_of(name, "plain"), outer = offset_of(name, "outer"),
		 last = offset_of(name, "last_call"), after = offset_of(name, "after_it");

	fx_frame(db, 1, 1, plain, 0);
	fx_frame(db, 2, 1, truth(name, "plain"), 1);
	fx_frame(db, 3, 1, truth(name, "inlined"), 1);
	fx_frame(db, 4, 1, truth(name, "ends"), 1);
	fx_frame(db, 5, 1, after, 0);
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "plain+0 src/prog.c:13");
	fx_expect(db, 2, "plain+%d src/prog.c:14", (int)(truth(name, "plain") - plain));
	fx_expect(db, 3, "inner src/prog.c:18 < middle src/prog.c:22 < outer+%d src/prog.c:25",
		  (int)(truth(name, "inlined") - outer));
	/* The call is the last instruction: the return address lies behind the function. */
	fx_expect(db, 4, "last_call+%d src/prog.c:33", (int)(truth(name, "ends") - last));
	fx_expect(db, 5, "after_it+0 src/prog.c:35");
	assert_string_equal(fx_module_text(db, 1, "symbols_from"), in_dir(name));
}

static void check_build(const char *name, const char *flags)
{
	sqlite3 *db = fx_db(schema);

	build(name, flags);
	fx_module(db, 1, in_dir(name), fx_build_id(name));
	check_frames(db, name);
	sqlite3_close(db);
}

static void test_pie(void **state)
{
	(void)state;
	check_build("pie", "-pie -fPIE");
}

static void test_fixed_address(void **state)
{
	(void)state;
	check_build("fixed", "-no-pie -fno-pie");
}

static void test_dwarf4(void **state)
{
	(void)state;
	check_build("dwarf4", "-gdwarf-4 -pie -fPIE");
}

/* The text segment's addresses differ from its file offsets. */
static void test_moved_text(void **state)
{
	(void)state;
	check_build("moved", "-no-pie -fno-pie -Wl,-Ttext-segment=0x10000000");
}

static void test_split_dwarf(void **state)
{
	sqlite3 *db = fx_db(schema);
	uint64_t inlined;

	(void)state;
	check_build("split", "-gsplit-dwarf -pie -fPIE");
	/* Without the other file: lines, and why there are no inlined functions. */
	fx_output("rm -f *.dwo src/*.dwo; echo");
	inlined = truth("split", "inlined");
	fx_module(db, 1, in_dir("split"), fx_build_id("split"));
	fx_frame(db, 1, 1, inlined, 1);
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "outer+%d src/prog.c:18", (int)(inlined - offset_of("split", "outer")));
	assert_non_null(strstr(fx_module_text(db, 1, "tried"),
			       ".dwo, so no inlined functions at 1 of 1 addresses"));
	sqlite3_close(db);
}

static void test_absolute_source(void **state)
{
	sqlite3 *db = fx_db(schema);
	const char *path = in_dir("src/prog.c");

	(void)state;
	build("absolute", "");
	assert_int_equal(
		shell("${CC:-gcc} -g -O2 -o absolute %s && ./absolute >absolute.truth", path), 0);
	fx_module(db, 1, in_dir("absolute"), fx_build_id("absolute"));
	fx_frame(db, 1, 1, truth("absolute", "plain"), 1);
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "plain+%d %s:14",
		  (int)(truth("absolute", "plain") - offset_of("absolute", "plain")), path);
	sqlite3_close(db);
}

/* What is embedded gives names where the file is not; the file with DWARF adds lines. */
static void test_embedded(void **state)
{
	sqlite3 *db = fx_db(schema);
	size_t size;
	char *blob, id[128];
	struct cw_open_opts o = {0};
	const char *dirs[] = {in_dir("debug"), NULL};

	(void)state;
	build("origin", "-pie -fPIE");
	strcpy(id, fx_build_id("origin"));
	assert_int_equal(shell("objcopy --strip-debug origin small"), 0);
	blob = fx_read("small", &size);
	fx_module(db, 1, "/nonexistent/origin", id);
	fx_blob(db, 1, "symbols", blob, size);
	fx_frame(db, 1, 1, truth("origin", "inlined"), 1);
	fx_frame(db, 2, 1, 0x7fffffff, 1);
	fx_frame(db, 3, 1, UINT64_MAX, 0);
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "outer+%d",
		  (int)(truth("origin", "inlined") - offset_of("origin", "outer")));
	fx_expect(db, 2, "");
	fx_expect(db, 3, "");
	assert_string_equal(fx_module_text(db, 1, "symbols_from"), "capture");
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "2 of 3 addresses lie outside"));

	/* Separate debug file by build id, on top of the embedded one. */
	fx_sql(db, sqlite3_mprintf("DELETE FROM symbol"));
	assert_int_equal(shell("mkdir -p debug/.build-id/%.2s && "
			       "objcopy --only-keep-debug origin debug/.build-id/%.2s/%s.debug",
			       id, id, id + 2),
			 0);
	o.debug_dirs = dirs;
	assert_int_equal(cw_symbolize(db, &o), 0);
	fx_expect(db, 1, "inner src/prog.c:18 < middle src/prog.c:22 < outer+%d src/prog.c:25",
		  (int)(truth("origin", "inlined") - offset_of("origin", "outer")));
	assert_non_null(strstr(fx_module_text(db, 1, "symbols_from"), ".debug"));
	free(blob);
	sqlite3_close(db);
}

static void test_sysroot_and_debuglink(void **state)
{
	sqlite3 *db = fx_db(schema);
	struct cw_open_opts o = {.sysroot = in_dir("root")};

	(void)state;
	build("linked", "-pie -fPIE");
	assert_int_equal(
		shell("mkdir -p root/opt/.debug && cp linked root/opt/linked && cd root/opt && "
		      "objcopy --only-keep-debug linked .debug/linked.dbg && strip linked && "
		      "objcopy --add-gnu-debuglink=.debug/linked.dbg linked"),
		0);
	fx_module(db, 1, "/opt/linked (deleted)", fx_build_id("linked"));
	fx_frame(db, 1, 1, truth("linked", "plain"), 1);
	assert_int_equal(cw_symbolize(db, &o), 0);
	fx_expect(db, 1, "plain+%d src/prog.c:14",
		  (int)(truth("linked", "plain") - offset_of("linked", "plain")));
	assert_string_equal(fx_module_text(db, 1, "symbols_from"),
			    in_dir("root/opt/.debug/linked.dbg"));
	sqlite3_close(db);
}

static void test_wrong_build_id(void **state)
{
	sqlite3 *db = fx_db(schema);

	(void)state;
	build("wrong", "-pie -fPIE");
	fx_module(db, 1, in_dir("wrong"), "00112233445566778899aabbccddeeff00112233");
	fx_frame(db, 1, 1, truth("wrong", "plain"), 1);
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "");
	assert_string_equal(fx_module_text(db, 1, "symbols_from"), "");
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "another build id"));
	sqlite3_close(db);
}

/* Served by its path only for the very same inode, on the boot that made the capture. */
static void test_no_build_id(void **state)
{
	sqlite3 *db = fx_db(schema);
	char *boot = fx_output("cat /proc/sys/kernel/random/boot_id");
	struct stat st;

	(void)state;
	build("bare", "-pie -fPIE");
	assert_int_equal(shell("objcopy --remove-section=.note.gnu.build-id bare"), 0);
	assert_int_equal(stat(in_dir("bare"), &st), 0);
	fx_module(db, 1, in_dir("bare"), "");
	fx_frame(db, 1, 1, truth("bare", "plain"), 1);
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "");
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "not of this machine"));

	fx_sql(db,
	       sqlite3_mprintf(
		       "INSERT INTO capture_info VALUES('boot_id', %Q), ('start_wall_ns', %lld)",
		       boot, (long long)(st.st_ctime + 1) * 1000000000));
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "");
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "another file by device and inode"));

	fx_sql(db,
	       sqlite3_mprintf("UPDATE module SET ino = %lld, dev = '%u:%u'", (long long)st.st_ino,
			       (unsigned)(st.st_dev >> 8), (unsigned)(st.st_dev & 0xff)));
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "plain+%d src/prog.c:14",
		  (int)(truth("bare", "plain") - offset_of("bare", "plain")));

	fx_sql(db, sqlite3_mprintf("DELETE FROM symbol; UPDATE capture_info SET value = 1 "
				   "WHERE key = 'start_wall_ns'"));
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "");
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "changed since the capture"));
	sqlite3_close(db);
}

static void test_plt(void **state)
{
	sqlite3 *db = fx_db(schema);
	char *at;

	(void)state;
	build("plt", "-pie -fPIE -Wl,-z,lazy -fcf-protection=full");
	at = fx_output("objdump -d plt | sed -n 's/ <puts@plt>:$//p'");
	if (!*at) {
		sqlite3_close(db);
		skip();
	}
	fx_module(db, 1, in_dir("plt"), fx_build_id("plt"));
	fx_frame(db, 1, 1,
		 offset_of("plt", "plain") +
			 (strtoull(at, NULL, 16) -
			  strtoull(fx_output("nm plt | sed -n 's/ T plain$//p'"), NULL, 16)),
		 0);
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "puts@plt+0");
	sqlite3_close(db);
}

static void test_cxx(void **state)
{
	static const char source[] =
		"#include <vector>\n"
		"namespace app {\n"
		"struct Item { int v; __attribute__((noinline)) int twice(int by) const; };\n"
		"int Item::twice(int by) const { return v * by; }\n"
		"template <class T> __attribute__((noinline)) T most(T a, T b) {\n"
		"	return a > b ? a : b;\n"
		"}\n"
		"}\n"
		"int main(int argc, char **) { app::Item i{argc}; return i.twice(3) + "
		"app::most(argc, 3); }\n";
	sqlite3 *db = fx_db(schema);

	(void)state;
	put_file("src/cxx.cc", source);
	if (shell("g++ -g -O0 -Wl,--build-id -o cxx src/cxx.cc 2>/dev/null")) {
		sqlite3_close(db);
		skip();
	}
	fx_module(db, 1, in_dir("cxx"), fx_build_id("cxx"));
	fx_frame(db, 1, 1, offset_of("cxx", "_ZNK3app4Item5twiceEi"), 0);
	fx_frame(db, 2, 1,
		 offset_of("cxx", "_ZNK3app4Item5twiceEi") +
			 (strtoull(fx_output("nm cxx | sed -n 's/ W _ZN3app4mostIiEET_S1_S1_$//p'"),
				   NULL, 16) -
			  strtoull(fx_output("nm cxx | sed -n 's/ T _ZNK3app4Item5twiceEi$//p'"),
				   NULL, 16)),
		 0);
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "app::Item::twice(int) const+0 src/cxx.cc:4");
	fx_expect(db, 2, "int app::most<int>(int, int)+0 src/cxx.cc:5");
	sqlite3_close(db);
}

static void test_kernel(void **state)
{
	sqlite3 *db = fx_db(schema);

	(void)state;
	fx_module(db, -1, "[kernel]", "");
	fx_sql(db, sqlite3_mprintf("INSERT INTO kernel_symbol VALUES(%lld, %lld, 'schedule'), "
				   "(%lld, %lld, 'next')",
				   0xffffffff81000000, 0xffffffff81000100, 0xffffffff81000100,
				   0xffffffff81000180));
	fx_frame(db, 1, -1, 0xffffffff81000010, 0);
	fx_frame(db, 2, -1, 0xffffffff81000100, 1); /* a call at schedule's very end */
	fx_frame(db, 3, -1, 0xffffffff81000180, 0);
	fx_frame(db, 4, -1, 0xffffffff80ffffff, 0);
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "schedule+16");
	fx_expect(db, 2, "schedule+256");
	fx_expect(db, 3, "");
	fx_expect(db, 4, "");
	assert_string_equal(fx_module_text(db, -1, "symbols_from"), "capture");
	sqlite3_close(db);
}

static void test_perf_map(void **state)
{
	static const char map[] =
		"7f0000000000 20 jit: one\n"
		"garbage\n\n0x7f0000000020 0x10 two\n"
		"zz 10 three\n7f0000000040 0 empty\n7f00 ffffffffffffffffff long\n"
		"7f0000000100 10";
	sqlite3 *db = fx_db(schema);

	(void)state;
	fx_module(db, 1, "[anon]", "");
	fx_blob(db, 1, "perf map", map, strlen(map));
	fx_sql(db,
	       sqlite3_mprintf("INSERT INTO frame VALUES(1, 1, 0, %lld, 0), (2, 1, 32, %lld, 1), "
			       "(3, 1, 40, %lld, 0), (4, 1, 41, %lld, 0)",
			       0x7f0000000000, 0x7f0000000020, 0x7f0000000028, 0x7f0000000040));
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "jit: one+0");
	fx_expect(db, 2, "jit: one+32");
	fx_expect(db, 3, "two+8");
	fx_expect(db, 4, "");
	assert_non_null(strstr(fx_module_text(db, 1, "tried"), "perf map of 2 lines"));
	sqlite3_close(db);
}

/* Shown from the beginning, and never more than there is to do. */
static void note_progress(void *arg, size_t done, size_t total)
{
	size_t *seen = arg;

	assert_true(done <= total);
	assert_int_equal(total, 2000);
	assert_true(done >= seen[1]);
	seen[0]++;
	seen[1] = done;
}

static void test_progress(void **state)
{
	struct cw_source_places where = {0};
	volatile sig_atomic_t cancel = 0;
	size_t seen[2] = {0}, i;
	struct cw_progress progress = {0, 1, note_progress, seen};
	struct cw_module_identity identity = {.path = in_dir("shown")};
	struct cw_batch b = {0};
	struct cw_module_work *w;
	uint64_t plain;

	(void)state;
	build("shown", "-pie -fPIE");
	identity.build_id = fx_build_id("shown");
	plain = truth("shown", "plain");
	w = cw_batch_add(&b, 1, &identity);
	for (i = 0; i < 2000; i++)
		cw_batch_add_code(w)->file_offset = plain + (i & 1);
	assert_int_equal(cw_symbolize_all(b.works, b.count, &where, &progress, &cancel), 0);
	assert_true(seen[0] > 0);
	assert_true(w->codes[0].count > 0);
	cw_batch_free(&b);
}

static void test_cancel(void **state)
{
	sqlite3 *db = fx_db(schema);

	(void)state;
	build("cancelled", "");
	fx_module(db, 1, in_dir("cancelled"), fx_build_id("cancelled"));
	fx_frame(db, 1, 1, truth("cancelled", "plain"), 1);
	cw_symbolize_cancel = 1;
	assert_int_equal(cw_symbolize(db, NULL), 0);
	cw_symbolize_cancel = 0;
	fx_expect(db, 1, "");
	/* The next one makes up for it, and a third has nothing to do. */
	assert_int_equal(cw_symbolize(db, NULL), 0);
	assert_int_equal(cw_symbolize(db, NULL), 0);
	fx_expect(db, 1, "plain+%d src/prog.c:14",
		  (int)(truth("cancelled", "plain") - offset_of("cancelled", "plain")));
	sqlite3_close(db);
}

static void test_not_wanted(void **state)
{
	sqlite3 *db = fx_db(schema);
	struct cw_open_opts o = {.no_symbols = true};

	(void)state;
	fx_module(db, 1, "/bin/sh", fx_build_id("/bin/sh"));
	fx_frame(db, 1, 1, 0x5000, 0);
	assert_int_equal(cw_symbolize(db, &o), 0);
	assert_string_equal(fx_module_text(db, 1, "tried"), "");
	sqlite3_close(db);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_pie),
		cmocka_unit_test(test_fixed_address),
		cmocka_unit_test(test_dwarf4),
		cmocka_unit_test(test_moved_text),
		cmocka_unit_test(test_split_dwarf),
		cmocka_unit_test(test_absolute_source),
		cmocka_unit_test(test_embedded),
		cmocka_unit_test(test_sysroot_and_debuglink),
		cmocka_unit_test(test_wrong_build_id),
		cmocka_unit_test(test_no_build_id),
		cmocka_unit_test(test_plt),
		cmocka_unit_test(test_cxx),
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_perf_map),
		cmocka_unit_test(test_progress),
		cmocka_unit_test(test_cancel),
		cmocka_unit_test(test_not_wanted),
	};

	return cmocka_run_group_tests(tests, folder_new, folder_free);
}
