/* SPDX-License-Identifier: GPL-2.0-only */
/* Payloads of modules as import left them in table module_blob. */
#ifndef CW_EMBEDDED_H
#define CW_EMBEDDED_H

#include <sqlite3.h>
#include <stddef.h>
#include <stdint.h>
#include "symbol_sources.h"

/*
 * Open what the capture holds of a module into the embedded members of files: the whole file rather
 * than its symbols. The text of a perf map goes to *perf_map, to be freed, unless that is NULL.
 * Returns SQLite's code.
 */
int cw_embedded_open(sqlite3 *db, int64_t module_id, struct cw_module_files *files, char **perf_map,
		     size_t *perf_map_size);

#endif
