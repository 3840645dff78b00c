/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns what a time namespace does to the clocks. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "clock.h"

#define INITIAL_TIME_NS 0xeffffffau /* the kernel's fixed inode number of it */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int64_t monotonic, boottime;

/*
 * The file tells of the namespace that children get. That is this process's own, but between
 * unshare and the program that is executed after it.
 */
static void read_shifts(void)
{
	long long seconds, ns;
	struct stat st;
	char name[16];
	FILE *f;

	if (stat("/proc/self/ns/time", &st) || st.st_ino == INITIAL_TIME_NS)
		return;
	f = fopen("/proc/self/timens_offsets", "re");
	while (f && fscanf(f, "%15s %lld %lld", name, &seconds, &ns) == 3) {
		int64_t shift = seconds * 1000000000ll + ns;

		if (!strcmp(name, "monotonic"))
			monotonic = shift;
		else if (!strcmp(name, "boottime"))
			boottime = shift;
	}
	if (f)
		fclose(f);
}

int64_t cw_clock_shift_ns(clockid_t id)
{
	pthread_once(&once, read_shifts);
	return id == CLOCK_MONOTONIC ? monotonic : id == CLOCK_BOOTTIME ? boottime : 0;
}

uint64_t cw_clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec -
	       (uint64_t)cw_clock_shift_ns(id);
}
