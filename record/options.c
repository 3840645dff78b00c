/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The command line: a table of options, and the checks that need no look at the system. Must not
 * know about BPF, processes or captures.
 */
#include <argp.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "optable.h"
#include "options.h"
#include "optvalues.h"
#include "rings.h"
#include "say.h"

#define DEFAULT_EMBED (1ull << 30)
#define MIN_FILE      (64ull << 10)
#define MAX_FUNCS     256
#define MAX_SEGMENTS  9999

struct parse {
	struct cw_options *o;
	const char *config, *second_config;
	const char *funcs[MAX_FUNCS];
	bool offset[MAX_FUNCS]; /* given by --offset */
	size_t nfuncs;
	bool own_hops; /* the command line's, which replace the file's */
	bool own_age;  /* the command line's, which holds for the file's hops, too */
	const char *source, *source_binary;
	uint32_t source_arg, target_arg;
	bool target_arg_given;
	bool config_only; /* looking for --config, before all else */
};

/* ---- gathering ------------------------------------------------------------------------------- */

static void add_pid(struct argp_state *st, struct cw_options *o, const char *text)
{
	pid_t pid = cw_value_count(st, "-p", text, INT_MAX), *bigger;
	size_t i;

	for (i = 0; o->pids && i < o->npids; i++) {
		if (o->pids[i] == pid)
			return;
	}
	bigger = realloc(o->pids, (o->npids + 1) * sizeof(*o->pids));
	if (!bigger) {
		argp_failure(st, 1, ENOMEM, "cannot start");
		return;
	}
	o->pids = bigger;
	o->pids[o->npids++] = pid;
}

/* No file has an empty name, and the plan's document holds none. */
static const char *file_name(struct argp_state *st, const char *option, const char *arg)
{
	if (!*arg)
		argp_error(st, "%s takes the name or path of a file, not ''", option);
	return arg;
}

static void add_binary(struct argp_state *st, struct cw_options *o, const char *arg)
{
	if (o->binary)
		argp_error(st, "only one BINARY can be given: %s or %s?", o->binary, arg);
	o->binary = arg;
}

static void take_func(struct argp_state *st, struct parse *p, const char *arg, bool offset)
{
	if (p->nfuncs == MAX_FUNCS)
		argp_error(st, "more than %d functions: list them in a file for --config",
			   MAX_FUNCS);
	p->offset[p->nfuncs] = offset;
	p->funcs[p->nfuncs++] = arg;
}

/* MODULE:SYMBOL may hold a path, too; a plain path is the BINARY. */
static void take_positional(struct argp_state *st, struct parse *p, const char *arg)
{
	if (strchr(arg, '/') && !strchr(arg, ':'))
		add_binary(st, p->o, arg);
	else
		take_func(st, p, arg, false);
}

static void add_func(struct argp_state *st, struct cw_options *o, const char *text, bool offset)
{
	char err[CW_PLAN_ERR] = "", *full;
	int rc;

	if (asprintf(&full, "%s%s", offset ? "+" : "", text) < 0)
		argp_failure(st, 1, ENOMEM, "cannot start");
	rc = cw_plan_add_func(o->plan, full, err);
	free(full);
	if (rc)
		argp_error(st, "%s", err);
}

static void add_hop(struct argp_state *st, struct parse *p, const char *text)
{
	char err[CW_PLAN_ERR] = "";

	if (!p->own_hops)
		cw_plan_clear_hops(p->o->plan);
	p->own_hops = true;
	if (cw_plan_add_hop(p->o->plan, text, err))
		argp_error(st, "%s", err);
}

/* --async-source: a handoff to the last FUNCTION. */
static void add_source_hop(struct argp_state *st, struct parse *p)
{
	const struct cw_plan_func *f =
		p->nfuncs ? &p->o->plan->funcs[p->o->plan->nfuncs - 1] : NULL;
	char arg[16] = "auto", *text, *module;
	struct cw_plan_hop *h;

	if (!f || !f->name) {
		argp_error(st, "--async-source needs a FUNCTION by name that it hands over to");
		return;
	}
	if (p->target_arg)
		snprintf(arg, sizeof(arg), "%u", p->target_arg);
	if (asprintf(&text, "%s,%u,%s,%s", p->source, p->source_arg ? p->source_arg : 1, f->name,
		     arg) < 0)
		argp_failure(st, 1, ENOMEM, "cannot start");
	add_hop(st, p, text);
	free(text);
	h = &p->o->plan->hops[0];
	module = p->source_binary ? strdup(p->source_binary) : NULL;
	if (module) {
		free(h->source_module);
		h->source_module = module;
	}
	h->target_module = f->module ? strdup(f->module) : NULL;
}

/* FUNCTION,MS: the function's name may hold commas, the last one counts. */
static void set_flight_when(const struct argp_state *st, struct cw_options *o, const char *arg)
{
	const char *comma = strrchr(arg, ',');

	if (!comma || comma == arg)
		argp_error(st,
			   "--flight-when takes FUNCTION,MS, such as handle_request,250, not '%s'",
			   arg);
	free(o->flight_when);
	o->flight_when = comma ? strndup(arg, (size_t)(comma - arg)) : NULL;
	o->flight_limit_ns = comma ? cw_value_scaled(st, "--flight-when", comma + 1, 1e6) : 0;
}

/* Is it this function's name, with its module or without? */
static bool is_flight_when(struct cw_options *o, const struct cw_plan_func *f)
{
	size_t n = f->name && f->module ? strlen(f->module) : 0;

	if (f->name && !strcmp(f->name, o->flight_when))
		return true;
	if (!n || strncmp(o->flight_when, f->module, n) != 0 || o->flight_when[n] != ':' ||
	    strcmp(o->flight_when + n + 1, f->name) != 0)
		return false;
	o->flight_module = strdup(f->module);
	memmove(o->flight_when, o->flight_when + n + 1, strlen(f->name) + 1);
	return true;
}

/* Its calls must be recorded. */
static void check_flight_when(struct argp_state *st, struct cw_options *o)
{
	const struct cw_plan *p = o->plan;
	bool known = false;

	for (size_t i = 0; o->flight_when && i < p->nfuncs && !known; i++)
		known = is_flight_when(o, &p->funcs[i]);
	if (o->flight_when && !known)
		argp_error(st,
			   "--flight-when: '%s' is none of the functions to record: name it after "
			   "the options, too",
			   o->flight_when);
}

/* ---- checking -------------------------------------------------------------------------------- */

static void check_target(struct argp_state *st, const struct cw_options *o)
{
	if (!!o->npids + !!o->exec_prog + !!o->cgroup > 1)
		argp_error(st, "-p, --exec and --cgroup exclude each other");
	if (!o->npids && !o->exec_prog && !o->cgroup && !o->binary)
		argp_error(st, "nothing to trace: give -p PID, a BINARY (a path with '/'), "
			       "--cgroup PATH or --exec PROG");
	if (o->follow && !o->npids && !o->exec_prog)
		argp_error(st, "--follow-forks needs -p PID or --exec PROG; of a BINARY or a "
			       "--cgroup all processes are traced anyway");
	if (o->exec_argv && !o->exec_prog)
		argp_error(st, "arguments after -- need --exec PROG");
}

static void check_output(struct argp_state *st, const struct cw_options *o)
{
	if (o->flight_ns && o->segments)
		argp_error(st, "--flight and --rotate do not go together: --flight forgets what is "
			       "old");
	if (o->flight_ns && !strcmp(o->output, "-"))
		argp_error(st, "--flight writes files: give -o FILE, not -");
	if (o->flight_when && !o->flight_ns)
		argp_error(st, "--flight-when needs --flight SECONDS: how much to keep in memory");
	if (o->segments && !o->max_bytes)
		argp_error(st, "--rotate needs --max-size BYTES, the size of each file");
	if (o->segments && !strcmp(o->output, "-"))
		argp_error(st, "--rotate makes several files, which -o - cannot hold");
}

static void check_async(struct argp_state *st, const struct parse *p)
{
	if (p->source && p->own_hops)
		argp_error(st, "--async-source and --async-hop exclude each other: an --async-hop "
			       "for each handoff does it");
	if (!p->source && p->source_arg)
		argp_error(st, "--async-source-arg needs --async-source");
	if (!p->source && p->source_binary)
		argp_error(st, "--async-source-binary needs --async-source");
	if (!p->source && p->target_arg_given)
		argp_error(st, "--async-target-arg needs --async-source");
}

/* --module holds for every function that names none itself, and for the one that a file is about.
 */
static void apply_module(struct argp_state *st, struct parse *p)
{
	struct cw_options *o = p->o;

	if (o->module && p->config && !p->nfuncs && o->plan->nfuncs == 1) {
		free(o->plan->funcs[0].module);
		o->plan->funcs[0].module = NULL;
	}
	if (o->module && cw_plan_set_module(o->plan, o->module))
		argp_failure(st, 1, ENOMEM, "cannot start");
}

static void finish_recording(struct argp_state *st, struct parse *p)
{
	struct cw_options *o = p->o;
	char err[CW_PLAN_ERR] = "";
	size_t i;

	check_target(st, o);
	check_output(st, o);
	check_async(st, p);
	if (p->nfuncs)
		cw_plan_clear_funcs(o->plan);
	for (i = 0; i < p->nfuncs; i++)
		add_func(st, o, p->funcs[i], p->offset[i]);
	if (p->source)
		add_source_hop(st, p);
	for (i = 0; p->own_age && i < o->plan->nhops; i++)
		o->plan->hops[i].max_age_ns = 0;
	apply_module(st, p);
	if (!o->plan->nfuncs && !o->plan->nhops)
		argp_error(st, "which function? Name one, or a handoff with --async-hop");
	o->plan->time |= o->flight_when != NULL; /* its returns are needed */
	if (cw_plan_finish(o->plan, err))
		argp_error(st, "%s", err);
	check_flight_when(st, o);
}

static void finish(struct argp_state *st, struct parse *p)
{
	struct cw_options *o = p->o;

	if (o->check_config && (o->npids || o->exec_prog || o->cgroup || o->binary || p->nfuncs ||
				p->config || o->find_symbol))
		argp_error(st, "--check-config stands alone: it looks at the file only");
	if (o->find_symbol && (p->nfuncs || o->exec_prog || o->cgroup || p->own_hops || p->source))
		argp_error(st, "--find-symbol goes with -p PID, --module and BINARY only: it "
			       "records nothing");
	if (o->find_symbol && !o->npids && !o->binary)
		argp_error(st, "--find-symbol needs -p PID or a BINARY (a path with '/') to look "
			       "into");
	if (o->check && (o->npids || o->exec_prog || o->cgroup || o->binary || p->nfuncs ||
			 p->config || o->find_symbol || o->check_config))
		argp_error(st, "--check stands alone: it looks at this machine only");
	if (!o->check && !o->check_config && !o->find_symbol)
		finish_recording(st, p);
}

/* ---- parsing --------------------------------------------------------------------------------- */

static error_t parse_plan_opt(int key, char *arg, struct argp_state *st)
{
	struct parse *p = st->input;
	struct cw_plan *plan = p->o->plan;
	struct cw_plan_filters *f = &plan->filters;

	switch (key) {
	case OPT_RET:
		plan->ret = true;
		return 0;
	case OPT_TIME:
		plan->time = true;
		return 0;
	case OPT_ATTRIBUTION:
		plan->attribution = plan->time = true;
		return 0;
	case OPT_HOP:
		add_hop(st, p, arg);
		return 0;
	case OPT_MAX_AGE:
		plan->max_age_ns = cw_value_scaled(st, "--async-max-age-ms", arg, 1e6);
		p->own_age = true;
		return 0;
	case OPT_MIN_TOTAL:
		f->min_total_ns = cw_value_scaled(st, "--min-total-ms", arg, 1e6);
		return 0;
	case OPT_MIN_QUEUE:
		f->min_queue_ns = cw_value_scaled(st, "--min-queue-ms", arg, 1e6);
		return 0;
	case OPT_MIN_WORK:
		f->min_work_ns = cw_value_scaled(st, "--min-work-ms", arg, 1e6);
		return 0;
	case OPT_DURATION:
		f->duration_ns = cw_value_scaled(st, "--duration", arg, 1e9);
		return 0;
	case OPT_MAX_EVENTS:
		f->max_events = cw_value_count(st, "--max-events", arg, UINT64_MAX);
		return 0;
	case OPT_STACK:
		p->o->stack_bytes = cw_value_stack(st, "--stack", arg);
		plan->stacks = strcmp(arg, "none") != 0;
		return 0;
	case OPT_EMBED:
		p->o->embed = cw_value_embed(st, "--embed", arg);
		return 0;
	case OPT_EMBED_MAX:
		p->o->embed_max = cw_value_size(st, "--embed-max", arg, 1024);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_source_opt(int key, char *arg, struct argp_state *st)
{
	struct parse *p = st->input;

	switch (key) {
	case OPT_SOURCE:
		if (p->source)
			argp_error(st, "--async-source is given twice: repeat --async-hop for "
				       "several handoffs");
		p->source = arg;
		return 0;
	case OPT_SOURCE_ARG:
		p->source_arg = cw_value_arg(st, "--async-source-arg", arg, false);
		return 0;
	case OPT_SOURCE_BINARY:
		p->source_binary = file_name(st, "--async-source-binary", arg);
		return 0;
	case OPT_TARGET_ARG:
		p->target_arg = cw_value_arg(st, "--async-target-arg", arg, true);
		p->target_arg_given = true;
		return 0;
	default:
		return parse_plan_opt(key, arg, st);
	}
}

static error_t parse_output_opt(int key, char *arg, struct argp_state *st)
{
	struct cw_options *o = ((struct parse *)st->input)->o;

	switch (key) {
	case 'o':
		o->output = file_name(st, "--output", arg);
		return 0;
	case 'q':
		o->quiet = true;
		return 0;
	case 'v':
		o->verbose = true;
		return 0;
	case OPT_RING:
		o->ring_bytes = cw_value_ring(st, "--ring-size", arg);
		return 0;
	case OPT_RINGS:
		o->rings = cw_value_count(st, "--rings", arg, CW_MAX_RINGS);
		return 0;
	case OPT_MAX_SIZE:
		o->max_bytes = cw_value_size(st, "--max-size", arg, MIN_FILE);
		return 0;
	case OPT_ROTATE:
		o->segments = cw_value_count(st, "--rotate", arg, MAX_SEGMENTS);
		return 0;
	case OPT_MAX_RATE:
		o->max_rate = cw_value_count(st, "--max-rate", arg, UINT32_MAX);
		return 0;
	case OPT_FLIGHT:
		o->flight_ns = cw_value_scaled(st, "--flight", arg, 1e9);
		return 0;
	case OPT_FLIGHT_WHEN:
		set_flight_when(st, o, arg);
		return 0;
	case OPT_FIND_SYMBOL:
		o->find_symbol = arg;
		return 0;
	case OPT_CHECK_CONFIG:
		o->check_config = file_name(st, "--check-config", arg);
		return 0;
	case OPT_CHECK:
		o->check = true;
		return 0;
	default:
		return parse_source_opt(key, arg, st);
	}
}

static error_t parse_opt(int key, char *arg, struct argp_state *st)
{
	struct parse *p = st->input;
	struct cw_options *o = p->o;

	switch (key) {
	case 'p':
		add_pid(st, o, arg);
		return 0;
	case 'f':
		o->follow = true;
		return 0;
	case OPT_CGROUP:
		o->cgroup = file_name(st, "--cgroup", arg);
		return 0;
	case OPT_EXEC:
		o->exec_prog = file_name(st, "--exec", arg);
		return 0;
	case OPT_MODULE:
		o->module = file_name(st, "--module", arg);
		return 0;
	case OPT_BINARY:
		add_binary(st, o, file_name(st, "--binary", arg));
		return 0;
	case OPT_OFFSET:
		cw_value_offset(st, "--offset", arg);
		take_func(st, p, arg, true);
		return 0;
	case OPT_DISCOVER:
		p->o->plan->attribution = p->o->plan->time = true;
		take_func(st, p, arg, false);
		return 0;
	case OPT_FUNCTION:
		take_func(st, p, arg, false);
		return 0;
	case ARGP_KEY_ARG:
		take_positional(st, p, arg);
		return 0;
	case OPT_CONFIG:
		file_name(st, "--config", arg);
		if (p->second_config)
			argp_error(st, "only one --config can be given: %s or %s?", p->config,
				   p->second_config);
		return 0;
	case OPT_FORCE_RETURN:
		o->force_return = true;
		return 0;
	case ARGP_KEY_END:
		finish(st, p);
		return 0;
	default:
		return parse_output_opt(key, arg, st);
	}
}

/* The file comes first wherever it stands, so that all else wins over it. */
static error_t parse_any(int key, char *arg, struct argp_state *st)
{
	struct parse *p = st->input;

	if (!p->config_only)
		return parse_opt(key, arg, st);
	if (key == OPT_CONFIG && p->config && strcmp(p->config, arg) != 0)
		p->second_config = arg;
	else if (key == OPT_CONFIG)
		p->config = arg;
	return 0;
}

static void read_config(struct parse *p)
{
	char err[CW_PLAN_ERR] = "";
	struct cw_plan *plan;

	if (cw_plan_from_file(&plan, p->config, err)) {
		cw_say("%s", err);
		exit(1);
	}
	cw_plan_free(p->o->plan);
	p->o->plan = plan;
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
	static const struct argp argp = {cw_option_table,
					 parse_any,
					 "[BINARY] [FUNCTION...] [-- ARGS]",
					 cw_option_doc,
					 NULL,
					 NULL,
					 NULL};
	struct parse p = {.o = o};

	memset(o, 0, sizeof(*o));
	o->output = "callweave.cwc";
	o->embed_max = DEFAULT_EMBED;
	o->plan = cw_plan_new();
	argp_err_exit_status = 2;
	setenv("ARGP_HELP_FMT", "rmargin=100", 0); /* the hint after an error stays one line */
	argc = split_exec_args(o, argc, argv);
	p.config_only = true;
	argp_parse(&argp, argc, argv, ARGP_NO_ERRS | ARGP_NO_HELP, NULL, &p);
	p.config_only = false;
	if (p.config && *p.config && !p.second_config)
		read_config(&p);
	argp_parse(&argp, argc, argv, 0, NULL, &p);
	if (o->exec_prog && !o->exec_argv)
		o->exec_argv = calloc(2, sizeof(*o->exec_argv));
	if (o->exec_prog)
		o->exec_argv[0] = (char *)o->exec_prog;
}

void cw_options_free(struct cw_options *o)
{
	cw_plan_free(o->plan);
	free(o->pids);
	free(o->exec_argv);
	free(o->flight_when);
	free(o->flight_module);
	memset(o, 0, sizeof(*o));
}
