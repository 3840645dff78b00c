/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Decides which pairs are handoffs. The best pair explains its crossings; pairs that live in the
 * same crossings are its wrappers; what is left is looked at again.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "suggest_groups.h"

#define MIN_CROSSINGS 3    /* fewer are chance */
#define MIN_KEYS      3    /* fewer are constants: a queue, a lock, a configuration */
#define MIN_BEST      0.7  /* of the calls of one side, at least, are part of the handoff */
#define MIN_PRODUCT   0.25 /* both sides' shares multiplied */
#define MIN_SMALL     0.8  /* of both sides, when keys are small numbers, which meet by chance */
#define SMALL_KEYS    8    /* and so many of them */
#define MAX_SYMMETRIC 0.5  /* in which both threads do the same with the value */
#define MUCH_MORE     3.0  /* the work of a target is so many times that of its source */
#define LITTLE        0.1 /* the work of a target is that part of its source's: rather the way back */
#define MEMBER_COVER  0.3  /* a wrapper has its part in so many of the crossings */
#define STEP          0.05 /* differences of scores below are none */
#define NEAR          0.15 /* scores of two sources of one target that differ so little say nothing */
#define FEW_KEYS      8
#define FEW_PRODUCT   0.4  /* both sides' shares multiplied, with few keys and no wakings */
#define LOOK_AHEAD    2000 /* calls */

struct deciding {
	const struct cw_sg_data *d;
	const struct cw_sg_stats *s;
	bool *explained;         /* by crossing */
	bool *ours;              /* by crossing: of the group that is being made */
	uint64_t *given, *taken; /* by function: of its calls, those in a group already */
	struct cw_sg_groups *out;
	struct cw_sg_groups same;     /* other keys of the same handings over */
	struct cw_sg_groups rejected; /* what looked like one, and is none */
	size_t room, same_room, rejected_room;
};

static const struct cw_sg_probe *probe_of(const struct deciding *x, uint32_t node)
{
	return &x->d->probes[cw_sg_probe_of(node)];
}

static uint64_t alive(const struct deciding *x, const struct cw_sg_pair *p)
{
	uint64_t n = 0;

	for (size_t i = 0; i < p->ncrossings; i++)
		n += !x->explained[p->crossings[i]];
	return n;
}

static size_t samples(const struct cw_sg_pair *p)
{
	return p->n < CW_SG_SAMPLES ? p->n : CW_SG_SAMPLES;
}

static bool same_thread(const struct deciding *x, uint32_t i, uint32_t k)
{
	return x->d->calls[i].utid == x->d->calls[k].utid;
}

/* ---- one pair -----------------------------------------------------------------------------------
 */

/* How many times the work of the target is that of the source; 1 when nothing is known. */
static double work_ratio(const struct deciding *x, const struct cw_sg_pair *p)
{
	double source = probe_of(x, p->source)->cost_ns, target = probe_of(x, p->target)->cost_ns;

	if (source < 0 || target < 0)
		return 1;
	return (target + 1) / (source + 1);
}

/* The same nodes the other way round; NULL when there is no such pair. */
static const struct cw_sg_pair *reverse_of(const struct deciding *x, const struct cw_sg_pair *p)
{
	for (size_t i = 0; i < x->s->npairs; i++)
		if (x->s->pairs[i]->source == p->target && x->s->pairs[i]->target == p->source)
			return x->s->pairs[i];
	return NULL;
}

/* Did nothing go on in its process before the capture began? */
static bool is_fresh(const struct deciding *x, const struct cw_sg_pair *p)
{
	for (size_t i = 0; i < x->d->nfresh; i++)
		if (x->d->fresh[i] == x->d->calls[p->sources[0]].upid)
			return true;
	return false;
}

/*
 * Memory that is freed and used again goes from the last target to the first source. It shows in
 * where values come up first: where they are made, not where they end. And in who wakes whom.
 */
static bool is_reuse(const struct deciding *x, const struct cw_sg_pair *p)
{
	const struct cw_sg_pair *back = reverse_of(x, p);
	uint64_t source = x->s->born_late[p->source], target = x->s->born_late[p->target];

	if (source + target < MIN_KEYS) {
		source = x->s->born[p->source];
		target = x->s->born[p->target];
	}
	if (target <= source || 3 * target < p->keys)
		return false;
	if (is_fresh(x, p) || (back && back->woken >= MIN_CROSSINGS && back->woken > 4 * p->woken))
		return true;
	/* With a capture that began while everything was queued it is the other way round. */
	return work_ratio(x, p) < MUCH_MORE;
}

/* The first waking after ts; the index of the end when there is none. */
static size_t waking_after(const struct cw_sg_data *d, int64_t ts)
{
	size_t low = 0, high = d->nwakings;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (d->wakings[mid].ts <= ts)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/* Does the source wait for the target, which wakes it? Then the work goes the other way. */
static bool is_wait(const struct deciding *x, const struct cw_sg_pair *p)
{
	size_t n = samples(p), waits = 0;

	for (size_t i = 0; i < n; i++) {
		const struct cw_sg_call *from = &x->d->calls[p->sources[i]];
		const struct cw_sg_call *to = &x->d->calls[p->targets[i]];
		size_t k = waking_after(x->d, to->ts);

		while (k < x->d->nwakings && x->d->wakings[k].ts < from->end_ts &&
		       x->d->wakings[k].utid != from->utid)
			k++;
		waits += k < x->d->nwakings && x->d->wakings[k].ts < from->end_ts &&
			 x->d->wakings[k].waker == to->utid;
	}
	return 2 * waits > n;
}

/* Is it what one side waits for and the other one signals, whichever comes first? */
static bool is_signal(const struct deciding *x, const struct cw_sg_pair *p)
{
	if (is_wait(x, p))
		return true;
	for (size_t i = 0; i < x->s->npairs; i++) {
		const struct cw_sg_pair *q = x->s->pairs[i];

		if (q->source == p->target && q->target == p->source && 2 * q->n > p->n &&
		    is_wait(x, q))
			return true;
	}
	return false;
}

/* The part n of all calls but those that are explained. */
static double share(uint64_t n, uint64_t calls, uint64_t explained)
{
	return calls > n + explained ? (double)n / (double)(calls - explained) : 1;
}

/* A score from 0 to 1 over n of its crossings; 0: this is no handoff. */
static double judge(const struct deciding *x, const struct cw_sg_pair *p, uint64_t n)
{
	const struct cw_sg_probe *source = probe_of(x, p->source), *target = probe_of(x, p->target);
	double s = share(n, x->s->uses[p->source], x->given[cw_sg_probe_of(p->source)]);
	double t = share(n, x->s->uses[p->target], x->taken[cw_sg_probe_of(p->target)]), score;

	if (n < MIN_CROSSINGS || p->keys < MIN_KEYS || fmax(s, t) < MIN_BEST || s * t < MIN_PRODUCT)
		return 0;
	if ((double)p->symmetric > MAX_SYMMETRIC * (double)p->n || 2 * p->first < p->n)
		return 0;
	/* Small numbers meet by chance: that the one thread woke the other does not happen by
	 * chance. */
	if (2 * p->small > p->n &&
	    (fmin(s, t) < MIN_SMALL || p->keys < SMALL_KEYS || 5 * p->woken < p->n))
		return 0;
	/* What each thread is given once, at its start, or leaves at its end, is no queue. */
	if ((target->calls <= target->threads && target->calls < 20) ||
	    (source->calls <= source->threads && source->calls < 20))
		return 0;
	score = s * t * (double)p->first / (double)p->n;
	if (p->woken + p->too_late)
		score *= 1 - 0.5 * (double)p->too_late / (double)(p->woken + p->too_late);
	/* The same few values again and again: rather what the work goes through than the work. */
	if (p->keys <= FEW_KEYS && FEW_KEYS * p->keys < p->n) {
		if (s * t < FEW_PRODUCT && 5 * p->woken < p->n)
			return 0;
		score *= 0.9;
	}
	/* Where something is freed, the work with it is over. */
	if (target->ends)
		score *= 0.7;
	/* Few functions have as many arguments, but all have something on the stack. */
	if (cw_sg_arg_of(p->source) > 6)
		score *= 0.8;
	if (work_ratio(x, p) < LITTLE)
		score *= 0.5;
	return score;
}

/* Part of these calls that are calls of one of the functions or inside one. */
static double within(const struct deciding *x, const uint32_t *calls, uint64_t n, uint32_t node,
		     const struct cw_sg_member *more, size_t nmore)
{
	size_t in = 0;

	n = n < CW_SG_SAMPLES ? n : CW_SG_SAMPLES;
	for (size_t i = 0; i < n; i++) {
		bool is = cw_sg_within(x->d, calls[i], cw_sg_probe_of(node));

		for (size_t k = 0; k < nmore && !is; k++)
			is = cw_sg_within(x->d, calls[i], cw_sg_probe_of(more[k].node));
		in += is;
	}
	return (double)in / (double)n;
}

/* In how many more handings over to the same call does the source of a come later than that of b?
 */
static long later(const struct cw_sg_pair *a, const struct cw_sg_pair *b)
{
	long n = 0;

	for (size_t i = 0, k = 0; i < samples(a); i++) {
		while (k < samples(b) && b->targets[k] < a->targets[i])
			k++;
		if (k < samples(b) && b->targets[k] == a->targets[i])
			n += (a->sources[i] > b->sources[k]) - (a->sources[i] < b->sources[k]);
	}
	return n;
}

/*
 * Of two pairs with the same score: the lowest argument, as higher ones may be what lay in
 * registers; the target that came first; the outermost source, or of two in a row the later one.
 */
static bool rather(const struct deciding *x, const struct cw_sg_pair *a, const struct cw_sg_pair *b)
{
	double delay_a = a->sum_ns / (double)a->n, delay_b = b->sum_ns / (double)b->n;
	bool same_source = cw_sg_probe_of(a->source) == cw_sg_probe_of(b->source);
	bool same_target = cw_sg_probe_of(a->target) == cw_sg_probe_of(b->target);

	if (same_source && a->source != b->source)
		return a->source < b->source;
	if (same_source && same_target)
		return a->target < b->target;
	if (same_target && within(x, b->sources, b->n, a->source, NULL, 0) > 0.5)
		return true;
	if (same_target && within(x, a->sources, a->n, b->source, NULL, 0) > 0.5)
		return false;
	if (same_target && later(a, b))
		return later(a, b) > 0;
	return delay_a < delay_b;
}

/* Is the value of sample i passed inside the source call again, after the target was called? */
static bool goes_on(const struct deciding *x, const struct cw_sg_pair *p, size_t i)
{
	const struct cw_sg_call *calls = x->d->calls, *from = &calls[p->sources[i]];
	uint64_t value = from->args[p->source % CW_NARGS];
	size_t end = p->targets[i] + LOOK_AHEAD;

	for (size_t k = p->targets[i] + 1; k < x->d->ncalls && k < end; k++) {
		bool has = false;

		if (from->end_ts && calls[k].ts > from->end_ts)
			break;
		for (unsigned arg = 0; arg < CW_NARGS && calls[k].utid == from->utid; arg++)
			has |= calls[k].args[arg] == value;
		if (has && cw_sg_nested(x->d, p->sources[i], (uint32_t)k))
			return true;
	}
	return false;
}

/* A giver that goes on with the value within the same call has let the other one look, no more. */
static bool is_kept(const struct deciding *x, struct cw_sg_pair *p)
{
	size_t n = samples(p), kept = 0;

	if (!p->kept) {
		for (size_t i = 0; i < n; i++)
			kept += goes_on(x, p, i);
		p->kept = 2 * kept > n ? 2 : 1;
	}
	return p->kept == 2;
}

/* Does each thread always get the same value, again and again? That is its queue, not its work. */
static bool is_queue(const struct deciding *x, const struct cw_sg_pair *p)
{
	const struct cw_sg_call *calls = x->d->calls;
	uint32_t to = p->target % CW_NARGS;
	size_t n = samples(p);

	if (4 * p->keys > p->n)
		return false;
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < i; k++)
			if (same_thread(x, p->targets[i], p->targets[k]) &&
			    calls[p->targets[i]].args[to] != calls[p->targets[k]].args[to])
				return false;
	return true;
}

/* Is p, with its score, to be preferred to what was found so far? */
static bool better(const struct deciding *x, const struct cw_sg_pair *p, double now,
		   const struct cw_sg_pair *found, double score)
{
	bool near = found && p->target == found->target && fabs(now - score) < NEAR &&
		    cw_sg_probe_of(p->source) != cw_sg_probe_of(found->source);

	return found && (near || now == score) ? rather(x, p, found) : now > score;
}

static const struct cw_sg_pair *best(const struct deciding *x, double *score)
{
	const struct cw_sg_pair *found = NULL;

	*score = 0;
	for (size_t i = 0; i < x->s->npairs; i++) {
		struct cw_sg_pair *p = x->s->pairs[i];
		double now = p->n < MIN_CROSSINGS ? 0 : judge(x, p, alive(x, p));

		now = floor(now / STEP + 0.001) * STEP;
		if (now > 0 && better(x, p, now, found, *score) && !is_kept(x, p) &&
		    !is_queue(x, p)) {
			*score = now;
			found = p;
		}
	}
	return found;
}

/* ---- one group ----------------------------------------------------------------------------------
 */

/* A function is listed once, by its lowest argument that has the key nearly as often as the best.
 */
static void add_member(struct cw_sg_member **list, size_t *n, uint32_t node, uint64_t matched)
{
	for (size_t i = 0; i < *n; i++) {
		struct cw_sg_member *m = &(*list)[i];

		if (cw_sg_probe_of(m->node) != cw_sg_probe_of(node))
			continue;
		if ((double)matched > 1.05 * (double)m->matched ||
		    ((double)matched > 0.95 * (double)m->matched && node < m->node))
			*m = (struct cw_sg_member){node, matched};
		return;
	}
	*list = cw_grow(*list, *n + 1, sizeof(**list));
	(*list)[(*n)++] = (struct cw_sg_member){node, matched};
}

static void find_members(struct deciding *x, struct cw_sg_group *g)
{
	const struct cw_sg_pair *main = g->pair;

	for (size_t i = 0; i < x->s->npairs; i++) {
		const struct cw_sg_pair *p = x->s->pairs[i];
		uint64_t common = 0;

		if (p->source != main->source && p->target != main->target)
			continue;
		for (size_t k = 0; k < p->ncrossings; k++)
			common += x->ours[p->crossings[k]];
		if ((double)common < MEMBER_COVER * (double)main->n)
			continue;
		if (cw_sg_probe_of(p->source) != cw_sg_probe_of(main->source))
			add_member(&g->sources, &g->nsources, p->source, common);
		if (cw_sg_probe_of(p->target) != cw_sg_probe_of(main->target))
			add_member(&g->targets, &g->ntargets, p->target, common);
	}
}

static int compare_ns(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return (x > y) - (x < y);
}

static int64_t median(const struct cw_sg_pair *p)
{
	size_t n = samples(p);
	int64_t sorted[CW_SG_SAMPLES];

	memcpy(sorted, p->delays, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), compare_ns);
	return sorted[n / 2];
}

static bool sources_within(const struct deciding *x, const struct cw_sg_pair *p,
			   const struct cw_sg_group *g)
{
	return within(x, p->sources, p->n, g->pair->source, g->sources, g->nsources) > 0.5;
}

/*
 * Is it the same handing over, seen by another value: a number beside a pointer, the node of a
 * list, the queue, or what lay in registers? The same thread gave it to the same one, and one
 * source or one target is inside the other.
 */
static bool coincide(const struct deciding *x, const struct cw_sg_pair *p,
		     const struct cw_sg_pair *q)
{
	size_t n = samples(p), m = samples(q), same = 0;

	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < m; k++)
			if (same_thread(x, p->sources[i], q->sources[k]) &&
			    same_thread(x, p->targets[i], q->targets[k]) &&
			    (cw_sg_nested(x->d, p->targets[i], q->targets[k]) ||
			     cw_sg_nested(x->d, p->sources[i], q->sources[k]))) {
				same++;
				break;
			}
	return 2 * same > (n < m ? n : m);
}

static bool is_same(struct deciding *x, const struct cw_sg_pair *p)
{
	for (size_t i = 0; i < x->out->n; i++) {
		struct cw_sg_group *g = &x->out->g[i];

		if (!coincide(x, p, g->pair))
			continue;
		if (cw_sg_probe_of(p->source) == cw_sg_probe_of(g->pair->source) ||
		    cw_sg_probe_of(p->target) == cw_sg_probe_of(g->pair->target)) {
			g->others = cw_grow(g->others, g->nothers + 1, sizeof(void *));
			g->others[g->nothers++] = p;
		}
		return true;
	}
	return false;
}

static bool is_among(uint32_t node, uint32_t one, const struct cw_sg_member *more, size_t n)
{
	bool is = cw_sg_probe_of(node) == cw_sg_probe_of(one);

	for (size_t i = 0; i < n; i++)
		is |= cw_sg_probe_of(node) == cw_sg_probe_of(more[i].node);
	return is;
}

/* Another view of what was found to be none. */
static bool is_known(const struct deciding *x, const struct cw_sg_pair *p)
{
	for (size_t i = 0; i < x->rejected.n; i++)
		if (coincide(x, p, x->rejected.g[i].pair))
			return true;
	return false;
}

/*
 * A call that hands off a key of its own often has the queue as another argument, which the other
 * side passes, too: the same few values again and again.
 */
static bool is_companion(const struct deciding *x, const struct cw_sg_pair *p)
{
	bool given = false, taken = false;

	for (size_t i = 0; i < x->out->n; i++) {
		const struct cw_sg_group *g = &x->out->g[i];
		const struct cw_sg_pair *q = g->pair;

		if (sources_within(x, p, g) && p->keys * q->n < q->keys * p->n &&
		    4 * p->keys < p->n)
			return true;
		given |= is_among(p->source, q->target, g->targets, g->ntargets);
		taken |= is_among(p->target, q->source, g->sources, g->nsources);
	}
	for (size_t i = 0; i < x->same.n; i++) {
		const struct cw_sg_group *g = &x->same.g[i];

		given |= is_among(p->source, g->pair->target, g->targets, g->ntargets);
		taken |= is_among(p->target, g->pair->source, g->sources, g->nsources);
	}
	/* From the end of one handoff to the begin of another: what is freed is used again. */
	return given && taken;
}

static void mark(bool *marks, const struct cw_sg_pair *p, bool value)
{
	for (size_t i = 0; i < p->ncrossings; i++)
		marks[p->crossings[i]] = value;
}

static void add_group(struct deciding *x, struct cw_sg_groups *to, size_t *room,
		      const struct cw_sg_pair *p, double score)
{
	struct cw_sg_group *g;

	cw_reserve(to->g, to->n, *room);
	g = &to->g[to->n];
	*g = (struct cw_sg_group){
		.pair = p,
		.score = score,
		.share_source = fmin(1, (double)p->n / (double)probe_of(x, p->source)->calls),
		.share_target = fmin(1, (double)p->n / (double)probe_of(x, p->target)->calls),
		.median_ns = median(p),
	};
	mark(x->ours, p, true);
	find_members(x, g);
	mark(x->ours, p, false);
	to->n++;
}

/* A hop whose source is called inside another one's target comes after it. */
static void find_stages(struct deciding *x)
{
	size_t n = x->out->n;

	for (size_t round = 0; round < n; round++)
		for (size_t i = 0; i < n * n; i++) {
			struct cw_sg_group *g = &x->out->g[i / n], *before = &x->out->g[i % n];

			if (g != before && g->stage <= before->stage && before->stage < n &&
			    within(x, g->pair->sources, g->pair->n, before->pair->target,
				   before->targets, before->ntargets) > 0.5)
				g->stage = before->stage + 1;
		}
}

static void accept(struct deciding *x, const struct cw_sg_pair *p, double score)
{
	add_group(x, x->out, &x->room, p, score);
	x->given[cw_sg_probe_of(p->source)] += p->n;
	x->taken[cw_sg_probe_of(p->target)] += p->n;
}

void cw_sg_group(struct cw_sg_groups *out, const struct cw_sg_data *d, const struct cw_sg_stats *s)
{
	struct deciding x = {.d = d, .s = s, .out = out};
	const struct cw_sg_pair *p;
	double score;

	memset(out, 0, sizeof(*out));
	x.explained = cw_zalloc(s->ncrossings + 1);
	x.ours = cw_zalloc(s->ncrossings + 1);
	x.given = cw_zalloc((d->nprobes + 1) * sizeof(*x.given));
	x.taken = cw_zalloc((d->nprobes + 1) * sizeof(*x.taken));
	while ((p = best(&x, &score))) {
		if (is_reuse(&x, p) || is_signal(&x, p) || is_known(&x, p))
			add_group(&x, &x.rejected, &x.rejected_room, p, score);
		else if (is_same(&x, p))
			add_group(&x, &x.same, &x.same_room, p, score);
		else if (!is_companion(&x, p))
			accept(&x, p, score);
		mark(x.explained, p, true);
	}
	find_stages(&x);
	cw_sg_groups_free(&x.same);
	cw_sg_groups_free(&x.rejected);
	free(x.explained);
	free(x.ours);
	free(x.given);
	free(x.taken);
}

void cw_sg_groups_free(struct cw_sg_groups *out)
{
	for (size_t i = 0; i < out->n; i++) {
		free(out->g[i].sources);
		free(out->g[i].targets);
		free(out->g[i].others);
	}
	free(out->g);
	memset(out, 0, sizeof(*out));
}
