/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/mmapwatch.o */
/* In which order reports of mappings come, of this process on each CPU. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>
#include "../../record/mmapwatch.h"
#include "clock.h"

static int in_order(void *arg, const struct cw_mmap_event *e)
{
	uint64_t *last = arg;

	assert_int_equal(e->lost, 0);
	assert_true(e->ts >= last[0]);
	last[0] = e->ts;
	last[1] += e->file.pid == (uint32_t)getpid();
	return 0;
}

/* Reports come in order of time, whichever CPUs they are from, and only as far as is asked for. */
static void test_order(void **state)
{
	uint64_t last[2] = {0}, half = 0;
	struct cw_mmapwatch *w;
	cpu_set_t all, one;
	int rc = cw_mmapwatch_new(&w, 0);

	(void)state;
	if (rc == -EACCES || rc == -EPERM)
		skip();
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	for (int i = 0; i < 20; i++) {
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, &all))
				continue;
			CPU_ZERO(&one);
			CPU_SET(cpu, &one);
			sched_setaffinity(0, sizeof(one), &one);
			munmap(mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
				    -1, 0),
			       4096);
		}
		if (i == 9)
			half = cw_clock_ns(CLOCK_MONOTONIC);
	}
	sched_setaffinity(0, sizeof(all), &all);
	assert_int_equal(cw_mmapwatch_drain(w, half, in_order, last), 0);
	assert_int_equal(last[1], 10 * CPU_COUNT(&all));
	assert_int_equal(cw_mmapwatch_drain(w, cw_clock_ns(CLOCK_MONOTONIC), in_order, last), 0);
	assert_int_equal(last[1], 20 * CPU_COUNT(&all));
	assert_false(cw_mmapwatch_crowded(w));
	cw_mmapwatch_free(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
