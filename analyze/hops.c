/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the hops as the capture sees them and their counters. Must not know submissions or chains.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "hops.h"
#include "loss.h"

#define DEFAULT_MAX_AGE_NS (30ull * 1000 * 1000 * 1000)

static bool same_text(const char *a, const char *b)
{
	return a && b ? !strcmp(a, b) : a == b;
}

uint64_t cw_hops_max_age(const struct cw_plan *plan, uint64_t max_age_ns)
{
	uint64_t age = max_age_ns ? max_age_ns : plan ? plan->max_age_ns : 0;

	return age ? age : DEFAULT_MAX_AGE_NS;
}

void cw_hops_init(struct cw_hops *hops, const struct cw_plan *plan, uint64_t max_age_ns)
{
	uint64_t age = cw_hops_max_age(plan, max_age_ns);

	hops->n = plan ? (uint32_t)plan->nhops : 0;
	hops->h = cw_zalloc(hops->n * sizeof(*hops->h));
	for (uint32_t i = 0; i < hops->n; i++) {
		const struct cw_plan_hop *p = &plan->hops[i];
		struct cw_hop *h = &hops->h[i];

		h->plan = p;
		h->max_age_ns = !max_age_ns && p->max_age_ns ? p->max_age_ns : age;
		if (i)
			h->stage =
				h[-1].stage + !(same_text(p->target, p[-1].target) &&
						same_text(p->target_module, p[-1].target_module));
		hops->nstages = h->stage + 1;
	}
}

void cw_hops_free(struct cw_hops *hops)
{
	for (struct cw_roles *r = hops->roles, *next; r; r = next) {
		next = r->next;
		free(r->sources);
		free(r->targets);
		free(r);
	}
	free(hops->h);
}

const struct cw_roles *cw_hops_roles(struct cw_trace *t, struct cw_hops *hops,
				     struct cw_probe_info *p)
{
	struct cw_roles *r = p->roles;

	if (r)
		return r;
	r = cw_zalloc(sizeof(*r));
	r->sources = cw_zalloc(hops->n * sizeof(*r->sources));
	r->targets = cw_zalloc(hops->n * sizeof(*r->targets));
	for (uint32_t i = 0; i < hops->n; i++) {
		const struct cw_plan_hop *h = hops->h[i].plan;

		if (cw_probe_is(t, p, h->source, h->source_module))
			r->sources[r->nsources++] = i;
		if (cw_probe_is(t, p, h->target, h->target_module))
			r->targets[r->ntargets++] = i;
	}
	if (r->ntargets)
		r->target_stage = hops->h[r->targets[0]].stage;
	r->next = hops->roles;
	hops->roles = r;
	p->roles = r;
	return r;
}

static bool recorded(const struct cw_trace *t, const char *name, const char *module)
{
	for (const struct cw_probe_info *p = cw_probe_first(t); p; p = p->next)
		if (cw_probe_is(t, p, name, module))
			return true;
	return false;
}

/* Whether the key of a hop was recorded wherever the function was. */
static bool key_recorded(const struct cw_trace *t, const char *name, const char *module,
			 uint32_t arg)
{
	for (const struct cw_probe_info *p = cw_probe_first(t); p; p = p->next)
		if (arg != CW_ARG_AUTO && cw_probe_is(t, p, name, module) &&
		    cw_probe_lost_args(p) >> (arg - 1) & 1)
			return false;
	return true;
}

/* Names of the recorded functions, as many as fit. */
static void list_recorded(const struct cw_trace *t, char *buf, size_t size)
{
	size_t n = 0;

	buf[0] = '\0';
	for (const struct cw_probe_info *p = cw_probe_first(t); p && n + 8 < size; p = p->next)
		if (p->name)
			n += (size_t)snprintf(buf + n, size - n, "%s%s", n ? ", " : "", p->name);
}

static int check_keys(struct cw_trace *t, const struct cw_plan_hop *h, uint32_t i)
{
	bool source = key_recorded(t, h->source, h->source_module, h->source_arg);

	if (source && key_recorded(t, h->target, h->target_module, h->target_arg))
		return 0;
	snprintf(t->err, sizeof(t->err),
		 "hop %u (%.60s -> %.60s): argument %u of %.60s was not recorded, since the "
		 "function "
		 "does not use it; record again with this hop",
		 i, h->source, h->target, source ? h->target_arg : h->source_arg,
		 source ? h->target : h->source);
	return -EINVAL;
}

/* A condition on returns that were not recorded would never refuse anything. */
static int check_returns(struct cw_trace *t, const struct cw_plan_hop *h, uint32_t i)
{
	for (const struct cw_probe_info *p = cw_probe_first(t); p && h->source_returns; p = p->next)
		if (cw_probe_is(t, p, h->source, h->source_module) &&
		    !(p->flags & CW_PROBE_HAS_RETURN)) {
			snprintf(t->err, sizeof(t->err),
				 "hop %u (%.60s -> %.60s): returns of %.60s were not recorded, "
				 "which "
				 "source_returns asks for; record again with this hop",
				 i, h->source, h->target, h->source);
			return -EINVAL;
		}
	return 0;
}

int cw_hops_check(struct cw_trace *t, const struct cw_hops *hops)
{
	for (uint32_t i = 0; i < hops->n; i++) {
		const struct cw_plan_hop *h = hops->h[i].plan;
		bool source = recorded(t, h->source, h->source_module);
		char names[256];

		if (source && recorded(t, h->target, h->target_module)) {
			if (check_keys(t, h, i) || check_returns(t, h, i))
				return -EINVAL;
			continue;
		}
		list_recorded(t, names, sizeof(names));
		snprintf(t->err, sizeof(t->err),
			 "hop %u (%.60s -> %.60s): calls of %.60s were not recorded; recorded "
			 "were: %s",
			 i, h->source, h->target, source ? h->target : h->source,
			 *names ? names : "none");
		return -EINVAL;
	}
	return 0;
}

bool cw_hop_submitted(const struct cw_hop *h, uint64_t ret)
{
	/* It may be an int, whose upper half is 0. */
	bool negative = ret >> 63 || (!(ret >> 32) && ret >> 31);

	switch (h->plan->source_returns) {
	case CW_RETURNS_NONZERO:
		return ret != 0;
	case CW_RETURNS_ZERO:
		return ret == 0;
	case CW_RETURNS_NONNEGATIVE:
		return !negative;
	default:
		return true;
	}
}

bool cw_hops_cut_off(struct cw_trace *t, struct cw_hops *hops, uint32_t hop, uint64_t ts)
{
	uint32_t probe_id;
	uint64_t since;

	for (size_t i = 0; cw_loss_detached_at(t, i, &probe_id, &since); i++) {
		const struct cw_roles *r = cw_hops_roles(t, hops, cw_probe_of(t, probe_id));

		if (since > ts)
			continue;
		for (uint32_t k = 0; k < r->nsources; k++)
			if (r->sources[k] == hop)
				return true;
		for (uint32_t k = 0; k < r->ntargets; k++)
			if (r->targets[k] == hop)
				return true;
	}
	return false;
}

void cw_hops_write(struct cw_trace *t, const struct cw_hops *hops)
{
	for (uint32_t i = 0; i < hops->n; i++) {
		const struct cw_hop *h = &hops->h[i];
		uint64_t *w = cw_rows_put(t->rows, CW_ROW_HOP_COUNT, 0);

		w[0] = i;
		w[1] = cw_word_dup(h->plan->source);
		w[2] = cw_word_dup(h->plan->target);
		w[3] = h->submitted;
		w[4] = h->matched;
		w[5] = h->unmatched;
		w[6] = h->duplicate_keys;
		w[7] = h->superseded;
		w[8] = h->expired;
		w[9] = h->ambiguous;
		w[10] = h->no_handoff;
		w[11] = h->open_at_end;
	}
}
