/* SPDX-License-Identifier: GPL-2.0-only */
/* What can be asked of report and of follow: which chains and calls, how and to where. */
#include <stdlib.h>
#include <string.h>
#include "report.h"
#include "report_sections.h"

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
	OPT_SECTION,
};

/* Their names. */
#define CW_X_SECTION(NAME, name, shown, text) " " name
static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Output:", 1},
	{"format", OPT_FORMAT, "FORMAT", 0, "text (default), jsonl (also json), csv, or html", 0},
	{"output", 'o', "FILE", 0, "Write the report to FILE instead of standard output", 0},
	{"color", OPT_COLOR, "WHEN", 0, "auto (default), always or never; NO_COLOR is respected",
	 0},
	{"section", OPT_SECTION, "NAMES", 0,
	 "Sections of the text report, as answer,summary, or all. There are" CW_SECTIONS(
		 CW_X_SECTION),
	 0},
	{0},
};

static const struct argp_option filter_options[] = {
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

static error_t parse_filter(int key, char *arg, struct argp_state *state)
{
	struct cw_filters *f = state->input;

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

const struct argp cw_filters_argp = {filter_options, parse_filter, NULL, NULL, NULL, NULL, NULL};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cw_report *r = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &r->filters;
		return 0;
	case OPT_FORMAT:
		r->html = !strcmp(arg, "html");
		if (!r->html && cw_format_parse(arg, &r->format))
			argp_error(state, "--format %s: give text, jsonl, csv or html", arg);
		return 0;
	case 'o':
		r->output = arg;
		return 0;
	case OPT_COLOR:
		get_color(state, arg, &r->color);
		return 0;
	case OPT_SECTION:
		if (!cw_sections_parse(arg, &r->sections))
			argp_error(state,
				   "--section %s: give names such as answer,summary, or all; "
				   "--help lists them",
				   arg);
		return 0;
	case ARGP_KEY_END:
		if (r->sections && (r->html || r->format != CW_FORMAT_TEXT))
			argp_error(state, "--section goes with the text format only");
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&cw_filters_argp, 0, NULL, 0}, {0}};
const struct argp cw_report_argp = {options, parse, NULL, NULL, children, NULL, NULL};

void cw_capture_filters(sqlite3 *db, const struct cw_plan_filters *config,
			struct cw_plan_filters *out)
{
	char *yaml =
		config ? NULL
		       : cw_query_text(db, "SELECT value FROM capture_info WHERE key = 'plan'");
	struct cw_plan *plan = NULL;
	char err[CW_PLAN_ERR];

	memset(out, 0, sizeof(*out));
	if (config)
		*out = *config;
	else if (yaml && !cw_plan_from_yaml(&plan, yaml, strlen(yaml), "the capture's plan", err))
		*out = plan->filters;
	cw_plan_free(plan);
	free(yaml);
}

void cw_report_plan_filters(struct cw_report *r)
{
	struct cw_filters *f = &r->filters;
	struct cw_plan_filters p;

	cw_capture_filters(r->db, r->config, &p);
	if (f->min_total_ns == CW_UNSET)
		f->min_total_ns = p.min_total_ns;
	if (f->min_queue_ns == CW_UNSET)
		f->min_queue_ns = p.min_queue_ns;
	if (f->min_work_ns == CW_UNSET)
		f->min_work_ns = p.min_work_ns;
	if (f->max_events == CW_UNSET)
		f->max_events = p.max_events;
}
