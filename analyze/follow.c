/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command follow: a capture while it is written. The passes of import fill a database that keeps
 * only what is young; what ended since the last time is printed as report prints it. Must not know
 * rows or formats.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#include "blocked.h"
#include "calls.h"
#include "capture.h"
#include "commands.h"
#include "diagnostics.h"
#include "feed.h"
#include "follow.h"
#include "say.h"
#include "sequence.h"
#include "symbolize.h"

#define TICK_NS       200000000ull /* of the events' time, between two looks at the database */
#define SECOND        1000000000ull
#define WAIT_MS       100u  /* for records, before the time is looked at */
#define QUIET_MS      1000u /* nothing came: nothing is under way that must go before */
#define SHOWN_REASONS 3     /* of each hop and function, at the end */
#define END_MS        2000u /* after Ctrl-C, for the recorder that got it, too */

struct follow {
	struct cw_input input;
	struct cw_report report;
	struct cw_tail *tail;
	struct cw_reader *reader;
	char path[PATH_MAX];        /* of the file that is read */
	struct cw_feed_place place; /* of it among those of its recording */
	bool unclean;               /* one of the files before */
	struct cw_ingest *in;
	struct cw_watch watch;
	struct cw_window *window;
	struct cw_sums *sums;
	struct cw_queues *queues;
	struct cw_reasons *reasons;
	struct cw_show *show;
	uint64_t interval_ns;           /* of queue snapshots; CW_UNSET: the plan's */
	uint64_t next_tick, next_prune; /* event time */
	size_t problems, said;
	bool goes_on; /* in another file */
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

static void on_call(void *arg, const struct cw_call *c, const char *reason)
{
	struct follow *f = arg;
	const struct cw_trace *t = cw_ingest_trace(f->in);

	cw_sums_call(f->sums, c->probe->id, reason);
	if (!reason)
		cw_reasons_call(f->reasons, c->slice_id);
	/* Where there are hops, calls of what only hands off are no news. */
	if (!t->plan || !t->plan->nhops || cw_probe_is_target(t, c->probe))
		cw_show_call(f->show, c->slice_id, c->end_ts);
}

static void on_chain(void *arg, uint64_t chain_id, uint64_t slice_id, uint64_t ts)
{
	struct follow *f = arg;

	cw_show_chain(f->show, chain_id, slice_id, ts);
}

/* What the plan says, or the file that is used in its place; CW_UNSET: nothing. */
static uint64_t recorded_interval(const struct follow *f)
{
	const struct cw_trace *t = cw_ingest_trace(f->in);
	const struct cw_plan *plan = t->recorded ? t->recorded : t->plan;
	const struct cw_plan_filters *filters =
		f->report.config ? f->report.config : &plan->filters;

	return filters->diagnostic_interval_ns ? filters->diagnostic_interval_ns : CW_UNSET;
}

static void on_queue(void *arg, const struct cw_queue_event *e)
{
	struct follow *f = arg;
	const struct cw_trace *t = cw_ingest_trace(f->in);
	uint64_t interval = f->interval_ns;

	if (!cw_queues_started(f->queues)) {
		if (interval == CW_UNSET)
			interval = recorded_interval(f);
		cw_queues_start(f->queues, (uint32_t)t->plan->nhops, t->first_ts,
				interval == CW_UNSET ? CW_DIAGNOSTIC_INTERVAL_NS : interval);
	}
	cw_queues_event(f->queues, e);
	cw_reasons_work(f->reasons, e);
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

/* ---- the loop -----------------------------------------------------------------------------------
 */

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

/* Print what is complete. The database is up to date and ours. */
static int show(struct follow *f, bool over)
{
	int err = cw_show_ready(f->show, cw_ingest_trace(f->in), over);

	if (!err)
		err = print_queues(f, false);
	return err ? err : cw_sums_rows(f->sums);
}

static int prune(struct follow *f, uint64_t now)
{
	int err = cw_window_mark(f->window, cw_ingest_trace(f->in), now);

	if (err || now < f->next_prune || cw_show_waiting(f->show))
		return err;
	f->next_prune = now + SECOND;
	err = cw_reasons_add(f->reasons, cw_ingest_trace(f->in)->attribution);
	return err ? err : cw_window_prune(f->window, cw_ingest_trace(f->in), now);
}

static int tick(struct follow *f)
{
	uint64_t now = cw_ingest_time(f->in);
	int err = cw_ingest_sync(f->in);

	cw_queues_time(f->queues, now);

	if (err)
		return cw_fail(err, "%s: %s", f->path,
			       *cw_ingest_error(f->in) ? cw_ingest_error(f->in) : strerror(-err));
	f->next_tick = now + TICK_NS;
	cw_feed_say(f->reader, f->path, &f->said);
	err = show(f, false);
	if (!err)
		err = prune(f, now);
	return err ? err : cw_exec(f->report.db, "COMMIT; BEGIN");
}

static int ingest(struct follow *f, const struct cw_rec *rec)
{
	int err = cw_feed_problems_at(f->in, f->reader, &f->problems, &f->place);

	if (!err && rec)
		err = cw_ingest_record(f->in, rec);
	if (rec && rec->type == CW_END) {
		cw_tail_last(f->tail);
		if (rec->size >= sizeof(struct cw_end))
			f->goes_on = ((const struct cw_end *)rec)->reason == CW_END_NEXT;
	}
	if (err)
		cw_fail(err, "%s: %s", f->path,
			*cw_ingest_error(f->in) ? cw_ingest_error(f->in) : strerror(-err));
	return err;
}

/* Nothing came for some time: print what it did not need to wait for. */
static int on_quiet(struct follow *f, uint64_t quiet_ms)
{
	int err = 0;

	if (quiet_ms >= QUIET_MS)
		err = cw_ingest_pass_on(f->in);
	if (!err && (cw_show_waiting(f->show) || cw_ingest_time(f->in) >= f->next_tick))
		err = tick(f);
	return err;
}

static int read_file(struct follow *f)
{
	uint64_t quiet_ms = 0, interrupted = 0;
	const struct cw_rec *rec;
	int err = 0;

	while (!err && !cw_show_enough(f->show) && interrupts < 2) {
		if (interrupts && !interrupted)
			interrupted = now_ms();
		if (interrupted && now_ms() - interrupted > END_MS)
			break;
		if (!cw_reader_wait(f->reader, WAIT_MS)) {
			if (cw_reader_clean_end(f->reader))
				break;
			quiet_ms += WAIT_MS;
			err = on_quiet(f, quiet_ms);
			continue;
		}
		if (cw_reader_next(f->reader, &rec, NULL) <= 0)
			break;
		err = ingest(f, rec);
		if (!err && cw_ingest_time(f->in) >= f->next_tick)
			err = tick(f);
		quiet_ms = 0;
	}
	return err ? err : ingest(f, NULL);
}

static int open_capture(struct follow *f)
{
	const char *name = strcmp(f->path, "-") ? f->path : "standard input";
	char text[CW_PLAN_ERR] = "";
	int fd, err = cw_tail_open(&f->tail, f->path, &fd);

	if (err)
		return err;
	err = cw_reader_open_fd(&f->reader, fd, name, text, sizeof(text));
	return err ? cw_fail(err, "%s", *text ? text : strerror(-err)) : 0;
}

static void leave_file(struct follow *f)
{
	cw_feed_say(f->reader, f->path, &f->said);
	f->place.before += cw_reader_nproblems(f->reader);
	f->unclean |= !cw_reader_clean_end(f->reader);
	cw_reader_free(f->reader);
	cw_tail_free(f->tail);
	f->reader = NULL;
	f->tail = NULL;
	f->problems = f->said = 0;
	f->goes_on = false;
}

/*
 * Leave the file that was read for the one that the recording goes on in, which was begun before
 * this one ended. False: it is not there.
 */
static bool find_next(struct follow *f)
{
	const char *own = cw_reader_meta(f->reader, "segment");
	uint32_t number = own ? (uint32_t)strtoul(own, NULL, 10) + 1 : 0;
	struct cw_sequence s;
	bool found = false;

	if (!number || cw_sequence_find(&s, f->path))
		return false;
	for (size_t i = 0; i < s.n && !found; i++) {
		found = s.files[i].number == number && strlen(s.files[i].path) < sizeof(f->path);
		if (found) {
			leave_file(f);
			snprintf(f->path, sizeof(f->path), "%s", s.files[i].path);
		}
	}
	cw_sequence_free(&s);
	return found;
}

static int open_next(struct follow *f)
{
	const char *slash = strrchr(f->path, '/'), *mono;
	int err = open_capture(f);

	if (err)
		return err;
	mono = cw_reader_meta(f->reader, "start_mono_ns");
	f->place.since = mono ? strtoull(mono, NULL, 10) : 0;
	f->place.file = slash ? slash + 1 : f->path;
	return 0;
}

static int read_all(struct follow *f)
{
	int err = read_file(f);

	while (!err && f->goes_on && !interrupts && !cw_show_enough(f->show) && find_next(f)) {
		err = open_next(f);
		if (!err)
			err = read_file(f);
	}
	return err;
}

static int print_reasons(struct follow *f)
{
	struct cw_report *r = &f->report;
	int err;

	if (r->format == CW_FORMAT_TEXT &&
	    cw_query_int(r->db, "SELECT count(*) FROM temp.reason", 0))
		fputc('\n', r->out);
	err = cw_blocked_print_collected(r->db, r->format, SHOWN_REASONS, r->out);
	return err ? err : cw_write_error(r->out);
}

static int collect_reasons(struct follow *f)
{
	int err = cw_reasons_add(f->reasons, cw_ingest_trace(f->in)->attribution);

	if (!err)
		err = cw_reasons_whole(f->reasons);
	return err ? err : cw_blocked_collect(f->report.db, "whole");
}

static int end(struct follow *f)
{
	struct cw_report *r = &f->report;
	int err;

	cw_ingest_info(f->in, "clean_end", !f->unclean && cw_reader_clean_end(f->reader));
	cw_ingest_info(f->in, "file_problems",
		       (int64_t)(f->place.before + cw_reader_nproblems(f->reader)));
	err = cw_ingest_finish(f->in);
	if (err)
		return cw_fail(err, "%s: %s", f->path,
			       *cw_ingest_error(f->in) ? cw_ingest_error(f->in) : strerror(-err));
	cw_feed_say(f->reader, f->path, &f->said);
	cw_queues_end(f->queues, cw_ingest_time(f->in));
	err = show(f, true);
	if (!err)
		err = collect_reasons(f);
	if (!err)
		err = cw_sums_write(f->sums);
	cw_queues_whole(f->queues, cw_ingest_time(f->in));
	if (!err && r->format == CW_FORMAT_JSONL)
		err = print_reasons(f);
	if (!err && r->format == CW_FORMAT_JSONL)
		err = print_queues(f, true);
	if (err)
		return err;
	if (f->goes_on && !interrupts && !cw_show_enough(f->show))
		cw_say("%s: the recording goes on in another file, which is not beside this one",
		       f->path);
	cw_database_say_losses(r->db, f->input.open.capture);
	err = cw_show_summary(f->show);
	if (!err && r->format == CW_FORMAT_TEXT)
		err = print_queues(f, true);
	if (!err && r->format == CW_FORMAT_TEXT)
		err = print_reasons(f);
	return err;
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
	err = cw_report_live_begin(&f->report);
	if (!err)
		err = cw_exec(db, "CREATE TEMP TABLE IF NOT EXISTS report_stack_json("
				  "stack_id INTEGER PRIMARY KEY, frames_json TEXT)");
	if (!err)
		err = cw_window_new(&f->window, db);
	if (!err)
		err = cw_sums_new(&f->sums, db);
	if (!err)
		err = cw_queues_new(&f->queues, db);
	if (!err)
		err = cw_reasons_new(&f->reasons, db);
	if (!err)
		err = cw_show_new(&f->show, &f->report, &f->input.open, f->sums);
	cw_feed_header(f->in, f->reader);
	return err;
}

/* Not as a file that is there whole or not at all: lines are read as they come. */
static int open_output(struct cw_report *r)
{
	r->out = stdout;
	if (!r->output || !strcmp(r->output, "-"))
		return 0;
	r->out = fopen(r->output, "we");
	return r->out ? 0 : cw_fail(-errno, "cannot write %s: %s", r->output, strerror(errno));
}

static int run(struct follow *f)
{
	struct cw_report *r = &f->report;
	int err = open_output(r);

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
	if (!r->out)
		return 1;
	return cw_output_finish(r->out, r->out == stdout ? "standard output" : r->output, err);
}

static void release(struct follow *f)
{
	cw_ingest_free(f->in);
	cw_reader_free(f->reader);
	cw_tail_free(f->tail);
	cw_show_free(f->show);
	cw_window_free(f->window);
	cw_sums_free(f->sums);
	cw_queues_free(f->queues);
	cw_reasons_free(f->reasons);
	sqlite3_finalize(f->report.select);
	sqlite3_close(f->report.db);
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
	"for standard input, or a file that callweave-record is writing; with --rotate the files "
	"after it follow. Memory stays bounded "
	"however long that takes. Ctrl-C ends it with the summary."
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
	if (strlen(f.input.open.capture) >= sizeof(f.path)) {
		cw_fail(-ENAMETOOLONG, "cannot read %s: %s", f.input.open.capture,
			strerror(ENAMETOOLONG));
		cw_input_free(&f.input);
		return 1;
	}
	snprintf(f.path, sizeof(f.path), "%s", f.input.open.capture);
	f.watch.arg = &f;
	f.report.config = cw_input_filters(&f.input);
	signal(SIGINT, on_interrupt);
	signal(SIGTERM, on_interrupt);
	status = run(&f);
	release(&f);
	return status;
}
