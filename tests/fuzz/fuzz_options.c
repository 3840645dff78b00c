/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/options.o record/optable.o record/optvalues.o record/config.o record/say.o */
/* WRAP: argp_parse argp_error argp_failure exit */
/*
 * Any command line of the recorder, an argument a line. It is refused with a sentence, or what it
 * means is sane and its plan survives being written and read again.
 */
#include "arguments.h"
#include "options.h"

static bool parsing;

void __real_exit(int status);
void __wrap_exit(int status);

void __wrap_exit(int status)
{
	if (parsing)
		longjmp(fuzz_refused, 1);
	__real_exit(status);
}

static void check(const struct cw_options *o)
{
	char err[CW_PLAN_ERR] = "", *yaml, *again;
	struct cw_plan *back;

	if (!o->output || (o->ring_bytes & (o->ring_bytes - 1)))
		abort();
	if (o->check || o->check_config || o->find_symbol)
		return;
	if (!o->plan->nfuncs && !o->plan->nhops)
		abort();
	for (size_t i = 0; i < o->npids; i++)
		if (o->pids[i] <= 0)
			abort();
	yaml = cw_plan_to_yaml(o->plan);
	if (!yaml || cw_plan_from_yaml(&back, yaml, strlen(yaml), "p", err)) {
		fprintf(stderr, "%s\n%s\n", err, yaml);
		abort();
	}
	again = cw_plan_to_yaml(back);
	if (!again || strcmp(yaml, again))
		abort();
	cw_plan_free(back);
	free(yaml);
	free(again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char *argv[FUZZ_MAX_ARGS + 2];
	static struct cw_options o;
	static int argc;

	argc = fuzz_arguments("callweave-record", data, size, argv);
	if (!argc)
		return 0;
	memset(&o, 0, sizeof(o));
	parsing = true;
	if (!setjmp(fuzz_refused)) {
		cw_options_parse(&o, argc, argv);
		check(&o);
	}
	parsing = false;
	cw_options_free(&o);
	return 0;
}
