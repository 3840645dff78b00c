/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns which payload is what kind of file. */
#include <stdlib.h>
#include <string.h>

#include "embedded.h"

static void open_one(sqlite3_stmt *stmt, struct cw_module_files *f, char **perf_map,
		     size_t *perf_map_size)
{
	const void *data = sqlite3_column_blob(stmt, 0);
	const char *kind = (const char *)sqlite3_column_text(stmt, 1), *why;
	size_t size = (size_t)sqlite3_column_bytes(stmt, 0);

	if (!data || !kind)
		return;
	if (!strcmp(kind, "debug")) {
		f->embedded_debug = cw_elf_open_memory(data, size, &why);
	} else if (!strcmp(kind, "debug symbols")) {
		f->embedded_symbols = cw_elf_open_memory(data, size, &why);
	} else if (!strcmp(kind, "alternate")) {
		f->embedded_alt = cw_elf_open_memory(data, size, &why);
	} else if (!strcmp(kind, "perf map")) {
		if (perf_map)
			*perf_map = malloc(size);
		if (perf_map && *perf_map) {
			memcpy(*perf_map, data, size);
			*perf_map_size = size;
		}
	} else if (!f->embedded) {
		f->embedded = cw_elf_open_memory(data, size, &f->embedded_why);
	}
}

int cw_embedded_open(sqlite3 *db, int64_t module_id, struct cw_module_files *files, char **perf_map,
		     size_t *perf_map_size)
{
	sqlite3_stmt *stmt;
	int rc = sqlite3_prepare_v2(db,
				    "SELECT data, kind FROM module_blob WHERE module_id = ?"
				    " AND kind <> 'unknown' ORDER BY kind <> 'elf'",
				    -1, &stmt, NULL);

	if (rc)
		return rc;
	sqlite3_bind_int64(stmt, 1, module_id);
	while (sqlite3_step(stmt) == SQLITE_ROW)
		open_one(stmt, files, perf_map, perf_map_size);
	return sqlite3_finalize(stmt);
}
