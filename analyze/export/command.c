/* SPDX-License-Identifier: GPL-2.0-only */
/* Command export: which format, and the way of what the filters chose into a file. */
#include <string.h>
#include <unistd.h>
#include "export.h"
#include "../commands.h"
#include "../outfile.h"
#include "../report.h"

enum { OPT_FORMAT = 0x300, OPT_WEIGHT };

/* A format is the scripts that make it, in this order. */
static const struct format {
	const char *name;
	const char *scripts[3];
} formats[] = {
	{"chrome", {"scope.sql", "chrome.sql"}},
	{"speedscope", {"scope.sql", "stacks.sql", "speedscope.sql"}},
	{"folded", {"scope.sql", "stacks.sql", "folded.sql"}},
	{"csv", {NULL}}, /* as report has it */
	{"dot", {"scope.sql", "dot.sql"}},
	{"otlp", {"scope.sql", "otlp.sql"}},
	{"firefox", {"scope.sql", "stacks.sql", "firefox.sql"}},
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Output:", 1},
	{"format", OPT_FORMAT, "FORMAT", 0,
	 "chrome, speedscope, folded, csv, dot, otlp or firefox; see below", 0},
	{"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0},
	{"weight", OPT_WEIGHT, "WHAT", 0,
	 "What stacks of speedscope, folded and firefox weigh: blocked (default), the time asleep "
	 "in "
	 "them; oncpu, the time on a CPU of the calls entered by them; queue, the time that what "
	 "they submitted waited",
	 0},
	{0},
};

static const char doc[] =
	"Write what a capture holds for another tool. Times are ns of the capture where the format "
	"has room for them; the views that SCHEMA.md describes are where all rows come from."
	"\vFormats, and what opens them:\n"
	"  chrome      timeline of threads, chains, handoffs: https://ui.perfetto.dev, "
	"chrome://tracing\n"
	"  speedscope  stacks: https://www.speedscope.app\n"
	"  folded      stacks as lines: flamegraph.pl, inferno-flamegraph\n"
	"  csv         a row a hop, or a row a call: spreadsheets, R, pandas, DuckDB\n"
	"  dot         the graph of hops: Graphviz (dot -Tsvg)\n"
	"  otlp        spans, a trace a chain: OpenTelemetry Collector, Jaeger, Tempo "
	"(POST :4318/v1/traces)\n"
	"  firefox     stacks and timeline: https://profiler.firefox.com\n\n"
	"Examples:\n"
	"  callweave-analyze export trace.cwc --format chrome -o trace.json\n"
	"  callweave-analyze export trace.cwc --format chrome --min-total-ms 100 -o slow.json\n"
	"  callweave-analyze export trace.cwc --format folded --weight blocked | flamegraph.pl "
	">blocked.svg\n"
	"  callweave-analyze export trace.cwc --format dot | dot -Tsvg >hops.svg\n";

struct args {
	struct cw_input input;
	struct cw_report report; /* its filters and what they choose */
	const struct format *format;
	const char *output, *weight; /* NULL: standard output, blocked */
};

static void get_format(struct args *a, const char *arg, struct argp_state *state)
{
	for (size_t i = 0; i < sizeof(formats) / sizeof(formats[0]); i++)
		if (!strcmp(formats[i].name, arg))
			a->format = &formats[i];
	if (!a->format)
		argp_error(state,
			   "--format %s: give chrome, speedscope, folded, csv, dot, otlp or "
			   "firefox",
			   arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->report.filters;
		state->child_inputs[1] = &a->input;
		return 0;
	case OPT_FORMAT:
		get_format(a, arg, state);
		return 0;
	case OPT_WEIGHT:
		a->weight = arg;
		if (strcmp(arg, "blocked") != 0 && strcmp(arg, "oncpu") != 0 &&
		    strcmp(arg, "queue") != 0)
			argp_error(state, "--weight %s: give blocked, oncpu or queue", arg);
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case ARGP_KEY_END:
		cw_input_argument(&a->input, key, arg, state);
		if (!a->format)
			argp_error(state, "give a format, such as --format chrome");
		else if (a->weight && !a->format->scripts[2])
			argp_error(state, "--weight %s: %s has no weighed stacks", a->weight,
				   a->format->name);
		return 0;
	}
	return cw_input_argument(&a->input, key, arg, state);
}

static const struct argp_child children[] = {
	{&cw_filters_argp, 0, NULL, 0}, {&cw_input_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, "CAPTURE --format FORMAT -o FILE", doc, children,
				 NULL,    NULL};

static int write_format(struct args *a, FILE *out)
{
	struct cw_export x = {.db = a->report.db,
			      .out = out,
			      .weight = a->weight ?: "blocked",
			      .filtered = cw_filters_any(&a->report.filters)};
	int err = 0;

	if (!a->format->scripts[0]) {
		a->report.format = CW_FORMAT_CSV;
		a->report.out = out;
		return cw_report_rows(&a->report);
	}
	for (int i = 0; !err && i < 3 && a->format->scripts[i]; i++)
		err = cw_export_script(&x, a->format->scripts[i]);
	return err;
}

static int run(struct args *a)
{
	struct cw_report *r = &a->report;
	struct cw_outfile o;
	int err = cw_database_open(&r->db, &a->input.open);

	if (!err) {
		cw_report_plan_filters(r);
		/* What is sorted on the way may be larger than memory. */
		err = cw_exec(r->db, "PRAGMA temp_store = file");
	}
	if (!err)
		err = cw_report_select(r);
	if (err || cw_outfile_open(&o, a->output))
		return 1;
	return cw_outfile_finish(&o, write_format(a, o.f));
}

int cw_cmd_export(int argc, char **argv)
{
	struct args a = {.report.filters = CW_FILTERS_UNSET};
	int status;

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	a.input.open.progress = isatty(STDERR_FILENO);
	a.report.config = cw_input_filters(&a.input);
	status = run(&a);
	sqlite3_close(a.report.db);
	cw_input_free(&a.input);
	return status;
}
