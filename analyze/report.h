/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What report or follow was asked, shared by the formats. Both print with the same code: report the
 * items it selected from the whole capture, follow those that became complete since the last time.
 */
#ifndef CW_REPORT_H
#define CW_REPORT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>
#include "options.h"
#include "print.h"
#include "text.h"

/*
 * Filters of report; 0, NULL or not set where there is none. The first four are CW_UNSET until the
 * plan's own were looked up: 0 on the command line switches those off.
 */
#define CW_UNSET UINT64_MAX
#define CW_FILTERS_UNSET \
	{ \
		CW_UNSET, CW_UNSET, CW_UNSET, CW_UNSET \
	}
struct cw_filters {
	uint64_t min_total_ns, min_queue_ns, min_work_ns, max_events;
	struct cw_moment from, to;
	uint64_t pid, tid;
	const char *function;
	bool has_key;
	int64_t key;
};

struct cw_report {
	sqlite3 *db;
	struct cw_filters filters;
	const struct cw_plan_filters *config; /* of --config; NULL: none was given */
	enum cw_format format;
	bool html; /* instead of format */
	enum cw_color color;
	unsigned int sections; /* of the text report, bits of enum cw_section; 0: the usual ones */
	const char *output;    /* path; NULL or "-": standard output */
	FILE *out;
	bool async;           /* the plan has hops: chains are reported */
	bool live;            /* select from temp.fresh only */
	sqlite3_stmt *select; /* fills temp.item */
};

/* Options of both commands; the input is a struct cw_report. */
extern const struct argp cw_report_argp;

/* The filters alone, which report's options include; the input is a struct cw_filters. */
extern const struct argp cw_filters_argp;

/* Filters of --config, or (config NULL) those recorded with the plan; all 0 where there are none.
 */
void cw_capture_filters(sqlite3 *db, const struct cw_plan_filters *config,
			struct cw_plan_filters *out);

/* They hold where the command line does not say otherwise. */
void cw_report_plan_filters(struct cw_report *r);

/* True when a filter or a limit is set: then only matching chains are shown, no bare entries. */
bool cw_filters_chain(const struct cw_filters *f);
bool cw_filters_any(const struct cw_filters *f);

/*
 * Make the temporary table item(seq, ts, chain_id, slice_id): what is shown, in time order. A
 * chain is shown with the call of its last target; chain_id is NULL for a call alone.
 */
int cw_report_select(struct cw_report *r);

/*
 * The same for follow. begin makes temp.item and temp.fresh(seq, chain_id, slice_id), which the
 * caller fills with what ended; again selects from it, in that order and at most limit items (0:
 * all). The filters must not change any more after the first time.
 */
int cw_report_live_begin(struct cw_report *r);
int cw_report_live_again(struct cw_report *r, uint64_t limit);

/*
 * Temporary tables that a summary is printed from: tally(name, n), no_return(reason, n) and
 * latency(plan_hop, part, n, avg, p50, p95, p99, max), whose part is the function for calls alone.
 * Here they are counted from all that is in the database and the items; follow counts on its way.
 */
#define CW_TALLY_SCHEMA \
	"CREATE TEMP TABLE tally(name TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;" \
	"CREATE TEMP TABLE no_return(reason TEXT PRIMARY KEY, n INTEGER) WITHOUT ROWID;" \
	"CREATE TEMP TABLE latency(plan_hop INTEGER, part TEXT, n INTEGER, avg INTEGER," \
	" p50 INTEGER, p95 INTEGER, p99 INTEGER, max INTEGER);"
int cw_report_totals(struct cw_report *r);
int64_t cw_tally(sqlite3 *db, const char *name);

/* Durations of the items: plan_hop, part, ns. */
extern const char cw_report_samples[];

/* Print what was selected. Return 0 or a negative errno of writing, or having said why. */
int cw_report_text(struct cw_report *r);
int cw_report_rows(struct cw_report *r);

/*
 * JSON records are put together from views; the same views over tables of what they share are
 * faster where there are many. begin makes them; update renders the stacks that are new, or all
 * again when names may have changed.
 */
int cw_report_json_begin(sqlite3 *db);
int cw_report_json_update(sqlite3 *db, bool again);
int cw_report_json_items(struct cw_report *r);
int cw_report_json_summary(struct cw_report *r);

/* What an earlier write to out failed with, 0 when nothing did. */
int cw_write_error(FILE *out);

/* Blocks of the text report: one call, with its chain when there is one. report_block.c */
struct cw_blocks;
int cw_blocks_new(struct cw_blocks **out, sqlite3 *db, struct cw_text *t);
void cw_blocks_free(struct cw_blocks *b);
int cw_block_print(struct cw_blocks *b, int64_t slice_id, int64_t chain_id); /* chain_id -1: none */

/* Stacks of the text report, by the place that shows them. report_stack.c */
enum cw_stack_kind { CW_STACK_OWN, CW_STACK_ASYNC, CW_STACK_WAKER, CW_STACK_KINDS };
struct cw_stacks;
int cw_stacks_new(struct cw_stacks **out, sqlite3 *db, struct cw_text *t);
void cw_stacks_free(struct cw_stacks *s);
int cw_stack_print(struct cw_stacks *s, int64_t stack_id, enum cw_stack_kind kind);

/* Head and summary of the text report. report_summary.c */
void cw_report_head(struct cw_report *r, struct cw_text *t);
void cw_report_live_head(struct cw_report *r, struct cw_text *t); /* nothing is known but who */
void cw_report_live_end(struct cw_report *r, struct cw_text *t);  /* the rest of the head */
int cw_report_summary(struct cw_report *r, struct cw_text *t);

/* Counts and latencies, and what is in doubt; figures NULL: no drawings. report_summary.c */
struct cw_figures;
int cw_report_counts(struct cw_report *r, struct cw_text *t, const struct cw_figures *figures);
int cw_report_doubts(struct cw_report *r, struct cw_text *t);

/* What took the time of what is shown, and why. report_answer.c */
int cw_report_answer(struct cw_report *r, struct cw_text *t);

/* Drawings of the durations of what is shown. report_figures.c */
int cw_figures_new(struct cw_figures **out, struct cw_report *r, struct cw_text *t);
void cw_figures_free(struct cw_figures *f);
void cw_figures_spread(const struct cw_figures *f, int hop, const char *part);
int cw_figures_waiting(const struct cw_figures *f, int hop);
int cw_figures_histograms(const struct cw_figures *f);

/* Clocks of the recorded host. */
void cw_report_clock(sqlite3 *db, struct cw_text *t);

/* Prepare, or say what SQLite does not like about our own query. */
int cw_prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql);

/* Execute, or say what went wrong. */
int cw_exec(sqlite3 *db, const char *sql);

/* The same as text, malloc'ed; NULL when there is none. */
char *cw_query_text(sqlite3 *db, const char *sql);

/* First column of the first row of a query; missing when there is none. */
int64_t cw_query_int(sqlite3 *db, const char *sql, int64_t missing);

#endif
