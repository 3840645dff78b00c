/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions called in a tight loop, to find the cost of a probe on one: hits START_FILE SECONDS
 * [FUNCTION [CALLS_A_SECOND]] prints how many calls were made, ns of CPU a call (what other
 * programs take does not count) and calls a second. The functions save
 * their frame pointer first, as most do in a program built with frame pointers.
 */
#pragma GCC optimize("no-omit-frame-pointer")
#include <string.h>
#include "start.h"

#define BATCH 100

__attribute__((noinline, used)) uint64_t hit(uint64_t x);
__attribute__((noinline, used)) uint64_t six(uint64_t x, uint64_t b, uint64_t c, uint64_t d,
					     uint64_t e, uint64_t f);
__attribute__((noinline)) static void leaf(void);

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

uint64_t six(uint64_t x, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	leaf();
	__asm__ volatile("" : "+r"(x) : "r"(b), "r"(c), "r"(d), "r"(e), "r"(f));
	return x + 1;
}

#ifdef __x86_64__
/* The same function as compilers begin it without and with -fcf-protection. */
uint64_t begins_push(uint64_t x);
uint64_t begins_endbr(uint64_t x);
__asm__(".text\n"
	".globl begins_push, begins_endbr\n"
	".type begins_push, @function\n"
	"begins_push: push %rbp; mov %rsp, %rbp; lea 1(%rdi), %rax; pop %rbp; ret\n"
	".size begins_push, . - begins_push\n"
	".type begins_endbr, @function\n"
	"begins_endbr: endbr64; push %rbp; mov %rsp, %rbp; lea 1(%rdi), %rax; pop %rbp; ret\n"
	".size begins_endbr, . - begins_endbr\n");
#else
#define begins_push  hit
#define begins_endbr hit
#endif

static uint64_t call_six(uint64_t x)
{
	return six(x, 2, 3, 4, 5, 6);
}

static const struct {
	const char *name;
	uint64_t (*call)(uint64_t);
	int depth; /* frames below main's */
} functions[] = {
	{"hit", hit, 0},
	{"deep", hit, 18},
	{"six", call_six, 0},
	{"begins_push", begins_push, 0},
	{"begins_endbr", begins_endbr, 0},
};

static uint64_t cpu_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static uint64_t hit_many(uint64_t (*call)(uint64_t), uint64_t x)
{
	int n = BATCH;

	while (n--)
		x = call(x);
	__asm__ volatile("" : "+r"(x));
	return x;
}

static __attribute__((noinline)) uint64_t from_depth(int depth, uint64_t (*call)(uint64_t),
						     uint64_t x)
{
	x = depth > 0 ? from_depth(depth - 1, call, x) : hit_many(call, x);
	__asm__ volatile("" : "+r"(x));
	return x;
}

int main(int argc, char **argv)
{
	const char *name = argc > 3 ? argv[3] : "hit";
	double rate = argc > 4 ? strtod(argv[4], NULL) : 0;
	uint64_t (*call)(uint64_t) = NULL;
	int depth = 0;
	uint64_t begin, end, cpu, calls = 0, x = 0;
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(functions[i].name, name)) {
			call = functions[i].call;
			depth = functions[i].depth;
		}
	if (argc < 3 || !call) {
		fprintf(stderr, "usage: hits START_FILE SECONDS [FUNCTION [CALLS_A_SECOND]]\n");
		return 2;
	}
	wait_for_start(argv[1]);
	cpu = cpu_ns();
	begin = now_ns();
	end = begin + (uint64_t)(strtod(argv[2], NULL) * 1e9);
	do {
		x = from_depth(depth, call, x);
		calls += BATCH;
		while (rate > 0 && (double)(now_ns() - begin) * rate < (double)calls * 1e9)
			;
	} while (now_ns() < end);
	end = now_ns();
	cpu = cpu_ns() - cpu;
	printf("calls %" PRIu64 " ns %.3f rate %.0f\n", x, (double)cpu / (double)calls,
	       (double)calls * 1e9 / (double)(end - begin));
	return x != calls;
}
