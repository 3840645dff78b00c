/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the times of looks, and their share of the CPU. Programs move their text when they begin, if
 * at all: so looks are close then. Must not read /proc itself.
 */
#include <time.h>
#include "clock.h"
#include "relook.h"

#define FIRST_NS 100000000ull
#define SHARE    2000u /* one part in so many of a CPU's time */
#define VISIT_NS 2000000ull
#define LAST_NS  1000000000ull

struct visit {
	struct cw_relook *r;
	uint64_t now, until;
	bool last;
	int (*look)(void *arg, struct cw_proc *p);
	void *arg;
};

void cw_relook_new_program(struct cw_relook *r)
{
	r->due = 0;
}

/* When p is due next. */
static void plan(struct cw_proc *p, uint64_t now)
{
	p->look_gap = p->look_at ? p->look_gap * 2 : FIRST_NS;
	p->look_at = now + p->look_gap;
}

static int visit(void *arg, struct cw_proc *p)
{
	struct visit *v = arg;
	bool first = !p->look_at, due = v->last || (!first && v->now >= p->look_at);
	int rc = 0;

	if (!p->rec_pid || !p->start_boottime)
		return 0;
	if (due && cw_clock_ns(CLOCK_MONOTONIC) < v->until) {
		rc = v->look(v->arg, p);
		plan(p, v->now);
	} else if (first) {
		plan(p, v->now);
	}
	if (p->look_at < v->r->due)
		v->r->due = p->look_at;
	return rc;
}

int cw_relook_visit(struct cw_relook *r, struct cw_proctab *procs, uint64_t now, bool last,
		    int (*look)(void *arg, struct cw_proc *p), void *arg)
{
	struct visit v = {.r = r, .now = now, .last = last, .look = look, .arg = arg};
	uint64_t cpu;
	int rc;

	if (!last && (now < r->due || now < r->rest))
		return 0;
	cpu = cw_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	v.until = cw_clock_ns(CLOCK_MONOTONIC) + (last ? LAST_NS : VISIT_NS);
	r->due = UINT64_MAX;
	rc = cw_proctab_each(procs, visit, &v);
	cpu = cw_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu;
	r->rest = now + cpu * SHARE;
	return rc;
}
