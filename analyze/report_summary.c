/* SPDX-License-Identifier: GPL-2.0-only */
/* Head and summary of the text report: what was recorded, what is missing, what it adds up to. */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "report.h"

/* A key of capture_info as text in buf, or NULL. */
static const char *info(sqlite3 *db, const char *key, char *buf, size_t size)
{
	const char *value = NULL;
	sqlite3_stmt *s = NULL;

	if (cw_prepare(db, &s, "SELECT value FROM capture_info WHERE key = ?1"))
		return NULL;
	sqlite3_bind_text(s, 1, key, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_text(s, 0)) {
		snprintf(buf, size, "%s", (const char *)sqlite3_column_text(s, 0));
		value = *buf ? buf : NULL;
	}
	sqlite3_finalize(s);
	return value;
}

/* A line that wraps between its words. */
static void head_line(struct cw_report *r, struct cw_text *t, const char *label, const char *key)
{
	char buf[2048], *rest = buf;

	if (!info(r->db, key, buf, sizeof(buf)))
		return;
	cw_line_begin(t, 0, CW_PLAIN, "%-9s", label);
	for (char *word; (word = strsep(&rest, " "));)
		cw_field(t, CW_PLAIN, "%s", word);
	cw_line_end(t);
}

static void head_host(struct cw_report *r, struct cw_text *t)
{
	char buf[256];

	if (info(r->db, "host", buf, sizeof(buf)))
		cw_field(t, CW_PLAIN, "on %s", buf);
	/* The release is enough; the rest names the kernel's builder. */
	if (info(r->db, "kernel", buf, sizeof(buf)))
		cw_field(t, CW_PLAIN, "Linux %.*s", (int)strcspn(buf, " "), buf);
	if (info(r->db, "arch", buf, sizeof(buf)))
		cw_field(t, CW_PLAIN, "%s", buf);
}

static void head_time(struct cw_report *r, struct cw_text *t)
{
	int64_t start = cw_query_int(r->db, "SELECT start_ts FROM report_clock", 0);
	int64_t end = cw_query_int(r->db, "SELECT end_ts FROM report_clock", start);
	char time[CW_TIME_SIZE], duration[CW_DURATION_SIZE];

	cw_line_begin(t, 0, CW_BOLD, "capture  ");
	cw_field(t, CW_BOLD, "%s", cw_wall_time(time, t, start));
	cw_field(t, CW_PLAIN, "for %s", cw_duration(duration, end - start));
	head_host(r, t);
	cw_line_end(t);
}

/* How many events, of which kinds. */
static void head_events(struct cw_report *r, struct cw_text *t)
{
	char n[CW_DURATION_SIZE];
	sqlite3_stmt *s = NULL;

	if (cw_prepare(r->db, &s,
		       "SELECT substr(key, 8), value FROM capture_info"
		       " WHERE key LIKE 'events.%' AND value > 0 ORDER BY value DESC"))
		return;
	cw_line_begin(t, 0, CW_PLAIN, "events   ");
	cw_field(t, CW_PLAIN, "%s",
		 cw_number(n,
			   cw_query_int(r->db,
					"SELECT value FROM capture_info WHERE key = 'events'", 0)));
	while (sqlite3_step(s) == SQLITE_ROW)
		cw_field(t, CW_PLAIN, "%s=%s", (const char *)sqlite3_column_text(s, 0),
			 cw_number(n, sqlite3_column_int64(s, 1)));
	cw_line_end(t);
	sqlite3_finalize(s);
}

/* What was wrong with the file or the plan, in words. */
static void head_problems(struct cw_report *r, struct cw_text *t)
{
	sqlite3_stmt *s = NULL;

	if (cw_prepare(
		    r->db, &s,
		    "SELECT value FROM capture_info WHERE key = 'plan_problem' UNION ALL"
		    " SELECT value || ' in the file: dump --validate shows them' FROM capture_info"
		    "  WHERE key = 'file_problems' AND value > 0 UNION ALL"
		    " SELECT 'the capture has no clean end: its last moments may be missing'"
		    "  FROM capture_info WHERE key = 'clean_end' AND value = 0"))
		return;
	while (sqlite3_step(s) == SQLITE_ROW) {
		cw_line_begin(t, 0, CW_WARN, "problem   %s",
			      (const char *)sqlite3_column_text(s, 0));
		cw_line_end(t);
	}
	sqlite3_finalize(s);
}

/* Probes that cost their function much: times of calls and of what is around them are too long. */
static void head_slow_probes(struct cw_report *r, struct cw_text *t)
{
	bool any = false;
	sqlite3_stmt *s = NULL;

	if (cw_prepare(r->db, &s,
		       "SELECT function FROM probe WHERE single_stepped ORDER BY probe_id"))
		return;
	while (sqlite3_step(s) == SQLITE_ROW) {
		if (!any)
			cw_line_begin(t, 0, CW_PLAIN, "slow     ");
		any = true;
		cw_field(t, CW_PLAIN, "%s", (const char *)sqlite3_column_text(s, 0));
	}
	if (any) {
		cw_field(t, CW_DIM, "(single-stepped: a hit costs some microseconds)");
		cw_line_end(t);
	}
	sqlite3_finalize(s);
}

static void print_losses(struct cw_report *r, struct cw_text *t)
{
	int64_t start = cw_query_int(r->db, "SELECT start_ts FROM report_clock", 0);
	char n[CW_DURATION_SIZE], from[CW_DURATION_SIZE], to[CW_DURATION_SIZE];
	sqlite3_stmt *s = NULL;

	if (cw_prepare(r->db, &s,
		       "SELECT kind, reason, sum(count), min(ts), max(end_ts) FROM loss"
		       " GROUP BY kind, reason ORDER BY kind, reason"))
		return;
	while (sqlite3_step(s) == SQLITE_ROW) {
		const char *kind = (const char *)sqlite3_column_text(s, 0);
		bool counted = sqlite3_column_type(s, 2) != SQLITE_NULL;

		cw_line_begin(t, 0, CW_WARN, "lost      %s %s",
			      counted ? cw_number(n, sqlite3_column_int64(s, 2))
				      : "unknown number of",
			      strcmp(kind, "*") ? kind : "records");
		cw_field(t, CW_WARN, "(%s)", (const char *)sqlite3_column_text(s, 1));
		cw_duration(from, sqlite3_column_int64(s, 3) - start);
		if (sqlite3_column_int64(s, 4) == INT64_MAX)
			cw_field(t, CW_WARN, "from %s after the start to the end", from);
		else
			cw_field(t, CW_WARN, "between %s and %s after the start", from,
				 cw_duration(to, sqlite3_column_int64(s, 4) - start));
		cw_line_end(t);
	}
	sqlite3_finalize(s);
}

static void head_filters(struct cw_report *r, struct cw_text *t)
{
	const struct cw_filters *f = &r->filters;
	char buf[CW_DURATION_SIZE];

	if (!cw_filters_chain(f))
		return;
	cw_line_begin(t, 0, CW_PLAIN, "shown    ");
	if (f->min_total_ns)
		cw_field(t, CW_PLAIN, "total>=%s", cw_duration(buf, (int64_t)f->min_total_ns));
	if (f->min_queue_ns)
		cw_field(t, CW_PLAIN, "a queue>=%s", cw_duration(buf, (int64_t)f->min_queue_ns));
	if (f->min_work_ns)
		cw_field(t, CW_PLAIN, "a work>=%s", cw_duration(buf, (int64_t)f->min_work_ns));
	if (f->max_events)
		cw_field(t, CW_PLAIN, "the first %s", cw_number(buf, (int64_t)f->max_events));
	cw_line_end(t);
}

static void head_rest(struct cw_report *r, struct cw_text *t)
{
	head_line(r, t, "ended", "end_text");
	head_events(r, t);
	head_slow_probes(r, t);
	head_problems(r, t);
	print_losses(r, t);
}

void cw_report_head(struct cw_report *r, struct cw_text *t)
{
	head_time(r, t);
	head_line(r, t, "command", "cmdline");
	head_rest(r, t);
	head_filters(r, t);
	fputc('\n', t->out);
}

void cw_report_live_head(struct cw_report *r, struct cw_text *t)
{
	char time[CW_TIME_SIZE];

	cw_line_begin(t, 0, CW_BOLD, "following");
	cw_field(
		t, CW_BOLD, "%s",
		cw_wall_time(time, t, cw_query_int(r->db, "SELECT start_ts FROM report_clock", 0)));
	head_host(r, t);
	cw_line_end(t);
	head_line(r, t, "command", "cmdline");
	head_filters(r, t);
	fputc('\n', t->out);
}

void cw_report_live_end(struct cw_report *r, struct cw_text *t)
{
	head_time(r, t);
	head_rest(r, t);
}

/* ---- summary ------------------------------------------------------------------------------------
 */

#define LATENCY_NAME 22
#define LATENCY_REST 72 /* columns beside the name */

/* Columns for names: fewer on a terminal that is narrow. */
static int name_width(const struct cw_text *t)
{
	int width = t->width ? t->width - LATENCY_REST : LATENCY_NAME;

	return width > LATENCY_NAME ? LATENCY_NAME : width < 5 ? 5 : width;
}

static void latency_header(struct cw_text *t)
{
	cw_line_begin(t, 0, CW_DIM, "  %-*s %9s %11s %11s %11s %11s %11s", name_width(t), "", "n",
		      "average", "P50", "P95", "P99", "max");
	cw_line_end(t);
}

static void latency_row(struct cw_text *t, sqlite3_stmt *s, const char *name)
{
	char buf[CW_DURATION_SIZE];

	cw_line_begin(t, 0, CW_PLAIN, "  %-*s %9s", name_width(t), name,
		      cw_number(buf, sqlite3_column_int64(s, 2)));
	for (int col = 3; col <= 7; col++) {
		bool there = sqlite3_column_type(s, col) != SQLITE_NULL;

		fprintf(t->out, " %11s",
			there ? cw_duration(buf, sqlite3_column_int64(s, col)) : "-");
	}
	cw_line_end(t);
}

static int hop_summary(struct cw_report *r, struct cw_text *t, const struct cw_figures *figures)
{
	sqlite3_stmt *hops = NULL, *latency = NULL;
	char n[CW_DURATION_SIZE];
	int err = cw_prepare(r->db, &hops,
			     "SELECT plan_hop, source, target, submitted, matched FROM hop_count"
			     " ORDER BY plan_hop");
	if (!err)
		err = cw_prepare(r->db, &latency,
				 "SELECT * FROM temp.latency WHERE plan_hop = ?1 ORDER BY part");
	while (!err && sqlite3_step(hops) == SQLITE_ROW) {
		cw_line_begin(t, 0, CW_BOLD, "hop %d %s -> %s", sqlite3_column_int(hops, 0),
			      (const char *)sqlite3_column_text(hops, 1),
			      (const char *)sqlite3_column_text(hops, 2));
		cw_field(t, CW_PLAIN, "submitted=%s", cw_number(n, sqlite3_column_int64(hops, 3)));
		cw_field(t, CW_PLAIN, "matched=%s", cw_number(n, sqlite3_column_int64(hops, 4)));
		cw_line_end(t);
		sqlite3_reset(latency);
		sqlite3_bind_int(latency, 1, sqlite3_column_int(hops, 0));
		for (bool first = true; sqlite3_step(latency) == SQLITE_ROW; first = false) {
			if (first)
				latency_header(t);
			latency_row(t, latency, (const char *)sqlite3_column_text(latency, 1));
		}
		if (figures) {
			cw_figures_spread(figures, sqlite3_column_int(hops, 0), "queue");
			cw_figures_spread(figures, sqlite3_column_int(hops, 0), "work");
			err = cw_figures_waiting(figures, sqlite3_column_int(hops, 0));
		}
	}
	sqlite3_finalize(hops);
	sqlite3_finalize(latency);
	return err;
}

static int call_summary(struct cw_report *r, struct cw_text *t)
{
	sqlite3_stmt *s = NULL;
	bool first = true;
	int err = cw_prepare(r->db, &s,
			     "SELECT * FROM temp.latency WHERE plan_hop IS NULL ORDER BY part");

	if (err)
		return err;
	while (sqlite3_step(s) == SQLITE_ROW) {
		if (first && r->async) {
			cw_line_begin(t, 0, CW_BOLD, "calls without a chain");
			cw_line_end(t);
		}
		if (first)
			latency_header(t);
		first = false;
		latency_row(t, s, (const char *)sqlite3_column_text(s, 1));
	}
	sqlite3_finalize(s);
	return 0;
}

/* What is in doubt in the whole capture, whatever the filters show. */
int cw_report_doubts(struct cw_report *r, struct cw_text *t)
{
	char buf[CW_DURATION_SIZE];
	sqlite3_stmt *s = NULL;
	bool first = true;
	int err = cw_prepare(r->db, &s, "SELECT what, at, count FROM anomaly");

	if (err)
		return err;
	while (sqlite3_step(s) == SQLITE_ROW) {
		const char *at = (const char *)sqlite3_column_text(s, 1);

		if (first) {
			cw_line_begin(t, 0, CW_BOLD, "in doubt, in the whole capture");
			cw_line_end(t);
		}
		first = false;
		cw_line_begin(t, 0, CW_WARN, "  %11s %s",
			      sqlite3_column_type(s, 2) == SQLITE_NULL
				      ? "?"
				      : cw_number(buf, sqlite3_column_int64(s, 2)),
			      (const char *)sqlite3_column_text(s, 0));
		if (at && *at)
			cw_field(t, CW_WARN, "(%s)", at);
		cw_line_end(t);
	}
	sqlite3_finalize(s);
	return 0;
}

static void chain_counts(struct cw_report *r, struct cw_text *t)
{
	int64_t shown = cw_tally(r->db, "shown_chains"), all = cw_tally(r->db, "chains");
	int64_t incomplete = cw_tally(r->db, "shown_incomplete");
	int64_t flagged = cw_tally(r->db, "shown_flagged");
	int64_t calls = cw_tally(r->db, "shown_calls");
	char buf[CW_DURATION_SIZE];

	cw_line_begin(t, 0, CW_BOLD, "%s", cw_number(buf, shown));
	if (all != shown)
		cw_field(t, CW_BOLD, "of %s", cw_number(buf, all));
	cw_field(t, CW_BOLD, all == 1 ? "chain" : "chains");
	if (incomplete)
		cw_field(t, CW_WARN, "incomplete=%s", cw_number(buf, incomplete));
	if (flagged)
		cw_field(t, CW_WARN, "flagged=%s", cw_number(buf, flagged));
	if (calls)
		cw_field(t, CW_PLAIN, "and %s call%s without one", cw_number(buf, calls),
			 calls == 1 ? "" : "s");
	cw_line_end(t);
}

static void call_counts(struct cw_report *r, struct cw_text *t)
{
	int64_t shown = cw_tally(r->db, "shown_calls"), all = cw_tally(r->db, "calls");
	char buf[CW_DURATION_SIZE];

	cw_line_begin(t, 0, CW_BOLD, "%s", cw_number(buf, shown));
	if (all != shown)
		cw_field(t, CW_BOLD, "of %s", cw_number(buf, all));
	cw_field(t, CW_BOLD, all == 1 ? "call" : "calls");
	cw_line_end(t);
}

int cw_report_counts(struct cw_report *r, struct cw_text *t, const struct cw_figures *figures)
{
	int err = 0;

	if (r->async) {
		chain_counts(r, t);
		err = hop_summary(r, t, figures);
	} else {
		call_counts(r, t);
	}
	return err ? err : call_summary(r, t);
}

int cw_report_summary(struct cw_report *r, struct cw_text *t)
{
	int err = cw_report_counts(r, t, NULL);

	return err ? err : cw_report_doubts(r, t);
}
