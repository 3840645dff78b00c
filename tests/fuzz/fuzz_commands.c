/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/all.o */
/* WRAP: argp_parse argp_error argp_failure fopen cw_database_open */
/*
 * Any command line of the analyzer, an argument a line; CAPTURE stands for a capture that there is.
 * It is refused with a sentence, or does what it says, but for writing files.
 */
#include <argp.h>
#include <setjmp.h>
#include <stdarg.h>
#include "database.h"
#include "fuzz.h"
int analyzer(int argc, char **argv);
#define main analyzer
#include "../../analyze/main.c"
#undef main

#define MAX_ARGS 32

static jmp_buf end;
static bool running; /* else it is libFuzzer's file */
static char capture[4096];

error_t __real_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
			  int *index, void *input);
error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
			  int *index, void *input);
void __wrap_argp_error(const struct argp_state *st, const char *fmt, ...);
void __wrap_argp_failure(const struct argp_state *st, int status, int err, const char *fmt, ...);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_cw_database_open(sqlite3 **out, const struct cw_open_opts *o);
int __wrap_cw_database_open(sqlite3 **out, const struct cw_open_opts *o);
int LLVMFuzzerInitialize(int *argc, char ***argv);
int __lsan_is_turned_off(void);

/* What a command line that is refused leaves behind would be gone with the process. */
int __lsan_is_turned_off(void)
{
	return 1;
}

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	setenv("XDG_CACHE_HOME", "/nonexistent", 1);
	return realpath("tests/captures/v1-tiny.cwc", capture) ? 0 : (abort(), 1);
}

error_t __wrap_argp_parse(const struct argp *argp, int argc, char **argv, unsigned flags,
			  int *index, void *input)
{
	if (__real_argp_parse(argp, argc, argv, flags | ARGP_NO_EXIT, index, input))
		longjmp(end, 1);
	return 0;
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

FILE *__wrap_fopen(const char *path, const char *mode)
{
	return __real_fopen(running && strpbrk(mode, "wa+") ? "/dev/null" : path, mode);
}

int __wrap_cw_database_open(sqlite3 **out, const struct cw_open_opts *o)
{
	struct cw_open_opts mine = *o;

	mine.database = NULL;
	mine.no_cache = true;
	/* A FIFO or a terminal would be waited for. */
	if (strcmp(mine.capture, capture) != 0)
		mine.capture = "/nonexistent";
	return __real_cw_database_open(out, &mine);
}

/* Only the given capture is opened: dump and follow would wait for standard input. */
static char *argument(char *text)
{
	return !strcmp(text, "CAPTURE") ? capture : !strcmp(text, "-") ? (char *)"--" : text;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static char text[65536 + 1], *argv[MAX_ARGS + 2];
	static int argc, status;
	char *at = text, *word;

	if (size >= sizeof(text))
		return 0;
	memcpy(text, data, size);
	text[size] = '\0';
	argc = status = 1;
	argv[0] = (char *)"callweave-analyze";
	while (argc <= MAX_ARGS && (word = strsep(&at, "\n")))
		if (strncmp(word, "--H", 3) != 0) /* argp's own --HANG does that */
			argv[argc++] = argument(word);
	argv[argc] = NULL;
	running = true;
	if (!setjmp(end))
		status = analyzer(argc, argv);
	running = false;
	if (status < 0 || status > 2)
		abort();
	return 0;
}
