/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/all.o */
/*
 * Wild records through everything that is made of a capture: import, symbols, every view, every
 * report. The first byte chooses: 255, the rest is a capture file as it is; else records are made
 * of the rest (wild.h). Whatever comes, no number may be nonsense (sane.sql).
 */
#include <fcntl.h>
#include <unistd.h>
#include "commands.h"
#include "database.h"
#include "fuzz.h"
#include "wild.h"

int LLVMFuzzerInitialize(int *argc, char ***argv);

#define MAX_ELF 16384

static char sane[16384];

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	FILE *f = fopen("tests/fuzz/sane.sql", "re");

	(void)argc, (void)argv;
	if (!f || !fread(sane, 1, sizeof(sane) - 1, f))
		abort();
	fclose(f);
	wild_elf = malloc(MAX_ELF);
	f = fopen("tests/fuzz/corpus/symbols/prog", "re");
	if (!f || !wild_elf || !(wild_elf_size = fread(wild_elf, 1, MAX_ELF, f)))
		abort();
	fclose(f);
	setenv("XDG_CACHE_HOME", "/nonexistent", 1);
	return 0;
}

static void write_plan(struct cw_writer *w, const char *yaml)
{
	struct cw_plan_text plan = {.h = {.type = CW_PLAN_TEXT, .cpu = CW_CPU_NONE}, .pieces = 1};

	cw_writer_append_tail(w, &plan.h, sizeof(plan), yaml, strlen(yaml));
}

static void write_wild(int fd, uint8_t first, struct wild *w)
{
	static const struct cw_meta_kv keys[] = {{"arch", "x86_64"}, {NULL, NULL}};
	static uint64_t buf[CW_MAX_RECORD / 8 + 1];
	struct cw_writer *writer;

	if (cw_writer_new(&writer, fd, keys))
		abort();
	/* Let chunks be closed at a time that allows any. */
	if (first & 1)
		cw_writer_set_clock(writer, 1ull << 60, 0);
	if (first < 250)
		write_plan(writer, wild_plans[first % WILD_PLANS]);
	for (unsigned i = 0; w->left && i < 4000; i++)
		if (cw_writer_append(writer, wild_record(w, buf)))
			abort();
	if (cw_writer_finish(writer, true))
		abort();
	cw_writer_free(writer);
}

/* Everything a view says, to the last column. */
static void read_rows(sqlite3 *db, const char *sql)
{
	sqlite3_stmt *s;
	int rc;

	if (sqlite3_prepare_v2(db, sql, -1, &s, NULL) != SQLITE_OK) {
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
		abort();
	}
	while ((rc = sqlite3_step(s)) == SQLITE_ROW)
		for (int i = 0; i < sqlite3_column_count(s); i++)
			sqlite3_column_bytes(s, i);
	if (rc != SQLITE_DONE) {
		fprintf(stderr, "%s: %s\n", sql, sqlite3_errmsg(db));
		abort();
	}
	sqlite3_finalize(s);
}

/* One of the views: all of them cost fifty times what the import of a few records does. */
static void read_view(sqlite3 *db, uint8_t which)
{
	sqlite3_stmt *s;
	char sql[256] = "";

	sqlite3_prepare_v2(db,
			   "SELECT name FROM sqlite_schema WHERE type = 'view' LIMIT 1 OFFSET ?1 % "
			   "(SELECT count(*) FROM sqlite_schema WHERE type = 'view')",
			   -1, &s, NULL);
	sqlite3_bind_int(s, 1, which);
	if (sqlite3_step(s) == SQLITE_ROW)
		snprintf(sql, sizeof(sql), "SELECT * FROM %s LIMIT 5000",
			 (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	read_rows(db, sql);
}

/* The next statement of sane.sql. */
static void check_sane(sqlite3 *db, const char **sql)
{
	sqlite3_stmt *s;
	int wrong = 0;

	if (sqlite3_prepare_v2(db, *sql, -1, &s, sql) != SQLITE_OK) {
		fprintf(stderr, "sane.sql: %s\n", sqlite3_errmsg(db));
		abort();
	}
	while (sqlite3_step(s) == SQLITE_ROW)
		if (sqlite3_column_int(s, 1)) {
			fprintf(stderr, "not true: %s\n", (const char *)sqlite3_column_text(s, 0));
			wrong++;
		}
	sqlite3_finalize(s);
	if (wrong)
		abort();
}

/* What may say that there is nothing for it to show, or that it cannot show this; and what may not.
 */
static const struct {
	int (*run)(int argc, char **argv);
	bool may_fail;
	const char *argv[8];
} commands[] = {
	{cw_cmd_report, false, {"report", "CAPTURE", "--no-cache", "--no-symbols"}},
	{cw_cmd_report, false, {"report", "CAPTURE", "--no-cache", "--format", "jsonl"}},
	{cw_cmd_report, false, {"report", "CAPTURE", "--no-cache", "--format", "csv"}},
	{cw_cmd_report, false, {"report", "CAPTURE", "--no-cache", "--format", "html"}},
	{cw_cmd_follow, true, {"follow", "CAPTURE"}},
	{cw_cmd_follow, true, {"follow", "CAPTURE", "--format", "jsonl"}},
	{cw_cmd_blocked, true, {"blocked", "CAPTURE", "--no-cache"}},
	{cw_cmd_diagnostics, true, {"diagnostics", "CAPTURE", "--no-cache"}},
	{cw_cmd_suggest, true, {"suggest", "CAPTURE", "--no-cache"}},
	{cw_cmd_discover, true, {"discover", "CAPTURE", "b", "--no-cache"}},
	{cw_cmd_modules, true, {"modules", "CAPTURE", "--no-cache"}},
	{cw_cmd_archive, true, {"archive", "CAPTURE", "-o", "/dev/null"}},
	{cw_cmd_export, true, {"export", "CAPTURE", "--no-cache", "--format", "chrome"}},
	{cw_cmd_export, true, {"export", "CAPTURE", "--no-cache", "--format", "speedscope"}},
	{cw_cmd_export, true, {"export", "CAPTURE", "--no-cache", "--format", "folded"}},
	{cw_cmd_export, true, {"export", "CAPTURE", "--no-cache", "--format", "dot"}},
	{cw_cmd_export, true, {"export", "CAPTURE", "--no-cache", "--format", "otlp"}},
	{cw_cmd_export, true, {"export", "CAPTURE", "--no-cache", "--format", "firefox"}},
	{cw_cmd_dump, true, {"dump", "CAPTURE"}},
	{cw_cmd_dump, true, {"dump", "CAPTURE", "--validate"}},
	{cw_cmd_sql, false, {"sql", "CAPTURE", "SELECT * FROM raw_probe_entry", "--no-cache"}},
};

/* One of the commands, which import again. */
static void run_command(const char *path, uint8_t which)
{
	size_t i = which % (sizeof(commands) / sizeof(*commands));
	const char *argv[8] = {NULL};
	int argc = 0;

	while (commands[i].argv[argc]) {
		argv[argc] =
			strcmp(commands[i].argv[argc], "CAPTURE") ? commands[i].argv[argc] : path;
		argc++;
	}
	if (commands[i].run(argc, (char **)argv) && !commands[i].may_fail)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	uint8_t first = size ? data[0] : 0;
	struct wild w = {.p = data + !!size, .left = size - !!size, .ts = 1000000000};
	int fd = memfd_create("capture", MFD_CLOEXEC);
	char path[64];
	struct cw_open_opts o = {.capture = path, .no_cache = true};
	const char *checks = sane;
	sqlite3 *db;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (first != 255)
		write_wild(fd, first, &w);
	else if (write(fd, w.p, w.left) != (ssize_t)w.left)
		abort();
	if (cw_database_open(&db, &o) && first != 255)
		abort();
	if (db)
		check_sane(db, &checks);
	if (db && first != 255 && first & 8)
		read_view(db, size > 1 ? data[1] : 0);
	if (db && first % 32 == 16)
		check_sane(db, &checks);
	if (db && first % 32 == 0)
		run_command(path, size > 1 ? data[1] : 0);
	sqlite3_close(db);
	close(fd);
	return 0;
}
