/* SPDX-License-Identifier: GPL-2.0-only */
/* Command report: its options, and the way from a capture to a printed report. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "commands.h"
#include "report.h"
#include "say.h"

enum {
	OPT_FORMAT = 0x100,
	OPT_MIN_TOTAL,
	OPT_MIN_QUEUE,
	OPT_MIN_WORK,
	OPT_MAX_EVENTS,
	OPT_FROM,
	OPT_TO,
	OPT_PID,
	OPT_TID,
	OPT_FUNCTION,
	OPT_KEY,
	OPT_COLOR,
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Output:", 1},
	{"format", OPT_FORMAT, "FORMAT", 0, "text (default), jsonl (also json), or csv", 0},
	{"output", 'o', "FILE", 0, "Write the report to FILE instead of standard output", 0},
	{"color", OPT_COLOR, "WHEN", 0, "auto (default), always or never; NO_COLOR is respected",
	 0},
	{NULL, 0, NULL, 0, "Which chains and calls (all conditions must hold):", 2},
	{"min-total-ms", OPT_MIN_TOTAL, "MS", 0,
	 "Queue and work of the whole chain took at least MS", 0},
	{"min-queue-ms", OPT_MIN_QUEUE, "MS", 0, "At least one hop waited in its queue for MS", 0},
	{"min-work-ms", OPT_MIN_WORK, "MS", 0, "At least one hop worked for MS", 0},
	{"max-events", OPT_MAX_EVENTS, "N", 0, "Show the first N only", 0},
	{"from", OPT_FROM, "TIME", 0,
	 "Entered at TIME or later: seconds after the start (12.5), 300ms, or HH:MM:SS", 0},
	{"to", OPT_TO, "TIME", 0, "Entered at TIME or earlier", 0},
	{"pid", OPT_PID, "PID", 0, "In this process; for a chain, at either end of a hop", 0},
	{"tid", OPT_TID, "TID", 0, "In this thread; for a chain, at either end of a hop", 0},
	{"function", OPT_FUNCTION, "NAME", 0,
	 "Calls of NAME; chains in which NAME hands off or takes", 0},
	{"key", OPT_KEY, "KEY", 0, "Chains with this key (0x hexadecimal or decimal)", 0},
	{0},
};

static const char doc[] =
	"Show chains, calls and what delayed them. CAPTURE is a file of callweave-record, '-' for "
	"standard input, or a database of `import`."
	"\vExamples:\n"
	"  callweave-analyze trace.cwc\n"
	"  callweave-analyze trace.cwc --min-total-ms 100 --max-events 10\n"
	"  callweave-analyze trace.cwc --from 2.5 --to 3 --function write_result\n"
	"  callweave-analyze trace.cwc --format jsonl | jq .total_ns\n"
	"  callweave-analyze trace.cwc --async-hop put,2,work,1\n"
	"  callweave-record -p 1234 -o - work | callweave-analyze -\n";

struct args {
	struct cw_input input;
	struct cw_report report;
	const char *output;
};

static void get_ms(struct argp_state *state, const char *name, const char *arg, uint64_t *out)
{
	if (!cw_parse_ms(arg, out))
		argp_error(state, "--%s %s: give milliseconds, such as 100 or 0.5", name, arg);
}

static void get_count(struct argp_state *state, const char *name, const char *arg, uint64_t *out)
{
	if (!cw_parse_count(arg, 0, INT32_MAX, out))
		argp_error(state, "--%s %s: give a whole number", name, arg);
}

static void get_moment(struct argp_state *state, const char *name, const char *arg,
		       struct cw_moment *out)
{
	if (!cw_parse_moment(arg, out))
		argp_error(state, "--%s %s: give seconds (12.5), milliseconds (300ms) or HH:MM:SS",
			   name, arg);
}

static void get_color(struct argp_state *state, const char *arg, enum cw_color *out)
{
	if (!strcmp(arg, "auto"))
		*out = CW_COLOR_AUTO;
	else if (!strcmp(arg, "always"))
		*out = CW_COLOR_ALWAYS;
	else if (!strcmp(arg, "never"))
		*out = CW_COLOR_NEVER;
	else
		argp_error(state, "--color %s: give auto, always or never", arg);
}

static error_t parse_filter(int key, char *arg, struct argp_state *state, struct cw_filters *f)
{
	switch (key) {
	case OPT_MIN_TOTAL:
		get_ms(state, "min-total-ms", arg, &f->min_total_ns);
		return 0;
	case OPT_MIN_QUEUE:
		get_ms(state, "min-queue-ms", arg, &f->min_queue_ns);
		return 0;
	case OPT_MIN_WORK:
		get_ms(state, "min-work-ms", arg, &f->min_work_ns);
		return 0;
	case OPT_MAX_EVENTS:
		get_count(state, "max-events", arg, &f->max_events);
		return 0;
	case OPT_FROM:
		get_moment(state, "from", arg, &f->from);
		return 0;
	case OPT_TO:
		get_moment(state, "to", arg, &f->to);
		return 0;
	case OPT_PID:
		get_count(state, "pid", arg, &f->pid);
		return 0;
	case OPT_TID:
		get_count(state, "tid", arg, &f->tid);
		return 0;
	case OPT_FUNCTION:
		f->function = arg;
		return 0;
	case OPT_KEY:
		f->has_key = true;
		if (!cw_parse_key(arg, &f->key))
			argp_error(state, "--key %s: give a number, such as 0x55f491f0f9d0", arg);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->input;
		return 0;
	case OPT_FORMAT:
		if (cw_format_parse(arg, &a->report.format))
			argp_error(state, "--format %s: give text, jsonl or csv", arg);
		return 0;
	case 'o':
		a->output = arg;
		return 0;
	case OPT_COLOR:
		get_color(state, arg, &a->report.color);
		return 0;
	case ARGP_KEY_ARG:
		if (a->input.open.capture)
			argp_error(state, "one capture at a time: %s, then %s",
				   a->input.open.capture, arg);
		a->input.open.capture = arg;
		return 0;
	case ARGP_KEY_END:
		if (!a->input.open.capture)
			argp_error(state, "give a capture file, or - for standard input");
		return 0;
	}
	return parse_filter(key, arg, state, &a->report.filters);
}

static const struct argp_child children[] = {{&cw_input_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, "CAPTURE", doc, children, NULL, NULL};

/* The filters that were recorded with the plan hold where the command line does not say otherwise.
 */
static void take_plan_filters(struct cw_report *r)
{
	char *yaml = cw_query_text(r->db, "SELECT value FROM capture_info WHERE key = 'plan'");
	struct cw_plan_filters none = {0};
	const struct cw_plan_filters *p = &none;
	struct cw_filters *f = &r->filters;
	struct cw_plan *plan = NULL;
	char err[CW_PLAN_ERR];

	if (yaml && !cw_plan_from_yaml(&plan, yaml, strlen(yaml), "the capture's plan", err))
		p = &plan->filters;
	if (f->min_total_ns == CW_UNSET)
		f->min_total_ns = p->min_total_ns;
	if (f->min_queue_ns == CW_UNSET)
		f->min_queue_ns = p->min_queue_ns;
	if (f->min_work_ns == CW_UNSET)
		f->min_work_ns = p->min_work_ns;
	if (f->max_events == CW_UNSET)
		f->max_events = p->max_events;
	cw_plan_free(plan);
	free(yaml);
}

static int run(struct args *a)
{
	struct cw_report *r = &a->report;
	int err = cw_database_open(&r->db, &a->input.open);

	if (!err) {
		take_plan_filters(r);
		err = cw_report_select(r);
	}
	if (err)
		return 1;
	r->out = stdout;
	if (a->output && strcmp(a->output, "-")) {
		r->out = fopen(a->output, "we");
		if (!r->out) {
			cw_say("cannot write %s: %s", a->output, strerror(errno));
			return 1;
		}
	}
	err = r->format == CW_FORMAT_TEXT ? cw_report_text(r) : cw_report_rows(r);
	return cw_output_finish(r->out, r->out == stdout ? "standard output" : a->output, err);
}

int cw_cmd_report(int argc, char **argv)
{
	struct args a = {.report.filters = {CW_UNSET, CW_UNSET, CW_UNSET, CW_UNSET}};
	int status;

	if (argp_parse(&argp, argc, argv, 0, NULL, &a))
		return 2;
	a.input.open.progress = isatty(STDERR_FILENO);
	status = run(&a);
	sqlite3_close(a.report.db);
	cw_input_free(&a.input);
	return status;
}
