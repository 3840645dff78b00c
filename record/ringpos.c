/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The positions of a ring buffer: its first page holds the consumer's, the second the producer's
 * (linux/kernel/bpf/ringbuf.c).
 */
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>
#include "ringpos.h"

static const uint64_t *map_page(int fd, long number)
{
	long page = sysconf(_SC_PAGESIZE);
	const void *at = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, number * page);

	return at == MAP_FAILED ? NULL : at;
}

static void unmap_page(const uint64_t *page)
{
	if (page)
		munmap((void *)page, sysconf(_SC_PAGESIZE));
}

void cw_ringpos_map(struct cw_ringpos *p, int fd)
{
	p->consumer = map_page(fd, 0);
	p->producer = map_page(fd, 1);
	if (!p->consumer || !p->producer)
		cw_ringpos_unmap(p);
}

uint64_t cw_ringpos_waiting(const struct cw_ringpos *p)
{
	if (!p->producer)
		return 0;
	return __atomic_load_n(p->producer, __ATOMIC_ACQUIRE) -
	       __atomic_load_n(p->consumer, __ATOMIC_ACQUIRE);
}

void cw_ringpos_unmap(struct cw_ringpos *p)
{
	unmap_page(p->consumer);
	unmap_page(p->producer);
	p->consumer = p->producer = NULL;
}
