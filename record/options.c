/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command line: a table of options, and the checks that need no look at the system. Must not
 * know about BPF, processes or files.
 */
#include <argp.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "options.h"

#define DEFAULT_RING (16ull << 20)
#define MAX_FUNCS    256

const char *argp_program_version = "callweave-record 1";
const char *argp_program_bug_address = NULL;

enum {
	OPT_EXEC = 256,
	OPT_MODULE,
	OPT_BINARY,
	OPT_OFFSET,
	OPT_RET,
	OPT_TIME,
	OPT_ATTRIBUTION,
	OPT_HOP,
	OPT_DURATION,
	OPT_MAX_EVENTS,
	OPT_RING,
	OPT_STACK,
	OPT_MAX_AGE,
	OPT_CONFIG,
	OPT_FORCE_RETURN,
	OPT_MIN_TOTAL,
	OPT_MIN_QUEUE,
	OPT_MIN_WORK
};

static const char doc[] =
	"Record calls and handoffs of a running program into a file for callweave-analyze.\v"
	"Examples:\n"
	"  callweave-record -p 1234 --ret --time handle_request\n"
	"      entries, return values and durations of a function in process 1234\n"
	"  callweave-record -p 1234 --attribution --duration 10 write_result\n"
	"      and what each call waited for, for ten seconds\n"
	"  callweave-record -p 1234 --async-hop submit_task,2,run_task,1 run_task\n"
	"      follow a task pointer from submit_task's second argument to run_task's first\n"
	"  callweave-record /usr/bin/server handle_request\n"
	"      every process that runs this file (a name with a '/' is a BINARY)\n"
	"  callweave-record --time --exec ./server handle_request -- --port 8080\n"
	"      start the program once everything is in place\n"
	"  callweave-record -p 1234 -o - f | callweave-analyze follow -\n"
	"      watch while recording\n\n"
	"FUNCTION is [MODULE:]SYMBOL or [MODULE:]+0xOFFSET. Exit status: 0 recorded, 1 failed, 2 "
	"usage.";

static const struct argp_option table[] = {
	{NULL, 0, NULL, 0, "What to trace:", 1},
	{"pid", 'p', "PID", 0, "trace this process", 1},
	{"exec", OPT_EXEC, "PROG", 0, "start PROG with the arguments after -- and trace it", 1},
	{"module", OPT_MODULE, "MODULE", 0, "ELF file the functions are in (name or path)", 1},
	{"binary", OPT_BINARY, "FILE", 0, "as BINARY, also for names without a '/'", 1},
	{"offset", OPT_OFFSET, "OFFSET", 0, "probe this file offset instead of a symbol", 1},
	{"config", OPT_CONFIG, "FILE", 0, "read functions, hops and filters from a YAML file", 1},
	{NULL, 0, NULL, 0, "What to record:", 2},
	{"ret", OPT_RET, NULL, 0, "return values", 2},
	{"return-value", 0, NULL, OPTION_ALIAS, NULL, 2},
	{"time", OPT_TIME, NULL, 0, "durations", 2},
	{"latency", 0, NULL, OPTION_ALIAS, NULL, 2},
	{"attribution", OPT_ATTRIBUTION, NULL, 0, "what calls waited for; implies --time", 2},
	{"breakdown", 0, NULL, OPTION_ALIAS, NULL, 2},
	{"async-hop", OPT_HOP, "SOURCE,ARG,TARGET[,ARG|auto]", 0,
	 "a handoff: the key is argument ARG of SOURCE and of TARGET; repeat for chains", 2},
	{"async-max-age-ms", OPT_MAX_AGE, "MS", 0, "submissions older than this expire (30000)", 2},
	{"min-total-ms", OPT_MIN_TOTAL, "MS", 0, "filter kept in the plan for reports", 2},
	{"min-queue-ms", OPT_MIN_QUEUE, "MS", 0, "filter kept in the plan for reports", 2},
	{"min-work-ms", OPT_MIN_WORK, "MS", 0, "filter kept in the plan for reports", 2},
	{"stack", OPT_STACK, "fp|none", 0,
	 "how user stacks are walked: by frame pointers (fp), not at all", 2},
	{"force-return-probes", OPT_FORCE_RETURN, NULL, 0,
	 "return probes in programs of Go or another runtime that moves stacks", 2},
	{NULL, 0, NULL, 0, "When to stop, where to write:", 3},
	{"duration", OPT_DURATION, "SECONDS", 0, "stop after this time", 3},
	{"max-events", OPT_MAX_EVENTS, "N", 0, "stop after N calls of the last function", 3},
	{"ring-size", OPT_RING, "BYTES", 0, "buffer between kernel and recorder, with K or M (16M)",
	 3},
	{"output", 'o', "FILE", 0, "capture file, - for standard output (callweave.cwc)", 3},
	{"quiet", 'q', NULL, 0, "no closing line", 3},
	{"verbose", 'v', NULL, 0, "messages of the BPF library", 3},
	{0}};

struct parse {
	struct cw_options *o;
	const char *funcs[MAX_FUNCS];
	bool offset[MAX_FUNCS]; /* given by --offset */
	size_t nfuncs;
};

uint64_t cw_parse_size(const char *text)
{
	char *end;
	uint64_t n;

	errno = 0;
	n = strtoull(text, &end, 0);
	if (errno || end == text || *text == '-')
		return 0;
	if (*end == 'k' || *end == 'K')
		n <<= 10, end++;
	else if (*end == 'm' || *end == 'M')
		n <<= 20, end++;
	return *end ? 0 : n;
}

/* A number of units of scale ns each; the value must be positive. */
static uint64_t parse_scaled(struct argp_state *st, const char *name, const char *text,
			     double scale)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || *end || !(v > 0) || v * scale > 9e18)
		argp_error(st, "--%s takes a positive number, not '%s'", name, text);
	return (uint64_t)(v * scale);
}

static uint64_t parse_count(struct argp_state *st, const char *name, const char *text)
{
	char *end;
	uint64_t v;

	errno = 0;
	v = strtoull(text, &end, 10);
	if (errno || end == text || *end || !v || *text == '-')
		argp_error(st, "%s takes a positive whole number, not '%s'", name, text);
	return v;
}

static uint64_t parse_ring(struct argp_state *st, const char *text)
{
	uint64_t n = cw_parse_size(text), page = sysconf(_SC_PAGESIZE);

	if (n < page || n > 1ull << 30 || (n & (n - 1)))
		argp_error(st, "--ring-size takes a power of two from %luK to 1024M, not '%s'",
			   (unsigned long)(page >> 10), text);
	return n;
}

static bool is_offset(const char *text)
{
	char *end;

	errno = 0;
	strtoull(text, &end, 0);
	return !errno && end != text && !*end && *text != '-';
}

static void read_config(struct argp_state *st, struct cw_options *o, const char *path)
{
	char err[CW_PLAN_ERR] = "", *text;
	FILE *f = fopen(path, "re");
	struct cw_plan *plan;
	size_t n;

	if (!f)
		argp_failure(st, 1, errno, "cannot read %s", path);
	text = malloc(1 << 20);
	n = text ? fread(text, 1, 1 << 20, f) : 0;
	fclose(f);
	if (cw_plan_from_yaml(&plan, text, n, path, err))
		argp_failure(st, 1, 0, "%s", err);
	free(text);
	cw_plan_free(o->plan);
	o->plan = plan;
}

static void add_positional(struct argp_state *st, struct parse *p, const char *arg, bool offset)
{
	struct cw_options *o = p->o;

	/* MODULE:SYMBOL may hold a path, too; a plain path is the BINARY. */
	if (!offset && strchr(arg, '/') && !strchr(arg, ':')) {
		if (o->binary)
			argp_error(st, "only one BINARY can be given: %s or %s?", o->binary, arg);
		o->binary = arg;
	} else if (p->nfuncs == MAX_FUNCS) {
		argp_error(st, "too many functions");
	} else {
		p->offset[p->nfuncs] = offset;
		p->funcs[p->nfuncs++] = arg;
	}
}

static void add_func(struct argp_state *st, struct cw_options *o, const char *text, bool offset)
{
	bool module = o->module && !strchr(text, ':');
	char err[CW_PLAN_ERR] = "", *full;
	int rc;

	if (asprintf(&full, "%s%s%s%s", module ? o->module : "", module ? ":" : "",
		     offset ? "+" : "", text) < 0)
		argp_failure(st, 1, ENOMEM, "cannot start");
	rc = cw_plan_add_func(o->plan, full, err);
	free(full);
	if (rc)
		argp_error(st, "%s", err);
}

static void finish(struct argp_state *st, struct parse *p)
{
	struct cw_options *o = p->o;
	char err[CW_PLAN_ERR] = "";
	size_t i;

	for (i = 0; i < p->nfuncs; i++)
		add_func(st, o, p->funcs[i], p->offset[i]);
	if (!!o->pid + !!o->exec_prog > 1)
		argp_error(st, "-p and --exec exclude each other");
	if (!o->pid && !o->exec_prog && !o->binary)
		argp_error(
			st,
			"nothing to trace: give -p PID, a BINARY (a path with '/') or --exec PROG");
	if (o->exec_argv && !o->exec_prog)
		argp_error(st, "arguments after -- need --exec PROG");
	if (!o->plan->nfuncs && !o->plan->nhops)
		argp_error(st, "which function? Name one, or a handoff with --async-hop");
	if (cw_plan_finish(o->plan, err))
		argp_error(st, "%s", err);
}

static error_t parse_plan_opt(int key, char *arg, struct argp_state *st)
{
	struct cw_options *o = ((struct parse *)st->input)->o;
	struct cw_plan_filters *f = &o->plan->filters;
	char err[CW_PLAN_ERR] = "";

	switch (key) {
	case OPT_RET:
		o->plan->ret = true;
		return 0;
	case OPT_TIME:
		o->plan->time = true;
		return 0;
	case OPT_ATTRIBUTION:
		o->plan->attribution = o->plan->time = true;
		return 0;
	case OPT_HOP:
		if (cw_plan_add_hop(o->plan, arg, err))
			argp_error(st, "%s", err);
		return 0;
	case OPT_MAX_AGE:
		o->plan->max_age_ns = parse_scaled(st, "async-max-age-ms", arg, 1e6);
		return 0;
	case OPT_MIN_TOTAL:
		f->min_total_ns = parse_scaled(st, "min-total-ms", arg, 1e6);
		return 0;
	case OPT_MIN_QUEUE:
		f->min_queue_ns = parse_scaled(st, "min-queue-ms", arg, 1e6);
		return 0;
	case OPT_MIN_WORK:
		f->min_work_ns = parse_scaled(st, "min-work-ms", arg, 1e6);
		return 0;
	case OPT_DURATION:
		f->duration_ns = parse_scaled(st, "duration", arg, 1e9);
		return 0;
	case OPT_MAX_EVENTS:
		f->max_events = parse_count(st, "--max-events", arg);
		return 0;
	case OPT_STACK:
		if (strcmp(arg, "fp") != 0 && strcmp(arg, "none") != 0)
			argp_error(st, "--stack takes fp or none, not '%s'", arg);
		o->plan->stacks = !strcmp(arg, "fp");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_opt(int key, char *arg, struct argp_state *st)
{
	struct parse *p = st->input;
	struct cw_options *o = p->o;

	switch (key) {
	case 'p':
		o->pid = parse_count(st, "-p", arg);
		return 0;
	case 'o':
		o->output = arg;
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case OPT_EXEC:
		o->exec_prog = arg;
		return 0;
	case OPT_MODULE:
		o->module = arg;
		return 0;
	case OPT_BINARY:
		o->binary = arg;
		return 0;
	case OPT_OFFSET:
		if (!is_offset(arg))
			argp_error(st, "--offset takes a file offset such as 0x11c9, not '%s'",
				   arg);
		add_positional(st, p, arg, true);
		return 0;
	case OPT_CONFIG:
		read_config(st, o, arg);
		return 0;
	case OPT_RING:
		o->ring_bytes = parse_ring(st, arg);
		return 0;
	case OPT_FORCE_RETURN:
		o->force_return = true;
		return 0;
	case ARGP_KEY_ARG:
		add_positional(st, p, arg, false);
		return 0;
	case ARGP_KEY_END:
		finish(st, p);
		return 0;
	default:
		return parse_plan_opt(key, arg, st);
	}
}

/* Cut argv at "--"; what follows belongs to the program given by --exec. Returns the new argc. */
static int split_exec_args(struct cw_options *o, int argc, char **argv)
{
	int i, n = argc;

	for (i = 1; i < argc; i++) {
		if (!strcmp(argv[i], "--")) {
			n = i;
			break;
		}
	}
	if (n == argc)
		return argc;
	o->exec_argv = calloc(argc - n + 1, sizeof(*o->exec_argv));
	for (i = n + 1; o->exec_argv && i < argc; i++)
		o->exec_argv[i - n] = argv[i];
	return n;
}

void cw_options_parse(struct cw_options *o, int argc, char **argv)
{
	static const struct argp argp = {
		table, parse_opt, "[BINARY] [FUNCTION...] [-- ARGS]", doc, NULL, NULL, NULL};
	struct parse p = {.o = o};

	memset(o, 0, sizeof(*o));
	o->output = "callweave.cwc";
	o->ring_bytes = DEFAULT_RING;
	o->plan = cw_plan_new();
	argp_err_exit_status = 2;
	setenv("ARGP_HELP_FMT", "rmargin=100", 0); /* the hint after an error stays one line */
	argc = split_exec_args(o, argc, argv);
	argp_parse(&argp, argc, argv, 0, NULL, &p);
	if (o->exec_prog && !o->exec_argv)
		o->exec_argv = calloc(2, sizeof(*o->exec_argv));
	if (o->exec_prog)
		o->exec_argv[0] = (char *)o->exec_prog;
}

void cw_options_free(struct cw_options *o)
{
	cw_plan_free(o->plan);
	free(o->exec_argv);
	memset(o, 0, sizeof(*o));
}
