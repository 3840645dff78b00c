/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/options.o record/optable.o record/optvalues.o record/config.o record/say.o */
/* WRAP: argp_parse argp_error argp_failure exit */
/*
 * Any command line of the recorder, an argument a line. It is refused with a sentence, or what it
 * means is sane and its plan survives being written and read again.
 */
#include <argp.h>
#include <setjmp.h>
#include <stdarg.h>
#include "fuzz.h"
#include "options.h"

#define MAX_ARGS 64

static jmp_buf end;
static bool parsing;

error_t __real_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
			  int *index, void *input);
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
			  int *index, void *input);
void __wrap_argp_error(const struct argp_state *st, const char *fmt, ...);
void __wrap_argp_failure(const struct argp_state *st, int status, int err, const char *fmt, ...);
void __real_exit(int status);
void __wrap_exit(int status);
int __lsan_is_turned_off(void);

/* What a command line that is refused leaves behind would be gone with the process. */
int __lsan_is_turned_off(void)
{
	return 1;
}

/* Where the program ends, parsing does. */
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
			  int *index, void *input)
{
	error_t rc = __real_argp_parse(argp, argc, argv, flags | ARGP_NO_EXIT, index, input);

	if (rc && !(flags & ARGP_NO_ERRS))
		longjmp(end, 1);
	return rc;
}

void __wrap_argp_error(const struct argp_state *st, const char *fmt, ...)
{
	char text[4096];
	va_list ap;

	(void)st;
	va_start(ap, fmt);
	if (vsnprintf(text, sizeof(text), fmt, ap) < 5)
		abort();
	va_end(ap);
	longjmp(end, 1);
}

void __wrap_argp_failure(const struct argp_state *st, int status, int err, const char *fmt, ...)
{
	(void)st, (void)status, (void)err, (void)fmt;
	longjmp(end, 1);
}

void __wrap_exit(int status)
{
	if (parsing)
		longjmp(end, 1);
	__real_exit(status);
}

static void check(const struct cw_options *o)
{
	char err[CW_PLAN_ERR] = "", *yaml, *again;
	struct cw_plan *back;

	if (!o->output || !o->ring_bytes || (o->ring_bytes & (o->ring_bytes - 1)))
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
	static char text[65536 + 1], *argv[MAX_ARGS + 2];
	static struct cw_options o;
	static int argc;
	char *at = text;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	argc = 1;
	argv[0] = (char *)"callweave-record";
	while (argc <= MAX_ARGS && (argv[argc] = strsep(&at, "\n")))
		if (strncmp(argv[argc], "--H", 3) != 0) /* argp's own --HANG does that */
			argc++;
	argv[argc] = NULL;
	memset(&o, 0, sizeof(o));
	parsing = true;
	if (!setjmp(end)) {
		cw_options_parse(&o, argc, argv);
		check(&o);
	}
	parsing = false;
	cw_options_free(&o);
	return 0;
}
