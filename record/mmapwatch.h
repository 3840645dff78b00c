/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The kernel's report of new executable mappings (PERF_RECORD_MMAP2) and of programs that are
 * executed (PERF_RECORD_COMM), in order of time. Knows nothing of records.
 */
#ifndef CW_MMAPWATCH_H
#define CW_MMAPWATCH_H

#include <stdbool.h>
#include <stdint.h>
#include "modopen.h"

struct cw_mmap_event {
	struct cw_mapped_file file; /* the path as the kernel gives it; lives until fn returns */
	uint64_t pgoff;
	uint64_t ts; /* CLOCK_MONOTONIC, ns */
	uint32_t prot;
	uint32_t cpu;
	bool exec; /* file.pid executes a program: what it had mapped is gone; no file, no prot */
	/* Or: so many reports of this CPU found no room from since to ts; nothing else is set. */
	uint64_t lost, since;
};

struct cw_mmapwatch;

/*
 * Watch every CPU, with room for that many bytes of reports on each: a power of two of pages, 0 for
 * what is right for this machine. -EACCES or -EPERM without the privilege (CAP_PERFMON).
 */
int cw_mmapwatch_new(struct cw_mmapwatch **out, size_t room);
void cw_mmapwatch_free(struct cw_mmapwatch *w);

/*
 * Call fn for what came since and happened until then (ns, not ahead of now), in order of time
 * over all CPUs; its nonzero return ends it and is returned. What is younger stays where it is.
 */
int cw_mmapwatch_drain(struct cw_mmapwatch *w, uint64_t until,
		       int (*fn)(void *arg, const struct cw_mmap_event *e), void *arg);

/* Is some CPU's room half used up? */
bool cw_mmapwatch_crowded(const struct cw_mmapwatch *w);

/*
 * The kernel says that reports were lost with the next one: see that there is one on each CPU. At
 * the end.
 */
void cw_mmapwatch_flush(struct cw_mmapwatch *w);

#endif
