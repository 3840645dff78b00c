/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command follow: a capture while it is written. The passes of import fill a database that keeps
 * only what is young; what ended since the last time is printed as report prints it. Must not know
 * rows or formats.
 */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "calls.h"
#include "capture.h"
#include "commands.h"
#include "diagnostics.h"
#include "feed.h"
#include "follow.h"
#include "hash.h"
#include "say.h"
#include "stacks.h"
#include "symbolize.h"

#define TICK_NS    200000000ull /* of the events' time, between two looks at the database */
#define SECOND     1000000000ull
#define WAIT_MS    100u          /* for records, before the time is looked at */
#define QUIET_MS   1000u         /* nothing came: nothing is under way that must go before */
#define HOLD_NS    2500000000ull /* chains wait for the names of their stacks at most */
#define NO_HOLD_NS (10 * SECOND) /* and not again within that */
#define END_MS     2000u         /* after Ctrl-C, for the recorder that got it, too */

/* A call that ended, with its chain when it has one (else 0). */
struct item {
	uint64_t ts, chain_id, slice_id;
};

struct follow {
	struct cw_input input;
	struct cw_report report;
	struct cw_tail *tail;
	struct cw_reader *reader;
	struct cw_ingest *in;
	struct cw_watch watch;
	struct cw_window *window;
	struct cw_sums *sums;
	struct cw_queues *queues;
	uint64_t interval_ns; /* of queue snapshots; CW_UNSET: the plan's */
	struct cw_blocks *blocks;
	struct cw_text text;
	sqlite3_stmt *put_item;
	struct item *items; /* not printed yet, in the order in which they ended */
	size_t nitems, cap;
	bool begun;                             /* the head is printed */
	bool over;                              /* nothing more comes: hold nothing back */
	uint64_t shown;                         /* items printed */
	uint64_t next_tick, next_prune;         /* event time */
	uint64_t stacks;                        /* stack records when stacks were last rendered */
	uint64_t ready, held_since, free_until; /* see hold_back */
	int64_t blobs, frames;                  /* when names were last looked up */
	size_t problems, said;
	int err; /* of writing, or having said why */
};

static volatile sig_atomic_t interrupts;

static void on_interrupt(int sig)
{
	(void)sig;
	interrupts++;
	cw_symbolize_cancel = interrupts > 1;
}

static uint64_t now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* ---- what the passes tell -----------------------------------------------------------------------
 */

static struct item *add_item(struct follow *f)
{
	cw_reserve(f->items, f->nitems, f->cap);
	return &f->items[f->nitems++];
}

/* The call of a chain comes right before or right after the chain. */
static void on_call(void *arg, const struct cw_call *c, const char *reason)
{
	struct follow *f = arg;
	struct item *last = f->nitems ? &f->items[f->nitems - 1] : NULL;

	cw_sums_call(f->sums, c->probe->id, reason);
	if (last && last->slice_id == c->slice_id)
		return;
	*add_item(f) = (struct item){c->end_ts, 0, c->slice_id};
}

static void on_chain(void *arg, uint64_t chain_id, uint64_t slice_id, uint64_t ts)
{
	struct follow *f = arg;
	struct item *last = f->nitems ? &f->items[f->nitems - 1] : NULL;

	if (!last || last->slice_id != slice_id)
		last = add_item(f);
	*last = (struct item){ts, chain_id, slice_id};
}

static void on_queue(void *arg, const struct cw_queue_event *e)
{
	struct follow *f = arg;
	const struct cw_trace *t = cw_ingest_trace(f->in);
	uint64_t interval = f->interval_ns;

	if (!cw_queues_started(f->queues)) {
		if (interval == CW_UNSET && t->plan->filters.diagnostic_interval_ns)
			interval = t->plan->filters.diagnostic_interval_ns;
		cw_queues_start(f->queues, (uint32_t)t->plan->nhops, t->first_ts,
				interval == CW_UNSET ? CW_DIAGNOSTIC_INTERVAL_NS : interval);
	}
	cw_queues_event(f->queues, e);
}

static void on_stack_gone(void *arg, uint64_t stack_id)
{
	struct follow *f = arg;

	cw_window_gone_stack(f->window, stack_id, cw_ingest_time(f->in));
}

static void on_file_gone(void *arg, uint64_t file_id)
{
	struct follow *f = arg;

	cw_window_gone_file(f->window, file_id, cw_ingest_time(f->in));
}

/* ---- names --------------------------------------------------------------------------------------
 */

/* Frames of modules whose symbols are still on their way, since when. */
static const char note_pending[] =
	"INSERT OR IGNORE INTO temp.pending SELECT DISTINCT module_id, ?1 FROM frame f"
	" JOIN module m USING(module_id) WHERE f.frame_id > ?2 AND module_id <> -1"
	" AND m.symbols_from IS NULL AND NOT EXISTS"
	"  (SELECT 1 FROM module_blob b WHERE b.module_id = m.module_id)";

static void find_pending(struct follow *f, int64_t frames_before)
{
	sqlite3_stmt *s = NULL;

	if (cw_prepare(f->report.db, &s, note_pending))
		return;
	sqlite3_bind_int64(s, 1, (int64_t)f->ready);
	sqlite3_bind_int64(s, 2, frames_before);
	sqlite3_step(s);
	sqlite3_finalize(s);
}

/* Name frames that are new, or whose module's symbols came. True when any name may have changed. */
static bool update_names(struct follow *f)
{
	sqlite3 *db = f->report.db;
	int64_t frames = cw_query_int(db, "SELECT max(frame_id) FROM frame", 0);
	int64_t blobs = cw_query_int(db, "SELECT count(*) FROM module_blob", 0), before = f->frames;

	if (f->input.open.no_symbols || (frames == f->frames && blobs == f->blobs))
		return false;
	f->frames = frames;
	f->blobs = blobs;
	if (cw_symbolize(db, &f->input.open) < 0)
		f->input.open.no_symbols = true; /* it said why; go on without */
	find_pending(f, before);
	return true;
}

/*
 * Items that ended before the time this returns can be printed: their stacks are there, with names.
 * Symbols come up to a second after the first stack, mappings a little after it.
 */
static uint64_t hold_back(struct follow *f, uint64_t now)
{
	const struct cw_trace *t = cw_ingest_trace(f->in);
	uint64_t since = cw_stacks_waiting(t), pending;

	pending = (uint64_t)cw_query_int(f->report.db,
					 "SELECT min(since) FROM temp.pending p WHERE NOT EXISTS"
					 " (SELECT 1 FROM module_blob b"
					 "  WHERE b.module_id = p.module_id)",
					 INT64_MAX);
	since = pending < since ? pending : since;
	if (f->over || since >= now || now < f->free_until) {
		f->held_since = 0;
		return UINT64_MAX;
	}
	f->held_since = f->held_since ? f->held_since : now;
	if (now - f->held_since < HOLD_NS)
		return since;
	/* They do not come, or ever new ones are missing. */
	f->free_until = now + NO_HOLD_NS;
	f->held_since = 0;
	cw_exec(f->report.db, "UPDATE temp.pending SET since = 9223372036854775807");
	return UINT64_MAX;
}

/* ---- printing -----------------------------------------------------------------------------------
 */

/* Once the first event came, all that the head and the filters need is there. */
static int begin(struct follow *f)
{
	struct cw_report *r = &f->report;
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

static int print_blocks(struct follow *f)
{
	sqlite3_stmt *items = NULL;
	int err = cw_prepare(f->report.db, &items,
			     "SELECT slice_id, coalesce(chain_id, -1) FROM temp.item ORDER BY seq");

	while (!err && sqlite3_step(items) == SQLITE_ROW)
		err = cw_block_print(f->blocks, sqlite3_column_int64(items, 0),
				     sqlite3_column_int64(items, 1));
	sqlite3_finalize(items);
	return err;
}

/* Rendered stacks are kept: let them go when their names may have changed, or some are gone. */
static int update_stacks(struct follow *f, bool renamed)
{
	uint64_t stacks = cw_ingest_trace(f->in)->totals.by_type[CW_STACK];
	bool fresh = stacks != f->stacks;

	f->stacks = stacks;
	if (f->report.format == CW_FORMAT_JSONL)
		return renamed || fresh ? cw_report_json_update(f->report.db, renamed) : 0;
	if (!renamed)
		return 0;
	cw_blocks_free(f->blocks);
	f->blocks = NULL;
	return cw_blocks_new(&f->blocks, f->report.db, &f->text);
}

/* Hand what ended by ready to the selection. */
static int take_items(struct follow *f, uint64_t ready)
{
	size_t n = 0;
	int err = cw_exec(f->report.db, "DELETE FROM temp.fresh");

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
				      sqlite3_errmsg(f->report.db));
	}
	f->nitems -= n;
	if (n)
		memmove(f->items, f->items + n, f->nitems * sizeof(*f->items));
	return err;
}

/* How many may still be shown; 0 as long as there is no limit. */
static uint64_t left_to_show(const struct follow *f)
{
	return f->report.filters.max_events ? f->report.filters.max_events - f->shown : 0;
}

static bool enough(const struct follow *f)
{
	return f->begun && f->report.filters.max_events && f->shown >= f->report.filters.max_events;
}

static int print_items(struct follow *f, uint64_t ready)
{
	struct cw_report *r = &f->report;
	int err = take_items(f, ready);

	if (!err && !enough(f))
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

static int print_queues(struct follow *f, bool whole)
{
	int err = cw_queues_write(f->queues);

	if (err > 0)
		err = cw_diagnostics_print_ready(f->report.db, f->report.format, whole,
						 f->report.out);
	errno = 0;
	fflush(f->report.out);
	return err ? err : cw_write_error(f->report.out);
}

/* ---- the loop -----------------------------------------------------------------------------------
 */

/* Print what is complete. The database is up to date and ours. */
static int show(struct follow *f)
{
	uint64_t now = cw_ingest_time(f->in), ready;
	bool renamed;
	int err = 0;

	if (!cw_ingest_trace(f->in)->any_event)
		return 0;
	if (!f->begun)
		err = begin(f);
	if (err)
		return err;
	renamed = update_names(f);
	ready = hold_back(f, now);
	f->ready = ready < now ? ready : now;
	err = update_stacks(f, renamed);
	if (!err)
		err = print_items(f, ready);
	if (!err)
		err = print_queues(f, false);
	return err ? err : cw_sums_rows(f->sums);
}

static int prune(struct follow *f, uint64_t now)
{
	int err = cw_window_mark(f->window, cw_ingest_trace(f->in), now);

	if (err || now < f->next_prune || f->nitems)
		return err;
	f->next_prune = now + SECOND;
	return cw_window_prune(f->window, cw_ingest_trace(f->in), now);
}

static int tick(struct follow *f)
{
	uint64_t now = cw_ingest_time(f->in);
	int err = cw_ingest_sync(f->in);

	cw_queues_time(f->queues, now);

	if (err)
		return cw_fail(err, "%s: %s", f->input.open.capture,
			       *cw_ingest_error(f->in) ? cw_ingest_error(f->in) : strerror(-err));
	f->next_tick = now + TICK_NS;
	cw_feed_say(f->reader, f->input.open.capture, &f->said);
	err = show(f);
	if (!err)
		err = prune(f, now);
	return err ? err : cw_exec(f->report.db, "COMMIT; BEGIN");
}

static int ingest(struct follow *f, const struct cw_rec *rec)
{
	int err = cw_feed_problems(f->in, f->reader, &f->problems);

	if (!err && rec)
		err = cw_ingest_record(f->in, rec);
	if (rec && rec->type == CW_END)
		cw_tail_last(f->tail);
	if (err)
		cw_fail(err, "%s: %s", f->input.open.capture,
			*cw_ingest_error(f->in) ? cw_ingest_error(f->in) : strerror(-err));
	return err;
}

/* Nothing came for some time: print what it did not need to wait for. */
static int on_quiet(struct follow *f, uint64_t quiet_ms)
{
	int err = 0;

	if (quiet_ms >= QUIET_MS)
		err = cw_ingest_pass_on(f->in);
	if (!err && (f->nitems || cw_ingest_time(f->in) >= f->next_tick))
		err = tick(f);
	return err;
}

static int read_all(struct follow *f)
{
	uint64_t last = now_ms(), interrupted = 0;
	const struct cw_rec *rec;
	int err = 0;

	while (!err && !enough(f) && interrupts < 2) {
		if (interrupts && !interrupted)
			interrupted = now_ms();
		if (interrupted && now_ms() - interrupted > END_MS)
			break;
		if (!cw_reader_wait(f->reader, WAIT_MS)) {
			if (cw_reader_clean_end(f->reader))
				break;
			err = on_quiet(f, now_ms() - last);
			continue;
		}
		if (cw_reader_next(f->reader, &rec, NULL) <= 0)
			break;
		err = ingest(f, rec);
		if (!err && cw_ingest_time(f->in) >= f->next_tick)
			err = tick(f);
		last = now_ms();
	}
	return err ? err : ingest(f, NULL);
}

static int end(struct follow *f)
{
	struct cw_report *r = &f->report;
	int err;

	cw_ingest_info(f->in, "clean_end", cw_reader_clean_end(f->reader));
	cw_ingest_info(f->in, "file_problems", (int64_t)cw_reader_nproblems(f->reader));
	f->over = true;
	err = cw_ingest_finish(f->in);
	if (err)
		return cw_fail(err, "%s: %s", f->input.open.capture,
			       *cw_ingest_error(f->in) ? cw_ingest_error(f->in) : strerror(-err));
	cw_feed_say(f->reader, f->input.open.capture, &f->said);
	cw_queues_end(f->queues, cw_ingest_time(f->in));
	err = show(f);
	if (!err)
		err = cw_sums_write(f->sums);
	cw_queues_whole(f->queues, cw_ingest_time(f->in));
	if (!err && r->format == CW_FORMAT_JSONL)
		err = print_queues(f, true);
	if (err)
		return err;
	cw_database_say_losses(r->db, f->input.open.capture);
	if (r->format == CW_FORMAT_JSONL)
		return cw_report_json_summary(r);
	if (!f->begun) {
		cw_text_init(&f->text, r->out, r->color);
		cw_report_clock(r->db, &f->text);
	}
	cw_report_live_end(r, &f->text);
	fputc('\n', r->out);
	err = cw_report_summary(r, &f->text);
	return err ? err : print_queues(f, true);
}

/* ---- beginning and end --------------------------------------------------------------------------
 */

static int open_database(struct follow *f)
{
	/* A temporary database is a file only as far as it does not fit into the cache. */
	if (sqlite3_open_v2("", &f->report.db, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, NULL) !=
	    SQLITE_OK)
		return cw_fail(-EIO, "cannot make a temporary database");
	sqlite3_exec(f->report.db,
		     "PRAGMA page_size=4096; PRAGMA main.journal_mode=off;"
		     "PRAGMA synchronous=off; PRAGMA cache_size=-32768; PRAGMA temp_store=memory;"
		     "PRAGMA temp.journal_mode=off; PRAGMA locking_mode=exclusive",
		     NULL, NULL, NULL);
	return 0;
}

static int open_capture(struct follow *f)
{
	const char *path = f->input.open.capture;
	const char *name = strcmp(path, "-") ? path : "standard input";
	char text[CW_PLAN_ERR] = "";
	int fd, err = cw_tail_open(&f->tail, path, &fd);

	if (err)
		return err;
	err = cw_reader_open_fd(&f->reader, fd, name, text, sizeof(text));
	return err ? cw_fail(err, "%s", *text ? text : strerror(-err)) : 0;
}

static int start(struct follow *f)
{
	struct cw_ingest_opts io = {
		.plan = f->input.open.plan,
		.max_age_ns = f->input.open.max_age_ns,
		.arch = cw_reader_meta(f->reader, "arch"),
		.watch = &f->watch,
	};
	sqlite3 *db = f->report.db;
	int err = cw_ingest_new(&f->in, db, &io);

	if (err)
		return cw_fail(err, "cannot follow %s: %s", f->input.open.capture,
			       *cw_ingest_error(f->in) ? cw_ingest_error(f->in) : strerror(-err));
	err = cw_exec(db,
		      "CREATE TEMP TABLE pending(module_id INTEGER PRIMARY KEY, since INTEGER)");
	if (!err)
		err = cw_report_live_begin(&f->report);
	if (!err)
		err = cw_prepare(db, &f->put_item, "INSERT INTO temp.fresh VALUES(?1, ?2, ?3)");
	if (!err)
		err = cw_exec(db, "CREATE TEMP TABLE IF NOT EXISTS report_stack_json("
				  "stack_id INTEGER PRIMARY KEY, frames_json TEXT)");
	if (!err)
		err = cw_window_new(&f->window, db);
	if (!err)
		err = cw_sums_new(&f->sums, db);
	if (!err)
		err = cw_queues_new(&f->queues, db);
	cw_feed_header(f->in, f->reader);
	return err;
}

static int run(struct follow *f)
{
	struct cw_report *r = &f->report;
	int err = cw_report_open_output(r);

	if (!err)
		err = open_capture(f);
	if (!err)
		err = open_database(f);
	if (!err)
		err = start(f);
	if (!err)
		err = read_all(f);
	if (!err)
		err = end(f);
	return r->out ? cw_report_close_output(r, err) : 1;
}

static void release(struct follow *f)
{
	cw_ingest_free(f->in);
	cw_reader_free(f->reader);
	cw_tail_free(f->tail);
	cw_blocks_free(f->blocks);
	cw_window_free(f->window);
	cw_sums_free(f->sums);
	cw_queues_free(f->queues);
	sqlite3_finalize(f->put_item);
	sqlite3_finalize(f->report.select);
	sqlite3_close(f->report.db);
	free(f->items);
	cw_input_free(&f->input);
}

enum { OPT_INTERVAL = 0x300 };

static const struct argp_option options[] = {
	{"diagnostic-interval-ms", OPT_INTERVAL, "MS", 0,
	 "Show the queues and thread pools of the hops every MS (1000, or as recorded); 0: only at "
	 "the end",
	 3},
	{0},
};

static const char doc[] =
	"Show chains and calls as they end, and a summary when the recorder stops. CAPTURE is '-' "
	"for "
	"standard input, or a file that callweave-record is writing. Memory stays bounded however "
	"long that takes. Ctrl-C ends it with the summary."
	"\vExamples:\n"
	"  callweave-record -p 1234 -o - work | callweave-analyze follow -\n"
	"  callweave-record -p 1234 -o - work | callweave-analyze follow - --min-total-ms 100\n"
	"  callweave-record -p 1234 -o - work | tee trace.cwc | callweave-analyze follow - "
	"--format jsonl\n"
	"  callweave-analyze follow trace.cwc --max-events 1\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct follow *f = state->input;

	switch (key) {
	case OPT_INTERVAL:
		if (!cw_parse_ms(arg, &f->interval_ns))
			argp_error(state,
				   "--diagnostic-interval-ms %s: give milliseconds, such as 1000",
				   arg);
		return 0;
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &f->report;
		state->child_inputs[1] = &f->input;
		return 0;
	case ARGP_KEY_ARG:
		if (f->input.open.capture)
			argp_error(state, "one capture at a time: %s, then %s",
				   f->input.open.capture, arg);
		f->input.open.capture = arg;
		return 0;
	case ARGP_KEY_END:
		if (!f->input.open.capture)
			argp_error(state, "give - for standard input, or the file that is being "
					  "recorded");
		if (f->report.format == CW_FORMAT_CSV || f->report.html)
			argp_error(state, "follow prints text or jsonl, which grow line by line");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {
	{&cw_report_argp, 0, NULL, 0}, {&cw_input_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, "CAPTURE", doc, children, NULL, NULL};

int cw_cmd_follow(int argc, char **argv)
{
	struct follow f = {
		.report.filters = CW_FILTERS_UNSET,
		.interval_ns = CW_UNSET,
		.watch = {.call = on_call,
			  .chain = on_chain,
			  .queue = on_queue,
			  .stack_gone = on_stack_gone,
			  .file_gone = on_file_gone},
	};
	int status;

	if (argp_parse(&argp, argc, argv, 0, NULL, &f))
		return 2;
	f.watch.arg = &f;
	signal(SIGINT, on_interrupt);
	signal(SIGTERM, on_interrupt);
	status = run(&f);
	release(&f);
	return status;
}
