/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the probed functions and their rows. Must not know calls. */
#include <stdio.h>
#include <stdlib.h>
#include "capture.h"
#include "images.h"
#include "probes.h"

#define DIRECT     4096u /* numbers found by index; the recorder counts from 0 */
#define MAX_PROBES 8192u /* more than a plan has: numbers beyond come from damaged records only */

struct cw_probes {
	struct cw_htab far; /* those with greater numbers */
	struct cw_probe_info *first, *last;
	size_t n;
	struct cw_probe_info *direct[DIRECT];
};

struct cw_probe_info *cw_probe_first(const struct cw_trace *t)
{
	return t->probes->first;
}

static struct cw_probe_info *find_far(const struct cw_probes *ps, uint32_t id)
{
	uint64_t hash = cw_hash(0, id);
	struct cw_hnode *n = cw_htab_first(&ps->far, hash);

	while (n && cw_container(n, struct cw_probe_info, by_id)->id != id)
		n = cw_htab_next(n->next, hash);
	return n ? cw_container(n, struct cw_probe_info, by_id) : NULL;
}

struct cw_probe_info *cw_probe_of(struct cw_trace *t, uint32_t id)
{
	struct cw_probes *ps = t->probes;
	struct cw_probe_info *p = id < DIRECT ? ps->direct[id] : find_far(ps, id);

	if (p || ps->n > MAX_PROBES)
		return p ?: ps->last;
	p = cw_zalloc(sizeof(*p));
	p->id = id;
	if (ps->last)
		ps->last->next = p;
	else
		ps->first = p;
	ps->last = p;
	ps->n++;
	if (id < DIRECT)
		ps->direct[id] = p;
	else
		cw_htab_insert(&ps->far, &p->by_id, cw_hash(0, id));
	return p;
}

bool cw_probe_is(const struct cw_trace *t, const struct cw_probe_info *p, const char *name,
		 const char *module)
{
	const char *path, *slash;

	if (!p->name || strcmp(p->name, name) != 0)
		return false;
	if (!module)
		return true;
	path = cw_module_path(t, p->module_id);
	if (!path)
		return false;
	slash = strrchr(path, '/');
	return !strcmp(path, module) || !strcmp(slash ? slash + 1 : path, module);
}

static int event(struct cw_trace *t, const struct cw_rec *rec)
{
	const struct cw_probe *r = (const void *)rec;
	struct cw_probe_info *p = cw_probe_of(t, r->probe_id);

	if (p->known || p->id != r->probe_id)
		return 0;
	p->known = true;
	p->target = 0;
	p->module_id = r->module_id;
	p->flags = r->flags;
	p->offset = r->offset;
	p->placed = r->placed;
	p->name = cw_strndup(r->name, cw_tail_strlen(rec, r->name));
	return 0;
}

static bool work_out_target(const struct cw_trace *t, const struct cw_probe_info *p)
{
	const struct cw_plan *plan = t->recorded ? t->recorded : t->plan;

	if (!plan)
		return true;
	for (size_t i = 0; i < plan->nfuncs; i++) {
		const struct cw_plan_func *f = &plan->funcs[i];
		char by_offset[32];

		snprintf(by_offset, sizeof(by_offset), "+0x%llx", (unsigned long long)f->offset);
		if (f->target && cw_probe_is(t, p, f->name ? f->name : by_offset, f->module))
			return true;
	}
	plan = t->plan;
	return plan && plan->nhops &&
	       cw_probe_is(t, p, plan->hops[plan->nhops - 1].target,
			   plan->hops[plan->nhops - 1].target_module);
}

bool cw_probe_is_target(const struct cw_trace *t, struct cw_probe_info *p)
{
	if (!p->target)
		p->target = work_out_target(t, p) ? 1 : -1;
	return p->target > 0;
}

uint64_t cw_probe_lost_args(const struct cw_probe_info *p)
{
	return p->flags / CW_PROBE_NO_ARG1 & 0x3f;
}

static int flush(struct cw_trace *t)
{
	for (struct cw_probe_info *p = t->probes->first; p; p = p->next) {
		char unknown[32];
		uint64_t *w;

		snprintf(unknown, sizeof(unknown), "probe %u", p->id);
		w = cw_rows_put(t->rows, CW_ROW_PROBE, p->known ? 0 : 4 | 8 | 16);
		w[0] = p->id;
		w[1] = cw_word_dup(p->name ? p->name : unknown);
		w[2] = p->module_id;
		w[3] = p->offset;
		w[4] = p->placed;
		w[5] = !!(p->flags & CW_PROBE_HAS_RETURN);
		w[6] = !!(p->flags & CW_PROBE_SINGLE_STEPPED);
		w[7] = !!(p->flags & CW_PROBE_NO_FP);
		w[8] = cw_probe_is_target(t, p);
	}
	return 0;
}

static int begin(struct cw_trace *t)
{
	t->probes = cw_zalloc(sizeof(*t->probes));
	return 0;
}

static void release(struct cw_trace *t)
{
	struct cw_probes *ps = t->probes;

	if (!ps)
		return;
	for (struct cw_probe_info *p = ps->first, *next; p; p = next) {
		next = p->next;
		free(p->name);
		free(p);
	}
	cw_htab_free(&ps->far);
	free(ps);
	t->probes = NULL;
}

extern const struct cw_pass cw_pass_probes;
const struct cw_pass cw_pass_probes = {
	.name = "probes",
	.version = 1,
	.reads = "probe plan images",
	.writes = "probe",
	.types = CW_TYPE_BIT(CW_PROBE),
	.begin = begin,
	.event = event,
	.flush = flush,
	.free = release,
};
