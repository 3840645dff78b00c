/* SPDX-License-Identifier: GPL-2.0-only */
/* The shared options. Knows nothing of what the commands do with them. */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "options.h"
#include "say.h"

enum {
	OPT_HOP = 0x200,
	OPT_CONFIG,
	OPT_MAX_AGE,
	OPT_NO_CACHE,
	OPT_DEBUG_DIR,
	OPT_SYSROOT,
	OPT_NO_SYMBOLS,
	OPT_DEBUGINFOD,
	OPT_SRCLINE,
	OPT_NO_DEMANGLE,
};

static const struct argp_option options[] = {
	{NULL, 0, NULL, 0, "Stitching:", 20},
	{"async-hop", OPT_HOP, "SOURCE,ARG,TARGET[,ARG]", 0,
	 "Stitch by this handoff instead of the capture's own plan; the key is argument ARG (1-8) "
	 "of SOURCE and of TARGET, where it may be left out or 'auto'. Repeat it for a longer "
	 "chain. Every function must have been recorded",
	 0},
	{"config", OPT_CONFIG, "FILE", 0,
	 "Hops and filters from a YAML file, instead of the capture's own; options win over it", 0},
	{"async-max-age-ms", OPT_MAX_AGE, "MS", 0,
	 "A submission expires after this time (default: the plan's, or 30000)", 0},
	{NULL, 0, NULL, 0, "Names and cache:", 21},
	{"debug-dir", OPT_DEBUG_DIR, "DIR", 0,
	 "Look for module files and debug files here first; may be repeated", 0},
	{"sysroot", OPT_SYSROOT, "DIR", 0, "Look for the modules' paths below this directory", 0},
	{"debuginfod", OPT_DEBUGINFOD, "URLS", OPTION_ARG_OPTIONAL,
	 "Ask these debuginfod servers (default: those of DEBUGINFOD_URLS) for what no folder has",
	 0},
	{"srcline", OPT_SRCLINE, "none|full", 0,
	 "none: look up no source lines and no inlined functions, which is faster (default: full)",
	 0},
	{"no-demangle", OPT_NO_DEMANGLE, NULL, 0, "Show C++ and Rust names as the linker has them",
	 0},
	{"no-symbols", OPT_NO_SYMBOLS, NULL, 0, "Leave frames without names", 0},
	{"no-cache", OPT_NO_CACHE, NULL, 0, "Neither use nor keep a cached database", 0},
	{0},
};

static int add_hop(struct cw_input *in, const char *text, struct argp_state *state)
{
	char err[CW_PLAN_ERR];

	if (!in->plan)
		in->plan = cw_plan_new();
	if (!in->plan)
		return -ENOMEM;
	if (cw_plan_add_hop(in->plan, text, err))
		argp_error(state, "--async-hop %s: %s", text, err);
	return 0;
}

static int add_debug_dir(struct cw_input *in, const char *dir)
{
	const char **more = reallocarray(in->debug_dirs, in->ndebug_dirs + 2, sizeof(*more));

	if (!more)
		return -ENOMEM;
	more[in->ndebug_dirs++] = dir;
	more[in->ndebug_dirs] = NULL;
	in->debug_dirs = more;
	in->open.debug_dirs = more;
	return 0;
}

/* The plan of --config, in which hops given by options replace those of the file. */
static void read_config(struct cw_input *in)
{
	struct cw_plan *own = in->plan, *plan = NULL;
	char err[CW_PLAN_ERR] = "";

	if (cw_plan_from_file(&plan, in->config, err)) {
		cw_say("%s", err);
		exit(1);
	}
	if (own) {
		cw_plan_clear_hops(plan);
		cw_plan_clear_funcs(plan);
		free(plan->hops);
		plan->hops = own->hops;
		plan->nhops = own->nhops;
		own->hops = NULL;
		own->nhops = 0;
		cw_plan_free(own);
	}
	in->plan = plan;
}

static void finish(struct cw_input *in, struct argp_state *state)
{
	char err[CW_PLAN_ERR] = "";

	if (!in->open.debuginfod)
		unsetenv("DEBUGINFOD_URLS"); /* libraries would ask by themselves */
	if (in->config)
		read_config(in);
	if (!in->plan)
		return;
	if (in->plan->nhops && cw_plan_finish(in->plan, err)) {
		if (!in->config)
			argp_error(state, "%s", err);
		cw_say("%s: %s", in->config, err);
		exit(1);
	}
	/* Filters are not what a database is made by: another filter must not make another one. */
	in->filters = in->plan->filters;
	memset(&in->plan->filters, 0, sizeof(in->plan->filters));
	if (in->plan->nhops)
		in->open.plan = in->plan;
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cw_input *in = state->input;

	switch (key) {
	case OPT_HOP:
		return -add_hop(in, arg, state);
	case OPT_CONFIG:
		if (in->config)
			argp_error(state, "only one --config can be given: %s or %s?", in->config,
				   arg);
		in->config = arg;
		return 0;
	case OPT_MAX_AGE:
		if (!cw_parse_ms(arg, &in->open.max_age_ns) || !in->open.max_age_ns)
			argp_error(state, "--async-max-age-ms %s: give milliseconds above 0", arg);
		return 0;
	case OPT_NO_CACHE:
		in->open.no_cache = true;
		return 0;
	case OPT_NO_SYMBOLS:
		in->open.no_symbols = true;
		return 0;
	case OPT_DEBUG_DIR:
		return -add_debug_dir(in, arg);
	case OPT_DEBUGINFOD:
		if (arg)
			setenv("DEBUGINFOD_URLS", arg, 1);
		if (!*(getenv("DEBUGINFOD_URLS") ?: ""))
			argp_error(state,
				   "--debuginfod: give a server, as in "
				   "--debuginfod=http://localhost:8002, or set DEBUGINFOD_URLS");
		in->open.debuginfod = true;
		return 0;
	case OPT_SRCLINE:
		if (strcmp(arg, "none") != 0 && strcmp(arg, "full") != 0)
			argp_error(state, "--srcline %s: give none or full", arg);
		in->open.no_lines = !strcmp(arg, "none");
		return 0;
	case OPT_NO_DEMANGLE:
		in->open.mangled = true;
		return 0;
	case OPT_SYSROOT:
		in->open.sysroot = arg;
		return 0;
	case ARGP_KEY_SUCCESS:
		finish(in, state);
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

const struct argp cw_input_argp = {options, parse, NULL, NULL, NULL, NULL, NULL};

error_t cw_input_argument(struct cw_input *in, int key, char *arg, struct argp_state *state)
{
	if (key == ARGP_KEY_ARG) {
		if (!in->open.capture)
			in->open.capture = arg;
		else if (!cw_sequence_together(in->open.capture, arg))
			argp_error(state, "one capture at a time: %s, then %s", in->open.capture,
				   arg);
		return 0;
	}
	if (key != ARGP_KEY_END)
		return ARGP_ERR_UNKNOWN;
	if (!in->open.capture)
		argp_error(state, "give a capture file, or - for standard input");
	return 0;
}

const struct cw_plan_filters *cw_input_filters(const struct cw_input *in)
{
	return in->config ? &in->filters : NULL;
}

void cw_input_free(struct cw_input *in)
{
	cw_plan_free(in->plan);
	free(in->debug_dirs);
	in->plan = NULL;
	in->debug_dirs = NULL;
}

/* A finite number that is not negative, and where it ends. */
static bool parse_number(const char *text, double *out, char **end)
{
	if (*text < '0' || *text > '9')
		return false;
	*out = strtod(text, end);
	return isfinite(*out);
}

bool cw_parse_ms(const char *text, uint64_t *ns)
{
	double ms;
	char *end;

	if (!parse_number(text, &ms, &end) || *end || ms > 1e12)
		return false;
	*ns = (uint64_t)llround(ms * 1e6);
	return true;
}

bool cw_parse_count(const char *text, uint64_t min, uint64_t max, uint64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	errno = 0;
	*out = strtoull(text, &end, 10);
	return !errno && !*end && *out >= min && *out <= max;
}

bool cw_parse_key(const char *text, int64_t *out)
{
	char *end;
	bool negative = *text == '-';

	if (text[negative] < '0' || text[negative] > '9')
		return false;
	errno = 0;
	if (negative)
		*out = strtoll(text, &end, 10);
	else
		*out = (int64_t)strtoull(text, &end,
					 text[0] == '0' && (text[1] | 32) == 'x' ? 16 : 10);
	return !errno && !*end;
}

static bool parse_clock(const char *text, int64_t *ns)
{
	unsigned int hours, minutes;
	double seconds = 0;
	int used = 0;
	char *end;

	if (sscanf(text, "%2u:%2u%n", &hours, &minutes, &used) != 2 || hours > 23 || minutes > 59)
		return false;
	if (text[used] == ':') {
		if (!parse_number(text + used + 1, &seconds, &end) || *end || seconds >= 61)
			return false;
	} else if (text[used]) {
		return false;
	}
	*ns = (hours * 3600ll + minutes * 60ll) * 1000000000 + llround(seconds * 1e9);
	return true;
}

bool cw_parse_moment(const char *text, struct cw_moment *out)
{
	double value;
	char *end;

	out->set = true;
	out->wall = strchr(text, ':') != NULL;
	if (out->wall)
		return parse_clock(text, &out->ns);
	if (!parse_number(text, &value, &end) || value > 1e9)
		return false;
	if (!*end || !strcmp(end, "s"))
		out->ns = llround(value * 1e9);
	else if (!strcmp(end, "ms"))
		out->ns = llround(value * 1e6);
	else
		return false;
	return true;
}
