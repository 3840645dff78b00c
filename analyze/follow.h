/* SPDX-License-Identifier: GPL-2.0-only */
/* Following a capture while it is written. Only follow*.c includes this. */
#ifndef CW_FOLLOW_H
#define CW_FOLLOW_H

#include "passes.h"
#include "report.h"

/* ---- input: follow_input.c --------------------------------------------------------------------
 */

struct cw_tail;

/*
 * Open a stream ("-" is standard input), or a file that may still grow, and give a descriptor to
 * read it from, which ends when nobody writes any more. Says what failed.
 */
int cw_tail_open(struct cw_tail **out, const char *path, int *fd);

/* The recorder has stopped: what is in the file is all. */
void cw_tail_last(struct cw_tail *t);

/* Closes the descriptor, too: free the reader first. */
void cw_tail_free(struct cw_tail *t);

/* ---- the window: follow_window.c --------------------------------------------------------------
 * Rows of the followed database that somebody may still ask for; all others are deleted.
 */
struct cw_window;

int cw_window_new(struct cw_window **out, sqlite3 *db);
void cw_window_free(struct cw_window *w);

/* A stack or file that the passes have forgotten at ts; its rows go when nothing refers to them. */
void cw_window_gone_stack(struct cw_window *w, uint64_t stack_id, uint64_t ts);
void cw_window_gone_file(struct cw_window *w, uint64_t file_id, uint64_t ts);

/* Note how far the rows go at time ts of the events; at least once a second. */
int cw_window_mark(struct cw_window *w, const struct cw_trace *t, uint64_t ts);

/* Delete what is not needed any more: all that ended before now was printed. */
int cw_window_prune(struct cw_window *w, const struct cw_trace *t, uint64_t now);

/* ---- totals: follow_totals.c ------------------------------------------------------------------
 * Counts over the whole run, of rows that are deleted on the way. Durations go into histograms:
 * counts, averages and maxima are exact, percentiles within 0.4 %.
 */
struct cw_sums;

int cw_sums_new(struct cw_sums **out, sqlite3 *db);
void cw_sums_free(struct cw_sums *s);

/* A call ended; reason as in slice.no_return, NULL: it returned. The text must stay. */
void cw_sums_call(struct cw_sums *s, uint32_t probe_id, const char *reason);

/* Count the rows that are new since the last time, and the items (temp.item). */
int cw_sums_rows(struct cw_sums *s);
int cw_sums_items(struct cw_sums *s);

/* Make the tables that a summary is printed from; see CW_TALLY_SCHEMA. All rows were inserted. */
int cw_sums_write(struct cw_sums *s);

/* ---- queues: follow_queues.c ------------------------------------------------------------------
 * Queues and pools of the hops, for each interval and for the run.
 */
struct cw_queues;

int cw_queues_new(struct cw_queues **out, sqlite3 *db);
void cw_queues_free(struct cw_queues *qs);

/* Begin to count at ts; interval_ns 0: no intervals. Events before that are not counted. */
void cw_queues_start(struct cw_queues *qs, uint32_t nhops, uint64_t ts, uint64_t interval_ns);
bool cw_queues_started(const struct cw_queues *qs);
void cw_queues_event(struct cw_queues *qs, const struct cw_queue_event *e);

/* Close the intervals that end by ts. At the end of the run: the last one, and the run itself. */
void cw_queues_time(struct cw_queues *qs, uint64_t ts);
void cw_queues_end(struct cw_queues *qs, uint64_t ts);
void cw_queues_whole(struct cw_queues *qs, uint64_t ts);

/*
 * Fill temp.queue_diagnostics, which has the columns of that view, with what was closed since the
 * last time. Returns how many rows, or a negative errno having said why.
 */
int cw_queues_write(struct cw_queues *qs);

/* ---- reasons: follow_reasons.c -----------------------------------------------------------------
 * Why calls and the work of hops waited, over the whole run: exact, but for waits that a call of
 * more than a minute began with. The smallest are kept by class only when there are very many.
 */
struct cw_reasons;

int cw_reasons_new(struct cw_reasons **out, sqlite3 *db);
void cw_reasons_free(struct cw_reasons *r);

/* A call ended; something happened to a queue. */
void cw_reasons_call(struct cw_reasons *r, uint64_t slice_id);
void cw_reasons_work(struct cw_reasons *r, const struct cw_queue_event *e);

/* Take in what ended since the last time: its rows, and names of its stacks, are in the database.
 */
int cw_reasons_add(struct cw_reasons *r, bool attribution);

/* Complete database "whole", whose views function_reason and hop_reason are of the whole run. */
int cw_reasons_whole(struct cw_reasons *r);

/* ---- showing: follow_show.c -------------------------------------------------------------------
 * Calls and chains that ended, printed once their stacks have names.
 */
struct cw_show;

int cw_show_new(struct cw_show **out, struct cw_report *r, const struct cw_open_opts *names,
		struct cw_sums *sums);
void cw_show_free(struct cw_show *s);

/* In the order in which they ended; the call of a chain comes right before or after the chain. */
void cw_show_call(struct cw_show *s, uint64_t slice_id, uint64_t ts);
void cw_show_chain(struct cw_show *s, uint64_t chain_id, uint64_t slice_id, uint64_t ts);

/* Print what is ready; all when it is over. The database is up to date. 0 or a negative errno. */
int cw_show_ready(struct cw_show *s, const struct cw_trace *t, bool over);

bool cw_show_waiting(const struct cw_show *s); /* something that ended is not printed yet */
bool cw_show_enough(const struct cw_show *s);  /* as many as were asked for are printed */

/* From the tables of cw_sums_write. */
int cw_show_summary(struct cw_show *s);

#endif
