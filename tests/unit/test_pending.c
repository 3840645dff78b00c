/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/modules.o record/pending.o record/perfmap.o record/moved.o record/madecode.o */
/* LINK: record/procinfo.o record/relook.o record/kerntext.o record/missing_text.o */
/* LINK: record/modopen.o record/modtab.o record/proctab.o */
/* LINK: record/idmap.o record/snapshot.o record/mmapwatch.o record/kallsyms.o record/embed.o */
/* LINK: record/resolve.o record/debugfile.o record/elffile.o record/nearest.o */
/* LINK: record/cxxname.o record/unplaced.o record/wanted.o */
/* Mappings of processes that are not known yet: which of them are kept, and what of the others. */
#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include "../../record/modules.h"
#include "../../record/pending.h"
#include "recorded_fixture.h"

#define KEPT 4096 /* of all processes together */

static struct cw_pending *pending;

static void add(uint32_t pid, uint64_t ts, bool exec)
{
	struct cw_mmap_event e = {
		.file = {.path = exec ? "" : "/lib/x.so", .pid = pid, .start = ts, .end = ts + 1},
		.ts = ts,
		.exec = exec,
	};

	cw_pending_add(pending, &e);
}

/* What others map: so many events. */
static void others(int n)
{
	for (int i = 0; i < n; i++)
		add(7, 1000000, false);
}

/* cw_pending_replay's: the sum of their times. */
static int sum_up(void *arg, const struct cw_mmap_event *e)
{
	*(uint64_t *)arg += e->ts;
	return 0;
}

static uint64_t replayed(uint32_t pid)
{
	uint64_t sum = 0;

	assert_int_equal(cw_pending_replay(pending, pid, sum_up, &sum), 0);
	return sum;
}

static void expect_dropped(uint32_t pid, uint32_t n, uint64_t since, uint64_t until)
{
	struct cw_dropped d = cw_pending_dropped(pending, pid);

	assert_int_equal(d.n, n);
	assert_int_equal(d.since, since);
	assert_int_equal(d.until, until);
	assert_int_equal(cw_pending_dropped(pending, pid).n, 0);
}

/* Those that are dropped are counted, with their times. */
static void test_oldest_are_dropped(void **state)
{
	(void)state;
	pending = cw_pending_new();
	assert_non_null(pending);
	add(5, 10, false);
	add(5, 20, false);
	add(5, 40, false);
	add(6, 30, false);
	others(KEPT - 4);
	expect_dropped(5, 0, 0, 0);
	others(2);
	assert_int_equal(replayed(5), 40);
	expect_dropped(5, 2, 10, 20);
	others(2);
	expect_dropped(5, 0, 0, 0); /* what was taken is not dropped */
	assert_int_equal(replayed(6), 0);
	expect_dropped(6, 1, 30, 30);
	cw_pending_free(pending);
}

/* What was mapped before a program was executed is missed by nobody after. */
static void test_another_program(void **state)
{
	(void)state;
	pending = cw_pending_new();
	assert_non_null(pending);
	add(5, 10, false);
	add(5, 20, true);
	add(5, 40, false);
	others(KEPT - 2); /* the first of the three goes */
	assert_int_equal(replayed(5), 20 + 40);
	expect_dropped(5, 0, 0, 0);
	add(5, 50, false);
	add(5, 60, true);
	add(5, 70, false);
	add(5, 80, false);
	others(KEPT - 1); /* three of the four go */
	assert_int_equal(replayed(5), 80);
	expect_dropped(5, 1, 70, 70);
	cw_pending_free(pending);
}

static bool nobody(void *arg, uint32_t pid)
{
	(void)arg, (void)pid;
	return false;
}

/* So many reports of this process, which nobody traces, taken while there is room. */
static void flood(struct cw_modules *m, int n)
{
	for (int i = 0; i < n; i++) {
		void *code =
			mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		assert_ptr_not_equal(code, MAP_FAILED);
		munmap(code, 4096);
		if (i % 500 == 0)
			assert_int_equal(cw_modules_drain(m), 0);
	}
	assert_int_equal(cw_modules_drain(m), 0);
}

/* A process that maps something and waits until it is killed. */
static pid_t maps_something(void)
{
	int ready[2];
	pid_t pid;
	char c;

	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		(void)!write(ready[1], "", 1);
		pause();
		_exit(0);
	}
	assert_true(pid > 0);
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return pid;
}

static void end_of(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

/*
 * A process that turns out to be traced when it is gone, and others have mapped much since it did:
 * that is a loss. While it is there, or when its reports are, nothing is.
 */
static void test_what_is_missed_is_lost(void **state)
{
	struct cw_modules *m;
	uint64_t from, to;
	pid_t pid;
	int rc;

	(void)state;
	begin();
	m = cw_modules_new(writer);
	assert_non_null(m);
	rc = cw_modules_watch(m, nobody, NULL);
	if (rc == -EACCES || rc == -EPERM) {
		cw_modules_free(m);
		end();
		skip();
	}
	assert_int_equal(rc, 0);

	pid = maps_something();
	flood(m, KEPT + 500);
	assert_int_equal(cw_modules_snapshot(m, (uint32_t)pid, (uint32_t)pid), 0);
	end_of(pid);
	pid = maps_something();
	flood(m, 100);
	end_of(pid);
	assert_int_equal(cw_modules_snapshot(m, (uint32_t)pid, (uint32_t)pid), -ESRCH);
	assert_int_equal(cw_modules_lost(m), 0);

	from = now();
	pid = maps_something();
	to = now();
	flood(m, KEPT + 500);
	end_of(pid);
	assert_int_equal(cw_modules_snapshot(m, (uint32_t)pid, (uint32_t)pid), -ESRCH);
	assert_int_equal(cw_modules_lost(m), 1);
	cw_modules_free(m);
	end();
	assert_int_equal(nlosses, 1);
	assert_int_equal(losses[0].kind, CW_MAP);
	assert_int_equal(losses[0].reason, CW_LOST_OVERLOAD);
	assert_int_equal(losses[0].count, 1);
	assert_true(losses[0].h.ts >= from && losses[0].end_ts <= to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_oldest_are_dropped),
		cmocka_unit_test(test_another_program),
		cmocka_unit_test(test_what_is_missed_is_lost),
	};

	return cmocka_run_group_tests(tests, folder_new, recorded_teardown);
}
