/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's report of new executable mappings and executed programs. Owns one small perf ring a
 * CPU, the layout of what comes out of it and its order; it must not know which processes matter.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <sched.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "clock.h"
#include "mmapwatch.h"

/* Of a CPU: some thousand mappings, while the recorder is kept from running. */
#define MIN_RING  (256u * 1024)
#define MAX_RING  (1024u * 1024)
#define ALL_RINGS (4096u * 1024) /* of many CPUs, each has less */
/* Linux 5.12, also where older kernel headers do not name it. */
#define MISC_MMAP_BUILD_ID (1u << 14)

struct cw_mmapwatch {
	size_t page_size;
	size_t ring_bytes;
	size_t n;
	uint64_t seen_until; /* what happened until then is in sight */
	uint64_t buf[8192];  /* one record: at most 64 KiB */
	struct ring {
		int fd;
		uint32_t cpu;
		uint64_t last_ts;                  /* of the record before the next */
		uint64_t head;                     /* as of the last look */
		uint64_t next_ts;                  /* of the next record; UINT64_MAX: none */
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

/* The fixed part of PERF_RECORD_COMM; the name follows, then the time. */
struct comm {
	struct perf_event_header h;
	uint32_t pid, tid;
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
		.comm = 1,
		.comm_exec = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = MAX_RING,
	};
	int fd;

	attr.build_id = build_id;
	fd = (int)syscall(SYS_perf_event_open, &attr, -1, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

static size_t ring_bytes(uint32_t cpus)
{
	size_t n = MAX_RING;

	while (n > MIN_RING && n * cpus > ALL_RINGS)
		n /= 2;
	return n;
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
	page = mmap(NULL, w->page_size + w->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	/* All rings have one size: that of the first. Some users may lock no more memory. */
	if (page == MAP_FAILED && !w->n) {
		w->ring_bytes = MIN_RING;
		page = mmap(NULL, w->page_size + w->ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED,
			    fd, 0);
	}
	if (page == MAP_FAILED) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	r->fd = fd;
	r->cpu = cpu;
	r->page = page;
	r->last_ts = cw_clock_ns(CLOCK_MONOTONIC);
	w->n++;
	return 0;
}

int cw_mmapwatch_new(struct cw_mmapwatch **out, size_t room)
{
	long cpus = sysconf(_SC_NPROCESSORS_CONF);
	uint32_t cpu, n = cpus > 0 ? (uint32_t)cpus : 1;
	struct cw_mmapwatch *w = calloc(1, sizeof(*w) + n * sizeof(w->rings[0]));
	int rc;

	*out = NULL;
	if (!w)
		return -ENOMEM;
	w->page_size = (size_t)sysconf(_SC_PAGESIZE);
	w->ring_bytes = room ? room : ring_bytes(n);
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
		munmap(w->rings[i].page, w->page_size + w->ring_bytes);
		close(w->rings[i].fd);
	}
	free(w);
}

/* The time of a record, which sample_id_all puts at its end. */
static bool time_of(const struct perf_event_header *h, uint64_t *ts)
{
	if (h->size < sizeof(*h) + sizeof(*ts))
		return false;
	memcpy(ts, (const char *)h + h->size - sizeof(*ts), sizeof(*ts));
	return true;
}

static int report_exec(const struct comm *c, uint32_t cpu,
		       int (*fn)(void *arg, const struct cw_mmap_event *e), void *arg)
{
	struct cw_mmap_event e = {.file = {.path = "", .pid = c->pid}, .cpu = cpu, .exec = true};

	if (!(c->h.misc & PERF_RECORD_MISC_COMM_EXEC) || !time_of(&c->h, &e.ts))
		return 0;
	return fn(arg, &e);
}

static int report_lost(const uint64_t *rec, const struct ring *r,
		       int (*fn)(void *arg, const struct cw_mmap_event *e), void *arg)
{
	/* The count comes behind header and id. */
	struct cw_mmap_event e = {
		.file.path = "", .cpu = r->cpu, .lost = rec[2], .since = r->last_ts};

	if (!time_of((const void *)rec, &e.ts) || !e.lost)
		return 0;
	return fn(arg, &e);
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
	if (!time_of(&m->h, &e.ts) || !memchr(m->path, '\0', m->h.size - sizeof(*m) - sizeof(e.ts)))
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

/* Look at the ring's next record; one that makes no sense ends what there is. */
static void look(const struct cw_mmapwatch *w, struct ring *r)
{
	const char *data = (const char *)r->page + w->page_size;
	uint64_t tail = r->page->data_tail;
	struct perf_event_header h;

	r->next_ts = UINT64_MAX;
	if (tail >= r->head)
		return;
	/* Neither header nor time ever wraps: both have 8 bytes, and records multiples of that. */
	memcpy(&h, data + tail % w->ring_bytes, sizeof(h));
	if (h.size >= sizeof(h) + sizeof(r->next_ts) && h.size % 8 == 0 && h.size <= r->head - tail)
		memcpy(&r->next_ts, data + (tail + h.size - 8) % w->ring_bytes, 8);
	else
		__atomic_store_n(&r->page->data_tail, r->head, __ATOMIC_RELEASE);
}

/*
 * See what there is now. Whatever happened before this, and what led to it on other CPUs, is there:
 * a process goes on only when its mapping is reported.
 */
static void refresh(struct cw_mmapwatch *w)
{
	size_t i;

	w->seen_until = cw_clock_ns(CLOCK_MONOTONIC);
	for (i = 0; i < w->n; i++) {
		struct ring *r = &w->rings[i];

		r->head = __atomic_load_n(&r->page->data_head, __ATOMIC_ACQUIRE);
		look(w, r);
	}
}

static struct ring *oldest(struct cw_mmapwatch *w)
{
	struct ring *r = &w->rings[0];
	size_t i;

	for (i = 1; i < w->n; i++) {
		if (w->rings[i].next_ts < r->next_ts)
			r = &w->rings[i];
	}
	return r;
}

/* Copy the ring's next record in one piece, as it may wrap around, and go on to the one after it.
 */
static void take(struct cw_mmapwatch *w, struct ring *r)
{
	const char *data = (const char *)r->page + w->page_size;
	uint64_t tail = r->page->data_tail;
	size_t at = tail % w->ring_bytes, first = w->ring_bytes - at, size;
	struct perf_event_header h;

	memcpy(&h, data + at, sizeof(h));
	size = h.size;
	if (first > size)
		first = size;
	memcpy(w->buf, data + at, first);
	memcpy((char *)w->buf + first, data, size - first);
	__atomic_store_n(&r->page->data_tail, tail + size, __ATOMIC_RELEASE);
	look(w, r);
}

int cw_mmapwatch_drain(struct cw_mmapwatch *w, uint64_t until,
		       int (*fn)(void *arg, const struct cw_mmap_event *e), void *arg)
{
	const struct perf_event_header *h = (const void *)w->buf;
	struct ring *r;
	int rc = 0;

	if (!w->n)
		return 0;
	if (until > w->seen_until)
		refresh(w);
	while (!rc && (r = oldest(w))->next_ts <= until && r->next_ts != UINT64_MAX) {
		/* This frees the room before fn opens files: it may take a while. */
		take(w, r);
		if (h->type == PERF_RECORD_MMAP2)
			rc = report((const void *)w->buf, r->cpu, fn, arg);
		else if (h->type == PERF_RECORD_COMM)
			rc = report_exec((const void *)w->buf, r->cpu, fn, arg);
		else if (h->type == PERF_RECORD_LOST)
			rc = report_lost(w->buf, r, fn, arg);
		time_of(h, &r->last_ts);
	}
	return rc;
}

bool cw_mmapwatch_crowded(const struct cw_mmapwatch *w)
{
	size_t i;

	for (i = 0; i < w->n; i++) {
		const struct perf_event_mmap_page *page = w->rings[i].page;

		if (__atomic_load_n(&page->data_head, __ATOMIC_RELAXED) - page->data_tail >
		    w->ring_bytes / 2)
			return true;
	}
	return false;
}

void cw_mmapwatch_flush(struct cw_mmapwatch *w)
{
	cpu_set_t before, one;
	size_t i;

	if (sched_getaffinity(0, sizeof(before), &before))
		return;
	for (i = 0; i < w->n; i++) {
		void *code;

		CPU_ZERO(&one);
		CPU_SET(w->rings[i].cpu, &one);
		if (sched_setaffinity(0, sizeof(one), &one))
			continue;
		code = mmap(NULL, w->page_size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS,
			    -1, 0);
		if (code != MAP_FAILED)
			munmap(code, w->page_size);
	}
	sched_setaffinity(0, sizeof(before), &before);
}
