/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ways to one function and to system calls that block: plain calls, callbacks of the C library,
 * signal handlers, threads, variable and large frames. Every function on the way notes its own
 * return address, so that the program knows its stacks.
 */
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "truth.h"

#define MAX_DEPTH 512

extern const char __executable_start[], etext[];

struct note {
	const char *function;
	uintptr_t ret;
};

static __thread struct note notes[MAX_DEPTH];
static __thread unsigned depth;
static volatile uint64_t sink;
static uint64_t recursion = 120;

static void push(const char *function, void *ret)
{
	notes[depth++] = (struct note){function, (uintptr_t)ret};
	/* raise is declared never to call back. */
	asm volatile("" ::: "memory");
}

#define ENTER() push(__func__, __builtin_return_address(0))
/* Keeps the call before it from being the last thing that the function does. */
#define LEAVE() (sink++, depth--)

/*
 * What the stack is right now: functions of this program, and the return addresses that lie in it,
 * both innermost first. The function that asks for it stands first and has no address yet.
 */
static void write_truth(const char *path, const char *kind, uint64_t begin, uint64_t end)
{
	static __thread char functions[MAX_DEPTH * 24], returns[MAX_DEPTH * 24];
	size_t nf = 0, nr = 0;

	for (unsigned i = depth; i-- > 0;) {
		uintptr_t ret = notes[i].ret;

		nf += (size_t)sprintf(functions + nf, "%s%s", nf ? " " : "", notes[i].function);
		if (ret >= (uintptr_t)__executable_start && ret < (uintptr_t)etext)
			nr += (size_t)sprintf(returns + nr, "%s0x%016" PRIxPTR, nr ? " " : "", ret);
	}
	functions[nf] = returns[nr] = 0;
	truth_note("\"event\":\"stack\",\"path\":\"%s\",\"kind\":\"%s\",\"tid\":%u,"
		   "\"begin_ns\":%" PRIu64 ",\"end_ns\":%" PRIu64 ",\"functions\":\"%s\","
		   "\"returns\":\"%s\"",
		   path, kind, truth_tid(), begin, end, functions, returns);
}

/* ---- ways to a function -------------------------------------------------------------------------
 */

TRACED uint64_t stack_leaf(uint64_t i)
{
	return sink += i;
}

/* In a function of its own, so that its return address is known as well. */
static __attribute__((noinline)) void leaf(const char *path)
{
	uint64_t begin = truth_now();

	ENTER();
	stack_leaf(1);
	write_truth(path, "entry", begin, truth_now());
	LEAVE();
}

static __attribute__((noinline)) void step_b(const char *path)
{
	ENTER();
	leaf(path);
	LEAVE();
}

static __attribute__((noinline)) void step_a(const char *path)
{
	ENTER();
	step_b(path);
	LEAVE();
}

static __attribute__((noinline)) void path_direct(void)
{
	ENTER();
	step_a("direct");
	LEAVE();
}

static int compare(const void *a, const void *b)
{
	static bool done;

	ENTER();
	if (!done) {
		done = true;
		leaf("qsort");
	}
	LEAVE();
	return *(const int *)a - *(const int *)b;
}

static __attribute__((noinline)) void path_qsort(void)
{
	int values[] = {5, 3, 9, 1, 7, 2, 8, 4};

	ENTER();
	qsort(values, sizeof(values) / sizeof(*values), sizeof(*values), compare);
	LEAVE();
}

static const char *signal_path;

static void on_signal(int sig)
{
	(void)sig;
	ENTER();
	step_b(signal_path);
	LEAVE();
}

static __attribute__((noinline)) void send_signal(const char *path, bool own_stack)
{
	static char stack[65536];
	stack_t ss = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction sa = {.sa_handler = on_signal, .sa_flags = own_stack ? SA_ONSTACK : 0};

	ENTER();
	signal_path = path;
	sigaltstack(&ss, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	raise(SIGUSR1);
	LEAVE();
}

static __attribute__((noinline)) void path_variable(unsigned n)
{
	char text[n + 1];

	ENTER();
	memset(text, 'x', n);
	text[n] = 0;
	step_a("variable");
	sink += strlen(text);
	LEAVE();
}

static __attribute__((noinline)) void path_deep(uint64_t left)
{
	volatile char room[64];

	ENTER();
	room[left % sizeof(room)] = 1;
	if (left)
		path_deep(left - 1);
	else
		leaf("deep");
	sink += (uint64_t)room[left % sizeof(room)];
	LEAVE();
}

/* ---- system calls -------------------------------------------------------------------------------
 */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int pipes[2];
static bool signalled;
static atomic_uint stage; /* the thread is about to block for the n-th time */
static atomic_uint thread_tid;

static __attribute__((noinline)) void block_sleep(void)
{
	uint64_t begin = truth_now();

	ENTER();
	usleep(20000);
	write_truth("sleep", "block", begin, truth_now());
	LEAVE();
}

static __attribute__((noinline)) void block_read(void)
{
	uint64_t begin = truth_now();
	char c;

	ENTER();
	stage = 3;
	sink += (uint64_t)read(pipes[0], &c, 1);
	write_truth("read", "block", begin, truth_now());
	LEAVE();
}

static __attribute__((noinline)) void block_stdio(FILE *f)
{
	uint64_t begin = truth_now();

	ENTER();
	stage = 4;
	sink += (uint64_t)fgetc(f);
	write_truth("stdio", "block", begin, truth_now());
	LEAVE();
}

static __attribute__((noinline)) void block_mutex(void)
{
	uint64_t begin = truth_now();

	ENTER();
	stage = 1;
	pthread_mutex_lock(&mutex);
	write_truth("mutex", "block", begin, truth_now());
	pthread_mutex_unlock(&mutex);
	LEAVE();
}

static __attribute__((noinline)) void block_cond(void)
{
	uint64_t begin;

	ENTER();
	pthread_mutex_lock(&mutex);
	begin = truth_now();
	stage = 2;
	while (!signalled)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	write_truth("cond", "block", begin, truth_now());
	LEAVE();
}

static void *thread_main(void *arg)
{
	FILE *f = arg;

	ENTER();
	thread_tid = truth_tid();
	step_a("thread");
	block_sleep();
	block_mutex();
	block_cond();
	block_read();
	block_stdio(f);
	LEAVE();
	return NULL;
}

/* Until the thread sleeps in that stage. */
static void wait_blocked(unsigned n)
{
	char path[64], state = 0;
	FILE *f;

	while (stage != n || state != 'S') {
		usleep(1000);
		snprintf(path, sizeof(path), "/proc/self/task/%u/stat", thread_tid);
		f = stage == n ? fopen(path, "r") : NULL;
		if (!f)
			continue;
		if (fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
			state = 0;
		fclose(f);
	}
}

static __attribute__((noinline)) void path_thread(void)
{
	pthread_t thread;
	FILE *f;

	ENTER();
	sink += (uint64_t)pipe(pipes);
	f = fdopen(pipes[0], "r");
	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, thread_main, f);
	wait_blocked(1);
	pthread_mutex_unlock(&mutex);
	wait_blocked(2);
	pthread_mutex_lock(&mutex);
	signalled = true;
	pthread_cond_signal(&cond);
	pthread_mutex_unlock(&mutex);
	wait_blocked(3);
	sink += (uint64_t)write(pipes[1], "a", 1);
	wait_blocked(4);
	sink += (uint64_t)write(pipes[1], "b", 1);
	pthread_join(thread, NULL);
	fclose(f);
	LEAVE();
}

int main(int argc, char **argv)
{
	static const struct workload_option options[] = {
		{"recursion", &recursion, false, "depth of the deep path"},
		{0},
	};
	static const struct workload me = {
		.name = "stack_test",
		.about = "known ways to one function and to system calls",
		.trace = "--attribution --stack dwarf stack_leaf",
		.count = 1,
		.options = options,
	};

	ENTER();
	workload_begin(&me, argc, argv);
	path_direct();
	path_qsort();
	send_signal("signal", false);
	send_signal("own stack", true);
	path_variable(1000 + (unsigned)recursion % 7);
	path_deep(recursion);
	path_thread();
	return workload_end();
}
