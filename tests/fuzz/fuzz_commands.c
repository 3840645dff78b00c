/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/all.o */
/* WRAP: argp_parse argp_error argp_failure fopen cw_database_open */
/*
 * Any command line of the analyzer, an argument a line; CAPTURE stands for a capture that there is.
 * It is refused with a sentence, or does what it says, but for writing files.
 */
#include "arguments.h"
#include "database.h"
int analyzer(int argc, char **argv);
#define main analyzer
#include "../../analyze/main.c"
#undef main

static bool running; /* else it is libFuzzer's file */
static char capture[4096];

FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);
int __real_cw_database_open(sqlite3 **out, const struct cw_open_opts *o);
int __wrap_cw_database_open(sqlite3 **out, const struct cw_open_opts *o);
int LLVMFuzzerInitialize(int *argc, char ***argv);

int LLVMFuzzerInitialize(int *argc, char ***argv)
{
	(void)argc, (void)argv;
	setenv("XDG_CACHE_HOME", "/nonexistent", 1);
	return realpath("tests/captures/v1-tiny.cwc", capture) ? 0 : (abort(), 1);
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
	static char *argv[FUZZ_MAX_ARGS + 2];
	static int argc, status;

	argc = fuzz_arguments("callweave-analyze", data, size, argv);
	if (!argc)
		return 0;
	for (int i = 1; i < argc; i++)
		argv[i] = argument(argv[i]);
	status = 1;
	running = true;
	if (!setjmp(fuzz_refused))
		status = analyzer(argc, argv);
	running = false;
	if (status < 0 || status > 2)
		abort();
	return 0;
}
