/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: record/tracked.o record/pidset.o record/modules.o record/pending.o record/perfmap.o */
/* LINK: record/moved.o record/modtab.o record/modopen.o record/proctab.o record/idmap.o */
/* LINK: record/snapshot.o record/mmapwatch.o record/kallsyms.o record/embed.o */
/* LINK: record/resolve.o record/debugfile.o record/elffile.o record/nearest.o */
/* LINK: record/cxxname.o record/unplaced.o record/wanted.o */
/*
 * What processes have mapped, when records of their lives come late: this process, and children
 * that there are none of.
 */
#include <errno.h>
#include <sys/mman.h>
#include <time.h>
#include "../../record/tracked.h"
#include "recorded_fixture.h"

#define CHILD 77777777u

/* Not asked for: no process is adopted, and outside of containers all ids are the kernel's. */
bool cw_target_adopts(const struct cw_target *t)
{
	(void)t;
	return false;
}

uint32_t cw_probes_rec_pid(const struct cw_probes *pr, uint32_t global)
{
	(void)pr;
	return global;
}

uint32_t cw_probes_global_pid(const struct cw_probes *pr, uint32_t pid)
{
	(void)pr;
	return pid;
}

int cw_probes_want(struct cw_probes *pr, uint32_t pid)
{
	(void)pr, (void)pid;
	return 0;
}

int cw_probes_seed(struct cw_probes *pr)
{
	(void)pr;
	return 0;
}

static const struct cw_target nobody;
static struct cw_modules *modules;
static struct cw_tracked *tracked;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void start(void)
{
	begin();
	modules = cw_modules_new(writer);
	tracked = cw_tracked_new(modules, NULL, &nobody);
	assert_non_null(tracked);
}

static void stop(void)
{
	cw_tracked_free(tracked);
	cw_modules_free(modules);
	end();
}

static void on_thread(uint32_t pid)
{
	const struct cw_thread r = {.h = {.type = CW_THREAD, .size = sizeof(r)},
				    .pid = pid,
				    .tid = pid,
				    .flags = CW_THREAD_TRACED};

	cw_tracked_record(tracked, &r.h);
}

static void on_fork(uint32_t pid, uint64_t ts)
{
	const struct cw_fork r = {.h = {.type = CW_FORK, .size = sizeof(r), .ts = ts},
				  .pid = pid,
				  .tid = pid,
				  .child_pid = CHILD,
				  .child_tid = CHILD};

	cw_tracked_record(tracked, &r.h);
}

static void on_exec(uint32_t pid, uint32_t flags)
{
	const struct cw_exec r = {.h = {.type = CW_EXEC, .size = sizeof(r)},
				  .pid = pid,
				  .tid = pid,
				  .old_tid = pid,
				  .flags = flags};

	cw_tracked_record(tracked, &r.h);
}

/* Mappings of a process, those that hold address; 0: any. */
static size_t maps_of(uint32_t pid, uint64_t address)
{
	size_t n = 0;

	for (size_t i = 0; i < nrecs; i++) {
		const struct cw_map *map = (const void *)recs[i];

		n += recs[i]->type == CW_MAP && map->pid == pid &&
		     (!address || (map->start <= address && address < map->end));
	}
	return n;
}

/* What its parent maps before the recorder hears of the child is not the child's. */
static void test_parent_goes_on(void **state)
{
	uint32_t pid = (uint32_t)getpid();
	uint64_t ts;
	void *code;
	int rc;

	(void)state;
	start();
	rc = cw_modules_watch(modules, cw_tracked_keep, tracked);
	if (rc == -EACCES || rc == -EPERM) {
		stop();
		skip();
	}
	on_thread(pid);
	cw_tracked_settle(tracked);
	ts = now();
	code = mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(code, MAP_FAILED);
	assert_int_equal(cw_modules_drain(modules), 0);
	on_thread(CHILD);
	on_fork(pid, ts);
	stop();
	munmap(code, 4096);
	assert_true(maps_of(pid, (uintptr_t)code) > 0);
	assert_true(maps_of(CHILD, 0) > 3);
	assert_int_equal(maps_of(CHILD, (uintptr_t)code), 0);
}

/* The recorder may rest between the record of a child's thread and that of its fork. */
static void test_fork_comes_late(void **state)
{
	uint32_t pid = (uint32_t)getpid();

	(void)state;
	start();
	on_thread(pid);
	cw_tracked_settle(tracked);
	on_thread(CHILD);
	cw_tracked_settle(tracked);
	on_fork(pid, now());
	stop();
	assert_true(maps_of(pid, 0) > 3);
	assert_int_equal(maps_of(CHILD, 0), maps_of(pid, 0));
}

/* Who executes a program that is not traced is forgotten, until it executes one that is. */
static void test_leaves(void **state)
{
	uint32_t pid = (uint32_t)getpid();

	(void)state;
	start();
	on_thread(pid);
	cw_tracked_settle(tracked);
	assert_true(cw_tracked_keep(tracked, pid));
	on_exec(pid, 0);
	assert_false(cw_tracked_keep(tracked, pid));
	assert_int_equal(cw_modules_repeat(modules), 0);
	on_thread(pid);
	on_exec(pid, 1);
	assert_true(cw_tracked_keep(tracked, pid));
	stop();
	assert_int_equal(count(CW_PROCESS, CW_REC_REPEATED), 0);
	assert_int_equal(count(CW_MAP, CW_REC_REPEATED), 0);
	assert_int_equal(count(CW_PROCESS, 0), 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parent_goes_on),
		cmocka_unit_test(test_fork_comes_late),
		cmocka_unit_test(test_leaves),
	};

	return cmocka_run_group_tests(tests, folder_new, recorded_teardown);
}
