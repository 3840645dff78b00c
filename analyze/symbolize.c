/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the way from table frame to table symbol: groups frames by module, has each group named and
 * writes the rows. Must not know ELF or DWARF.
 */
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "database.h"
#include "embedded.h"
#include "say.h"
#include "symbol_places.h"
#include "symbolize.h"
#include "symbolize_batch.h"
#include "symbolize_pool.h"

volatile sig_atomic_t cw_symbolize_cancel;

static int no_memory(void)
{
	return cw_fail(-ENOMEM, "no memory left while naming stack frames");
}

static int fail_db(sqlite3 *db)
{
	return cw_fail(-EIO, "cannot name stack frames: %s", sqlite3_errmsg(db));
}

static struct cw_module_work *new_work(struct cw_batch *b, sqlite3_stmt *stmt)
{
	struct cw_module_identity identity = {
		.path = (const char *)sqlite3_column_text(stmt, 4),
		.build_id = (const char *)sqlite3_column_text(stmt, 5),
		.dev = (const char *)sqlite3_column_text(stmt, 6),
		.ino = sqlite3_column_int64(stmt, 7),
	};

	return cw_batch_add(b, sqlite3_column_int64(stmt, 0), &identity);
}

static int add_code(struct cw_module_work *w, sqlite3_stmt *stmt)
{
	struct cw_code *c = cw_batch_add_code(w);

	if (!c)
		return -ENOMEM;
	c->frame_id = sqlite3_column_int64(stmt, 1);
	c->file_offset = sqlite3_column_int64(stmt, 2);
	c->is_return = sqlite3_column_int(stmt, 3);
	c->address = sqlite3_column_int64(stmt, 8);
	c->parameters = -1;
	return 0;
}

/*
 * All frames in modules, apart from the kernel's, that have no names yet. Probed functions are
 * looked up, too, under negative numbers.
 */
static int load_frames(sqlite3 *db, struct cw_batch *b)
{
	static const char sql[] =
		"SELECT m.module_id, f.frame_id, f.rel_pc, f.is_return, m.path, m.build_id, m.dev, "
		"m.ino, "
		"f.address "
		"FROM frame f JOIN module m USING(module_id) "
		"WHERE m.module_id <> -1 AND f.frame_id NOT IN (SELECT frame_id FROM symbol) "
		"UNION ALL SELECT m.module_id, -1 - p.probe_id, p.offset, 0, m.path, m.build_id, "
		"m.dev, "
		"m.ino, p.offset FROM probe p JOIN module m USING(module_id) "
		"WHERE m.module_id <> -1 AND p.offset IS NOT NULL ORDER BY 1";
	struct cw_module_work *w = NULL;
	sqlite3_stmt *stmt;
	int rc, err = 0;

	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL))
		return fail_db(db);
	while (!err && (rc = sqlite3_step(stmt)) == SQLITE_ROW) {
		if (!w || w->module_id != sqlite3_column_int64(stmt, 0)) {
			w = new_work(b, stmt);
			if (!w)
				err = no_memory();
		}
		if (!err && add_code(w, stmt))
			err = no_memory();
	}
	if (!err && rc != SQLITE_DONE)
		err = fail_db(db);
	sqlite3_finalize(stmt);
	return err;
}

static int load_embedded(sqlite3 *db, struct cw_batch *b)
{
	size_t i;

	for (i = 0; i < b->count; i++) {
		struct cw_module_work *w = b->works[i];

		if (cw_embedded_open(db, w->module_id, &w->files, &w->perf_map, &w->perf_map_size))
			return fail_db(db);
	}
	return 0;
}

static void bind_text(sqlite3_stmt *stmt, int column, const char *text)
{
	if (text)
		sqlite3_bind_text(stmt, column, text, -1, SQLITE_STATIC);
	else
		sqlite3_bind_null(stmt, column);
}

static int write_probe(sqlite3_stmt *stmt, const struct cw_code *c)
{
	if (c->parameters < 0)
		return 0;
	sqlite3_bind_int64(stmt, 1, -1 - c->frame_id);
	sqlite3_bind_int(stmt, 2, c->parameters);
	return sqlite3_step(stmt) != SQLITE_DONE || sqlite3_reset(stmt) ? -EIO : 0;
}

static int write_code(sqlite3_stmt *stmt, const struct cw_code *c)
{
	unsigned i;

	for (i = 0; i < c->count; i++) {
		const struct cw_symbol *s = &c->symbols[i];

		sqlite3_bind_int64(stmt, 1, c->frame_id);
		sqlite3_bind_int(stmt, 2, i);
		bind_text(stmt, 3, s->function);
		if (s->offset >= 0)
			sqlite3_bind_int64(stmt, 4, s->offset);
		else
			sqlite3_bind_null(stmt, 4);
		bind_text(stmt, 5, s->file);
		if (s->line)
			sqlite3_bind_int(stmt, 6, s->line);
		else
			sqlite3_bind_null(stmt, 6);
		if (sqlite3_step(stmt) != SQLITE_DONE || sqlite3_reset(stmt))
			return -EIO;
	}
	return 0;
}

static int write_module(sqlite3_stmt *stmt, const struct cw_module_work *w)
{
	sqlite3_bind_int64(stmt, 1, w->module_id);
	bind_text(stmt, 2, w->symbols_from);
	bind_text(stmt, 3, w->tried && *w->tried ? w->tried : NULL);
	sqlite3_bind_int(stmt, 4, w->part > 0);
	bind_text(stmt, 5, w->lines_from);
	return sqlite3_step(stmt) != SQLITE_DONE || sqlite3_reset(stmt) ? -EIO : 0;
}

/* What a cached database must be made again for when it comes or changes. */
static int write_looked(sqlite3_stmt *stmt, const struct cw_module_work *w)
{
	if (w->part > 0 || !w->files.looked || !*w->files.looked)
		return 0;
	sqlite3_bind_int64(stmt, 1, w->module_id);
	bind_text(stmt, 2, w->files.looked);
	return sqlite3_step(stmt) != SQLITE_DONE || sqlite3_reset(stmt) ? -EIO : 0;
}

static int write_names(sqlite3 *db, const struct cw_batch *b)
{
	sqlite3_stmt *symbol = NULL, *module = NULL, *probe = NULL, *looked = NULL;
	size_t i, j;
	int err = -EIO;

	if (sqlite3_prepare_v2(db, "INSERT INTO symbol VALUES(?, ?, ?, ?, ?, ?)", -1, &symbol,
			       NULL) ||
	    sqlite3_prepare_v2(
		    db,
		    "UPDATE module SET symbols_from = iif(?4, coalesce(symbols_from, ?2), ?2), "
		    "lines_from = iif(?4, coalesce(lines_from, ?5), ?5), "
		    "tried = iif(?4, tried, ?3) WHERE module_id = ?1",
		    -1, &module, NULL) ||
	    sqlite3_prepare_v2(db, "UPDATE probe SET parameters = ?2 WHERE probe_id = ?1", -1,
			       &probe, NULL) ||
	    sqlite3_prepare_v2(db,
			       "INSERT OR REPLACE INTO capture_info "
			       "VALUES('symbol_files.' || ?1, ?2)",
			       -1, &looked, NULL))
		goto done;
	err = 0;
	for (i = 0; i < b->count && !err; i++) {
		const struct cw_module_work *w = b->works[i];

		for (j = 0; j < w->code_count && !err; j++)
			err = w->codes[j].frame_id < 0 ? write_probe(probe, &w->codes[j])
						       : write_code(symbol, &w->codes[j]);
		if (!err)
			err = write_module(module, w);
		if (!err)
			err = write_looked(looked, w);
	}
done:
	if (err)
		fail_db(db);
	sqlite3_finalize(symbol);
	sqlite3_finalize(module);
	sqlite3_finalize(probe);
	sqlite3_finalize(looked);
	return err;
}

/* Kernel addresses are absolute, and their symbols are in the capture. */
static int name_kernel(sqlite3 *db)
{
	static const char sql[] =
		"INSERT INTO symbol "
		"SELECT f.frame_id, 0, k.name, f.rel_pc - k.start, NULL, NULL "
		"FROM frame f JOIN kernel_symbol k ON k.start = (SELECT max(start) "
		"FROM kernel_symbol WHERE start <= f.rel_pc - f.is_return) "
		"WHERE f.module_id = -1 AND f.rel_pc - f.is_return < k.end "
		"AND f.frame_id NOT IN (SELECT frame_id FROM symbol);"
		"UPDATE module SET symbols_from = 'capture' WHERE module_id = -1 "
		"AND EXISTS(SELECT * FROM kernel_symbol)";

	return sqlite3_exec(db, sql, NULL, NULL, NULL) ? fail_db(db) : 0;
}

static void show_progress(void *shown, size_t done, size_t total)
{
	*(bool *)shown = true;
	fprintf(stderr, "\rnaming stack frames: %zu %%", total ? 100 * done / total : 0);
}

static int name_modules(sqlite3 *db, const struct cw_open_opts *o)
{
	struct cw_batch b = {0};
	bool shown = false;
	struct cw_progress progress = {1000, 200, show_progress, &shown};
	struct cw_source_places where;
	int err = cw_places_of(&where, o, db) ? fail_db(db) : 0;
	size_t i;

	if (!err)
		err = load_frames(db, &b);
	if (!err && cw_batch_split(&b))
		err = no_memory();
	if (!err)
		err = load_embedded(db, &b);
	for (i = 0; i < b.count; i++)
		b.works[i]->mangled = o && o->mangled;
	if (!err && cw_symbolize_all(b.works, b.count, &where, o && o->progress ? &progress : NULL,
				     &cw_symbolize_cancel))
		err = no_memory();
	if (shown)
		fputs("\r\033[K", stderr);
	if (!err)
		err = write_names(db, &b);
	cw_batch_free(&b);
	return err;
}

static struct sigaction before;

/* Another one does what it would have done. */
static void on_interrupt(int sig)
{
	if (cw_symbolize_cancel) {
		sigaction(sig, &before, NULL);
		raise(sig);
	}
	cw_symbolize_cancel = 1;
}

static bool catch_interrupts(const struct cw_open_opts *o)
{
	struct sigaction ours = {.sa_handler = on_interrupt};

	if (!o || !o->stoppable)
		return false;
	sigaction(SIGINT, NULL, &before);
	return before.sa_handler != SIG_IGN && !sigaction(SIGINT, &ours, NULL);
}

int cw_symbolize(sqlite3 *db, const struct cw_open_opts *o)
{
	bool caught;
	int err;

	if (o && o->no_symbols)
		return 0;
	caught = catch_interrupts(o);
	/* A savepoint works inside and outside of a transaction. */
	err = sqlite3_exec(db, "SAVEPOINT symbolize", NULL, NULL, NULL) ? fail_db(db) : 0;
	if (!err)
		err = name_kernel(db);
	if (!err)
		err = name_modules(db, o);
	if (err)
		sqlite3_exec(db, "ROLLBACK TO symbolize", NULL, NULL, NULL);
	if (sqlite3_exec(db, "RELEASE symbolize", NULL, NULL, NULL) && !err)
		err = fail_db(db);
	if (caught)
		sigaction(SIGINT, &before, NULL);
	return err ? err : caught && cw_symbolize_cancel;
}
