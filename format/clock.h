/* SPDX-License-Identifier: GPL-2.0-only */
/* Time as captures have it: the kernel's own, also inside a time namespace. */
#ifndef CW_CLOCK_H
#define CW_CLOCK_H

#include <stdint.h>
#include <time.h>

/*
 * CLOCK_MONOTONIC is what records are stamped with; ns since the clock's own zero. A time namespace
 * shifts this and CLOCK_BOOTTIME for those inside; here that is taken back.
 */
uint64_t cw_clock_ns(clockid_t id);

/* What the time namespace of this process adds to CLOCK_MONOTONIC or CLOCK_BOOTTIME; 0 outside. */
int64_t cw_clock_shift_ns(clockid_t id);

#endif
