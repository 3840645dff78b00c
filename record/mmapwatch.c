/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's report of new executable mappings. Owns one small perf ring a CPU and the layout of
 * what comes out of it; it must not know which processes matter.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#include "mmapwatch.h"

#define RING_BYTES \
	(256u * 1024) /* a CPU: some thousand mappings, while the recorder is kept from running */
/* Linux 5.12, also where older kernel headers do not name it. */
#define MISC_MMAP_BUILD_ID (1u << 14)

struct cw_mmapwatch {
	size_t page_size;
	size_t n;
	uint64_t buf[8192]; /* one record: at most 64 KiB */
	struct ring {
		int fd;
		uint32_t cpu;
		struct perf_event_mmap_page *page; /* the data follow it */
	} rings[];
};

/* The fixed part of PERF_RECORD_MMAP2; the path follows, then the time. */
struct mmap2 {
	struct perf_event_header h;
	uint32_t pid, tid;
	uint64_t addr, len, pgoff;
	union {
		struct {
			uint32_t maj, min;
			uint64_t ino, ino_generation;
		} file;
		struct {
			uint8_t size, reserved[3];
			uint8_t id[20];
		} build;
	} id;
	uint32_t prot, flags;
	char path[];
};

static int open_event(uint32_t cpu, bool build_id)
{
	struct perf_event_attr attr = {
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(attr),
		.config = PERF_COUNT_SW_DUMMY,
		.sample_type = PERF_SAMPLE_TIME,
		.mmap = 1,
		.mmap2 = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = RING_BYTES,
	};
	int fd;

	attr.build_id = build_id;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static int open_ring(struct cw_mmapwatch *w, uint32_t cpu)
{
	struct ring *r = &w->rings[w->n];
	int fd = open_event(cpu, true);
	void *page;

	if (fd == -EINVAL)
		fd = open_event(cpu, false); /* before 5.12 */
	if (fd < 0)
		return fd;
	page = mmap(NULL, w->page_size + RING_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (page == MAP_FAILED) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	r->fd = fd;
	r->cpu = cpu;
	r->page = page;
	w->n++;
	return 0;
}

int cw_mmapwatch_new(struct cw_mmapwatch **out)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t cpu, n = cpus > 0 ? (uint32_t)cpus : 1;
	struct cw_mmapwatch *w = calloc(1, sizeof(*w) + n * sizeof(w->rings[0]));
	int rc;

	*out = NULL;
	if (!w)
		return -ENOMEM;
	w->page_size = (size_t)sysconf(_SC_PAGESIZE);
	for (cpu = 0; cpu < n; cpu++) {
		rc = open_ring(w, cpu);
		if (rc && rc != -ENODEV && rc != -ENXIO) { /* those two: the CPU is offline */
			cw_mmapwatch_free(w);
			return rc;
		}
	}
	*out = w;
	return 0;
}

void cw_mmapwatch_free(struct cw_mmapwatch *w)
{
	size_t i;

	if (!w)
		return;
	for (i = 0; i < w->n; i++) {
		munmap(w->rings[i].page, w->page_size + RING_BYTES);
		close(w->rings[i].fd);
	}
	free(w);
}

static int report(const struct mmap2 *m, uint32_t cpu,
		  int (*fn)(void *arg, const struct cw_mmap_event *e), void *arg)
{
	struct cw_mmap_event e = {
		.file = {.path = m->path, .pid = m->pid, .start = m->addr},
		.pgoff = m->pgoff,
		.prot = m->prot,
		.cpu = cpu,
	};

	if (m->h.size <= sizeof(*m) + sizeof(e.ts) || !(m->prot & PROT_EXEC))
		return 0;
	memcpy(&e.ts, (const char *)m + m->h.size - sizeof(e.ts), sizeof(e.ts));
	if (!memchr(m->path, '\0', m->h.size - sizeof(*m) - sizeof(e.ts)))
		return 0;
	e.file.end = m->addr + m->len;
	if (!(m->h.misc & MISC_MMAP_BUILD_ID)) {
		e.file.dev_major = m->id.file.maj;
		e.file.dev_minor = m->id.file.min;
		e.file.ino = m->id.file.ino;
	} else if (m->id.build.size <= sizeof(m->id.build.id)) {
		e.file.build_id = m->id.build.id;
		e.file.build_id_size = m->id.build.size;
	}
	return fn(arg, &e);
}

/* Copy the record at tail in one piece; it may wrap around. Returns its size, 0 for nonsense. */
static size_t take(const struct ring *r, size_t page_size, uint64_t tail, uint64_t head,
		   uint64_t buf[8192])
{
	const char *data = (const char *)r->page + page_size;
	size_t at = tail % RING_BYTES, first = RING_BYTES - at;
	struct perf_event_header h;

	/* A header never wraps: records are multiples of 8 bytes, and so is a header. */
	memcpy(&h, data + at, sizeof(h));
	if (h.size < sizeof(h) || h.size > head - tail)
		return 0;
	if (first > h.size)
		first = h.size;
	memcpy(buf, data + at, first);
	memcpy((char *)buf + first, data, h.size - first);
	return h.size;
}

static int drain_ring(struct cw_mmapwatch *w, struct ring *r,
		      int (*fn)(void *arg, const struct cw_mmap_event *e), void *arg,
		      uint64_t *lost)
{
	uint64_t head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = r->page->data_tail;
	int rc = 0;

	while (!rc && tail < head) {
		const struct perf_event_header *h = (const void *)w->buf;
		size_t size = take(r, w->page_size, tail, head, w->buf);

		if (!size) {
			tail = head;
			break;
		}
		tail += size;
		/* Free the room before fn opens files: it may take a while. */
		__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
		if (h->type == PERF_RECORD_MMAP2)
			rc = report((const void *)w->buf, r->cpu, fn, arg);
		else if (h->type == PERF_RECORD_LOST)
			*lost += w->buf[2];
	}
	__atomic_store_n(&r->page->data_tail, tail, __ATOMIC_RELEASE);
	return rc;
}

int cw_mmapwatch_drain(struct cw_mmapwatch *w, int (*fn)(void *arg, const struct cw_mmap_event *e),
		       void *arg, uint64_t *lost)
{
	size_t i;
	int rc = 0;

	*lost = 0;
	for (i = 0; !rc && i < w->n; i++)
		rc = drain_ring(w, &w->rings[i], fn, arg, lost);
	return rc;
}
