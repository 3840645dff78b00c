/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Naming addresses of one program and nothing else: what the analyzer does when it has imported a
 * capture. Usage: naming PROGRAM BUILD_ID [none] <ADDRESSES >NAMES. Addresses are hexadecimal, as
 * the program's file has them, one a line. A line a frame goes to NAMES, "ADDRESS FILE:LINE"; the
 * seconds that naming took, and how many addresses got a name and a line, go to standard error.
 * With none, lines are not wanted.
 */
#include <fcntl.h>
#include <gelf.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "../../analyze/database.h"

static const char schema[] =
#include "schema.inc"
	;

static int fail(const char *what, const char *why)
{
	fprintf(stderr, "naming: %s: %s\n", what, why);
	return 1;
}

static bool run(sqlite3 *db, char *sql)
{
	bool ok = !sqlite3_exec(db, sql, NULL, NULL, NULL);

	sqlite3_free(sql);
	return ok;
}

/* The offset in the file that an address has. */
static bool offset_of(Elf *elf, uint64_t address, uint64_t *offset)
{
	size_t n, i;
	GElf_Phdr p;

	if (elf_getphdrnum(elf, &n))
		return false;
	for (i = 0; i < n; i++) {
		if (!gelf_getphdr(elf, (int)i, &p) || p.p_type != PT_LOAD || address < p.p_vaddr ||
		    address - p.p_vaddr >= p.p_filesz)
			continue;
		*offset = address - p.p_vaddr + p.p_offset;
		return true;
	}
	return false;
}

/* Frames as import leaves them, of the addresses on standard input. */
static bool fill(sqlite3 *db, Elf *elf)
{
	uint64_t address, offset;
	sqlite3_stmt *s;

	if (sqlite3_prepare_v2(db, "INSERT INTO frame VALUES(?1, 1, ?2, ?3, 0)", -1, &s, NULL))
		return false;
	for (int id = 1; scanf("%" SCNx64, &address) == 1; id++) {
		if (!offset_of(elf, address, &offset))
			continue;
		sqlite3_bind_int(s, 1, id);
		sqlite3_bind_int64(s, 2, (int64_t)offset);
		sqlite3_bind_int64(s, 3, (int64_t)address);
		sqlite3_step(s);
		sqlite3_reset(s);
	}
	return !sqlite3_finalize(s);
}

/* The innermost place of each address; columns of frame are its number, module, offset, address. */
static void print(sqlite3 *db)
{
	sqlite3_stmt *s;

	sqlite3_prepare_v2(db,
			   "SELECT f.address, y.file, y.line FROM frame f LEFT JOIN symbol y ON"
			   " y.frame_id = f.frame_id AND inline_depth = 0 ORDER BY f.frame_id",
			   -1, &s, NULL);
	while (sqlite3_step(s) == SQLITE_ROW)
		printf("0x%016llx %s:%d\n", (long long)sqlite3_column_int64(s, 0),
		       sqlite3_column_text(s, 1) ? (const char *)sqlite3_column_text(s, 1) : "??",
		       sqlite3_column_int(s, 2));
	sqlite3_finalize(s);
}

static int count(sqlite3 *db, const char *what)
{
	char *sql = sqlite3_mprintf("SELECT count(DISTINCT frame_id) FROM symbol WHERE %s", what);
	sqlite3_stmt *s;
	int n = -1;

	if (!sqlite3_prepare_v2(db, sql, -1, &s, NULL) && sqlite3_step(s) == SQLITE_ROW)
		n = sqlite3_column_int(s, 0);
	sqlite3_finalize(s);
	sqlite3_free(sql);
	return n;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	struct cw_open_opts o = {.no_lines = argc > 3 && !strcmp(argv[3], "none")};
	int fd = argc > 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	double began;
	sqlite3 *db;
	Elf *elf;

	if (fd < 0)
		return fail("usage", "naming PROGRAM BUILD_ID [none] <ADDRESSES >NAMES");
	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf || elf_kind(elf) != ELF_K_ELF)
		return fail(argv[1], "is no ELF file");
	if (sqlite3_open(":memory:", &db) || !run(db, sqlite3_mprintf("%s", schema)) ||
	    !run(db, sqlite3_mprintf("INSERT INTO module(module_id, path, name, build_id, dev, ino)"
				     " VALUES(1, %Q, %Q, %Q, '0:0', 0)",
				     argv[1], argv[1], argv[2])) ||
	    !run(db, sqlite3_mprintf("BEGIN")) || !fill(db, elf))
		return fail("cannot make the tables", sqlite3_errmsg(db));
	elf_end(elf);
	began = seconds();
	if (cw_symbolize(db, &o))
		return 1;
	fprintf(stderr, "seconds %.6f named %d lined %d\n", seconds() - began,
		count(db, "function IS NOT NULL"), count(db, "line IS NOT NULL"));
	print(db);
	sqlite3_close(db);
	close(fd);
	return 0;
}
