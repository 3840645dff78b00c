/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * A program that makes it hard to record: a function that is called as often as possible beside a
 * calm one, many threads, threads and processes that come and go, programs executed in a row, and a
 * crash in the middle. What it has done is counted in a file that outlives it (STORM_COUNTS), as
 * 64-bit numbers: calls of calm, calls of hot, threads ended, processes ended well, the longest
 * time in ns in which the thread that calls hot got nowhere.
 */
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "truth.h"

#define STACK_BYTES  (64u << 10)
#define MAX_TOGETHER 4096

static struct counts {
	atomic_uint_fast64_t calm, hot, threads, processes, stall_ns;
} nowhere, *counts = &nowhere;

static uint64_t rate = 100, ms = 1000, hot_threads, threads, churn, forks, execs, crash, code;

TRACED uint64_t hot(uint64_t n)
{
	__asm__ volatile("" : "+r"(n));
	return n + 1;
}

TRACED uint64_t calm(uint64_t n)
{
	if (crash && n >= crash)
		*(volatile int *)8 = 0;
	return n * 2;
}

/* One call, and its number in the count: first, so that a crash inside is in it. */
static void call_calm(void)
{
	calm(atomic_fetch_add(&counts->calm, 1) + 1);
}

static uint64_t end_ns(void)
{
	return truth_now() + ms * 1000000u;
}

static void *hot_main(void *arg)
{
	uint64_t *end = arg, last = truth_now(), now, n;

	while ((now = truth_now()) < *end && !atomic_load(&workload_stop)) {
		if (now - last > atomic_load(&counts->stall_ns))
			atomic_store(&counts->stall_ns, now - last);
		last = now;
		for (n = 0; n < 20;)
			n = hot(n);
		atomic_fetch_add(&counts->hot, 20);
	}
	return NULL;
}

static void *one_call(void *arg)
{
	call_calm();
	atomic_fetch_add(&counts->threads, 1);
	return arg;
}

static void *waiting_main(void *arg)
{
	uint64_t *end = arg;

	do { /* once at least, however late it gets a CPU */
		call_calm();
		workload_sleep_us(1000000 / rate);
	} while (truth_now() < *end && !atomic_load(&workload_stop));
	atomic_fetch_add(&counts->threads, 1);
	return NULL;
}

/* n threads of f, the default size of a stack being too much for thousands. */
static uint64_t start_threads(pthread_t *ids, uint64_t n, void *(*f)(void *), void *arg)
{
	pthread_attr_t attr;
	uint64_t i;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	for (i = 0; i < n; i++)
		if (pthread_create(&ids[i], &attr, f, arg))
			break;
	pthread_attr_destroy(&attr);
	return i;
}

static void join_threads(const pthread_t *ids, uint64_t n)
{
	while (n--)
		pthread_join(ids[n], NULL);
}

/* One after another, eight at a time. */
static uint64_t come_and_go(uint64_t n)
{
	pthread_t ids[8];
	uint64_t done = 0, some;

	while (done < n && !atomic_load(&workload_stop)) {
		some = start_threads(ids, n - done < 8 ? n - done : 8, one_call, NULL);
		join_threads(ids, some);
		if (!some)
			break;
		done += some;
	}
	return done;
}

/* Processes that make a call each, ten at a time. */
static void fork_many(uint64_t n)
{
	int status;

	while (n) {
		uint64_t some = n < 10 ? n : 10, i;

		for (i = 0; i < some; i++) {
			if (!fork()) {
				call_calm();
				_exit(7);
			}
		}
		for (i = 0; i < some; i++)
			if (wait(&status) > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 7)
				atomic_fetch_add(&counts->processes, 1);
		n -= some;
	}
}

/* The same program again and again in the same process, with a call each time. */
static void exec_again(uint64_t left, char **argv)
{
	char number[24];
	char *again[] = {argv[0], "--execs", number, "--ms", "0", NULL};

	call_calm();
	atomic_fetch_add(&counts->processes, 1);
	snprintf(number, sizeof(number), "%" PRIu64, left - 1);
	if (left > 1)
		execv("/proc/self/exe", again);
}

static void open_counts(void)
{
	const char *path = getenv("STORM_COUNTS");
	int fd = path ? open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0666) : -1;
	void *p;

	if (fd < 0 || ftruncate(fd, sizeof(*counts)))
		return;
	p = mmap(NULL, sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (p != MAP_FAILED)
		counts = p;
}

static const struct workload_option options[] = {
	{"rate", &rate, false, "calls of calm a second"},
	{"ms", &ms, false, "run that long, ms"},
	{"hot", &hot_threads, false, "threads that call hot as often as they can"},
	{"threads", &threads, false, "threads at a time that call calm"},
	{"churn", &churn, false, "threads that come, call calm once and go"},
	{"forks", &forks, false, "processes that call calm once"},
	{"execs", &execs, false, "programs executed one after the other"},
	{"crash", &crash, false, "crash in this call of calm"},
	{"code", &code, false, "exit status"},
	{0},
};

int main(int argc, char **argv)
{
	static const struct workload me = {
		.name = "storm_test",
		.about = "a program that makes it hard to record",
		.trace = "calm hot",
		.options = options,
	};
	static pthread_t ids[2 * MAX_TOGETHER];
	uint64_t end, some;

	open_counts();
	workload_begin(&me, argc, argv);
	if (execs)
		exec_again(execs, argv);
	end = end_ns();
	if (hot_threads > MAX_TOGETHER || threads > MAX_TOGETHER)
		return 2;
	some = start_threads(ids, hot_threads, hot_main, &end);
	some += start_threads(ids + some, threads, waiting_main, &end);
	if (some < hot_threads + threads)
		fprintf(stderr, "only %" PRIu64 " threads could be started\n", some);
	come_and_go(churn);
	fork_many(forks);
	while (truth_now() < end && !atomic_load(&workload_stop)) {
		call_calm();
		workload_sleep_us(1000000 / rate);
	}
	join_threads(ids, some);
	return workload_end() ? 1 : (int)code;
}
