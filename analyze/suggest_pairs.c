/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counts crossings and the pairs they support, in one run over the calls. Decides nothing: which
 * pairs are handoffs is the matter of suggest_groups.c.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "suggest_pairs.h"

#define MAX_PASSED 48u /* nodes of a value kept apart: constants have many, and are of no use */
#define MAX_DEPTH  32u /* calls around a call that are looked at */
#define LATE       5u  /* the first fifth of the time is not late */

/* The last call in which a value was passed to a node. */
struct passed {
	uint32_t node, call; /* call: index + 1 */
};

struct value {
	struct cw_hnode by_value;
	struct value *next;
	uint64_t value;
	uint32_t upid;
	uint32_t crossing; /* the latest one, + 1; 0: it has not changed hands */
	uint32_t npassed, room;
	struct passed *passed;
};

struct counting {
	const struct cw_sg_data *d;
	struct cw_sg_stats *s;
	struct cw_htab values, pairs;
	struct value *all;
	struct shared *shared;
	size_t nshared;                    /* a power of two */
	const struct cw_sg_waking **woken; /* by thread: its latest waking */
	int64_t *called;                   /* by thread: its latest call */
	uint32_t nthreads;
	size_t waking;
};

/* ---- values that more than one thread passes ----------------------------------------------------
 */

/* Most values never leave their thread, and are forgotten at once. */
struct shared {
	uint64_t hash; /* 0: free */
	uint32_t utid;
	bool several;
	bool sync; /* a lock or the like */
};

static uint64_t value_hash(uint32_t upid, uint64_t value)
{
	return cw_hash(cw_hash(0x5u, upid), value) | 1;
}

static struct shared *shared_of(struct counting *c, uint32_t upid, uint64_t value)
{
	uint64_t hash = value_hash(upid, value);
	size_t i = (hash >> 1) & (c->nshared - 1);

	while (c->shared[i].hash && c->shared[i].hash != hash)
		i = (i + 1) & (c->nshared - 1);
	c->shared[i].hash = hash;
	return &c->shared[i];
}

static void find_shared(struct counting *c)
{
	for (c->nshared = 1024; c->nshared < 2 * CW_NARGS * c->d->ncalls;)
		c->nshared *= 2;
	c->shared = cw_zalloc(c->nshared * sizeof(*c->shared));
	for (size_t i = 0; i < c->d->ncalls; i++) {
		const struct cw_sg_call *call = &c->d->calls[i];

		for (unsigned arg = 0; arg < CW_NARGS; arg++) {
			struct shared *s;

			if (!call->args[arg])
				continue;
			s = shared_of(c, call->upid, call->args[arg]);
			s->several |= s->utid && s->utid != call->utid;
			s->utid = call->utid;
			s->sync |= !arg && c->d->probes[call->probe].kind == CW_SG_SYNC;
		}
	}
}

static struct value *value_of(struct counting *c, uint32_t upid, uint64_t value)
{
	uint64_t hash = value_hash(upid, value);
	struct cw_hnode *n = cw_htab_first(&c->values, hash);
	struct value *v;

	for (; n; n = cw_htab_next(n->next, hash)) {
		v = cw_container(n, struct value, by_value);
		if (v->value == value && v->upid == upid)
			return v;
	}
	v = cw_zalloc(sizeof(*v));
	v->value = value;
	v->upid = upid;
	v->next = c->all;
	c->all = v;
	cw_htab_insert(&c->values, &v->by_value, hash);
	return v;
}

static struct passed *passed_of(const struct value *v, uint32_t node)
{
	for (uint32_t i = 0; i < v->npassed; i++)
		if (v->passed[i].node == node)
			return &v->passed[i];
	return NULL;
}

static struct passed *oldest(const struct value *v)
{
	struct passed *p = NULL;

	for (uint32_t i = 0; i < v->npassed; i++)
		if (!p || v->passed[i].call < p->call)
			p = &v->passed[i];
	return p;
}

/* Note that the value was passed to node in this call. The oldest makes way when there are many. */
static void pass(struct value *v, uint32_t node, uint32_t call)
{
	struct passed *p = passed_of(v, node);

	if (!p && v->npassed < MAX_PASSED) {
		cw_reserve(v->passed, v->npassed, v->room);
		p = &v->passed[v->npassed++];
	}
	if (!p)
		p = oldest(v);
	if (p)
		*p = (struct passed){node, call};
}

/* What has this value next is another thing. */
static void forget(struct value *v)
{
	v->npassed = 0;
	v->crossing = 0;
}

/* ---- pairs --------------------------------------------------------------------------------------
 */

struct pair_node {
	struct cw_hnode by_nodes;
	struct cw_sg_pair pair;
};

static struct cw_sg_pair *pair_of(struct counting *c, uint32_t source, uint32_t target)
{
	uint64_t hash = cw_hash(cw_hash(0x7u, source), target);
	struct cw_hnode *n = cw_htab_first(&c->pairs, hash);
	struct pair_node *p;

	for (; n; n = cw_htab_next(n->next, hash)) {
		p = cw_container(n, struct pair_node, by_nodes);
		if (p->pair.source == source && p->pair.target == target)
			return &p->pair;
	}
	if (c->s->npairs >= CW_SG_PAIRS)
		return NULL;
	p = cw_zalloc(sizeof(*p));
	p->pair.source = source;
	p->pair.target = target;
	cw_htab_insert(&c->pairs, &p->by_nodes, hash);
	if (!(c->s->npairs & (c->s->npairs - 1)))
		c->s->pairs =
			cw_grow(c->s->pairs, c->s->npairs ? 2 * c->s->npairs : 1, sizeof(void *));
	c->s->pairs[c->s->npairs++] = &p->pair;
	return &p->pair;
}

static void note_key(struct cw_sg_pair *p, uint64_t value)
{
	uint64_t bit = cw_mix(cw_mix(0x3u, value), 0x11u) >> 20;

	p->bits[bit / 64 % (CW_SG_BITS / 64)] |= 1ull << bit % 64;
}

/* One more crossing: value was passed in call f, and now in call g, by index. */
static void support(struct counting *c, const struct value *v, uint32_t f, uint32_t source,
		    uint32_t g, uint32_t target, bool first)
{
	const struct cw_sg_call *from = &c->d->calls[f], *to = &c->d->calls[g];
	const struct cw_sg_waking *w = c->woken[to->utid];
	const struct passed *before = passed_of(v, target);
	struct cw_sg_pair *p = pair_of(c, source, target);
	int64_t delay = to->ts - from->ts;

	if (!p)
		return;
	if (p->n < CW_SG_SAMPLES) {
		p->delays[p->n] = delay;
		p->sources[p->n] = f;
		p->targets[p->n] = g;
	}
	p->min_ns = !p->n || delay < p->min_ns ? delay : p->min_ns;
	p->max_ns = !p->n || delay > p->max_ns ? delay : p->max_ns;
	p->sum_ns += (double)delay;
	p->n++;
	p->first += first;
	p->small += v->value < CW_SG_SMALL;
	p->symmetric += before && c->d->calls[before->call - 1].utid == from->utid;
	if (w && w->waker == from->utid) {
		p->woken += w->ts >= from->ts;
		/* One before what the thread did last has nothing to do with this. */
		p->too_late += w->ts < from->ts && w->ts > c->called[to->utid];
	}
	note_key(p, v->value);
	cw_reserve(p->crossings, p->ncrossings, p->room);
	p->crossings[p->ncrossings++] = v->crossing - 1;
}

/* ---- crossings ----------------------------------------------------------------------------------
 */

/* Does a call around call i pass the value, too? Then it is that call's matter. */
static bool inside(const struct cw_sg_data *d, uint32_t i, uint64_t value)
{
	for (unsigned depth = 0; depth < MAX_DEPTH && d->calls[i].parent; depth++) {
		i = d->calls[i].parent - 1;
		for (unsigned arg = 0; arg < CW_NARGS; arg++)
			if (d->calls[i].args[arg] == value)
				return true;
	}
	return false;
}

/* Values are born where they are passed before they change hands for the first time. */
static void note_births(struct counting *c, const struct value *v, uint32_t utid)
{
	const struct cw_sg_call *calls = c->d->calls;
	int64_t late = calls[0].ts + (calls[c->d->ncalls - 1].ts - calls[0].ts) / LATE;

	for (uint32_t i = 0; i < v->npassed; i++) {
		const struct cw_sg_call *call = &calls[v->passed[i].call - 1];

		if (call->utid != utid)
			continue;
		c->s->born[v->passed[i].node]++;
		c->s->born_late[v->passed[i].node] += call->ts >= late;
	}
}

/* Call i passes the value in its argument arg, the first of its arguments that has it when head. */
static void look(struct counting *c, struct value *v, uint32_t i, uint32_t node, bool head)
{
	const struct cw_sg_call *calls = c->d->calls, *call = &calls[i];
	const struct passed *mine = passed_of(v, node);
	uint32_t latest = 0, here = 0, floor = 0, giver;
	bool first;

	/* The latest call of another thread, and the latest one of this thread. */
	for (uint32_t k = 0; k < v->npassed; k++) {
		uint32_t at = v->passed[k].call;

		if (at == i + 1)
			continue; /* another argument of this very call */
		if (calls[at - 1].utid == call->utid)
			here = at > here ? at : here;
		else
			latest = at > latest ? at : latest;
	}
	if (!latest)
		return;
	giver = calls[latest - 1].utid;
	first = here < latest && !inside(c->d, i, v->value);
	if (first && head) {
		if (!v->crossing)
			note_births(c, v, giver);
		v->crossing = ++c->s->ncrossings;
	}
	if (!v->crossing)
		return;
	/* What the giver did with it since a third thread had it, and since target got it last. */
	for (uint32_t k = 0; k < v->npassed; k++) {
		uint32_t at = v->passed[k].call;

		if (at < latest && calls[at - 1].utid != giver && calls[at - 1].utid != call->utid)
			floor = at > floor ? at : floor;
	}
	if (mine && mine->call > floor && mine->call != i + 1)
		floor = mine->call;
	if (first && here > floor)
		floor = here;
	for (uint32_t k = 0; k < v->npassed; k++) {
		const struct passed *p = &v->passed[k];

		if (p->call > floor && calls[p->call - 1].utid == giver &&
		    cw_sg_probe_of(p->node) != call->probe)
			support(c, v, p->call - 1, p->node, i, node, first);
	}
}

static void one_call(struct counting *c, uint32_t i)
{
	const struct cw_sg_call *call = &c->d->calls[i];
	enum cw_sg_kind kind = c->d->probes[call->probe].kind;

	while (c->waking < c->d->nwakings && c->d->wakings[c->waking].ts <= call->ts) {
		const struct cw_sg_waking *w = &c->d->wakings[c->waking++];

		if (w->utid < c->nthreads)
			c->woken[w->utid] = w;
	}
	if (kind != CW_SG_PLAIN)
		c->called[call->utid] = call->ts;
	if (kind == CW_SG_FREE && call->args[0] && shared_of(c, call->upid, call->args[0])->several)
		forget(value_of(c, call->upid, call->args[0]));
	for (unsigned arg = 0; arg < CW_NARGS && kind == CW_SG_PLAIN; arg++) {
		uint64_t value = call->args[arg];
		uint32_t node = call->probe * CW_NARGS + arg;
		bool head = true;
		struct shared *shared;
		struct value *v;

		if (!value)
			continue;
		c->s->uses[node]++;
		shared = shared_of(c, call->upid, value);
		if (!shared->several || shared->sync)
			continue;
		for (unsigned k = 0; k < arg; k++)
			head &= call->args[k] != value;
		v = value_of(c, call->upid, value);
		look(c, v, i, node, head);
		pass(v, node, i + 1);
	}
	c->called[call->utid] = call->ts;
}

/* ---- the count of distinct keys -----------------------------------------------------------------
 */

/* Exact while all crossings are kept. */
static uint64_t count_keys(const struct cw_sg_data *d, const struct cw_sg_pair *p)
{
	uint32_t arg = p->source % CW_NARGS;
	uint64_t keys = 0;

	for (size_t i = 0; i < p->n; i++) {
		size_t k = 0;

		while (d->calls[p->sources[k]].args[arg] != d->calls[p->sources[i]].args[arg])
			k++;
		keys += k == i;
	}
	return keys;
}

static uint64_t estimate(const struct cw_sg_pair *p)
{
	unsigned set = 0;
	double keys;

	for (unsigned i = 0; i < CW_SG_BITS / 64; i++)
		set += (unsigned)__builtin_popcountll(p->bits[i]);
	keys = set < CW_SG_BITS ? -(double)CW_SG_BITS * log(1.0 - (double)set / CW_SG_BITS)
				: (double)p->n;
	return keys > (double)p->n ? p->n : (uint64_t)(keys + 0.5);
}

void cw_sg_count(struct cw_sg_stats *s, const struct cw_sg_data *d)
{
	struct counting c = {.d = d, .s = s};

	memset(s, 0, sizeof(*s));
	s->uses = cw_zalloc((d->nprobes * CW_NARGS + 1) * sizeof(*s->uses));
	s->born = cw_zalloc((d->nprobes * CW_NARGS + 1) * sizeof(*s->born));
	s->born_late = cw_zalloc((d->nprobes * CW_NARGS + 1) * sizeof(*s->born_late));
	for (size_t i = 0; i < d->ncalls; i++)
		if (d->calls[i].utid >= c.nthreads)
			c.nthreads = d->calls[i].utid + 1;
	c.woken = cw_zalloc((c.nthreads + 1) * sizeof(void *));
	c.called = cw_zalloc((c.nthreads + 1) * sizeof(*c.called));
	find_shared(&c);
	for (uint32_t i = 0; i < d->ncalls; i++)
		one_call(&c, i);
	for (size_t i = 0; i < s->npairs; i++)
		s->pairs[i]->keys = s->pairs[i]->n <= CW_SG_SAMPLES ? count_keys(d, s->pairs[i])
								    : estimate(s->pairs[i]);
	for (struct value *v = c.all, *next; v; v = next) {
		next = v->next;
		free(v->passed);
		free(v);
	}
	cw_htab_free(&c.values);
	cw_htab_free(&c.pairs);
	free(c.shared);
	free(c.woken);
	free(c.called);
}

void cw_sg_stats_free(struct cw_sg_stats *s)
{
	for (size_t i = 0; i < s->npairs; i++) {
		free(s->pairs[i]->crossings);
		free(cw_container(s->pairs[i], struct pair_node, pair));
	}
	free(s->pairs);
	free(s->uses);
	free(s->born);
	free(s->born_late);
	memset(s, 0, sizeof(*s));
}
