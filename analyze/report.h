/* SPDX-License-Identifier: GPL-2.0-only */
/* What report was asked, shared by its formats. Only report*.c includes this. */
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
	enum cw_format format;
	enum cw_color color;
	FILE *out;
	bool async;     /* the plan has hops: chains are reported */
	int64_t chains; /* selected */
	int64_t calls;  /* selected, apart from those of the chains' last targets */
};

/* True when a filter or a limit is set: then only matching chains are shown, no bare entries. */
bool cw_filters_chain(const struct cw_filters *f);
bool cw_filters_any(const struct cw_filters *f);

/*
 * Make the temporary table item(seq, ts, chain_id, slice_id): what is shown, in time order. A
 * chain is shown with the call of its last target; chain_id is NULL for a call alone.
 */
int cw_report_select(struct cw_report *r);

/* Print what was selected. Return 0 or a negative errno of writing, or having said why. */
int cw_report_text(struct cw_report *r);
int cw_report_rows(struct cw_report *r);

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
int cw_report_summary(struct cw_report *r, struct cw_text *t);

/* Fill temp table latency(plan_hop, part, n, avg, p50, p95, p99, max) from the selection. */
int cw_report_latency(struct cw_report *r);

/* Prepare, or say what SQLite does not like about our own query. */
int cw_prepare(sqlite3 *db, sqlite3_stmt **out, const char *sql);

/* Execute, or say what went wrong. */
int cw_exec(sqlite3 *db, const char *sql);

/* The same as text, malloc'ed; NULL when there is none. */
char *cw_query_text(sqlite3 *db, const char *sql);

/* First column of the first row of a query; missing when there is none. */
int64_t cw_query_int(sqlite3 *db, const char *sql, int64_t missing);

#endif
