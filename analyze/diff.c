/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Command diff: what is slower in one capture than in another. Takes the durations of each hop of
 * chains of the same shape, and of functions, from two databases; diff_stats.c judges them, and a
 * database in memory holds the verdicts, from which diff_print.c prints.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "commands.h"
#include "diff.h"
#include "diff_stats.h"
#include "outfile.h"
#include "report.h"
#include "say.h"

enum { OPT_FORMAT = 0x300, OPT_MIN_CHANGE };

#define ROUNDS 19999

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Output:", 1},
	{"format", OPT_FORMAT, "FORMAT", 0, "text (default), jsonl (also json), or html", 0},
	{"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0},
	{"min-change", OPT_MIN_CHANGE, "PERCENT", 0,
	 "Name changes of at least PERCENT only (default: 5), and of a thousandth of the chain", 0},
	{0},
};

static const char doc[] =
	"Compare two captures: for chains of the same hops, and for functions, what changed in "
	"each hop, the most first. A change is named when it could not be chance: all comparisons "
	"together raise a false alarm in at most 5 of 100 pairs of captures of the same load. "
	"Blocks of time are compared, since tasks in one queue do not wait independently of each "
	"other. Shown are medians (P50), and means where both medians are the same."
	"\vExamples:\n"
	"  callweave-analyze diff before.cwc after.cwc\n"
	"  callweave-analyze diff before.cwc after.cwc --format html -o diff.html\n"
	"  callweave-analyze diff before.cwc after.cwc --format jsonl | jq 'select(.changed)'\n"
	"  callweave-analyze diff before.cwc after.cwc --function write_result --from 1\n";

struct args {
	struct cw_input input; /* options of both */
	struct cw_filters filters;
	struct cw_report side[2];
	const char *capture[2];
	struct cw_diff diff;
	const char *output;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;
	uint64_t percent;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->filters;
		state->child_inputs[1] = &a->input;
		return 0;
	case OPT_FORMAT:
		a->diff.html = !strcmp(arg, "html");
		if (!a->diff.html &&
		    (cw_format_parse(arg, &a->diff.format) || a->diff.format == CW_FORMAT_CSV))
			argp_error(state, "--format %s: give text, jsonl or html", arg);
		return 0;
	case OPT_MIN_CHANGE:
		if (!cw_parse_count(arg, 0, 1000, &percent))
			argp_error(state, "--min-change %s: give a percentage, such as 5", arg);
		a->diff.min_change = (double)percent / 100;
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case ARGP_KEY_ARG:
		if (state->arg_num > 1)
			argp_error(state, "two captures at a time: %s is the third", arg);
		a->capture[state->arg_num] = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->capture[1])
			argp_error(state, "give two captures");
		else if (!strcmp(a->capture[0], "-") || !strcmp(a->capture[1], "-"))
			argp_error(state, "give two files: standard input is none");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {
	{&cw_filters_argp, 0, NULL, 0}, {&cw_input_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, "A B", doc, children, NULL, NULL};

/* ---- durations ----------------------------------------------------------------------------------
 */

/* Only whole chains without loss: what is missing would look like a change. */
static const char sample_sql[] =
	"CREATE TEMP TABLE signature AS SELECT chain_id, group_concat(hop, ' => ') AS signature "
	"FROM ("
	" SELECT h.chain_id, c.source || ' -> ' || c.target AS hop FROM temp.item i"
	" JOIN path p ON p.chain_id = i.chain_id AND p.complete AND p.flags NOT LIKE '%loss%'"
	" JOIN path_hop h ON h.chain_id = i.chain_id JOIN edge e USING(edge_id)"
	" JOIN hop_count c USING(plan_hop) ORDER BY h.chain_id, h.hop_index) GROUP BY chain_id;"
	"CREATE TEMP TABLE sample(signature TEXT, hop INTEGER, source TEXT, target TEXT, ts "
	"INTEGER,"
	" total INTEGER, queue INTEGER, work INTEGER, oncpu INTEGER, blocked INTEGER, runq INTEGER,"
	" preempted INTEGER);"
	"INSERT INTO sample SELECT g.signature, h.hop_index, c.source, c.target, e.src_ts, NULL,"
	"  e.dst_ts - e.src_ts, h.end_ts - e.dst_ts, h.oncpu_ns, h.blocked_ns, h.runq_ns,"
	"  h.preempted_ns FROM signature g JOIN path_hop h USING(chain_id) JOIN edge e "
	"USING(edge_id)"
	"  JOIN hop_count c USING(plan_hop)"
	" UNION ALL SELECT g.signature, -1, NULL, NULL, p.start_ts, p.queue_ns + p.work_ns, NULL, "
	"NULL,"
	"  NULL, NULL, NULL, NULL FROM signature g JOIN path p USING(chain_id)"
	" UNION ALL SELECT b.function, 0, NULL, b.function, s.ts, NULL, NULL, s.dur, s.oncpu_ns,"
	"  s.blocked_ns, s.runq_ns, s.preempted_ns FROM temp.item i JOIN slice s USING(slice_id)"
	"  JOIN probe b USING(probe_id) WHERE i.chain_id IS NULL AND s.dur IS NOT NULL"
	"  AND NOT s.touched_by_loss;"
	"CREATE INDEX temp.sample_by_hop ON sample(signature, hop, ts)";

static const char *const parts[CW_DIFF_PARTS] = {"total",   "queue", "work",     "oncpu",
						 "blocked", "runq",  "preempted"};

static int open_side(struct args *a, int i)
{
	struct cw_report *r = &a->side[i];
	int err;

	r->filters = a->filters;
	r->config = cw_input_filters(&a->input);
	a->input.open.capture = a->capture[i];
	a->input.open.progress = isatty(STDERR_FILENO);
	err = cw_database_open(&r->db, &a->input.open);
	if (err)
		return err;
	cw_report_plan_filters(r);
	err = cw_report_select(r);
	return err ? err : cw_exec(r->db, sample_sql);
}

static int read_hop(sqlite3 *db, const char *signature, int hop,
		    struct cw_series out[CW_DIFF_PARTS])
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s,
			     "SELECT total, queue, work, oncpu, blocked, runq, preempted"
			     " FROM temp.sample WHERE signature = ?1 AND hop = ?2 ORDER BY ts");

	if (err)
		return err;
	sqlite3_bind_text(s, 1, signature, -1, SQLITE_STATIC);
	sqlite3_bind_int(s, 2, hop);
	while (!err && sqlite3_step(s) == SQLITE_ROW)
		for (int i = 0; !err && i < CW_DIFF_PARTS; i++)
			if (sqlite3_column_type(s, i) != SQLITE_NULL)
				err = cw_series_add(&out[i], sqlite3_column_int64(s, i));
	sqlite3_finalize(s);
	return err;
}

/* ---- verdicts -----------------------------------------------------------------------------------
 */

static void bind_side(sqlite3_stmt *s, int at, struct cw_series *x)
{
	double sum = 0;

	sqlite3_bind_int64(s, at, (int64_t)x->n);
	if (!x->n)
		return;
	for (size_t i = 0; i < x->n; i++)
		sum += (double)x->ns[i];
	qsort(x->ns, x->n, sizeof(*x->ns), cw_compare_ns);
	sqlite3_bind_int64(s, at + 1, cw_percentile(x->ns, x->n, 50));
	if (x->n >= 20)
		sqlite3_bind_int64(s, at + 2, cw_percentile(x->ns, x->n, 95));
	if (x->n >= 100)
		sqlite3_bind_int64(s, at + 3, cw_percentile(x->ns, x->n, 99));
	sqlite3_bind_int64(s, at + 4, llround(sum / (double)x->n));
}

/* Test one part of a hop, and put what is known of it into result; x is sorted after that. */
static int judge(struct args *a, sqlite3_stmt *hop, int part, struct cw_series *x,
		 struct cw_series *y)
{
	struct cw_diff_test t;
	sqlite3_stmt *s = NULL;
	int err = cw_diff_test(x, y, ROUNDS, &t);

	if (!err)
		err = cw_prepare(
			a->diff.db, &s,
			"INSERT INTO result(signature, hop, source, target, component,"
			" count_a, p50_a, p95_a, p99_a, mean_a, count_b, p50_b, p95_b, p99_b,"
			" mean_b, effect, p, blocks, doubt) VALUES(?1, ?2, ?3, ?4, ?5, ?6,"
			" ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19)");
	if (err)
		return err;
	for (int i = 0; i < 4; i++)
		sqlite3_bind_value(s, i + 1, sqlite3_column_value(hop, i));
	sqlite3_bind_text(s, 5, parts[part], -1, SQLITE_STATIC);
	bind_side(s, 6, x);
	bind_side(s, 11, y);
	sqlite3_bind_double(s, 16, t.effect);
	if (t.blocks)
		sqlite3_bind_double(s, 17, t.p);
	sqlite3_bind_int(s, 18, t.blocks);
	if (t.few || t.drifts)
		sqlite3_bind_text(s, 19, t.few ? "few" : "drifts", -1, SQLITE_STATIC);
	if (sqlite3_step(s) != SQLITE_DONE)
		err = cw_fail(-EBADMSG, "cannot compare: %s", sqlite3_errmsg(a->diff.db));
	sqlite3_finalize(s);
	return err;
}

static int judge_hop(struct args *a, sqlite3_stmt *hop)
{
	struct cw_series x[2][CW_DIFF_PARTS] = {0};
	const char *signature = (const char *)sqlite3_column_text(hop, 0);
	int err = 0;

	for (int i = 0; !err && i < 2; i++)
		err = read_hop(a->side[i].db, signature, sqlite3_column_int(hop, 1), x[i]);
	for (int p = 0; !err && p < CW_DIFF_PARTS; p++)
		if (x[0][p].n || x[1][p].n)
			err = judge(a, hop, p, &x[0][p], &x[1][p]);
	for (int i = 0; i < 2; i++)
		for (int p = 0; p < CW_DIFF_PARTS; p++)
			free(x[i][p].ns);
	return err;
}

/* Every hop that one of the two has. */
static int list_hops(struct args *a)
{
	int err = 0;

	for (int i = 0; !err && i < 2; i++) {
		sqlite3_stmt *from = NULL, *to = NULL;

		err = cw_prepare(a->side[i].db, &from,
				 "SELECT DISTINCT signature, hop, source, target FROM temp.sample");
		if (!err)
			err = cw_prepare(a->diff.db, &to,
					 "INSERT OR IGNORE INTO hop VALUES(?1, ?2, ?3, ?4)");
		while (!err && sqlite3_step(from) == SQLITE_ROW) {
			for (int c = 0; c < 4; c++)
				sqlite3_bind_value(to, c + 1, sqlite3_column_value(from, c));
			sqlite3_step(to);
			sqlite3_reset(to);
		}
		sqlite3_finalize(from);
		sqlite3_finalize(to);
	}
	return err;
}

/* Holm's adjustment over all that was tested. */
static int adjust(sqlite3 *db)
{
	sqlite3_stmt *tested = NULL, *set = NULL;
	size_t n = (size_t)cw_query_int(db, "SELECT count(p) FROM result", 0), i;
	double *p = reallocarray(NULL, n + 1, sizeof(*p));
	int err = p ? cw_prepare(db, &tested,
				 "SELECT p, id FROM result WHERE p IS NOT NULL ORDER BY id")
		    : -ENOMEM;

	if (!err)
		err = cw_prepare(db, &set, "UPDATE result SET p_adjusted = ?1 WHERE id = ?2");
	for (i = 0; !err && i < n && sqlite3_step(tested) == SQLITE_ROW; i++)
		p[i] = sqlite3_column_double(tested, 0);
	sqlite3_reset(tested);
	if (!err)
		err = cw_diff_holm(p, n);
	for (i = 0; !err && i < n && sqlite3_step(tested) == SQLITE_ROW; i++) {
		sqlite3_bind_double(set, 1, p[i]);
		sqlite3_bind_int64(set, 2, sqlite3_column_int64(tested, 1));
		sqlite3_step(set);
		sqlite3_reset(set);
	}
	sqlite3_finalize(tested);
	sqlite3_finalize(set);
	free(p);
	return err;
}

static int compare(struct args *a)
{
	sqlite3_stmt *s = NULL;
	int err = cw_diff_begin(&a->diff);

	if (!err)
		err = list_hops(a);
	if (!err)
		err = cw_prepare(a->diff.db, &s, "SELECT * FROM hop ORDER BY signature, hop");
	while (!err && sqlite3_step(s) == SQLITE_ROW)
		err = judge_hop(a, s);
	sqlite3_finalize(s);
	if (!err)
		err = adjust(a->diff.db);
	return err ? err : cw_diff_rank(&a->diff);
}

static int run(struct args *a)
{
	struct cw_outfile o;
	int err = 0;

	for (int i = 0; !err && i < 2; i++)
		err = open_side(a, i);
	if (!err)
		err = compare(a);
	if (err == -ENOMEM)
		cw_say("cannot compare: out of memory");
	if (err || cw_outfile_open(&o, a->output))
		return 1;
	return cw_outfile_finish(&o, cw_diff_print(&a->diff, a->capture, o.f));
}

int cw_cmd_diff(int argc, char **argv)
{
	struct args a = {.filters = CW_FILTERS_UNSET, .diff.min_change = 0.05};
	int status;

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	status = run(&a);
	sqlite3_close(a.diff.db);
	for (int i = 0; i < 2; i++)
		sqlite3_close(a.side[i].db);
	cw_input_free(&a.input);
	return status;
}
