/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * When the mappings of recorded processes are looked at again, for what no one reports: memory that
 * is moved over text (mremap). Knows nothing of what is found.
 */
#ifndef CW_RELOOK_H
#define CW_RELOOK_H

#include <stdint.h>
#include "proctab.h"

/* All zero at first. Times are CLOCK_MONOTONIC, ns. */
struct cw_relook {
	uint64_t due;  /* some process may be due then; 0: ask them */
	uint64_t rest; /* nothing before: what was used of the CPU is to be a small share */
};

/* A process is new, or executes another program: p->look_at is 0. */
void cw_relook_new_program(struct cw_relook *r);

/*
 * Call look for processes that are due: 100 ms after they were first seen here, and in distances
 * that double each time. So many that it takes 0.05 % of one CPU and 2 ms at once, but one. last:
 * for every process, due or not, for a second at most. Returns what look returned.
 */
int cw_relook_visit(struct cw_relook *r, struct cw_proctab *procs, uint64_t now, bool last,
		    int (*look)(void *arg, struct cw_proc *p), void *arg);

#endif
