/* SPDX-License-Identifier: GPL-2.0-only */
/* Where files of modules are looked for, as options and the capture say it. */
#ifndef CW_SYMBOL_PLACES_H
#define CW_SYMBOL_PLACES_H

#include <sqlite3.h>
#include <stdint.h>

struct cw_open_opts;
struct cw_source_places;

/*
 * Fill all of where. o may be NULL; its folders must outlive where. boot_id of the capture may be
 * NULL; start_wall_ns is 0 when unknown.
 */
void cw_places_set(struct cw_source_places *where, const struct cw_open_opts *o,
		   const char *boot_id, int64_t start_wall_ns);

/* The same for the capture that a database was made from. Returns SQLite's code. */
int cw_places_of(struct cw_source_places *where, const struct cw_open_opts *o, sqlite3 *db);

#endif
