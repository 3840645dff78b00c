/* SPDX-License-Identifier: GPL-2.0-only */
/* Command report: the way from a capture to a printed report. */
#include <unistd.h>
#include "commands.h"
#include "outfile.h"
#include "report.h"
#include "report_html.h"

static const char doc[] =
	"Show chains, calls and what delayed them. CAPTURE is a file of callweave-record, '-' for "
	"standard input, or a database of `import`."
	"\vExamples:\n"
	"  callweave-analyze trace.cwc\n"
	"  callweave-analyze trace.cwc --min-total-ms 100 --max-events 10\n"
	"  callweave-analyze trace.cwc --from 2.5 --to 3 --function write_result\n"
	"  callweave-analyze trace.cwc --format jsonl | jq .total_ns\n"
	"  callweave-analyze trace.cwc --format html -o report.html\n"
	"  callweave-analyze trace.cwc --async-hop put,2,work,1\n"
	"  callweave-record -p 1234 -o - work | callweave-analyze -\n";

struct args {
	struct cw_input input;
	struct cw_report report;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->report;
		state->child_inputs[1] = &a->input;
		return 0;
	}
	return cw_input_argument(&a->input, key, arg, state);
}

static const struct argp_child children[] = {
	{&cw_report_argp, 0, NULL, 0}, {&cw_input_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {NULL, parse, "CAPTURE", doc, children, NULL, NULL};

static int run(struct args *a)
{
	struct cw_report *r = &a->report;
	struct cw_outfile o;
	int err = cw_database_open(&r->db, &a->input.open);

	if (!err) {
		cw_report_plan_filters(r);
		err = cw_report_select(r);
	}
	if (!err)
		err = cw_report_totals(r);
	if (err || cw_outfile_open(&o, r->output))
		return 1;
	r->out = o.f;
	err = r->html                       ? cw_report_html(r)
	      : r->format == CW_FORMAT_TEXT ? cw_report_text(r)
					    : cw_report_rows(r);
	return cw_outfile_finish(&o, err);
}

int cw_cmd_report(int argc, char **argv)
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
