/* SPDX-License-Identifier: GPL-2.0-only */
/* A folder of the test's own, with what it puts and compiles there, gone when the test is over. */
#ifndef FOLDER_H
#define FOLDER_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>

static char test_dir[] = "/tmp/cw-unit-XXXXXX";

/* A path in the folder; one of the last eight asked for. */
static inline const char *in_dir(const char *name)
{
	static char paths[8][256];
	static unsigned i;

	i = (i + 1) % 8;
	snprintf(paths[i], sizeof(paths[i]), "%s/%s", test_dir, name);
	return paths[i];
}

static inline void put_file(const char *name, const char *text)
{
	FILE *f = fopen(in_dir(name), "w");

	assert_non_null(f);
	fputs(text, f);
	assert_int_equal(fclose(f), 0);
}

/* Run a shell command inside the folder; returns its exit status. */
static inline int shell(const char *format, ...) __attribute__((format(printf, 1, 2)));
static inline int shell(const char *format, ...)
{
	char cmd[4096];
	int n = snprintf(cmd, sizeof(cmd), "cd '%s' && ", test_dir);
	va_list ap;

	va_start(ap, format);
	vsnprintf(cmd + n, sizeof(cmd) - n, format, ap);
	va_end(ap);
	return system(cmd);
}

static inline int folder_new(void **state)
{
	(void)state;
	return mkdtemp(test_dir) ? 0 : -1;
}

static inline int folder_free(void **state)
{
	char cmd[64];

	(void)state;
	snprintf(cmd, sizeof(cmd), "rm -rf '%s'", test_dir);
	return system(cmd);
}

#endif
