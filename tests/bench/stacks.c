/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program with many stacks of 20 frames, no frame pointers: on each level one of two functions
 * calls the next one. Usage: stacks START_FILE DISTINCT ROUNDS
 */
#include "start.h"

#define LEVELS 16

__attribute__((noinline, used)) uint64_t stack_end(uint64_t x);
static uint64_t left(uint64_t way, unsigned level);

uint64_t stack_end(uint64_t x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static __attribute__((noinline)) uint64_t right(uint64_t way, unsigned level)
{
	uint64_t x;

	if (!level)
		x = stack_end(way) + 3;
	else if (way & 1)
		x = right(way >> 1, level - 1) + 5;
	else
		x = left(way >> 1, level - 1) + 5;
	__asm__ volatile("" : "+r"(x)); /* no loop, please */
	return x;
}

static __attribute__((noinline)) uint64_t left(uint64_t way, unsigned level)
{
	uint64_t x;

	if (!level)
		x = stack_end(way) + 7;
	else if (way & 1)
		x = right(way >> 1, level - 1) + 11;
	else
		x = left(way >> 1, level - 1) + 11;
	__asm__ volatile("" : "+r"(x)); /* no loop, please */
	return x;
}

int main(int argc, char **argv)
{
	uint64_t distinct, rounds, x = 0;

	if (argc != 4) {
		fprintf(stderr, "usage: stacks START_FILE DISTINCT ROUNDS\n");
		return 2;
	}
	distinct = strtoull(argv[2], NULL, 10);
	rounds = strtoull(argv[3], NULL, 10);
	wait_for_start(argv[1]);
	while (rounds--)
		for (uint64_t i = 0; i < distinct; i++)
			x += left(i, LEVELS);
	printf("result %" PRIu64 "\n", x);
	return 0;
}
