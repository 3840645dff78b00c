/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Ring buffers read side by side (the layout: linux/kernel/bpf/ringbuf.c). libbpf reads one after
 * the other: a thread that moves from one CPU to another would return before it was called. Knows
 * nothing of a record but its time stamp.
 *
 * Order: programs take the time first, then room, and finish last. So what is finished before a
 * moment is in its ring then, and taking only what is older than that moment, the oldest of the
 * rings' first records each time, hands over no record before another that it may depend on.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#include "clock.h"
#include "rings.h"

enum { HELD = 1 };

struct ring {
	uint64_t *consumer;       /* a page of its own */
	const uint64_t *producer; /* a page, and the records twice behind it */
	const char *data;
	uint64_t pos, end;          /* of the first record, and of those that are looked at now */
	const struct cw_rec *first; /* NULL: none before end */
	uint64_t room;              /* that it takes */
};

struct cw_rings {
	uint64_t bytes; /* of each */
	long page;
	size_t n;
	struct ring at[];
};

#define RING_CPUS   8 /* that share one */
#define ALL_BYTES   (16ull << 20)
#define LEAST_BYTES (4ull << 20) /* some 30 ms of a CPU that does nothing else */

size_t cw_rings_share(uint64_t *bytes, size_t wanted, size_t cpus)
{
	uint64_t page = sysconf(_SC_PAGESIZE), all = *bytes;
	size_t n = wanted ? wanted : (cpus + RING_CPUS - 1) / RING_CPUS;

	if (n > CW_MAX_RINGS)
		n = CW_MAX_RINGS;
	if (!all)
		all = n * LEAST_BYTES > ALL_BYTES ? n * LEAST_BYTES : ALL_BYTES;
	if (n > all / page)
		n = all / page;
	for (*bytes = page; *bytes * 2 * n <= all;)
		*bytes *= 2;
	return n;
}

size_t cw_rings_of_cpu(size_t cpu, size_t n, size_t cpus)
{
	size_t group = (cpus + n - 1) / n;

	/* Numbers of CPUs may have gaps, and go beyond how many there are. */
	return cpu / group % n;
}

static uint64_t produced(const struct ring *r)
{
	return __atomic_load_n(r->producer, __ATOMIC_ACQUIRE);
}

static int map_ring(struct cw_rings *rs, struct ring *r, int fd)
{
	void *at = mmap(NULL, rs->page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);

	if (at == MAP_FAILED)
		return -errno;
	r->consumer = at;
	at = mmap(NULL, rs->page + 2 * rs->bytes, PROT_READ, MAP_SHARED, fd, rs->page);
	if (at == MAP_FAILED)
		return -errno;
	r->producer = at;
	r->data = (const char *)at + rs->page;
	r->pos = __atomic_load_n(r->consumer, __ATOMIC_ACQUIRE);
	return 0;
}

struct cw_rings *cw_rings_new(const int *fds, size_t n, uint64_t bytes)
{
	struct cw_rings *rs = calloc(1, sizeof(*rs) + n * sizeof(rs->at[0]));
	int rc = 0;

	if (!rs)
		return NULL;
	rs->bytes = bytes;
	rs->page = sysconf(_SC_PAGESIZE);
	for (; !rc && rs->n < n; rs->n++)
		rc = map_ring(rs, &rs->at[rs->n], fds[rs->n]);
	if (!rc)
		return rs;
	cw_rings_free(rs);
	errno = -rc;
	return NULL;
}

void cw_rings_free(struct cw_rings *rs)
{
	size_t i;

	for (i = 0; rs && i < rs->n; i++) {
		if (rs->at[i].consumer)
			munmap(rs->at[i].consumer, rs->page);
		if (rs->at[i].producer)
			munmap((void *)rs->at[i].producer, rs->page + 2 * rs->bytes);
	}
	free(rs);
}

uint64_t cw_rings_waiting(const struct cw_rings *rs)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < rs->n; i++)
		sum += produced(&rs->at[i]) - rs->at[i].pos;
	return sum;
}

static void release(struct ring *r)
{
	r->pos += r->room;
	__atomic_store_n(r->consumer, r->pos, __ATOMIC_RELEASE);
}

/* Find the ring's first record; HELD when it is not finished. */
static int look(const struct cw_rings *rs, struct ring *r)
{
	const char *at;
	uint32_t len;

	r->first = NULL;
	while (r->pos < r->end) {
		at = r->data + (r->pos & (rs->bytes - 1));
		len = __atomic_load_n((const uint32_t *)at, __ATOMIC_ACQUIRE);
		if (len & BPF_RINGBUF_BUSY_BIT)
			return HELD;
		r->room = ((len & ~BPF_RINGBUF_DISCARD_BIT) + BPF_RINGBUF_HDR_SZ + 7) & ~7ull;
		if (!(len & BPF_RINGBUF_DISCARD_BIT)) {
			r->first = (const void *)(at + BPF_RINGBUF_HDR_SZ);
			return 0;
		}
		release(r);
	}
	return 0;
}

/* The ring whose first record is the oldest, NULL when all are empty; next: of the others. */
static struct ring *oldest(struct cw_rings *rs, uint64_t *next)
{
	struct ring *best = NULL, *r;

	*next = UINT64_MAX;
	for (r = rs->at; r < rs->at + rs->n; r++) {
		if (!r->first)
			continue;
		if (!best || r->first->ts < best->first->ts) {
			if (best)
				*next = best->first->ts;
			best = r;
		} else if (r->first->ts < *next) {
			*next = r->first->ts;
		}
	}
	return best;
}

static int take_one(const struct cw_rings *rs, struct ring *r, cw_rings_fn fn, void *arg)
{
	int rc = fn(arg, r->first);

	release(r);
	return rc ? rc : look(rs, r);
}

/* What is there at this moment, and older. */
static int pass(struct cw_rings *rs, cw_rings_fn fn, void *arg, bool *any)
{
	/* One ring has its own order. */
	uint64_t now = rs->n > 1 ? cw_clock_ns(CLOCK_MONOTONIC) : UINT64_MAX, next, until;
	struct ring *r;
	size_t i;
	int rc = 0;

	for (i = 0; i < rs->n; i++)
		rs->at[i].end = produced(&rs->at[i]);
	for (i = 0; !rc && i < rs->n; i++)
		rc = look(rs, &rs->at[i]);
	while (!rc && (r = oldest(rs, &next)) && r->first->ts <= now) {
		until = next < now ? next : now;
		*any = true;
		do
			rc = take_one(rs, r, fn, arg);
		while (!rc && r->first && r->first->ts <= until);
	}
	return rc;
}

int cw_rings_take(struct cw_rings *rs, cw_rings_fn fn, void *arg)
{
	bool any;
	int rc;

	do {
		any = false;
		rc = pass(rs, fn, arg, &any);
	} while (!rc && any);
	return rc;
}
