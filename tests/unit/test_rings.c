/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/rings.o */
/*
 * In what order records come out of several rings. The rings are files in memory, laid out as the
 * kernel lays them out; the test does what BPF programs do.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <errno.h>
#include <linux/bpf.h>
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "../../record/rings.h"
#include "clock.h"
#include "random.h"

#define RINGS   3
#define BYTES   4096ull
#define THREADS 8
#define STEPS   50000 /* at most, and for a second at most */

struct rec {
	struct cw_rec h;
	uint64_t thread, number;
};

#define ROOM ((uint64_t)(sizeof(struct rec) + BPF_RINGBUF_HDR_SZ))

static int fds[RINGS];
static char *pages[RINGS]; /* the consumer's, the producer's, and the records twice */
static struct cw_rings *rs;
static struct rec got[100000];
static size_t ngot;
static int answer; /* to each record */

static uint64_t *producer(int ring)
{
	return (uint64_t *)(pages[ring] + sysconf(_SC_PAGESIZE));
}

static uint64_t consumed(int ring)
{
	return *(uint64_t *)pages[ring];
}

/* A file has its bytes once: what the kernel maps twice is written twice. */
static void put(int ring, uint64_t pos, const void *what, size_t n)
{
	char *data = (char *)producer(ring) + sysconf(_SC_PAGESIZE);
	size_t i, at;

	for (i = 0; i < n; i++) {
		at = (pos + i) & (BYTES - 1);
		data[at] = data[at + BYTES] = ((const char *)what)[i];
	}
}

/* A record's length, and with it the word that it is finished: in one piece, after all else. */
static void put_length(int ring, uint64_t pos, uint32_t len)
{
	char *data = (char *)producer(ring) + sysconf(_SC_PAGESIZE) + (pos & (BYTES - 1));

	__atomic_store_n((uint32_t *)(data + BYTES), len, __ATOMIC_RELEASE);
	__atomic_store_n((uint32_t *)data, len, __ATOMIC_RELEASE);
}

static uint64_t now(void)
{
	return cw_clock_ns(CLOCK_MONOTONIC);
}

/* Room for a record, as of a program that is not done with it; returns its place. */
static uint64_t reserve(int ring)
{
	uint64_t pos = *producer(ring);

	put_length(ring, pos, sizeof(struct rec) | BPF_RINGBUF_BUSY_BIT);
	__atomic_store_n(producer(ring), pos + ROOM, __ATOMIC_RELEASE);
	return pos;
}

static void submit(int ring, uint64_t pos, uint64_t ts, uint64_t thread, uint64_t number)
{
	struct rec r = {.h = {.ts = ts}, .thread = thread, .number = number};

	put(ring, pos + BPF_RINGBUF_HDR_SZ, &r, sizeof(r));
	put_length(ring, pos, sizeof(r));
}

static void emit(int ring, uint64_t ts, uint64_t number)
{
	submit(ring, reserve(ring), ts, 0, number);
}

static int on_record(void *arg, const struct cw_rec *rec)
{
	assert_ptr_equal(arg, &ngot);
	assert_true(ngot < sizeof(got) / sizeof(got[0]));
	memcpy(&got[ngot++], rec, sizeof(got[0]));
	return answer;
}

static int take(void)
{
	return cw_rings_take(rs, on_record, &ngot);
}

/* The numbers of what came since the last time. */
static void expect_numbers(const char *want)
{
	char text[256] = "";
	size_t i;

	for (i = 0; i < ngot; i++)
		snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%d", i ? " " : "",
			 (int)got[i].number);
	assert_string_equal(text, want);
	ngot = 0;
}

static void begin(size_t n)
{
	long page = sysconf(_SC_PAGESIZE);
	size_t i;

	for (i = 0; i < n; i++) {
		fds[i] = memfd_create("ring", 0);
		assert_true(fds[i] >= 0);
		assert_int_equal(ftruncate(fds[i], (off_t)(2 * page + 2 * BYTES)), 0);
		pages[i] = mmap(NULL, 2 * page + 2 * BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
				fds[i], 0);
		assert_true(pages[i] != MAP_FAILED);
	}
	rs = cw_rings_new(fds, n, BYTES);
	assert_non_null(rs);
	ngot = 0;
	answer = 0;
}

static void end(size_t n)
{
	size_t i;

	cw_rings_free(rs);
	for (i = 0; i < n; i++) {
		munmap(pages[i], 2 * sysconf(_SC_PAGESIZE) + 2 * BYTES);
		close(fds[i]);
	}
}

static void test_of_cpu(void **state)
{
	size_t cpu;

	(void)state;
	for (cpu = 0; cpu < 64; cpu++) {
		assert_int_equal(cw_rings_of_cpu(cpu, 1, 2), 0);
		assert_int_equal(cw_rings_of_cpu(cpu, 8, 64), cpu / 8);
		assert_int_equal(cw_rings_of_cpu(64 + cpu, 8, 64), cpu / 8);
		assert_int_equal(cw_rings_of_cpu(cpu, 2, 2), cpu % 2);
		assert_int_equal(cw_rings_of_cpu(cpu, 64, 2), cpu);
	}
}

/* One ring: its own order, whatever the times are. */
static void test_one_ring(void **state)
{
	(void)state;
	begin(1);
	emit(0, 5, 1);
	emit(0, 3, 2);
	emit(0, UINT64_MAX, 3);
	assert_int_equal(cw_rings_waiting(rs), 3 * ROOM);
	assert_int_equal(take(), 0);
	expect_numbers("1 2 3");
	assert_int_equal(cw_rings_waiting(rs), 0);
	assert_int_equal(consumed(0), 3 * ROOM);
	end(1);
}

/* More than it has room for at a time: records begin at its end and go on at its start. */
static void test_around(void **state)
{
	uint64_t i;

	(void)state;
	begin(1);
	for (i = 0; i < 1000; i++) {
		emit(0, i, i);
		if (i % 7 == 0)
			assert_int_equal(take(), 0);
	}
	assert_int_equal(take(), 0);
	assert_int_equal(ngot, 1000);
	for (i = 0; i < 1000; i++)
		assert_int_equal(got[i].number, i);
	end(1);
}

static void test_oldest_first(void **state)
{
	(void)state;
	begin(3);
	emit(0, 10, 1);
	emit(0, 40, 4);
	emit(1, 20, 2);
	emit(1, 30, 3);
	emit(2, 5, 0);
	emit(2, 50, 5);
	assert_int_equal(cw_rings_waiting(rs), 6 * ROOM);
	assert_int_equal(take(), 0);
	expect_numbers("0 1 2 3 4 5");
	end(3);
}

/* A program was interrupted between its time and its room: what is behind it waits for it. */
static void test_late_room(void **state)
{
	(void)state;
	begin(2);
	emit(0, 30, 1);
	emit(0, 10, 2);
	emit(1, 20, 0);
	emit(1, 40, 3);
	assert_int_equal(take(), 0);
	expect_numbers("0 1 2 3");
	end(2);
}

/* What is younger than the moment of looking may come before something in another ring. */
static void test_young_ones_wait(void **state)
{
	const struct timespec pause = {.tv_nsec = 10000000};
	uint64_t ahead = 50000000, soon;

	(void)state;
	for (;; ahead *= 2) { /* once more where it has passed before it is looked */
		begin(2);
		soon = now() + ahead;
		emit(0, 10, 1);
		emit(0, soon, 3);
		emit(1, 20, 2);
		assert_int_equal(take(), 0);
		if (now() < soon)
			break;
		end(2);
	}
	expect_numbers("1 2");
	assert_int_equal(cw_rings_waiting(rs), ROOM);
	while (now() <= soon)
		nanosleep(&pause, NULL);
	assert_int_equal(take(), 0);
	expect_numbers("3");
	end(2);
}

/* A record that is not finished: nothing of the other ring goes past it either. */
static void test_unfinished(void **state)
{
	uint64_t pos;

	(void)state;
	begin(2);
	emit(0, 10, 1);
	pos = reserve(0);
	emit(0, 40, 4);
	emit(1, 5, 0);
	emit(1, 30, 3);
	assert_int_equal(take(), 1);
	/* How far it goes before it meets it is not promised; never past it. */
	assert_true(ngot <= 2);
	submit(0, pos, 20, 0, 2);
	assert_int_equal(take(), 0);
	expect_numbers("0 1 2 3 4");
	end(2);
}

static void test_discarded(void **state)
{
	uint32_t len = sizeof(struct rec) | BPF_RINGBUF_DISCARD_BIT;

	(void)state;
	begin(2);
	put_length(0, reserve(0), len);
	emit(0, 10, 1);
	emit(1, 20, 2);
	put_length(1, reserve(1), len);
	assert_int_equal(take(), 0);
	expect_numbers("1 2");
	assert_int_equal(consumed(0), 2 * ROOM);
	assert_int_equal(consumed(1), 2 * ROOM);
	end(2);
}

/* Who had enough gets the next one the next time. */
static void test_enough(void **state)
{
	(void)state;
	begin(2);
	emit(0, 10, 1);
	emit(1, 20, 2);
	emit(0, 30, 3);
	answer = -EAGAIN;
	assert_int_equal(take(), -EAGAIN);
	expect_numbers("1");
	assert_int_equal(take(), -EAGAIN);
	expect_numbers("2");
	answer = 0;
	assert_int_equal(take(), 0);
	expect_numbers("3");
	end(2);
}

static void test_no_ring(void **state)
{
	int none = -1;

	(void)state;
	assert_null(cw_rings_new(&none, 1, BYTES));
	assert_int_equal(errno, EBADF);
}

/*
 * Threads that move: each step of one is recorded on whatever CPU it is on, and begins when the
 * step before is finished. Programs take their time, room and leave at random moments; so does the
 * reader.
 */
static void test_threads_that_move(void **state)
{
	struct {
		enum { IDLE, TIMED, ROOMED } at;
		int ring;
		uint64_t ts, pos, steps;
	} t[THREADS] = {0}, *x;
	uint64_t last[THREADS] = {0}, made = 0;
	uint64_t seed = 7;
	size_t i, k;

	(void)state;
	begin(RINGS);
	for (i = 0; i < 200000; i++) {
		k = random_next(&seed) % THREADS;
		x = &t[k];
		if (x->at == IDLE) {
			x->ring = (int)(random_next(&seed) % RINGS);
			x->ts = now();
			x->at = TIMED;
		} else if (x->at == TIMED &&
			   *producer(x->ring) - consumed(x->ring) + ROOM <= BYTES) {
			x->pos = reserve(x->ring);
			x->at = ROOMED;
		} else if (x->at == ROOMED) {
			submit(x->ring, x->pos, x->ts, k, ++x->steps);
			x->at = IDLE;
			made++;
		}
		if (random_next(&seed) % 40 == 0)
			assert_true(take() >= 0);
	}
	for (k = 0; k < THREADS; k++) {
		if (t[k].at == ROOMED) {
			submit(t[k].ring, t[k].pos, t[k].ts, k, ++t[k].steps);
			made++;
		}
	}
	assert_int_equal(take(), 0);
	assert_int_equal(ngot, made);
	assert_true(made > 50000);
	for (i = 0; i < ngot; i++)
		assert_int_equal(got[i].number, ++last[got[i].thread]);
	end(RINGS);
}

static uint64_t turn; /* steps that are done */
static bool enough;

static int whose_turn(uint64_t step)
{
	return (int)(random_next(&step) % RINGS);
}

/* A CPU: it does the steps that are its own. */
static void *run_cpu(void *arg)
{
	int ring = (int)(intptr_t)arg;
	uint64_t step, ts;

	while (!__atomic_load_n(&enough, __ATOMIC_ACQUIRE) &&
	       (step = __atomic_load_n(&turn, __ATOMIC_ACQUIRE)) < STEPS) {
		if (whose_turn(step) != ring) {
			sched_yield();
			continue;
		}
		ts = now();
		while (*producer(ring) -
			       __atomic_load_n((uint64_t *)pages[ring], __ATOMIC_ACQUIRE) + ROOM >
		       BYTES)
			sched_yield();
		submit(ring, reserve(ring), ts, 0, step);
		__atomic_store_n(&turn, step + 1, __ATOMIC_RELEASE);
	}
	return NULL;
}

/* The same with the reader beside them: what comes between its looks at two rings. */
static void test_while_they_run(void **state)
{
	pthread_t cpus[RINGS];
	uint64_t until = now() + 1000000000;
	size_t i;
	int rc;

	(void)state;
	begin(RINGS);
	turn = 0;
	enough = false;
	for (i = 0; i < RINGS; i++)
		assert_int_equal(pthread_create(&cpus[i], NULL, run_cpu, (void *)(intptr_t)i), 0);
	while (ngot < STEPS && now() < until) {
		rc = take();
		assert_true(rc == 0 || rc == 1);
	}
	__atomic_store_n(&enough, true, __ATOMIC_RELEASE);
	assert_true(take() >= 0); /* room for whoever waits for it */
	for (i = 0; i < RINGS; i++)
		pthread_join(cpus[i], NULL);
	assert_int_equal(take(), 0);
	assert_int_equal(ngot, turn);
	for (i = 0; i < ngot; i++)
		assert_int_equal(got[i].number, i);
	end(RINGS);
}

static void expect_share(uint64_t bytes, size_t wanted, size_t cpus, size_t rings, uint64_t each)
{
	assert_int_equal(cw_rings_share(&bytes, wanted, cpus), rings);
	assert_int_equal(bytes, each);
}

static void test_share(void **state)
{
	uint64_t page = sysconf(_SC_PAGESIZE);

	(void)state;
	expect_share(0, 0, 1, 1, 16 << 20);
	expect_share(0, 0, 8, 1, 16 << 20);
	expect_share(0, 0, 9, 2, 8 << 20);
	expect_share(0, 0, 24, 3, 4 << 20);
	expect_share(0, 0, 64, 8, 4 << 20);
	expect_share(0, 0, 4096, 64, 4 << 20);
	expect_share(0, 2, 2, 2, 8 << 20);
	expect_share(64 << 20, 3, 2, 3, 16 << 20);
	expect_share(2 * page, 2, 64, 2, page);
	expect_share(page, 5, 64, 1, page);
	expect_share(1 << 30, 1, 64, 1, 1 << 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_share),           cmocka_unit_test(test_of_cpu),
		cmocka_unit_test(test_one_ring),        cmocka_unit_test(test_around),
		cmocka_unit_test(test_oldest_first),    cmocka_unit_test(test_late_room),
		cmocka_unit_test(test_young_ones_wait), cmocka_unit_test(test_unfinished),
		cmocka_unit_test(test_discarded),       cmocka_unit_test(test_enough),
		cmocka_unit_test(test_no_ring),         cmocka_unit_test(test_threads_that_move),
		cmocka_unit_test(test_while_they_run),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
