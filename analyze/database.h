/* SPDX-License-Identifier: GPL-2.0-only */
/* The database of a capture: created from schema/, filled by import, kept in a cache. */
#ifndef CW_DATABASE_H
#define CW_DATABASE_H

#include <sqlite3.h>
#include <stdbool.h>
#include "plan.h"
#include "sequence.h"

struct cw_open_opts {
	const char *capture;           /* path, "-" for standard input, or an imported database */
	const char *database;          /* write the database here (import -o); NULL: the cache */
	const struct cw_plan *plan;    /* stitch by this instead of the capture's plan; NULL */
	uint64_t max_age_ns;           /* --async-max-age-ms; 0: the plan's */
	bool no_cache;                 /* neither read nor keep a cached database */
	bool no_symbols;               /* leave frames without names */
	bool progress;                 /* show progress on stderr */
	bool stoppable;                /* Ctrl-C ends the search for names, not the program */
	const char *const *debug_dirs; /* searched for module files; ends with NULL; may be NULL */
	const char *sysroot;           /* prefix for module paths; NULL none */
	bool debuginfod;               /* ask debuginfod servers for what is nowhere else */
	bool no_lines;                 /* look up no lines and inlined functions */
	bool mangled;                  /* leave C++ and Rust names as the linker has them */
	/* The files of the capture, when there are several; set by cw_database_open. */
	const struct cw_sequence *sequence;
};

/*
 * Give a database with the capture imported and symbolized: from the cache when that is still
 * right, else made anew. Prints problems of the file and of the import as sentences on stderr.
 * Returns 0 or a negative errno, having said why on stderr.
 */
int cw_database_open(sqlite3 **out, const struct cw_open_opts *o);

/*
 * Open a database file read-only, if it is ours. -ENOENT: cannot be opened, -EINVAL: not one of
 * ours, -EPROTONOSUPPORT: of another schema version, -EILSEQ: its import did not come to an end.
 */
int cw_database_open_file(sqlite3 **out, const char *path);

/* Say on stderr which records the capture called name has lost: a sentence for each kind and
 * reason. */
void cw_database_say_losses(sqlite3 *db, const char *name);

/* Is path a capture file, which can be read again (not a stream, not a database)? */
bool cw_capture_is_file(const char *path);

/* Run the passes over a capture into an empty database (schema created here). import.c */
int cw_import(sqlite3 *db, const struct cw_open_opts *o);

/*
 * Fill frame names (symbol, module.symbols_from/tried) for all frames that have none. Returns 0, 1
 * when it was stopped before all were looked up, or a negative errno, having said why. symbolize.c
 */
int cw_symbolize(sqlite3 *db, const struct cw_open_opts *o);

/* Payloads of modules pass from import to symbolize in table module_blob(module_id, kind, data). */

#endif
