/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the rule when a capture is of this very machine since it was booted. */
#include <stdio.h>
#include <string.h>

#include "database.h"
#include "symbol_places.h"
#include "symbol_sources.h"
#include "symbolize.h"

static bool same_boot(const char *boot_id)
{
	char here[64] = "";
	FILE *f = fopen("/proc/sys/kernel/random/boot_id", "re");

	if (!f)
		return false;
	if (!fgets(here, sizeof(here), f))
		here[0] = 0;
	fclose(f);
	here[strcspn(here, "\n")] = 0;
	return boot_id && *here && !strcmp(boot_id, here);
}

void cw_places_set(struct cw_source_places *where, const struct cw_open_opts *o,
		   const char *boot_id, int64_t start_wall_ns)
{
	*where = (struct cw_source_places){
		.same_boot = same_boot(boot_id),
		.start_wall_ns = start_wall_ns,
		.cancel = &cw_symbolize_cancel,
	};
	if (!o)
		return;
	where->debug_dirs = o->debug_dirs;
	where->sysroot = o->sysroot;
	where->debuginfod = o->debuginfod;
	where->no_lines = o->no_lines;
}

int cw_places_of(struct cw_source_places *where, const struct cw_open_opts *o, sqlite3 *db)
{
	sqlite3_stmt *stmt;
	int rc =
		sqlite3_prepare_v2(db,
				   "SELECT (SELECT value FROM capture_info WHERE key = 'boot_id'), "
				   "(SELECT value FROM capture_info WHERE key = 'start_wall_ns')",
				   -1, &stmt, NULL);

	if (rc)
		return rc;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		cw_places_set(where, o, (const char *)sqlite3_column_text(stmt, 0),
			      sqlite3_column_int64(stmt, 1));
	return sqlite3_finalize(stmt);
}
