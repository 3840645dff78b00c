/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Threads that are called on one CPU and return on the next: move_to_next is as short as that
 * allows. The truth is the number of calls.
 */
#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <unistd.h>
#include "truth.h"

#define MAX_THREADS 64

static uint64_t threads = 4, cpus;

TRACED uint64_t move_to_next(uint64_t n)
{
	cpu_set_t one;

	CPU_ZERO(&one);
	CPU_SET(n % cpus, &one);
	sched_setaffinity(0, sizeof(one), &one);
	return n + 1;
}

static void *mover_main(void *arg)
{
	uint64_t i, n = (uintptr_t)arg;

	for (i = 0; workload_goes_on(i); i++)
		n = move_to_next(n);
	return (void *)(uintptr_t)i;
}

int main(int argc, char **argv)
{
	static const struct workload_option options[] = {
		{"threads", &threads, false, "that move (up to 64)"},
		{0},
	};
	static const struct workload me = {
		.name = "move_test",
		.about = "threads that move to the next CPU in each call",
		.trace = "--time move_to_next",
		.count = 2000,
		.options = options,
	};
	pthread_t ids[MAX_THREADS];
	uint64_t i, n, calls = 0;
	void *made;

	workload_begin(&me, argc, argv);
	cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
	n = threads < MAX_THREADS ? threads : MAX_THREADS;
	for (i = 0; i < n; i++)
		if (pthread_create(&ids[i], NULL, mover_main, (void *)(uintptr_t)i))
			return 1;
	for (i = 0; i < n; i++) {
		pthread_join(ids[i], &made);
		calls += (uintptr_t)made;
	}
	truth_note("\"event\":\"calls\",\"function\":\"move_to_next\",\"calls\":%" PRIu64
		   ",\"returns\":%" PRIu64,
		   calls, calls);
	return workload_end();
}
