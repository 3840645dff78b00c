/* SPDX-License-Identifier: GPL-2.0-only */
/* What the programs that are measured here share: they start when a file appears. */
#ifndef BENCH_START_H
#define BENCH_START_H

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static inline uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* "-" does not wait. */
static inline void wait_for_start(const char *file)
{
	const struct timespec pause = {.tv_nsec = 2000000};

	printf("PID %d\n", getpid());
	fflush(stdout);
	while (!(file[0] == '-' && !file[1]) && access(file, F_OK))
		nanosleep(&pause, NULL);
}

#endif
