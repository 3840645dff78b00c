/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A function called in a tight loop, to find the cost of a probe on it: hits START_FILE SECONDS
 * prints how many calls were made and ns a call. The function saves its frame pointer first, as
 * most functions of a program built with frame pointers do.
 */
#pragma GCC optimize("no-omit-frame-pointer")
#include "start.h"

__attribute__((noinline, used)) uint64_t hit(uint64_t x);
__attribute__((noinline)) static void leaf(void);
__attribute__((noinline)) static uint64_t hit_many(uint64_t x, int n);

static void leaf(void)
{
	__asm__ volatile("");
}

uint64_t hit(uint64_t x)
{
	leaf();
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static uint64_t hit_many(uint64_t x, int n)
{
	while (n--)
		x = hit(x);
	__asm__ volatile("" : "+r"(x));
	return x;
}

int main(int argc, char **argv)
{
	uint64_t begin, end, calls = 0, x = 0;

	if (argc != 3) {
		fprintf(stderr, "usage: hits START_FILE SECONDS\n");
		return 2;
	}
	wait_for_start(argv[1]);
	begin = now_ns();
	end = begin + (uint64_t)(strtod(argv[2], NULL) * 1e9);
	do {
		x = hit_many(x, 1000);
		calls += 1000;
	} while (now_ns() < end);
	end = now_ns();
	printf("calls %" PRIu64 " ns %.3f\n", x, (double)(end - begin) / (double)calls);
	return x != calls;
}
