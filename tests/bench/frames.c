/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program with many places to name: 2,048 functions, each with four calls of the traced function
 * and an inlined one between them. Usage: frames START_FILE
 */
#pragma GCC optimize("no-omit-frame-pointer", "no-optimize-sibling-calls")
#include "start.h"

/* Calls from one place come first, so that new stacks do not look like garbage. */
#define WARM_UP 100000

__attribute__((noinline, used)) uint64_t place(uint64_t x);

uint64_t place(uint64_t x)
{
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

static inline __attribute__((always_inline)) uint64_t two_places(uint64_t x)
{
	x = place(x) ^ 1;
	return place(x) ^ 2;
}

/* clang-format off */
#define FUNC(n) \
	static __attribute__((noinline)) uint64_t func_##n(uint64_t x) \
	{ \
		x = place(x) + 3; \
		x = two_places(x) + 5; \
		return place(x) + 7; \
	}
#define NAME(n) func_##n,
#define EACH_8(X, p) X(p##0) X(p##1) X(p##2) X(p##3) X(p##4) X(p##5) X(p##6) X(p##7)
#define EACH_64(X, p) EACH_8(X, p##0) EACH_8(X, p##1) EACH_8(X, p##2) EACH_8(X, p##3) \
	EACH_8(X, p##4) EACH_8(X, p##5) EACH_8(X, p##6) EACH_8(X, p##7)
#define EACH_512(X, p) EACH_64(X, p##0) EACH_64(X, p##1) EACH_64(X, p##2) EACH_64(X, p##3) \
	EACH_64(X, p##4) EACH_64(X, p##5) EACH_64(X, p##6) EACH_64(X, p##7)
#define EACH_2048(X) EACH_512(X, 0) EACH_512(X, 1) EACH_512(X, 2) EACH_512(X, 3)
/* clang-format on */

EACH_2048(FUNC)

static uint64_t (*const functions[])(uint64_t) = {EACH_2048(NAME)};

int main(int argc, char **argv)
{
	uint64_t x = 0;
	size_t i;

	if (argc != 2) {
		fprintf(stderr, "usage: frames START_FILE\n");
		return 2;
	}
	wait_for_start(argv[1]);
	for (i = 0; i < WARM_UP; i++)
		x = place(x);
	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		x = functions[i](x);
	printf("result %" PRIu64 "\n", x);
	return 0;
}
