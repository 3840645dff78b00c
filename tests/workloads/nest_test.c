/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nested and recursive calls in known numbers: func1 calls func2 calls func3, recurse calls itself,
 * and, when asked for, functions that never return because of longjmp or the end of their thread.
 */
#include <inttypes.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include "truth.h"

static jmp_buf back;
static volatile uint64_t sink;

TRACED uint64_t func3(uint64_t i)
{
	sink += i;
	return i * 3;
}

TRACED uint64_t func2(uint64_t i)
{
	return func3(i) + 2;
}

TRACED uint64_t func1(uint64_t i)
{
	return func2(i) + 1;
}

TRACED uint64_t recurse(uint64_t depth)
{
	uint64_t below = depth > 1 ? recurse(depth - 1) : 0;

	sink += below;
	return below + 1;
}

TRACED uint64_t jump_out(uint64_t i)
{
	sink += i;
	longjmp(back, 1);
}

TRACED uint64_t exit_thread(uint64_t i)
{
	sink += i;
	pthread_exit(NULL);
}

static void *exiting_thread_main(void *arg)
{
	(void)arg;
	sink += exit_thread(7);
	return NULL;
}

/* In a frame of its own: what main calls next is above the frames that were jumped out of. */
static __attribute__((noinline)) void jump_often(uint64_t jumps)
{
	volatile uint64_t i;

	for (i = 0; i < jumps; i++)
		if (!setjmp(back))
			sink += jump_out(i);
}

static void count_note(const char *function, uint64_t calls, uint64_t returns)
{
	truth_note("\"event\":\"calls\",\"function\":\"%s\",\"calls\":%" PRIu64
		   ",\"returns\":%" PRIu64,
		   function, calls, returns);
}

int main(int argc, char **argv)
{
	static uint64_t depth = 40, rounds = 100, jumps, exits;
	static const struct workload_option options[] = {
		{"depth", &depth, false, "recurse that deep"},
		{"recursions", &rounds, false, "and that often"},
		{"longjmps", &jumps, false, "leave jump_out by longjmp that often"},
		{"thread-exits", &exits, false, "end that many threads inside exit_thread"},
		{0},
	};
	static const struct workload me = {
		.name = "nest_test",
		.about = "nested and recursive calls in known numbers",
		.trace = "--time func1 func2 func3 recurse",
		.count = 100000,
		.options = options,
	};
	uint64_t n, i;
	pthread_t thread;

	workload_begin(&me, argc, argv);
	for (n = 0; workload_goes_on(n); n++)
		sink += func1(n);
	jump_often(jumps);
	for (i = 0; i < rounds; i++)
		sink += recurse(depth);
	for (i = 0; i < exits; i++) {
		pthread_create(&thread, NULL, exiting_thread_main, NULL);
		pthread_join(thread, NULL);
	}
	count_note("func1", n, n);
	count_note("func2", n, n);
	count_note("func3", n, n);
	count_note("recurse", rounds * depth, rounds * depth);
	count_note("jump_out", jumps, 0);
	count_note("exit_thread", exits, 0);
	return workload_end();
}
