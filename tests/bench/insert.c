/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The yardstick for import: insert N rows of 14 integers into a new SQLite database, journal and
 * sync off, one prepared statement, one transaction. Usage: insert FILE N
 */
#include <sqlite3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

static int run(sqlite3 *db, const char *sql)
{
	if (sqlite3_exec(db, sql, NULL, NULL, NULL) == SQLITE_OK)
		return 0;
	fprintf(stderr, "insert: %s: %s\n", sql, sqlite3_errmsg(db));
	return -1;
}

static int insert_rows(sqlite3 *db, int64_t n)
{
	uint64_t x = 88172645463325252u;
	sqlite3_stmt *stmt;
	int64_t i;
	int c;

	if (sqlite3_prepare_v2(db, "INSERT INTO t VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)", -1, &stmt,
			       NULL) != SQLITE_OK)
		return -1;
	for (i = 0; i < n; i++) {
		/* Sizes as a trace has them: a growing time, small numbers, and some 64-bit values.
		 */
		sqlite3_bind_int64(stmt, 1, 1000000000000 + i * 1000);
		for (c = 2; c <= 14; c++) {
			x ^= x << 13;
			x ^= x >> 7;
			x ^= x << 17;
			sqlite3_bind_int64(stmt, c, (int64_t)(c % 4 ? x >> 44 : x));
		}
		if (sqlite3_step(stmt) != SQLITE_DONE)
			break;
		sqlite3_reset(stmt);
	}
	sqlite3_finalize(stmt);
	return i == n ? 0 : -1;
}

int main(int argc, char **argv)
{
	sqlite3 *db;
	int err;

	if (argc != 3) {
		fprintf(stderr, "usage: insert FILE N\n");
		return 2;
	}
	if (sqlite3_open(argv[1], &db) != SQLITE_OK) {
		fprintf(stderr, "insert: cannot open %s\n", argv[1]);
		return 1;
	}
	err = run(db, "PRAGMA journal_mode=off; PRAGMA synchronous=off;"
		      "CREATE TABLE t(a INTEGER PRIMARY KEY,b,c,d,e,f,g,h,i,j,k,l,m,n); BEGIN") ||
	      insert_rows(db, strtoll(argv[2], NULL, 10)) || run(db, "COMMIT");
	sqlite3_close(db);
	return err ? 1 : 0;
}
