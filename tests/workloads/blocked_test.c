/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One function that waits for a bit of everything: it sleeps, reads a pipe, syncs a file, waits for
 * a futex, polls, faults in pages of a file, and competes for its CPU. Each wait is a function of
 * its own, and its time goes to the truth.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "truth.h"

#define FILE_BYTES (8u << 20)
#define PAGE       4096u

static pthread_mutex_t contended = PTHREAD_MUTEX_INITIALIZER;
static sem_t ask_pipe, ask_poll, ask_lock, held, ask_spin;
static int pipe_fds[2], poll_fds[2], file_fd;
static char file_path[PATH_MAX];
static char *mapped;
static atomic_bool finished, competing;

enum part { SLEEP, PIPE, SYNC, FUTEX, POLL, FAULT, COMPETE, PARTS };
static const char *const functions[PARTS] = {"part_sleep",  "part_pipe", "part_sync",
					     "part_futex",  "part_poll", "part_fault",
					     "part_compete"};

static uint64_t spent[PARTS], cpu_spent[PARTS];

static void die(const char *what)
{
	fprintf(stderr, "blocked_test: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void wait_for(sem_t *sem)
{
	while (sem_wait(sem))
		;
}

/* ---- those that let it go on --------------------------------------------------------------------
 */

static void *pipe_writer(void *arg)
{
	(void)arg;
	for (;;) {
		wait_for(&ask_pipe);
		if (finished)
			return NULL;
		workload_sleep_us(8000);
		if (write(pipe_fds[1], "x", 1) != 1)
			die("cannot write to the pipe");
	}
}

static void *poll_writer(void *arg)
{
	(void)arg;
	for (;;) {
		wait_for(&ask_poll);
		if (finished)
			return NULL;
		workload_sleep_us(6000);
		if (write(poll_fds[1], "x", 1) != 1)
			die("cannot write to the pipe");
	}
}

TRACED void let_go(void)
{
	pthread_mutex_unlock(&contended);
}

static void *lock_holder(void *arg)
{
	(void)arg;
	for (;;) {
		wait_for(&ask_lock);
		if (finished)
			return NULL;
		pthread_mutex_lock(&contended);
		sem_post(&held);
		workload_sleep_us(12000);
		let_go();
	}
}

static void pin(int cpu)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (pthread_setaffinity_np(pthread_self(), sizeof(set), &set))
		die("cannot stay on one CPU");
}

static int first_cpu;

static void *competitor(void *arg)
{
	(void)arg;
	pin(first_cpu);
	pthread_setname_np(pthread_self(), "competitor");
	for (;;) {
		wait_for(&ask_spin);
		if (finished)
			return NULL;
		while (competing)
			;
	}
}

/* ---- what it waits for --------------------------------------------------------------------------
 */

TRACED void part_sleep(void)
{
	workload_sleep_us(10000);
}

TRACED void part_pipe(void)
{
	char c;

	sem_post(&ask_pipe);
	if (read(pipe_fds[0], &c, 1) != 1)
		die("cannot read the pipe");
}

TRACED void part_sync(void)
{
	static char page[PAGE];

	for (int i = 0; i < 4; i++) {
		memset(page, 'a' + i, sizeof(page));
		if (pwrite(file_fd, page, sizeof(page), (off_t)i * PAGE) != PAGE || fsync(file_fd))
			die("cannot write the file");
	}
}

TRACED void part_futex(void)
{
	sem_post(&ask_lock);
	wait_for(&held);
	pthread_mutex_lock(&contended);
	pthread_mutex_unlock(&contended);
}

TRACED void part_poll(void)
{
	struct pollfd p = {.fd = poll_fds[0], .events = POLLIN};
	char c;

	sem_post(&ask_poll);
	while (poll(&p, 1, -1) != 1)
		;
	if (read(poll_fds[0], &c, 1) != 1)
		die("cannot read the pipe");
}

/* Pages that are not in memory: each is read from the disk when it is touched. */
TRACED uint64_t part_fault(void)
{
	uint64_t sum = 0;

	for (size_t at = 0; at < FILE_BYTES; at += FILE_BYTES / 32)
		sum += (unsigned char)mapped[at];
	return sum;
}

TRACED void part_compete(void)
{
	competing = true;
	sem_post(&ask_spin);
	workload_spin_us(5000);
	competing = false;
}

static void run_part(enum part part, void (*f)(void))
{
	uint64_t start = truth_now(), cpu = truth_cpu();

	f();
	cpu_spent[part] += truth_cpu() - cpu;
	spent[part] += truth_now() - start;
}

static void fault_all(void)
{
	part_fault();
}

TRACED void wait_for_everything(void)
{
	run_part(SLEEP, part_sleep);
	run_part(PIPE, part_pipe);
	run_part(SYNC, part_sync);
	run_part(FUTEX, part_futex);
	run_part(POLL, part_poll);
	run_part(FAULT, fault_all);
	run_part(COMPETE, part_compete);
}

/* ---- the file -----------------------------------------------------------------------------------
 */

/* In the working directory: /tmp may be in memory, where nothing is read from a disk. */
static void make_file(void)
{
	static char block[1 << 16];

	if (!getcwd(file_path, sizeof(file_path) - 32))
		die("cannot tell the working directory");
	strcat(file_path, "/blocked_test.XXXXXX");
	file_fd = mkstemp(file_path);
	if (file_fd < 0)
		die("cannot make a file in the working directory");
	memset(block, 'b', sizeof(block));
	for (size_t n = 0; n < FILE_BYTES; n += sizeof(block))
		if (write(file_fd, block, sizeof(block)) != sizeof(block))
			die("cannot write the file");
	fsync(file_fd);
	mapped = mmap(NULL, FILE_BYTES, PROT_READ, MAP_SHARED, file_fd, 0);
	if (mapped == MAP_FAILED)
		die("cannot map the file");
	madvise(mapped, FILE_BYTES, MADV_RANDOM);
}

static void forget_pages(void)
{
	fsync(file_fd);
	madvise(mapped, FILE_BYTES, MADV_DONTNEED);
	posix_fadvise(file_fd, 0, FILE_BYTES, POSIX_FADV_DONTNEED);
}

static void *worker_main(void *arg)
{
	(void)arg;
	pin(first_cpu);
	for (uint64_t i = 0; workload_goes_on(i); i++) {
		forget_pages();
		wait_for_everything();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static const struct workload me = {
		.name = "blocked_test",
		.about = "a function waits for a sleep, a pipe, a disk, a lock, a poll, pages and "
			 "a CPU",
		.trace = "--attribution wait_for_everything",
		.count = 20,
	};
	static void *(*const others[4])(void *) = {pipe_writer, poll_writer, lock_holder,
						   competitor};
	sem_t *const asks[4] = {&ask_pipe, &ask_poll, &ask_lock, &ask_spin};
	pthread_t threads[4], worker;
	cpu_set_t cpus;

	workload_begin(&me, argc, argv);
	if (pipe(pipe_fds) || pipe(poll_fds))
		die("cannot make a pipe");
	make_file();
	sem_init(&held, 0, 0);
	for (int i = 0; i < 4; i++)
		sem_init(asks[i], 0, 0);
	sched_getaffinity(0, sizeof(cpus), &cpus);
	while (!CPU_ISSET(first_cpu, &cpus))
		first_cpu++;
	pthread_create(&worker, NULL, worker_main, NULL);
	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, others[i], NULL);
	pthread_join(worker, NULL);
	finished = true;
	for (int i = 0; i < 4; i++)
		sem_post(asks[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < PARTS; i++)
		truth_note("\"event\":\"part\",\"function\":\"%s\",\"ns\":%" PRIu64
			   ",\"cpu_ns\":%" PRIu64,
			   functions[i], spent[i], cpu_spent[i]);
	truth_note("\"event\":\"file\",\"path\":\"%s\",\"mutex\":\"0x%016" PRIx64 "\"", file_path,
		   (uint64_t)&contended);
	unlink(file_path);
	return workload_end();
}
