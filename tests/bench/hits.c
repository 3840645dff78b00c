/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Functions called in a tight loop, to find the cost of a probe on one: hits START_FILE SECONDS
 * [FUNCTION [CALLS_A_SECOND [THREADS]]] prints how many calls were made, ns of CPU a call (what
 * other programs take does not count) and calls a second. Each thread calls as often as that, on a
 * CPU of its own where there are several. The functions save their frame pointer first, as most do
 * in a program built with frame pointers.
 */
#pragma GCC optimize("no-omit-frame-pointer")
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <string.h>
#include "start.h"

#define BATCH       100
#define MAX_THREADS 1024

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

static struct {
	uint64_t (*call)(uint64_t);
	int depth;
	double seconds, rate;
} how;

static struct caller {
	pthread_t id;
	int cpu; /* -1: any */
	uint64_t calls, done, cpu_ns, wall_ns;
} callers[MAX_THREADS];

static void *caller_main(void *arg)
{
	struct caller *c = arg;
	uint64_t begin, end, cpu;
	cpu_set_t one;

	if (c->cpu >= 0) {
		CPU_ZERO(&one);
		CPU_SET(c->cpu, &one);
		sched_setaffinity(0, sizeof(one), &one);
	}
	cpu = cpu_ns();
	begin = now_ns();
	end = begin + (uint64_t)(how.seconds * 1e9);
	do {
		c->done = from_depth(how.depth, how.call, c->done);
		c->calls += BATCH;
		while (how.rate > 0 &&
		       (double)(now_ns() - begin) * how.rate < (double)c->calls * 1e9)
			;
	} while (now_ns() < end);
	c->wall_ns = now_ns() - begin;
	c->cpu_ns = cpu_ns() - cpu;
	return NULL;
}

static bool find_function(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
		if (!strcmp(functions[i].name, name)) {
			how.call = functions[i].call;
			how.depth = functions[i].depth;
		}
	}
	return how.call;
}

int main(int argc, char **argv)
{
	uint64_t calls = 0, done = 0, cpu = 0;
	int threads = argc > 5 ? atoi(argv[5]) : 1, i;
	double rate = 0;

	if (argc < 3 || !find_function(argc > 3 ? argv[3] : "hit") || threads < 1 ||
	    threads > MAX_THREADS) {
		fprintf(stderr, "usage: hits START_FILE SECONDS [FUNCTION [CALLS_A_SECOND "
				"[THREADS]]]\n");
		return 2;
	}
	how.seconds = strtod(argv[2], NULL);
	how.rate = argc > 4 ? strtod(argv[4], NULL) : 0;
	wait_for_start(argv[1]);
	for (i = 0; i < threads; i++) {
		callers[i].cpu = threads > 1 ? i % (int)sysconf(_SC_NPROCESSORS_ONLN) : -1;
		if (i && pthread_create(&callers[i].id, NULL, caller_main, &callers[i]))
			return 1;
	}
	caller_main(&callers[0]);
	for (i = 0; i < threads; i++) {
		if (i)
			pthread_join(callers[i].id, NULL);
		calls += callers[i].calls;
		done += callers[i].done;
		cpu += callers[i].cpu_ns;
		rate += (double)callers[i].calls * 1e9 / (double)callers[i].wall_ns;
	}
	printf("calls %" PRIu64 " ns %.3f rate %.0f\n", done, (double)cpu / (double)calls, rate);
	return done != calls;
}
