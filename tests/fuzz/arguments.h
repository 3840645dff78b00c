/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the harnesses of command lines share: an argument a line, and that a program which refuses
 * them with a sentence goes on behind setjmp(fuzz_refused). They wrap the functions of argp.
 */
#ifndef FUZZ_ARGUMENTS_H
#define FUZZ_ARGUMENTS_H

#include <argp.h>
#include <setjmp.h>
#include <stdarg.h>
#include "fuzz.h"

#define FUZZ_MAX_ARGS 64

static jmp_buf fuzz_refused;

error_t __real_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
			  int *index, void *input);
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
			  int *index, void *input);
void __wrap_argp_error(const struct argp_state *st, const char *fmt, ...);
void __wrap_argp_failure(const struct argp_state *st, int status, int err, const char *fmt, ...);
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
		longjmp(fuzz_refused, 1);
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
	longjmp(fuzz_refused, 1);
}

void __wrap_argp_failure(const struct argp_state *st, int status, int err, const char *fmt, ...)
{
	(void)st, (void)status, (void)err, (void)fmt;
	longjmp(fuzz_refused, 1);
}

/* The arguments behind the program's name, good until the next call; 0: too long. */
static inline int fuzz_arguments(const char *program, const uint8_t *data, size_t size,
				 char *argv[FUZZ_MAX_ARGS + 2])
{
	static char text[65536 + 1];
	char *at = text;
	int argc = 1;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	argv[0] = (char *)program;
	while (argc <= FUZZ_MAX_ARGS && (argv[argc] = strsep(&at, "\n")))
		if (strncmp(argv[argc], "--H", 3) != 0) /* argp's own --HANG does that */
			argc++;
	argv[argc] = NULL;
	return argc;
}

#endif
