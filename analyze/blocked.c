/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns command blocked and the printing of views function_reason and hop_reason. What is a reason
 * is decided in the schema.
 */
#include <errno.h>
#include <string.h>
#include "blocked.h"
#include "commands.h"
#include "listing.h"
#include "report.h"
#include "say.h"
#include "view_again.h"
#include "wait_sums.h"

/* Both views as one table, worked out once: whose is the number of a hop or, negative, of a probe.
 */
static const char collect[] =
	"DROP TABLE IF EXISTS temp.reason;"
	"CREATE TEMP TABLE reason AS"
	" SELECT 'hop' AS of, plan_hop AS whose, source || ' -> ' || target AS name, class, reason,"
	"  count, ns, share, other_utid, others, 0 AS place FROM %s.hop_reason"
	" UNION ALL"
	" SELECT 'function', -probe_id, function, class, reason, count, ns, share, other_utid,"
	"  others, 0 FROM %s.function_reason;"
	"CREATE TEMP VIEW IF NOT EXISTS ranked AS"
	" SELECT r.*, coalesce(t.rec_tid, t.tid) AS other_tid, t.name AS other_thread,"
	"  row_number() OVER (PARTITION BY of, whose ORDER BY ns DESC, class, reason) AS rank"
	" FROM temp.reason r LEFT JOIN main.thread t ON t.utid = r.other_utid";

/* In the order of hops, then of functions by where the most time went. */
static const char owners[] =
	"SELECT of, whose, name, sum(ns), count(*) FROM temp.reason GROUP BY of, whose"
	" ORDER BY of = 'function', CASE of WHEN 'hop' THEN whose ELSE -sum(ns) END";

static const char classes[] =
	"SELECT class, sum(ns), sum(share) FROM temp.reason WHERE of = ?1 AND whose = ?2"
	" GROUP BY class ORDER BY 2 DESC";

static const char reasons[] =
	"SELECT class, reason, count, ns, share, other_tid, other_thread, others FROM temp.ranked"
	" WHERE of = ?1 AND whose = ?2 AND rank <= ?3 ORDER BY rank";

static const char *text_of(sqlite3_stmt *s, int column)
{
	return (const char *)sqlite3_column_text(s, column) ?: "";
}

static void bind(sqlite3_stmt *s, sqlite3_stmt *owner, unsigned top)
{
	sqlite3_reset(s);
	sqlite3_bind_value(s, 1, sqlite3_column_value(owner, 0));
	sqlite3_bind_value(s, 2, sqlite3_column_value(owner, 1));
	if (top)
		sqlite3_bind_int64(s, 3, top);
}

/* Whose wait it was that others ended: the thread that did so for the most of the time. */
static void woken_by(struct cw_text *t, sqlite3_stmt *s)
{
	const char *class = text_of(s, 0);

	if (sqlite3_column_type(s, 5) == SQLITE_NULL)
		return;
	if (!strcmp(class, "run queue") || !strcmp(class, "preempted")) {
		if (sqlite3_column_int(s, 7) == 1)
			cw_field(t, CW_DIM, "(TID %lld)", (long long)sqlite3_column_int64(s, 5));
		return;
	}
	cw_field(t, CW_DIM, "woken by TID %lld (%s)", (long long)sqlite3_column_int64(s, 5),
		 text_of(s, 6));
	if (sqlite3_column_int(s, 7) > 1)
		cw_field(t, CW_DIM, "and %d others", sqlite3_column_int(s, 7) - 1);
}

static void reason_line(struct cw_text *t, sqlite3_stmt *s)
{
	char count[CW_DURATION_SIZE], ns[CW_DURATION_SIZE];

	cw_line_begin(t, 2, CW_PLAIN, "%5.1f %%  %11s  %9s", 100 * sqlite3_column_double(s, 4),
		      cw_duration(ns, sqlite3_column_int64(s, 3)),
		      cw_number(count, sqlite3_column_int64(s, 2)));
	cw_field(t, CW_PLAIN, "%s", text_of(s, 1));
	if (strcmp(text_of(s, 0), text_of(s, 1)) != 0)
		cw_field(t, CW_PLAIN, "[%s]", text_of(s, 0));
	woken_by(t, s);
	cw_line_end(t);
}

static int print_text(sqlite3 *db, struct cw_text *t, unsigned top)
{
	sqlite3_stmt *owner = NULL, *sum = NULL, *line = NULL;
	char ns[CW_DURATION_SIZE];
	int err = cw_prepare(db, &owner, owners);

	if (!err)
		err = cw_prepare(db, &sum, classes);
	if (!err)
		err = cw_prepare(db, &line, reasons);
	while (!err && sqlite3_step(owner) == SQLITE_ROW) {
		int64_t left = sqlite3_column_int64(owner, 4) - top;

		cw_line_begin(t, 0, CW_BOLD, "top reasons of %s%s",
			      strcmp(text_of(owner, 0), "hop") ? "" : "the work of ",
			      text_of(owner, 2));
		cw_field(t, CW_PLAIN, "%s:", cw_duration(ns, sqlite3_column_int64(owner, 3)));
		bind(sum, owner, 0);
		while (sqlite3_step(sum) == SQLITE_ROW)
			cw_field(t, CW_PLAIN, "%s=%.1f %%", text_of(sum, 0),
				 100 * sqlite3_column_double(sum, 2));
		cw_line_end(t);
		bind(line, owner, top ? top : UINT32_MAX);
		while (sqlite3_step(line) == SQLITE_ROW)
			reason_line(t, line);
		if (top && left > 0) {
			cw_line_begin(t, 2, CW_DIM, "and %lld more", (long long)left);
			cw_line_end(t);
		}
	}
	sqlite3_finalize(owner);
	sqlite3_finalize(sum);
	sqlite3_finalize(line);
	return err;
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static const char json_query[] =
	"SELECT json_object('type', 'reasons', 'of', of, 'name', name,"
	" 'index', CASE of WHEN 'hop' THEN whose END, 'total_ns', sum(ns), 'reasons', ("
	"  SELECT json_group_array(json_object('class', class, 'reason', reason, 'count', count,"
	"   'ns', ns, 'share', round(share, 6), 'tid', other_tid, 'comm', other_thread,"
	"   'threads', others)) FROM (SELECT * FROM temp.ranked k WHERE k.of = r.of"
	"   AND k.whose = r.whose AND k.rank <= ?1 ORDER BY rank)))"
	" FROM temp.reason r GROUP BY of, whose"
	" ORDER BY of = 'function', CASE of WHEN 'hop' THEN whose ELSE -sum(ns) END";

static const char csv_query[] =
	"SELECT of, name, class, reason, count, ns, share, other_tid AS tid, other_thread AS comm,"
	" others AS threads FROM temp.ranked WHERE rank <= ?1 ORDER BY of = 'function', whose, "
	"rank";

static int print_json(sqlite3 *db, sqlite3_stmt *s, FILE *out)
{
	int rc;

	while ((rc = sqlite3_step(s)) == SQLITE_ROW) {
		cw_print_json(out, (const char *)sqlite3_column_text(s, 0) ?: "null");
		fputc('\n', out);
	}
	if (rc != SQLITE_DONE)
		return cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(db));
	return 0;
}

int cw_blocked_collect(sqlite3 *db, const char *database)
{
	char *sql = sqlite3_mprintf(collect, database, database);
	int err = sql ? cw_exec(db, sql) : -ENOMEM;

	sqlite3_free(sql);
	return err;
}

int cw_blocked_sums(sqlite3 *db)
{
	int err;

	if (cw_query_int(db, "SELECT count(*) FROM temp.sqlite_schema WHERE name = 'hop_reason'",
			 0))
		return 0;
	err = cw_exec(db, "CREATE TEMP TABLE IF NOT EXISTS queue_task AS"
			  " SELECT * FROM main.queue_task");

	if (!err)
		err = cw_wait_sums(db);
	if (!err)
		err = cw_view_again(db, "hop_reason");
	if (!err)
		err = cw_view_again(db, "function_reason");
	return err;
}

int cw_blocked_print(sqlite3 *db, enum cw_format format, unsigned top, FILE *out)
{
	int err = cw_blocked_sums(db);

	if (!err)
		err = cw_blocked_collect(db, "temp");
	return err ? err : cw_blocked_print_collected(db, format, top, out);
}

int cw_blocked_print_collected(sqlite3 *db, enum cw_format format, unsigned top, FILE *out)
{
	bool json = format == CW_FORMAT_JSONL;
	sqlite3_stmt *s = NULL;
	struct cw_text t;
	int err = 0;
	long rows;

	if (format == CW_FORMAT_TEXT) {
		cw_text_init(&t, out, CW_COLOR_AUTO);
		return print_text(db, &t, top);
	}
	err = cw_prepare(db, &s, json ? json_query : csv_query);
	if (err)
		return err;
	sqlite3_bind_int64(s, 1, top ? top : UINT32_MAX);
	if (json) {
		err = print_json(db, s, out);
	} else {
		rows = cw_print_rows(db, s, format, out);
		err = rows < 0 ? (int)rows : 0;
	}
	sqlite3_finalize(s);
	return err;
}

/* ---- the command --------------------------------------------------------------------------------
 */

enum { OPT_TOP = 0x100 };

static const struct argp_option options[] = {
	{"top", OPT_TOP, "N", 0, "At most N reasons of each function and hop (8); 0: all", 0},
	{0},
};

static const char doc[] =
	"Show what the work of each hop and the calls of each function waited for, and who had the "
	"CPU when they waited for that. The reasons of a function add up to the durations of its "
	"calls."
	"\vExamples:\n"
	"  callweave-analyze blocked trace.cwc\n"
	"  callweave-analyze blocked trace.cwc --top 0 --format csv >reasons.csv\n"
	"  callweave-analyze sql trace.cwc 'SELECT * FROM blocked_reason'\n";

struct args {
	struct cw_listing listing;
	uint64_t top;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->listing;
		return 0;
	case OPT_TOP:
		if (!cw_parse_count(arg, 0, INT32_MAX, &a->top))
			argp_error(state, "--top %s: give a whole number, 0 for all", arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&cw_listing_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, "CAPTURE", doc, children, NULL, NULL};

/* cw_listing_run's. */
static int print(void *arg, sqlite3 *db, FILE *out)
{
	const struct args *a = arg;

	if (!cw_query_int(db, "SELECT EXISTS (SELECT 1 FROM slice WHERE oncpu_ns IS NOT NULL)", 0))
		return cw_fail(-ENODATA, "no call has scheduler facts: record with --attribution");
	return cw_blocked_print(db, a->listing.format, (unsigned)a->top, out);
}

int cw_cmd_blocked(int argc, char **argv)
{
	struct args a = {.top = CW_TOP_REASONS};

	return argp_parse(&argp, argc, argv, 0, NULL, &a) ? 2
							  : cw_listing_run(&a.listing, print, &a);
}
