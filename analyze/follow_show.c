/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns what of a followed run is printed, and when: what ended waits for the names of its stacks,
 * and is then printed in that order by the report's own code. Must not know passes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "follow.h"
#include "hash.h"
#include "say.h"
#include "stacks.h"

#define HOLD_NS    2500000000ull  /* wait for names at most */
#define NO_HOLD_NS 10000000000ull /* and not again within that */

/* A call that ended, with its chain when it has one (else 0). */
struct item {
	uint64_t ts, chain_id, slice_id;
};

struct cw_show {
	struct cw_report *r;
	struct cw_open_opts names; /* how they are looked up */
	struct cw_sums *sums;
	struct cw_blocks *blocks;
	struct cw_text text;
	sqlite3_stmt *put_item;
	struct item *items; /* not printed yet, in the order in which they ended */
	size_t nitems, cap;
	bool begun;                             /* the head is printed */
	uint64_t shown;                         /* items printed */
	uint64_t stacks;                        /* stack records when stacks were last rendered */
	uint64_t ready, held_since, free_until; /* see hold_back */
	int64_t blobs, frames;                  /* when names were last looked up */
};

/* ---- what ended ---------------------------------------------------------------------------------
 */

static struct item *add_item(struct cw_show *f)
{
	cw_reserve(f->items, f->nitems, f->cap);
	return &f->items[f->nitems++];
}

static struct item *last_item(struct cw_show *f, uint64_t slice_id)
{
	struct item *last = f->nitems ? &f->items[f->nitems - 1] : NULL;

	return last && last->slice_id == slice_id ? last : NULL;
}

void cw_show_call(struct cw_show *f, uint64_t slice_id, uint64_t ts)
{
	if (!last_item(f, slice_id))
		*add_item(f) = (struct item){ts, 0, slice_id};
}

void cw_show_chain(struct cw_show *f, uint64_t chain_id, uint64_t slice_id, uint64_t ts)
{
	struct item *last = last_item(f, slice_id);

	*(last ? last : add_item(f)) = (struct item){ts, chain_id, slice_id};
}

bool cw_show_waiting(const struct cw_show *f)
{
	return f->nitems;
}

bool cw_show_enough(const struct cw_show *f)
{
	return f->begun && f->r->filters.max_events && f->shown >= f->r->filters.max_events;
}

/* ---- names --------------------------------------------------------------------------------------
 */

/* Frames of modules whose symbols are still on their way, since when. */
static const char note_pending[] =
	"INSERT OR IGNORE INTO temp.pending SELECT DISTINCT module_id, ?1 FROM frame f"
	" JOIN module m USING(module_id) WHERE f.frame_id > ?2 AND module_id <> -1"
	" AND m.symbols_from IS NULL AND NOT EXISTS"
	"  (SELECT 1 FROM module_blob b WHERE b.module_id = m.module_id)";

static void find_pending(struct cw_show *f, int64_t frames_before)
{
	sqlite3_stmt *s = NULL;

	if (cw_prepare(f->r->db, &s, note_pending))
		return;
	sqlite3_bind_int64(s, 1, (int64_t)f->ready);
	sqlite3_bind_int64(s, 2, frames_before);
	sqlite3_step(s);
	sqlite3_finalize(s);
}

/* Name frames that are new, or whose module's symbols came. True when any name may have changed. */
static bool update_names(struct cw_show *f)
{
	sqlite3 *db = f->r->db;
	int64_t frames = cw_query_int(db, "SELECT max(frame_id) FROM frame", 0);
	int64_t blobs = cw_query_int(db, "SELECT count(*) FROM module_blob", 0), before = f->frames;

	if (f->names.no_symbols || (frames == f->frames && blobs == f->blobs))
		return false;
	f->frames = frames;
	f->blobs = blobs;
	if (cw_symbolize(db, &f->names) < 0)
		f->names.no_symbols = true; /* it said why; go on without */
	find_pending(f, before);
	return true;
}

/*
 * Items that ended before the time this returns can be printed: their stacks are there, with names.
 * Symbols come up to a second after the first stack, mappings a little after it.
 */
static uint64_t hold_back(struct cw_show *f, const struct cw_trace *t, uint64_t now, bool over)
{
	uint64_t since = cw_stacks_waiting(t), pending;

	pending = (uint64_t)cw_query_int(f->r->db,
					 "SELECT min(since) FROM temp.pending p WHERE NOT EXISTS"
					 " (SELECT 1 FROM module_blob b"
					 "  WHERE b.module_id = p.module_id)",
					 INT64_MAX);
	since = pending < since ? pending : since;
	if (over || since >= now || now < f->free_until) {
		f->held_since = 0;
		return UINT64_MAX;
	}
	f->held_since = f->held_since ? f->held_since : now;
	if (now - f->held_since < HOLD_NS)
		return since;
	/* They do not come, or ever new ones are missing. */
	f->free_until = now + NO_HOLD_NS;
	f->held_since = 0;
	cw_exec(f->r->db, "UPDATE temp.pending SET since = 9223372036854775807");
	return UINT64_MAX;
}

/* ---- printing -----------------------------------------------------------------------------------
 */

/* Once the first event came, all that the head and the filters need is there. */
static int begin(struct cw_show *f)
{
	struct cw_report *r = f->r;
	int err;

	cw_report_plan_filters(r);
	if (r->format == CW_FORMAT_JSONL) {
		err = cw_report_json_begin(r->db);
	} else {
		cw_text_init(&f->text, r->out, r->color);
		cw_report_clock(r->db, &f->text);
		r->async = cw_query_int(r->db, "SELECT count(*) FROM hop_count", 0) > 0;
		cw_report_live_head(r, &f->text);
		err = cw_blocks_new(&f->blocks, r->db, &f->text);
	}
	f->begun = true;
	return err;
}

static int print_blocks(struct cw_show *f)
{
	sqlite3_stmt *items = NULL;
	int err = cw_prepare(f->r->db, &items,
			     "SELECT slice_id, coalesce(chain_id, -1) FROM temp.item ORDER BY seq");

	while (!err && sqlite3_step(items) == SQLITE_ROW)
		err = cw_block_print(f->blocks, sqlite3_column_int64(items, 0),
				     sqlite3_column_int64(items, 1));
	sqlite3_finalize(items);
	return err;
}

/* Rendered stacks are kept: let them go when their names may have changed, or some are gone. */
static int update_stacks(struct cw_show *f, const struct cw_trace *t, bool renamed, bool over)
{
	uint64_t stacks = t->totals.by_type[CW_STACK];
	bool fresh = stacks != f->stacks;

	f->stacks = stacks;
	if (f->r->format == CW_FORMAT_JSONL)
		return renamed || fresh || over ? cw_report_json_update(f->r->db, renamed) : 0;
	if (!renamed)
		return 0;
	cw_blocks_free(f->blocks);
	f->blocks = NULL;
	return cw_blocks_new(&f->blocks, f->r->db, &f->text);
}

/* Hand what ended by ready to the selection. */
static int take_items(struct cw_show *f, uint64_t ready)
{
	size_t n = 0;
	int err = cw_exec(f->r->db, "DELETE FROM temp.fresh");

	for (; !err && n < f->nitems && f->items[n].ts <= ready; n++) {
		sqlite3_bind_int64(f->put_item, 1, (int64_t)n);
		if (f->items[n].chain_id)
			sqlite3_bind_int64(f->put_item, 2, (int64_t)f->items[n].chain_id);
		else
			sqlite3_bind_null(f->put_item, 2);
		sqlite3_bind_int64(f->put_item, 3, (int64_t)f->items[n].slice_id);
		sqlite3_step(f->put_item);
		if (sqlite3_reset(f->put_item) != SQLITE_OK)
			err = cw_fail(-EBADMSG, "cannot query the database: %s",
				      sqlite3_errmsg(f->r->db));
	}
	f->nitems -= n;
	if (n)
		memmove(f->items, f->items + n, f->nitems * sizeof(*f->items));
	return err;
}

/* How many may still be shown; 0 as long as there is no limit. */
static uint64_t left_to_show(const struct cw_show *f)
{
	return f->r->filters.max_events ? f->r->filters.max_events - f->shown : 0;
}

static int print_items(struct cw_show *f, uint64_t ready)
{
	struct cw_report *r = f->r;
	int err = take_items(f, ready);

	if (!err && !cw_show_enough(f))
		err = cw_report_live_again(r, left_to_show(f));
	else if (!err)
		err = cw_exec(r->db, "DELETE FROM temp.item");
	if (!err)
		err = r->format == CW_FORMAT_JSONL ? cw_report_json_items(r) : print_blocks(f);
	if (!err)
		err = cw_sums_items(f->sums);
	f->shown += (uint64_t)cw_query_int(r->db, "SELECT count(*) FROM temp.item", 0);
	errno = 0;
	fflush(r->out);
	return err ? err : cw_write_error(r->out);
}

int cw_show_ready(struct cw_show *f, const struct cw_trace *t, bool over)
{
	uint64_t ready;
	bool renamed;
	int err = 0;

	if (!t->any_event)
		return 0;
	if (!f->begun)
		err = begin(f);
	if (err)
		return err;
	renamed = update_names(f);
	ready = hold_back(f, t, t->last_ts, over);
	f->ready = ready < t->last_ts ? ready : t->last_ts;
	err = update_stacks(f, t, renamed, over);
	return err ? err : print_items(f, ready);
}

int cw_show_summary(struct cw_show *f)
{
	struct cw_report *r = f->r;

	if (r->format == CW_FORMAT_JSONL)
		return cw_report_json_summary(r);
	if (!f->begun) {
		cw_text_init(&f->text, r->out, r->color);
		cw_report_clock(r->db, &f->text);
	}
	cw_report_live_end(r, &f->text);
	fputc('\n', r->out);
	return cw_report_summary(r, &f->text);
}

/* ---- beginning and end --------------------------------------------------------------------------
 */

int cw_show_new(struct cw_show **out, struct cw_report *r, const struct cw_open_opts *names,
		struct cw_sums *sums)
{
	struct cw_show *f = cw_zalloc(sizeof(*f));
	int err;

	*out = f;
	f->r = r;
	f->names = *names;
	f->sums = sums;
	err = cw_exec(r->db, "CREATE TEMP TABLE pending(module_id INTEGER PRIMARY KEY,"
			     " since INTEGER)");
	return err ? err
		   : cw_prepare(r->db, &f->put_item, "INSERT INTO temp.fresh VALUES(?1, ?2, ?3)");
}

void cw_show_free(struct cw_show *f)
{
	if (!f)
		return;
	cw_blocks_free(f->blocks);
	sqlite3_finalize(f->put_item);
	free(f->items);
	free(f);
}
