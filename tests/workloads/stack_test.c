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
#include "known.h"
#include "truth.h"

/* <search.h> has another leaf. */
void *lfind(const void *key, const void *base, size_t *n, size_t size,
	    int (*compare)(const void *, const void *));

static volatile uint64_t sink;
static uint64_t recursion = 120;

/* ---- ways to a function -------------------------------------------------------------------------
 */

TRACED uint64_t stack_leaf(uint64_t i)
{
	return sink += i;
}

/* In a function of its own, so that its return address is known as well. */
static KNOWN void leaf(const char *path)
{
	uint64_t begin = truth_now();

	ENTER();
	stack_leaf(1);
	known_write(path, "entry", begin, truth_now());
	LEAVE();
}

static KNOWN void step_b(const char *path)
{
	ENTER();
	leaf(path);
	LEAVE();
}

static KNOWN void step_a(const char *path)
{
	ENTER();
	step_b(path);
	LEAVE();
}

static KNOWN void path_direct(void)
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

static KNOWN void path_qsort(void)
{
	int values[] = {5, 3, 9, 1, 7, 2, 8, 4};

	ENTER();
	qsort(values, sizeof(values) / sizeof(*values), sizeof(*values), compare);
	LEAVE();
}

static const char *find_path;

static int equal(const void *a, const void *b)
{
	ENTER();
	leaf(find_path);
	LEAVE();
	return *(const int *)a != *(const int *)b;
}

/* Two callers that leave the same stack below, but for where they return to. */
static KNOWN void find(const int *key)
{
	size_t n = 1;

	ENTER();
	sink += !!lfind(key, key, &n, sizeof(*key), equal);
	LEAVE();
}

static KNOWN void path_find(void)
{
	static const int key = 1;

	ENTER();
	find_path = "find";
	find(&key);
	LEAVE();
}

static KNOWN void path_find_too(void)
{
	static const int key = 2;

	ENTER();
	find_path = "find too";
	find(&key);
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

static KNOWN void send_signal(const char *path, bool own_stack)
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

static KNOWN void path_variable(unsigned n)
{
	char text[n + 1];

	ENTER();
	memset(text, 'x', n);
	text[n] = 0;
	step_a("variable");
	sink += strlen(text);
	LEAVE();
}

static KNOWN void path_deep(uint64_t left)
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

static KNOWN void block_sleep(void)
{
	uint64_t begin = truth_now();

	ENTER();
	usleep(20000);
	known_write("sleep", "block", begin, truth_now());
	LEAVE();
}

static KNOWN void block_read(void)
{
	uint64_t begin = truth_now();
	char c;

	ENTER();
	stage = 3;
	sink += (uint64_t)read(pipes[0], &c, 1);
	known_write("read", "block", begin, truth_now());
	LEAVE();
}

static KNOWN void block_stdio(FILE *f)
{
	uint64_t begin = truth_now();

	ENTER();
	stage = 4;
	sink += (uint64_t)fgetc(f);
	known_write("stdio", "block", begin, truth_now());
	LEAVE();
}

static KNOWN void block_mutex(void)
{
	uint64_t begin = truth_now();

	ENTER();
	stage = 1;
	pthread_mutex_lock(&mutex);
	known_write("mutex", "block", begin, truth_now());
	pthread_mutex_unlock(&mutex);
	LEAVE();
}

static KNOWN void block_cond(void)
{
	uint64_t begin;

	ENTER();
	pthread_mutex_lock(&mutex);
	begin = truth_now();
	stage = 2;
	while (!signalled)
		pthread_cond_wait(&cond, &mutex);
	pthread_mutex_unlock(&mutex);
	known_write("cond", "block", begin, truth_now());
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

static KNOWN void wake_mutex(void)
{
	uint64_t begin = truth_now();

	ENTER();
	pthread_mutex_unlock(&mutex);
	known_write("wake mutex", "wake", begin, truth_now());
	LEAVE();
}

static KNOWN void wake_cond(void)
{
	uint64_t begin;

	ENTER();
	pthread_mutex_lock(&mutex);
	signalled = true;
	begin = truth_now();
	pthread_cond_signal(&cond);
	known_write("wake cond", "wake", begin, truth_now());
	pthread_mutex_unlock(&mutex);
	LEAVE();
}

static KNOWN void wake_read(const char *path, const char *byte)
{
	uint64_t begin = truth_now();

	ENTER();
	sink += (uint64_t)write(pipes[1], byte, 1);
	known_write(path, "wake", begin, truth_now());
	LEAVE();
}

static KNOWN void path_thread(void)
{
	pthread_t thread;
	FILE *f;

	ENTER();
	sink += (uint64_t)pipe(pipes);
	f = fdopen(pipes[0], "r");
	pthread_mutex_lock(&mutex);
	pthread_create(&thread, NULL, thread_main, f);
	wait_blocked(1);
	wake_mutex();
	wait_blocked(2);
	wake_cond();
	wait_blocked(3);
	wake_read("wake read", "a");
	wait_blocked(4);
	wake_read("wake stdio", "b");
	pthread_join(thread, NULL);
	fclose(f);
	LEAVE();
}

int main(int argc, char **argv)
{
	ENTER();
	known_begin(argc, argv, &recursion);
	path_direct();
	path_qsort();
	path_find();
	path_find_too();
	send_signal("signal", false);
	send_signal("own stack", true);
	path_variable(1000 + (unsigned)recursion % 7);
	path_deep(recursion);
	path_thread();
	return known_end();
}
