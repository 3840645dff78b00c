/* SPDX-License-Identifier: GPL-2.0-only */
/* Time as captures have it. */
#ifndef CW_CLOCK_H
#define CW_CLOCK_H

#include <stdint.h>
#include <time.h>

/* CLOCK_MONOTONIC is what records are stamped with; ns since the clock's own zero. */
static inline uint64_t cw_clock_ns(clockid_t id)
{
	struct timespec t;

	clock_gettime(id, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

#endif
