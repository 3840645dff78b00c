/* SPDX-License-Identifier: GPL-2.0-only */
/* Taking records out of the BPF ring buffers that the CPUs share, in an order that keeps causes
 * first. */
#ifndef CW_RINGS_H
#define CW_RINGS_H

#include <stddef.h>
#include <stdint.h>
#include "records.h"

#define CW_MAX_RINGS 64

struct cw_rings;

/*
 * How many rings so many CPUs share, and bytes of each: wanted and *bytes (of all together, a power
 * of two of pages) as they were asked for; 0: as suits the CPUs, a ring for 8 and 16 MiB in all, or
 * 4 MiB each where that is more. Fewer than wanted where they would have less than a page.
 */
size_t cw_rings_share(uint64_t *bytes, size_t wanted, size_t cpus);
/* Which of n rings a CPU has. Neighbours share one: they are likely to share a cache, too. */
size_t cw_rings_of_cpu(size_t cpu, size_t n, size_t cpus);

/*
 * What is done with a record; it is valid during the call, and out of its ring afterwards. A
 * negative errno ends the taking.
 */
typedef int (*cw_rings_fn)(void *arg, const struct cw_rec *rec);

/*
 * Map n (1 or more) ring buffers of bytes (a power of two of pages) each, whose descriptors stay
 * the caller's. NULL with errno set when that fails.
 */
struct cw_rings *cw_rings_new(const int *fds, size_t n, uint64_t bytes);
/*
 * Hand records to fn until there are none left: those of one ring in its order, and none before one
 * of another ring that was handed over before its time stamp was taken. Returns 0, what fn
 * returned, or 1 when a record that others wait behind is not finished yet.
 */
int cw_rings_take(struct cw_rings *rs, cw_rings_fn fn, void *arg);
/* Bytes that wait in all of them. */
uint64_t cw_rings_waiting(const struct cw_rings *rs);
void cw_rings_free(struct cw_rings *rs);

#endif
