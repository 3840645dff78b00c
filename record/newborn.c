/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns how long a process counts as new, and the wait. `prog & callweave-record -p $!` is quicker
 * than the shell's child is with its exec: what it runs then is the shell.
 */
#include <stdio.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>
#include "clock.h"
#include "newborn.h"
#include "snapshot.h"

#define YOUNG_NS 100000000ull
#define WAIT_NS  50000000ull
#define STEP_NS  1000000l

static bool stat_program(uint32_t pid, struct stat *st)
{
	char path[64];

	snprintf(path, sizeof(path), "/proc/%u/exe", pid);
	return !stat(path, st);
}

static bool same_program(uint32_t pid, const struct stat *other)
{
	struct stat st;

	return stat_program(pid, &st) && st.st_dev == other->st_dev && st.st_ino == other->st_ino;
}

void cw_newborn_wait(uint32_t pid)
{
	const struct timespec step = {.tv_nsec = STEP_NS};
	uint64_t now = cw_clock_ns(CLOCK_BOOTTIME), until = cw_clock_ns(CLOCK_MONOTONIC) + WAIT_NS;
	struct cw_proc_info info;
	struct stat parents;

	/* The time is rounded down: a process is a little younger than it looks. */
	if (cw_snapshot_process(pid, &info) || !info.start_boottime || !info.ppid ||
	    now > info.start_boottime + YOUNG_NS || !stat_program(info.ppid, &parents))
		return;
	while (same_program(pid, &parents) && cw_clock_ns(CLOCK_MONOTONIC) < until)
		nanosleep(&step, NULL);
}
