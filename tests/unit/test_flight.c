/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/flight.o record/output.o */
/* Which pieces of the last seconds are kept, and written when somebody wants them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "../../record/flight.h"
#include "../../record/resolve.h"
#include "folder.h"

#define S 1000000000ull

static struct cw_flight *f;
static char written[64]; /* numbers */

/* A piece of half a second, with so many bytes; it is finished at its end or late. */
static void keep(uint32_t number, double end, double finished, size_t bytes)
{
	int fd = cw_flight_open();

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, (off_t)bytes), 0);
	assert_int_equal(cw_flight_keep(f, fd, number, (uint64_t)((end - 0.5) * (double)S),
					(uint64_t)(finished * (double)S)),
			 0);
}

static char *path(void *arg, uint32_t number)
{
	char name[32];

	(void)arg;
	snprintf(name, sizeof(name), " %u", number);
	strcat(written, name);
	snprintf(name, sizeof(name), "piece%u", number);
	unlink(in_dir(name));
	return strdup(in_dir(name));
}

static void expect_written(const char *numbers)
{
	char err[CW_ERR];
	int n = 0;

	for (const char *c = numbers; *c; c++)
		n += *c == ' ';
	written[0] = '\0';
	assert_int_equal(cw_flight_write(f, path, NULL, err), n);
	assert_string_equal(written, numbers);
}

static void begin(uint64_t max_bytes)
{
	f = cw_flight_new(2 * S, max_bytes);
	assert_non_null(f);
}

/* Those that end within the span before the end of the last one. */
static void test_old_ones_are_forgotten(void **state)
{
	(void)state;
	begin(1 << 20);
	for (unsigned i = 1; i <= 10; i++)
		keep(i, 0.5 * i, 0.5 * i, 100);
	expect_written(" 6 7 8 9 10");
	expect_written("");
	keep(11, 5.5, 5.5, 100);
	expect_written(" 11");
	cw_flight_free(f);
}

/* On a busy machine the last piece is finished late: the span is that before somebody asked. */
static void test_asked_for(void **state)
{
	(void)state;
	begin(1 << 20);
	for (unsigned i = 1; i <= 9; i++)
		keep(i, 0.5 * i, 0.5 * i, 100);
	cw_flight_want(f, 49 * S / 10);
	cw_flight_want(f, 53 * S / 10); /* again, before it is written */
	keep(10, 5.0, 5.6, 100);
	keep(11, 5.5, 6.9, 100);
	expect_written(" 6 7 8 9 10 11");
	/* That is over now. */
	keep(12, 7.0, 7.0, 100);
	keep(13, 9.5, 9.5, 100);
	expect_written(" 13");
	cw_flight_free(f);
}

/* Memory is bounded in any case. */
static void test_bounded(void **state)
{
	(void)state;
	begin(1000);
	cw_flight_want(f, 1 * S);
	for (unsigned i = 1; i <= 10; i++)
		keep(i, 0.5 * i, 0.5 * i, 300);
	expect_written(" 8 9 10");
	cw_flight_free(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_old_ones_are_forgotten),
		cmocka_unit_test(test_asked_for),
		cmocka_unit_test(test_bounded),
	};

	return cmocka_run_group_tests(tests, folder_new, folder_free);
}
