/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns command discover: who woke the thread before each call of a function, and which functions
 * may therefore be what handed it the work. A guess, which is said.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include "commands.h"
#include "discover.h"
#include "listing.h"
#include "report.h"
#include "say.h"

/* ---- working it out -----------------------------------------------------------------------------
 */

/*
 * Two facts name the source. Which recorded function the waker was in: the innermost call of its
 * thread that had not ended. And its stack, in which frames may be missing. The call comes first,
 * unless the stack has it and knows functions inside of it.
 */
static const char collect[] =
	"DROP TABLE IF EXISTS temp.waking; DROP TABLE IF EXISTS temp.open_call;"
	"DROP TABLE IF EXISTS temp.guess; DROP TABLE IF EXISTS temp.source;"
	"CREATE TEMP TABLE waking AS SELECT w.* FROM call_waking w JOIN temp.wanted "
	"USING(probe_id);"
	"CREATE TEMP TABLE open_call(utid, ts, end_ts, function, module, probe_id,"
	" PRIMARY KEY(utid, ts)) WITHOUT ROWID;"
	"INSERT OR IGNORE INTO temp.open_call SELECT s.utid, s.ts, s.ts + s.dur, p.function, "
	"m.name,"
	"  s.probe_id FROM slice s JOIN probe p USING(probe_id) LEFT JOIN module m USING(module_id)"
	" WHERE s.utid IN (SELECT waker_utid FROM temp.waking WHERE woken_by = 'thread');"
	"CREATE TEMP TABLE guess AS"
	" SELECT w.*, (SELECT o.ts FROM temp.open_call o WHERE o.utid = w.waker_utid"
	"   AND o.ts <= w.waking_ts AND (o.end_ts IS NULL OR o.end_ts >= w.waking_ts)"
	"   ORDER BY o.ts DESC LIMIT 1) AS call_ts, NULL AS function, NULL AS module, NULL AS "
	"evidence, NULL AS within"
	" FROM temp.waking w WHERE w.woken_by = 'thread';"
	"UPDATE temp.guess AS g SET evidence = 'call', (function, module, within) = (SELECT "
	"o.function, o.module, o.function"
	" FROM temp.open_call o WHERE o.utid = g.waker_utid AND o.ts = g.call_ts)"
	" WHERE call_ts IS NOT NULL;"
	"CREATE TEMP TABLE in_stack AS SELECT * FROM stack_function"
	" WHERE stack_id IN (SELECT waker_stack_id FROM temp.guess);"
	"UPDATE temp.guess AS g SET evidence = 'stack', (function, module) = (SELECT f.function, "
	"f.module"
	" FROM temp.in_stack f WHERE f.stack_id = g.waker_stack_id AND f.place = 0)"
	" WHERE EXISTS (SELECT 1 FROM temp.in_stack f WHERE f.stack_id = g.waker_stack_id"
	"   AND (g.function IS NULL OR f.function = g.function));"
	"DROP TABLE temp.in_stack;"
	"CREATE TEMP TABLE source AS"
	" SELECT row_number() OVER (ORDER BY count(*) DESC, function) AS rank, function, module,"
	"  count(*) AS calls, count(DISTINCT waker_utid) AS threads,"
	"  CAST(avg(wake_to_entry_ns) AS INTEGER) AS average_ns, min(wake_to_entry_ns) AS min_ns,"
	"  max(wake_to_entry_ns) AS max_ns, sum(evidence = 'call') AS by_call,"
	"  EXISTS (SELECT 1 FROM probe p WHERE p.function = g.function) AS recorded,"
	"  (SELECT w.within FROM temp.guess w WHERE w.function = g.function AND w.module IS "
	"g.module AND w.within <> w.function GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1) AS "
	"within, sum(within <> function) AS in_within"
	" FROM temp.guess g WHERE function IS NOT NULL GROUP BY function, module;"
	"CREATE TEMP VIEW IF NOT EXISTS source_stack AS"
	" SELECT rank, stack_id, n FROM (SELECT s.rank, g.waker_stack_id AS stack_id, count(*) AS "
	"n,"
	"   row_number() OVER (PARTITION BY s.rank ORDER BY count(*) DESC, max(k.frame_count) DESC)"
	"   AS place FROM temp.guess g JOIN temp.source s ON s.function = g.function"
	"   AND s.module IS g.module JOIN main.stack k ON k.stack_id = g.waker_stack_id"
	"   GROUP BY s.rank, g.waker_stack_id) WHERE place = 1";

/* The probes called function go to temp.wanted. Says which there are when there is none. */
static int choose(sqlite3 *db, const char *function)
{
	sqlite3_stmt *s = NULL;
	int err = cw_exec(db, "DROP TABLE IF EXISTS temp.wanted;"
			      "CREATE TEMP TABLE wanted(probe_id INTEGER PRIMARY KEY)");

	if (!err)
		err = cw_prepare(db, &s,
				 "INSERT INTO temp.wanted SELECT probe_id FROM probe"
				 " WHERE function = ?1");
	if (err)
		return err;
	sqlite3_bind_text(s, 1, function, -1, SQLITE_STATIC);
	sqlite3_step(s);
	sqlite3_finalize(s);
	if (sqlite3_changes(db))
		return 0;
	err = cw_prepare(db, &s,
			 "SELECT group_concat(function, ', ') FROM (SELECT DISTINCT function"
			 " FROM probe ORDER BY function LIMIT 20)");
	if (err)
		return err;
	sqlite3_step(s);
	err = cw_fail(-ENOENT, "calls of %s were not recorded; recorded were: %s", function,
		      (const char *)sqlite3_column_text(s, 0) ?: "none");
	sqlite3_finalize(s);
	return err;
}

/* ---- text ---------------------------------------------------------------------------------------
 */

static int64_t count_of(sqlite3 *db, const char *woken_by)
{
	char sql[128];

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM temp.waking WHERE woken_by = '%s'",
		 woken_by);
	return cw_query_int(db, sql, 0);
}

static void head(sqlite3 *db, struct cw_text *t, const char *function)
{
	static const struct {
		const char *how, *words;
	} ways[] = {
		{"thread", "woken by a thread of the process"},
		{"interrupt", "by a timer or another interrupt"},
		{"other process", "by another process"},
		{"did not sleep", "without having slept since the call before"},
	};
	int64_t counts[sizeof(ways) / sizeof(*ways)];
	size_t last = 0;
	char n[CW_DURATION_SIZE];

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		counts[i] = count_of(db, ways[i].how);
		if (counts[i])
			last = i;
	}
	cw_line_begin(t, 0, CW_BOLD, "%s calls of %s:",
		      cw_number(n, cw_query_int(db, "SELECT count(*) FROM temp.waking", 0)),
		      function);
	for (size_t i = 0; i <= last; i++) {
		if (counts[i] || !i)
			cw_field(t, CW_PLAIN, "%s %s%s", cw_number(n, counts[i]), ways[i].words,
				 i < last ? "," : "");
	}
	cw_line_end(t);
}

static int print_stack(sqlite3 *db, struct cw_text *t, struct cw_stacks *stacks, int64_t rank)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s, "SELECT stack_id, n FROM temp.source_stack WHERE rank = ?1");

	if (err)
		return err;
	sqlite3_bind_int64(s, 1, rank);
	if (sqlite3_step(s) == SQLITE_ROW) {
		cw_line_begin(t, 2, CW_DIM,
			      "stack of %lld of them:", (long long)sqlite3_column_int64(s, 1));
		cw_line_end(t);
		err = cw_stack_print(stacks, sqlite3_column_int64(s, 0), CW_STACK_WAKER);
	}
	sqlite3_finalize(s);
	return err;
}

static int print_source(sqlite3 *db, struct cw_text *t, struct cw_stacks *stacks, sqlite3_stmt *s,
			const char *function, unsigned arg)
{
	char n[CW_DURATION_SIZE], average[CW_DURATION_SIZE];
	const char *source = (const char *)sqlite3_column_text(s, 1);
	int64_t calls = sqlite3_column_int64(s, 3), by_call = sqlite3_column_int64(s, 8);
	int err;

	cw_line_begin(t, 0, CW_BOLD, "candidate source function: %s", source);
	cw_field(t, CW_PLAIN, "before %s call%s", cw_number(n, calls), calls == 1 ? "" : "s");
	cw_field(t, CW_PLAIN, "from %d thread%s;", sqlite3_column_int(s, 4),
		 sqlite3_column_int(s, 4) == 1 ? "" : "s");
	cw_field(t, CW_PLAIN, "wake to entry %s on average",
		 cw_duration(average, sqlite3_column_int64(s, 5)));
	cw_field(t, CW_PLAIN, "(%s to", cw_duration(n, sqlite3_column_int64(s, 6)));
	cw_field(t, CW_PLAIN, "%s);", cw_duration(n, sqlite3_column_int64(s, 7)));
	cw_field(t, CW_PLAIN, "%s",
		 by_call == calls ? "the waker was in this call"
		 : by_call        ? "the waker was in this call or had it in its stack"
				  : "the waker had it in its stack");
	/* A wrapper of a wake-up stands nearer in the stack than what was handed the work. */
	if (sqlite3_column_type(s, 10) != SQLITE_NULL)
		cw_field(t, CW_PLAIN, "(%s times inside of recorded calls, mostly of %s)",
			 cw_number(n, sqlite3_column_int64(s, 11)),
			 (const char *)sqlite3_column_text(s, 10));
	cw_line_end(t);
	err = print_stack(db, t, stacks, sqlite3_column_int64(s, 0));
	cw_line_begin(t, 0, CW_PLAIN, "suggested template:");
	cw_line_end(t);
	cw_line_begin(t, 2, CW_PLAIN, "--async-hop %s,?,%s,%u %s", source, function, arg, function);
	cw_line_end(t);
	return err;
}

static const char sources[] = "SELECT * FROM temp.source WHERE rank <= ?1 ORDER BY rank";

static int print_text(sqlite3 *db, struct cw_text *t, const struct cw_discover *d)
{
	struct cw_stacks *stacks = NULL;
	sqlite3_stmt *s = NULL;
	bool any = false;
	int err = cw_stacks_new(&stacks, db, t);

	if (!err)
		err = cw_prepare(db, &s, sources);
	if (!err) {
		head(db, t, d->function);
		sqlite3_bind_int64(s, 1, d->top);
	}
	while (!err && sqlite3_step(s) == SQLITE_ROW) {
		any = true;
		fputc('\n', t->out);
		err = print_source(db, t, stacks, s, d->function, d->target_arg);
	}
	if (!err) {
		fputc('\n', t->out);
		cw_line_begin(
			t, 0, CW_DIM, "%s",
			any ? "The latest waker is often, but not always, who handed over the "
			      "work: confirm the shared argument. `suggest` finds it among "
			      "recorded functions."
			    : "No candidate: no thread of the process with a known function "
			      "woke one before a call.");
		cw_line_end(t);
	}
	sqlite3_finalize(s);
	cw_stacks_free(stacks);
	return err;
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static const char json_query[] =
	"SELECT json_object('type', 'discover', 'function', ?2, 'target_arg', ?3,"
	" 'calls', (SELECT count(*) FROM temp.waking),"
	" 'woken_by', (SELECT json_group_object(woken_by, n) FROM (SELECT woken_by, count(*) AS n"
	"   FROM temp.waking GROUP BY 1)),"
	" 'candidates', (SELECT json_group_array(json_object('rank', c.rank, 'function', "
	"c.function,"
	"   'module', c.module, 'calls', c.calls, 'threads', c.threads, 'wake_to_entry_average_ns',"
	"   c.average_ns, 'wake_to_entry_min_ns', c.min_ns, 'wake_to_entry_max_ns', c.max_ns,"
	"   'in_call', c.by_call, 'recorded', json(iif(c.recorded, 'true', 'false')),"
	"   'within', c.within,"
	"   'template', '--async-hop ' || c.function || ',?,' || ?2 || ',' || ?3 || ' ' || ?2,"
	"   'stack', json(coalesce((SELECT frames_json FROM temp.source_stack x"
	"     JOIN report_stack_json USING(stack_id) WHERE x.rank = c.rank), 'null'))))"
	"   FROM (SELECT * FROM temp.source WHERE rank <= ?1 ORDER BY rank) c))";

static const char csv_query[] =
	"SELECT rank, function, module, calls, threads, average_ns AS wake_to_entry_average_ns,"
	" min_ns AS wake_to_entry_min_ns, max_ns AS wake_to_entry_max_ns, by_call AS in_call, "
	"recorded,"
	" '--async-hop ' || function || ',?,' || ?2 || ',' || ?3 || ' ' || ?2 AS template, within"
	" FROM temp.source WHERE rank <= ?1 ORDER BY rank";

static int print_rows(sqlite3 *db, enum cw_format format, const struct cw_discover *d, FILE *out)
{
	bool json = format == CW_FORMAT_JSONL;
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s, json ? json_query : csv_query);
	long rows;

	if (err)
		return err;
	sqlite3_bind_int64(s, 1, d->top);
	sqlite3_bind_text(s, 2, d->function, -1, SQLITE_STATIC);
	sqlite3_bind_int64(s, 3, d->target_arg);
	if (!json) {
		rows = cw_print_rows(db, s, format, out);
		err = rows < 0 ? (int)rows : 0;
	} else if (sqlite3_step(s) == SQLITE_ROW) {
		cw_print_json(out, (const char *)sqlite3_column_text(s, 0) ?: "null");
		fputc('\n', out);
	} else {
		err = cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(db));
	}
	sqlite3_finalize(s);
	return err;
}

int cw_discover_print(sqlite3 *db, enum cw_format format, const struct cw_discover *d, FILE *out)
{
	struct cw_text t;
	int err = choose(db, d->function);

	if (!err)
		err = cw_exec(db, collect);
	if (err || format != CW_FORMAT_TEXT)
		return err ? err : print_rows(db, format, d, out);
	cw_text_init(&t, out, CW_COLOR_AUTO);
	return print_text(db, &t, d);
}

/* ---- the command --------------------------------------------------------------------------------
 */

enum { OPT_TOP = 0x100, OPT_TARGET_ARG };

static const struct argp_option options[] = {
	{"top", OPT_TOP, "N", 0, "Show the first N candidates (5)", 1},
	{"async-target-arg", OPT_TARGET_ARG, "N", 0,
	 "The template's key is argument N of FUNCTION (1)", 1},
	{0},
};

static const char doc[] =
	"Find who hands work to FUNCTION: which thread woke its thread before each call, and "
	"what it was doing. FUNCTION must have been recorded. Functions that may be the source "
	"are best recorded, too: stacks of wakers lack the caller of a libc function that keeps "
	"no frame pointer."
	"\vExamples:\n"
	"  callweave-record -p 1234 --duration 5 write_result -o trace.cwc\n"
	"  callweave-analyze discover trace.cwc write_result\n"
	"  callweave-analyze sql trace.cwc 'SELECT * FROM call_waking'\n";

struct args {
	struct cw_listing listing;
	struct cw_discover discover;
};

static void get_number(struct argp_state *state, const char *name, const char *arg, uint64_t max,
		       unsigned *out)
{
	uint64_t n;

	if (!cw_parse_count(arg, 1, max, &n))
		argp_error(state, "--%s %s: give a whole number from 1 to %" PRIu64, name, arg,
			   max);
	*out = (unsigned)n;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->listing;
		return 0;
	case OPT_TOP:
		get_number(state, "top", arg, 1000, &a->discover.top);
		return 0;
	case OPT_TARGET_ARG:
		get_number(state, "async-target-arg", arg, 8, &a->discover.target_arg);
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num == 0)
			a->listing.input.open.capture = arg;
		else if (state->arg_num == 1)
			a->discover.function = arg;
		else
			argp_error(state, "one function at a time: %s, then %s",
				   a->discover.function, arg);
		return 0;
	case ARGP_KEY_END:
		if (!a->discover.function)
			argp_error(state, "give a capture file and a function");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&cw_listing_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, "CAPTURE FUNCTION", doc, children, NULL, NULL};

/* cw_listing_run's. */
static int print(void *arg, sqlite3 *db, FILE *out)
{
	const struct args *a = arg;

	return cw_discover_print(db, a->listing.format, &a->discover, out);
}

int cw_cmd_discover(int argc, char **argv)
{
	struct args a = {.discover = {.top = 5, .target_arg = 1}};

	return argp_parse(&argp, argc, argv, 0, NULL, &a) ? 2
							  : cw_listing_run(&a.listing, print, &a);
}
