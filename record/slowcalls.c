/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Pairs entries and returns of one function by thread and stack pointer, as far as a small table
 * holds them: where two calls meet in a place, the later one is looked at.
 */
#include <stdlib.h>
#include <string.h>
#include "mapped.h"
#include "slowcalls.h"

#define PLACES 8192u
#if defined(__x86_64__)
#define RETURN_SP 8u /* the return address is gone from the stack by then */
#else
#define RETURN_SP 0u
#endif

struct open_call {
	uint64_t sp, ts;
	uint32_t tid;
};

struct cw_slowcalls {
	const struct cw_points *points;
	const char *function, *module;
	uint64_t limit;
	struct open_call open[PLACES];
};

struct cw_slowcalls *cw_slowcalls_new(const struct cw_points *points, const char *function,
				      const char *module, uint64_t limit_ns)
{
	struct cw_slowcalls *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->points = points;
	s->function = function;
	s->module = module;
	s->limit = limit_ns;
	return s;
}

void cw_slowcalls_free(struct cw_slowcalls *s)
{
	free(s);
}

static bool is_function(const struct cw_slowcalls *s, uint32_t probe)
{
	const struct cw_point *p = probe < s->points->n ? &s->points->at[probe] : NULL;

	return p && !strcmp(p->name, s->function) &&
	       (!s->module || cw_mapped_is(p->file->path, s->module));
}

static struct open_call *place(struct cw_slowcalls *s, uint32_t tid, uint64_t sp)
{
	uint64_t h = (sp >> 3 ^ (uint64_t)tid << 32) * 0x9e3779b97f4a7c15ull;

	return &s->open[h >> 40 & (PLACES - 1)];
}

void cw_slowcalls_entry(struct cw_slowcalls *s, const struct cw_probe_entry *e)
{
	if (is_function(s, e->probe_id))
		*place(s, e->tid, e->sp) = (struct open_call){e->sp, e->h.ts, e->tid};
}

bool cw_slowcalls_return(struct cw_slowcalls *s, const struct cw_probe_return *r)
{
	uint64_t sp = r->sp - RETURN_SP;
	struct open_call *c;

	if (!is_function(s, r->probe_id))
		return false;
	c = place(s, r->tid, sp);
	if (c->sp != sp || c->tid != r->tid || !c->ts)
		return false;
	sp = c->ts;
	c->ts = 0;
	return r->h.ts >= sp && r->h.ts - sp >= s->limit;
}
