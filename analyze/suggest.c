/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns command suggest: from the handoffs that were found to text, rows and a plan. What is a
 * handoff is decided in suggest_groups.c.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "commands.h"
#include "listing.h"
#include "plan_build.h"
#include "report.h"
#include "safetext.h"
#include "say.h"
#include "suggest.h"
#include "suggest_groups.h"

struct suggesting {
	struct cw_sg_data data;
	struct cw_sg_stats stats;
	struct cw_sg_groups groups;
};

static const char *function_of(const struct suggesting *x, uint32_t node)
{
	return x->data.probes[cw_sg_probe_of(node)].function;
}

/* NULL: the program itself. */
static const char *module_of(const struct suggesting *x, uint32_t node)
{
	return x->data.probes[cw_sg_probe_of(node)].module;
}

static uint64_t calls_of(const struct suggesting *x, uint32_t node)
{
	return x->data.probes[cw_sg_probe_of(node)].calls;
}

/* ---- text ---------------------------------------------------------------------------------------
 */

/* What lies in registers and on the stack for other reasons is there now and then, too. */
static bool is_likely(const struct suggesting *x, const struct cw_sg_member *m)
{
	double share = (double)m->matched / (double)calls_of(x, m->node);

	return share >= (cw_sg_arg_of(m->node) > 6 ? 0.9 : 0.3);
}

static void print_members(const struct suggesting *x, struct cw_text *t, const char *side,
			  const struct cw_sg_member *list, size_t n)
{
	char matched[CW_DURATION_SIZE], calls[CW_DURATION_SIZE];

	for (size_t i = 0; i < n; i++) {
		if (!is_likely(x, &list[i]))
			continue;
		cw_line_begin(t, 2, CW_DIM, "the same key, %s:", side);
		cw_field(t, CW_PLAIN, "%s argument %u", function_of(x, list[i].node),
			 cw_sg_arg_of(list[i].node));
		cw_field(t, CW_DIM, "(%s of its %s calls)", cw_number(matched, list[i].matched),
			 cw_number(calls, calls_of(x, list[i].node)));
		cw_line_end(t);
	}
}

/* As options name it: the recorder looks in the program itself, where nothing else is said. */
static void print_option(const struct suggesting *x, struct cw_text *t, const struct cw_sg_pair *p)
{
	const char *from = module_of(x, p->source), *to = module_of(x, p->target);

	cw_line_begin(t, 2, CW_PLAIN, "--async-hop %s%s%s,%u,%s%s%s,%u", from ?: "",
		      from ? ":" : "", function_of(x, p->source), cw_sg_arg_of(p->source), to ?: "",
		      to ? ":" : "", function_of(x, p->target), cw_sg_arg_of(p->target));
	cw_line_end(t);
}

static void print_group(const struct suggesting *x, struct cw_text *t, size_t i)
{
	const struct cw_sg_group *g = &x->groups.g[i];
	const struct cw_sg_pair *p = g->pair;
	char a[CW_DURATION_SIZE], b[CW_DURATION_SIZE];

	cw_line_begin(t, 0, CW_BOLD, "handoff %zu: %s argument %u -> %s argument %u", i + 1,
		      function_of(x, p->source), cw_sg_arg_of(p->source), function_of(x, p->target),
		      cw_sg_arg_of(p->target));
	cw_field(t, CW_PLAIN, "score=%.2f", g->score);
	cw_line_end(t);
	print_option(x, t, p);
	cw_line_begin(t, 2, CW_PLAIN, "matched=%s", cw_number(a, p->n));
	cw_field(t, CW_PLAIN, "of %s source calls (%.0f %%)", cw_number(a, calls_of(x, p->source)),
		 100 * g->share_source);
	cw_field(t, CW_PLAIN, "and %s target calls (%.0f %%),",
		 cw_number(a, calls_of(x, p->target)), 100 * g->share_target);
	cw_field(t, CW_PLAIN, "keys=%s%s,", cw_number(a, p->keys), p->keys > 1000 ? " or so" : "");
	cw_field(t, CW_PLAIN, "always in order and in another thread,");
	if (p->woken)
		cw_field(t, CW_PLAIN, "which the source's thread woke %s times,",
			 cw_number(a, p->woken));
	cw_field(t, CW_PLAIN, "delay median=%s", cw_duration(a, g->median_ns));
	cw_field(t, CW_PLAIN, "(%s to %s)", cw_duration(a, p->min_ns), cw_duration(b, p->max_ns));
	cw_line_end(t);
	print_members(x, t, "before", g->sources, g->nsources);
	print_members(x, t, "after", g->targets, g->ntargets);
	for (size_t k = 0; k < g->nothers; k++) {
		cw_line_begin(t, 2, CW_DIM, "another key:");
		cw_field(t, CW_PLAIN, "%s argument %u -> %s argument %u",
			 function_of(x, g->others[k]->source), cw_sg_arg_of(g->others[k]->source),
			 function_of(x, g->others[k]->target), cw_sg_arg_of(g->others[k]->target));
		cw_field(t, CW_DIM, "(matched %s, keys=%s)", cw_number(a, (int64_t)g->others[k]->n),
			 cw_number(b, (int64_t)g->others[k]->keys));
		cw_line_end(t);
	}
}

/* Groups in the order of a chain: by stage, within it the best first. Returns false at the end. */
static bool in_order(const struct suggesting *x, size_t *stage, size_t *i)
{
	for (; *stage <= x->groups.n; (*stage)++, *i = 0)
		for (; *i < x->groups.n; (*i)++)
			if (x->groups.g[*i].stage == *stage)
				return true;
	return false;
}

static void yaml_quoted(FILE *out, const char *text)
{
	const unsigned char *s = (const unsigned char *)text;
	unsigned int c;
	int n;

	fputc('"', out);
	for (; *s; s += n) {
		n = cw_utf8_decode(s, &c);
		if (cw_char_hostile(c))
			fprintf(out, c < 0x100 ? "\\x%02x" : "\\u%04x", c);
		else
			fprintf(out, c == '"' || c == '\\' ? "\\%.*s" : "%.*s", n, (const char *)s);
	}
	fputc('"', out);
}

/* A name that YAML would not read as it is gets quotes. */
static void yaml_name(FILE *out, const char *name)
{
	char *text = cw_plan_name_to_text(name);

	if (!text)
		return;
	if (cw_plan_plain_word(text))
		fputs(text, out);
	else
		yaml_quoted(out, text);
	free(text);
}

static void yaml_module(const struct suggesting *x, FILE *out, const char *side, uint32_t node)
{
	const char *module = module_of(x, node);

	if (!module)
		return;
	fprintf(out, "\n    %s_module: ", side);
	yaml_name(out, module);
}

static void print_plan(const struct suggesting *x, FILE *out)
{
	const struct cw_sg_group *last = NULL;
	size_t stage, i;

	for (stage = i = 0; in_order(x, &stage, &i); i++)
		last = &x->groups.g[i];
	if (!last)
		return;
	fputs("as a plan for --config:\n\ntarget:\n  function: ", out);
	yaml_name(out, function_of(x, last->pair->target));
	if (module_of(x, last->pair->target)) {
		fputs("\n  module: ", out);
		yaml_name(out, module_of(x, last->pair->target));
	}
	fputs("\n\nhops:\n", out);
	for (stage = i = 0; in_order(x, &stage, &i); i++) {
		const struct cw_sg_pair *p = x->groups.g[i].pair;

		fputs("  - source: ", out);
		yaml_name(out, function_of(x, p->source));
		yaml_module(x, out, "source", p->source);
		fprintf(out, "\n    source_arg: %u\n    target: ", cw_sg_arg_of(p->source));
		yaml_name(out, function_of(x, p->target));
		yaml_module(x, out, "target", p->target);
		fprintf(out, "\n    target_arg: %u\n", cw_sg_arg_of(p->target));
	}
}

static void print_text(const struct suggesting *x, FILE *out)
{
	char calls[CW_DURATION_SIZE];
	struct cw_text t;

	cw_text_init(&t, out, CW_COLOR_AUTO);
	cw_line_begin(&t, 0, CW_DIM, "%s calls of %zu functions looked at%s",
		      cw_number(calls, (int64_t)x->data.ncalls), x->data.nprobes,
		      x->data.cut ? ", the first ones of the capture" : "");
	cw_line_end(&t);
	for (size_t i = 0; i < x->groups.n; i++) {
		fputc('\n', out);
		print_group(x, &t, i);
	}
	fputc('\n', out);
	if (x->groups.n)
		print_plan(x, out);
	else
		fputs("No handoff found: no argument of one function comes up again in another one "
		      "in "
		      "another thread, with keys of its own.\n",
		      out);
}

/* ---- rows ---------------------------------------------------------------------------------------
 */

static const char tables[] =
	"DROP TABLE IF EXISTS temp.suggestion; DROP TABLE IF EXISTS temp.suggestion_member;"
	"CREATE TEMP TABLE suggestion(rank, stage, source, source_arg, target, target_arg, score,"
	" matched, source_calls, target_calls, keys, woken, delay_median_ns, delay_min_ns,"
	" delay_max_ns, delay_average_ns, source_module, target_module);"
	"CREATE TEMP TABLE suggestion_member(rank, side, function, arg, matched, calls)";

struct cell {
	enum { CELL_INT, CELL_REAL, CELL_TEXT } type;
	int64_t i;
	double d;
	const char *s;
};

#define INT(value) \
	{ \
		.type = CELL_INT, .i = (int64_t)(value) \
	}
#define REAL(value) \
	{ \
		.type = CELL_REAL, .d = (value) \
	}
#define TEXT(value) \
	{ \
		.type = CELL_TEXT, .s = (value) \
	}

static int insert(sqlite3 *db, const char *sql, const struct cell *cells, int n)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s, sql);

	if (err)
		return err;
	for (int i = 0; i < n; i++) {
		if (cells[i].type == CELL_TEXT)
			sqlite3_bind_text(s, i + 1, cells[i].s, -1, SQLITE_TRANSIENT);
		else if (cells[i].type == CELL_REAL)
			sqlite3_bind_double(s, i + 1, cells[i].d);
		else
			sqlite3_bind_int64(s, i + 1, cells[i].i);
	}
	sqlite3_step(s);
	if (sqlite3_finalize(s) != SQLITE_OK)
		return cw_fail(-EBADMSG, "cannot use the database: %s", sqlite3_errmsg(db));
	return 0;
}

#define CELLS(cells) cells, sizeof(cells) / sizeof(*(cells))

static int fill_members(const struct suggesting *x, sqlite3 *db, size_t rank, const char *side,
			const struct cw_sg_member *list, size_t n)
{
	int err = 0;

	for (size_t i = 0; i < n && !err; i++) {
		const struct cell cells[] = {INT(rank),
					     TEXT(side),
					     TEXT(function_of(x, list[i].node)),
					     INT(cw_sg_arg_of(list[i].node)),
					     INT(list[i].matched),
					     INT(calls_of(x, list[i].node))};

		if (is_likely(x, &list[i]))
			err = insert(
				db,
				"INSERT INTO temp.suggestion_member VALUES(?1, ?2, ?3, ?4, ?5, ?6)",
				CELLS(cells));
	}
	return err;
}

static int fill(const struct suggesting *x, sqlite3 *db)
{
	int err = cw_exec(db, tables);

	for (size_t i = 0; i < x->groups.n && !err; i++) {
		const struct cw_sg_group *g = &x->groups.g[i];
		const struct cw_sg_pair *p = g->pair;

		const struct cell cells[] = {INT(i + 1),
					     INT(g->stage),
					     TEXT(function_of(x, p->source)),
					     INT(cw_sg_arg_of(p->source)),
					     TEXT(function_of(x, p->target)),
					     INT(cw_sg_arg_of(p->target)),
					     REAL(g->score),
					     INT(p->n),
					     INT(calls_of(x, p->source)),
					     INT(calls_of(x, p->target)),
					     INT(p->keys),
					     INT(p->woken),
					     INT(g->median_ns),
					     INT(p->min_ns),
					     INT(p->max_ns),
					     INT(p->sum_ns / (double)p->n),
					     TEXT(module_of(x, p->source)),
					     TEXT(module_of(x, p->target))};

		err = insert(
			db,
			"INSERT INTO temp.suggestion VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
			" ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18)",
			CELLS(cells));
		if (!err)
			err = fill_members(x, db, i + 1, "before", g->sources, g->nsources);
		if (!err)
			err = fill_members(x, db, i + 1, "after", g->targets, g->ntargets);
	}
	return err;
}

#define OPTION \
	" printf('--async-hop %s%s,%d,%s%s,%d', source_module || ':', source, source_arg," \
	" target_module || ':', target, target_arg)"

static const char json_query[] =
	"SELECT json_object('type', 'suggestion', 'rank', rank, 'stage', stage, 'source', source,"
	" 'source_arg', source_arg, 'target', target, 'target_arg', target_arg, 'option'," OPTION
	", 'score',"
	" round(score, 4), "
	"'matched', matched, 'source_calls', source_calls, 'target_calls',"
	" target_calls, 'keys', keys, 'woken', woken, 'delay_median_ns', delay_median_ns,"
	" 'delay_average_ns', delay_average_ns, 'delay_min_ns', delay_min_ns, 'delay_max_ns',"
	" delay_max_ns, 'same_key', (SELECT json_group_array(json_object('side', m.side,"
	"  'function', m.function, 'arg', m.arg, 'matched', m.matched, 'calls', m.calls))"
	"  FROM temp.suggestion_member m WHERE m.rank = s.rank),"
	" 'source_module', source_module, 'target_module', target_module)"
	" FROM temp.suggestion s ORDER BY rank";

static const char csv_query[] = "SELECT *," OPTION " AS option FROM temp.suggestion ORDER BY rank";

static int print_rows(sqlite3 *db, enum cw_format format, FILE *out)
{
	bool json = format == CW_FORMAT_JSONL;
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s, json ? json_query : csv_query);
	long rows;

	if (err)
		return err;
	if (!json) {
		rows = cw_print_rows(db, s, format, out);
		err = rows < 0 ? (int)rows : 0;
	}
	while (json && sqlite3_step(s) == SQLITE_ROW) {
		cw_print_json(out, (const char *)sqlite3_column_text(s, 0) ?: "null");
		fputc('\n', out);
	}
	sqlite3_finalize(s);
	return err;
}

int cw_suggest_print(sqlite3 *db, enum cw_format format, FILE *out)
{
	struct suggesting x = {0};
	int err = cw_sg_load(&x.data, db);

	if (!err) {
		cw_sg_count(&x.stats, &x.data);
		cw_sg_group(&x.groups, &x.data, &x.stats);
		err = fill(&x, db);
	}
	if (!err && format == CW_FORMAT_TEXT)
		print_text(&x, out);
	else if (!err)
		err = print_rows(db, format, out);
	if (!err)
		err = (int)x.groups.n;
	cw_sg_groups_free(&x.groups);
	cw_sg_stats_free(&x.stats);
	cw_sg_data_free(&x.data);
	return err;
}

/* ---- the command --------------------------------------------------------------------------------
 */

static const char doc[] =
	"Find handoffs among the recorded functions: an argument of one whose value another "
	"thread passes to another function next. Record all functions that may take part, such as "
	"those of a queue and of its workers."
	"\vExamples:\n"
	"  callweave-record -p 1234 --duration 5 -o trace.cwc submit_task run_task queue_put\n"
	"  callweave-analyze suggest trace.cwc\n"
	"  callweave-analyze suggest trace.cwc --format jsonl | jq -r .option\n";

static const struct argp_child children[] = {{&cw_listing_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {NULL, NULL, "CAPTURE", doc, children, NULL, NULL};

/* cw_listing_run's. */
static int print(void *arg, sqlite3 *db, FILE *out)
{
	const struct cw_listing *l = arg;
	int found = cw_suggest_print(db, l->format, out);

	return found < 0 ? found : 0;
}

int cw_cmd_suggest(int argc, char **argv)
{
	struct cw_listing l = {0};

	return argp_parse(&argp, argc, argv, 0, NULL, &l) ? 2 : cw_listing_run(&l, print, &l);
}
