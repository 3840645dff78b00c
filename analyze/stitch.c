/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the matching of handoffs: a call of a source with a key is a submission, a call of the
 * target with that key takes one. The rest is doubt: which one, when several are open; which
 * argument, when it is not told; what records were lost. Must not know how calls are paired.
 */
#include <stdlib.h>
#include "chains.h"
#include "hops.h"
#include "identity.h"
#include "loss.h"
#include "seen_keys.h"
#include "steps.h"
#include "stitch.h"
#include "submissions.h"

#define LOOK_BACK 8u /* other candidates looked at one by one */

struct cw_stitch {
	struct cw_hops hops;
	struct cw_submissions open;
	uint64_t edges, chains;   /* numbers given out */
	struct cw_seen_keys seen; /* while a target's submission may be older than the capture */
	bool started;
};

/* The plan is complete once the first event comes. */
static struct cw_stitch *started(struct cw_trace *t)
{
	struct cw_stitch *st = t->stitch;

	if (!st->started) {
		st->started = true;
		cw_hops_init(&st->hops, t->plan, t->max_age_ns);
		if (st->hops.n)
			cw_rows_info(t->rows, "async_max_age_ns",
				     (int64_t)cw_hops_max_age(t->plan, t->max_age_ns));
		cw_submissions_init(&st->open, st->hops.n);
	}
	return st;
}

/* May something that happened before the capture began still matter to this hop? */
static bool near_begin(const struct cw_trace *t, const struct cw_hop *h, uint64_t ts)
{
	return ts - t->first_ts <= h->max_age_ns;
}

/* ---- submissions --------------------------------------------------------------------------------
 */

static void unconsumed(struct cw_trace *t, const struct cw_submission *x, const char *reason)
{
	uint64_t *w = cw_rows_put(t->rows, CW_ROW_UNCONSUMED, 0);

	w[0] = x->slot->hop;
	w[1] = x->slot->key;
	w[2] = x->utid;
	w[3] = x->ts;
	w[4] = x->slice_id;
	w[5] = cw_word(reason);
}

/* Close a submission that no target will take any more. */
static void close_open(struct cw_trace *t, struct cw_submission *x, uint64_t *counter,
		       const char *reason, uint64_t ts)
{
	struct cw_queue_event e = {.what = CW_QUEUE_DROP, .hop = x->slot->hop, .ts = ts};

	if (!x->weak && !x->taken) {
		(*counter)++;
		unconsumed(t, x, reason);
		e.flag = counter == &t->stitch->hops.h[e.hop].superseded;
		if (counter != &t->stitch->hops.h[e.hop].open_at_end)
			cw_watch_queue(t, &e);
	}
	cw_submission_free(&t->stitch->open, x);
}

static void expire(struct cw_trace *t, uint32_t hop, uint64_t now)
{
	struct cw_hop *h = &t->stitch->hops.h[hop];
	struct cw_submission *x = t->stitch->open.queues[hop].first, *next;

	for (; x && now - x->ts > h->max_age_ns; x = next) {
		next = x->later;
		close_open(t, x, &h->expired, "expired", x->ts + h->max_age_ns);
	}
}

static void submit(struct cw_trace *t, const struct cw_task *task, const struct cw_call *c,
		   uint32_t hop, bool weak)
{
	struct cw_stitch *st = t->stitch;
	struct cw_hop *h = &st->hops.h[hop];
	uint64_t key = c->args[(h->plan->source_arg - 1) % CW_NARGS], upid = task->process->upid;
	struct cw_call *outer;
	struct cw_submission *x;

	if (!key)
		return;
	expire(t, hop, c->ts);
	x = cw_submission_new(&st->open, hop, upid, key, c->ts, weak);
	x->utid = task->utid;
	x->slice_id = c->slice_id;
	h->submitted += !weak;
	h->duplicate_keys += !weak && x->slot->strong > 1;
	if (!weak)
		cw_watch_queue(t, &(struct cw_queue_event){.what = CW_QUEUE_SUBMIT,
							   .hop = hop,
							   .flag = x->slot->strong > 1,
							   .ts = c->ts});
	if (near_begin(t, h, c->ts))
		cw_seen_keys_add(&st->seen, hop, upid, key);
	outer = h->stage ? cw_steps_around(task, h->stage) : NULL;
	if (!outer)
		return;
	if (!weak && outer->step->link)
		cw_steps_tell_done(t, task, outer, c->ts, true);
	outer->step->handed |= !weak;
	x->prev = cw_link_get(outer->step->link);
	x->doubt = outer->step->link ? 0 : outer->step->doubt;
	x->prev_work = cw_parts_between(&outer->parts, &c->parts);
}

/*
 * A function that hands off several hops: which one is meant shows in the target around it. The
 * others are kept, too, but count only when they are taken.
 */
static void submit_all(struct cw_trace *t, const struct cw_task *task, const struct cw_call *c,
		       const struct cw_roles *r)
{
	struct cw_stitch *st = t->stitch;
	struct cw_call *outer = r->nsources > 1 ? cw_steps_around(task, UINT32_MAX) : NULL;
	uint32_t likely = outer ? outer->step->stage + 1 : 0;
	bool any = false;

	for (uint32_t i = 0; i < r->nsources; i++)
		any |= st->hops.h[r->sources[i]].stage == likely;
	for (uint32_t i = 0; i < r->nsources; i++)
		submit(t, task, c, r->sources[i],
		       r->nsources > 1 && any && st->hops.h[r->sources[i]].stage != likely);
}

/* What call c submitted to hop was none, unless a target has it already. */
static void refuse(struct cw_trace *t, const struct cw_task *task, const struct cw_call *c,
		   uint32_t hop)
{
	struct cw_stitch *st = t->stitch;
	struct cw_hop *h = &st->hops.h[hop];
	uint64_t key = c->args[(h->plan->source_arg - 1) % CW_NARGS];
	struct cw_slot *slot = key ? cw_slot_find(&st->open, hop, task->process->upid, key) : NULL;
	struct cw_submission *x = slot ? slot->newest : NULL;

	while (x && x->slice_id != c->slice_id)
		x = x->older;
	if (!x || x->taken)
		return;
	if (!x->weak) {
		h->submitted--;
		cw_watch_queue(t, &(struct cw_queue_event){
					  .what = CW_QUEUE_REFUSE, .hop = hop, .ts = c->end_ts});
	}
	cw_submission_free(&st->open, x);
}

static void refuse_all(struct cw_trace *t, const struct cw_task *task, const struct cw_call *c)
{
	struct cw_stitch *st = t->stitch;
	const struct cw_roles *r =
		st->hops.n && c->probe->known ? cw_hops_roles(t, &st->hops, c->probe) : NULL;

	for (uint32_t i = 0; r && i < r->nsources; i++)
		if (!cw_hop_submitted(&st->hops.h[r->sources[i]], c->ret))
			refuse(t, task, c, r->sources[i]);
}

/* ---- targets ------------------------------------------------------------------------------------
 */

/* Would the loss of a target explain why a and b, the older one first, are both open? */
static bool loss_explains(const struct cw_trace *t, const struct cw_submission *a,
			  const struct cw_submission *b)
{
	return cw_loss_touches(t, a->ts, b->ts, CW_TYPE_BIT(CW_PROBE_ENTRY));
}

/* The submission that a target takes: a likely one before an unlikely one. */
static struct cw_submission *choose(const struct cw_slot *slot, enum cw_match match)
{
	struct cw_submission *x = match == CW_MATCH_OLDEST ? slot->oldest : slot->newest,
			     *first = x;

	while (x && x->weak)
		x = match == CW_MATCH_OLDEST ? x->newer : x->older;
	return x ? x : first;
}

/* Open submissions that the target could as well have meant, x included. */
static uint64_t candidates(const struct cw_trace *t, const struct cw_slot *slot,
			   const struct cw_submission *x, enum cw_match match)
{
	uint64_t n = slot->strong + (x->weak || x->taken);
	const struct cw_submission *y = x;

	for (unsigned i = 0; n > 1 && i < LOOK_BACK; i++) {
		y = match == CW_MATCH_OLDEST ? y->newer : y->older;
		if (!y)
			break;
		if (!y->weak && !y->taken &&
		    (match == CW_MATCH_OLDEST ? loss_explains(t, x, y) : loss_explains(t, y, x)))
			n--;
	}
	return n;
}

static struct cw_link *take(struct cw_trace *t, const struct cw_task *task, const struct cw_call *c,
			    uint32_t hop, uint32_t arg, struct cw_slot *slot)
{
	static const char *const names[] = {"newest", "oldest", "all"};
	struct cw_stitch *st = t->stitch;
	struct cw_hop *h = &st->hops.h[hop];
	enum cw_match match = h->plan->match;
	struct cw_submission *x = choose(slot, match);
	struct cw_link *l = cw_zalloc(sizeof(*l));
	uint64_t n = candidates(t, slot, x, match), *w;
	unsigned doubt = 0;

	doubt |= n > 1 ? CW_DOUBT_AMBIGUOUS : 0;
	doubt |= h->plan->target_arg == CW_ARG_AUTO ? CW_DOUBT_AUTO : 0;
	doubt |= cw_loss_touches(t, x->ts, c->ts, CW_TYPE_BIT(CW_PROBE_ENTRY)) ||
				 cw_hops_cut_off(t, &t->stitch->hops, hop, c->ts)
			 ? CW_DOUBT_LOSS
			 : 0;
	l->refs = 1;
	l->prev = cw_link_get(x->prev);
	l->doubt = doubt | x->doubt;
	l->stage = h->stage;
	l->edge_id = ++st->edges;
	l->src_ts = x->ts;
	l->dst_ts = c->ts;
	l->prev_work = x->prev_work;
	w = cw_rows_put(t->rows, CW_ROW_EDGE, 0);
	w[0] = l->edge_id;
	w[1] = cw_word("async");
	w[2] = hop;
	w[3] = slot->key;
	w[4] = arg;
	w[5] = x->utid;
	w[6] = x->ts;
	w[7] = x->slice_id;
	w[8] = task->utid;
	w[9] = c->ts;
	w[10] = c->slice_id;
	w[11] = cw_word(names[match <= CW_MATCH_ALL ? match : 0]);
	w[12] = cw_word(cw_doubt_text(doubt, "exact"));
	w[13] = n;
	if (x->weak && !x->taken) {
		h->submitted++;
		cw_watch_queue(t, &(struct cw_queue_event){
					  .what = CW_QUEUE_SUBMIT, .hop = hop, .ts = c->ts});
	}
	cw_watch_queue(t, &(struct cw_queue_event){.what = CW_QUEUE_START,
						   .hop = hop,
						   .flag = !x->taken,
						   .ts = c->ts,
						   .ns = c->ts - x->ts,
						   .worker = task});
	h->matched += !x->taken;
	cw_submission_taken(x);
	if (match != CW_MATCH_OLDEST)
		while (x->older)
			close_open(t, x->older, &h->superseded, "superseded", c->ts);
	if (match != CW_MATCH_ALL)
		cw_submission_free(&st->open, x);
	return l;
}

/* The open submissions of the argument that carries the key; *ambiguous when several arguments
 * could. */
static struct cw_slot *slot_of(const struct cw_trace *t, const struct cw_task *task,
			       const struct cw_call *c, uint32_t hop, uint32_t *arg,
			       bool *ambiguous)
{
	const struct cw_submissions *open = &t->stitch->open;
	uint64_t upid = task->process->upid;
	struct cw_slot *found = NULL, *slot;

	*arg = t->stitch->hops.h[hop].plan->target_arg;
	if (*arg != CW_ARG_AUTO) {
		uint64_t key = c->args[(*arg - 1) % CW_NARGS];

		return key ? cw_slot_find(open, hop, upid, key) : NULL;
	}
	for (uint32_t i = 0; i < CW_NARGS; i++) {
		slot = c->args[i] ? cw_slot_find(open, hop, upid, c->args[i]) : NULL;
		if (!slot || slot == found)
			continue;
		if (found) {
			*ambiguous = true;
			return NULL;
		}
		found = slot;
		*arg = i + 1;
	}
	return found;
}

/* Was the key of this target ever submitted, as far as is known? */
static bool key_seen(const struct cw_trace *t, const struct cw_task *task, const struct cw_call *c,
		     uint32_t hop)
{
	uint32_t arg = t->stitch->hops.h[hop].plan->target_arg;
	uint64_t upid = task->process->upid;

	for (uint32_t i = 0; i < CW_NARGS; i++)
		if ((arg == CW_ARG_AUTO || arg == i + 1) &&
		    cw_seen_keys_has(&t->stitch->seen, hop, upid, c->args[i]))
			return true;
	return false;
}

static void unmatched(struct cw_trace *t, const struct cw_task *task, struct cw_call *c,
		      uint32_t hop, bool ambiguous)
{
	struct cw_hop *h = &t->stitch->hops.h[hop];
	uint64_t since = c->ts > h->max_age_ns ? c->ts - h->max_age_ns : 0;
	const char *reason = "no submission";
	uint64_t *w;

	c->step->doubt = CW_DOUBT_UNMATCHED;
	if (ambiguous) {
		h->ambiguous++;
		reason = "ambiguous auto";
		c->step->doubt = CW_DOUBT_AMBIGUOUS;
	} else if (!cw_hops_cut_off(t, &t->stitch->hops, hop, c->ts) && near_begin(t, h, c->ts) &&
		   !task->process->image_ts && !key_seen(t, task, c, hop)) {
		reason = "before capture";
		c->step->doubt = CW_DOUBT_EDGE;
	} else if (cw_loss_touches(t, since, c->ts, CW_TYPE_BIT(CW_PROBE_ENTRY)) ||
		   cw_hops_cut_off(t, &t->stitch->hops, hop, c->ts)) {
		reason = "loss";
		c->step->doubt = CW_DOUBT_LOSS;
	}
	h->unmatched++;
	cw_watch_queue(t, &(struct cw_queue_event){.what = CW_QUEUE_LONE, .hop = hop, .ts = c->ts});
	w = cw_rows_put(t->rows, CW_ROW_UNMATCHED, 0);
	w[0] = hop;
	w[1] = c->slice_id;
	w[2] = cw_word(reason);
}

static void arrive(struct cw_trace *t, const struct cw_task *task, struct cw_call *c,
		   const struct cw_roles *r)
{
	bool ambiguous = false;
	struct cw_step *s = cw_zalloc(sizeof(*s));

	c->step = s;
	s->stage = r->target_stage;
	s->hop = r->targets[0];
	s->futex = cw_state_futex_waits(task);
	for (uint32_t i = 0; i < r->ntargets; i++) {
		uint32_t hop = r->targets[i], arg;
		struct cw_slot *slot;
		struct cw_link *l;

		expire(t, hop, c->ts);
		slot = slot_of(t, task, c, hop, &arg, &ambiguous);
		if (!slot)
			continue;
		l = take(t, task, c, hop, arg, slot);
		s->took |= hop < 64 ? 1ull << hop : 0;
		/* At a join the latest-arriving edge is followed. */
		if (s->link && s->link->src_ts > l->src_ts) {
			cw_link_put(l);
			continue;
		}
		cw_link_put(s->link);
		s->link = l;
		s->stage = l->stage;
		s->hop = hop;
	}
	if (!s->link)
		unmatched(t, task, c, r->targets[0], ambiguous);
}

/* ---- ends ---------------------------------------------------------------------------------------
 */

static void write_chain(struct cw_trace *t, const struct cw_call *c, const char *reason)
{
	struct cw_stitch *st = t->stitch;
	struct cw_chain_end end = {
		.returned = !reason,
		.seen_ts = c->end_ts,
		.nstages = st->hops.nstages,
		.last_slice = c->slice_id,
		.end_ts = c->end_ts,
		.work = c->spent,
	};

	if (reason && !strcmp(reason, "lost"))
		end.doubt = CW_DOUBT_LOSS;
	else if (reason && !strcmp(reason, "capture end"))
		end.doubt = CW_DOUBT_EDGE;
	else if (reason && strcmp(reason, "not probed") != 0)
		end.doubt = CW_DOUBT_NO_RETURN;
	end.cut = end.doubt & (CW_DOUBT_LOSS | CW_DOUBT_EDGE);
	cw_chain_write(t, ++st->chains, c->step->link, &end);
	c->step->written = true;
}

static int call_begin(struct cw_trace *t, struct cw_task *task, struct cw_call *c)
{
	struct cw_stitch *st = started(t);
	const struct cw_roles *r;

	if (!st->hops.n)
		return 0;
	r = c->probe->known ? cw_hops_roles(t, &st->hops, c->probe) : NULL;
	if (r && r->ntargets)
		arrive(t, task, c, r);
	cw_steps_enter(task, c);
	if (!r)
		return 0;
	if (r->nsources)
		submit_all(t, task, c, r);
	if (c->step && c->step->link && c->step->stage + 1 == st->hops.nstages && !c->has_return) {
		write_chain(t, c, c->kernel_limit ? "kernel limit" : "not probed");
		cw_steps_tell_done(t, task, c, c->ts, false);
		cw_steps_tell_free(t, task, c, c->ts, false);
	}
	return 0;
}

static void call_end(struct cw_trace *t, struct cw_task *task, struct cw_call *c,
		     const char *reason)
{
	struct cw_stitch *st = t->stitch;
	struct cw_step *s = c->step;
	bool last, cut = reason && !strcmp(reason, "capture end");

	if (!reason)
		refuse_all(t, task, c);
	if (!s)
		return;
	last = s->stage + 1 == st->hops.nstages;
	if (s->link && !cut) {
		cw_steps_tell_done(t, task, c, c->end_ts, !reason);
		cw_steps_tell_free(t, task, c, c->end_ts, !last && !s->handed);
	}
	if (s->link && last) {
		if (!s->written)
			write_chain(t, c, reason);
	} else if (s->link && !s->handed && !cut) {
		st->hops.h[s->hop].no_handoff++;
	}
	cw_link_put(s->link);
	free(s);
	c->step = NULL;
}

/* ---- the pass -----------------------------------------------------------------------------------
 */

static void watermark(struct cw_trace *t, uint64_t ts)
{
	struct cw_stitch *st = t->stitch;
	bool near = false;

	if (!st->started)
		return;
	for (uint32_t i = 0; i < st->hops.n; i++) {
		expire(t, i, ts);
		near |= near_begin(t, &st->hops.h[i], ts);
	}
	if (!near)
		cw_seen_keys_clear(&st->seen);
}

static void each_edge(const struct cw_link *l, const struct cw_open_refs *refs)
{
	for (; l; l = l->prev)
		refs->edge(refs->arg, l->edge_id);
}

void cw_stitch_open_refs(const struct cw_trace *t, uint64_t before_ts,
			 const struct cw_open_refs *refs)
{
	const struct cw_stitch *st = t->stitch;

	if (!st->started)
		return;
	for (uint32_t i = 0; i < st->hops.n; i++) {
		const struct cw_submission *x = st->open.queues[i].first;

		/* In the first stage nothing leads to a submission. */
		for (; x && (x->ts < before_ts || st->hops.h[i].stage); x = x->later) {
			if (x->ts < before_ts)
				refs->slice(refs->arg, x->slice_id);
			each_edge(x->prev, refs);
		}
	}
	for (struct cw_task *task = cw_task_oldest(t); task; task = task->newer)
		for (size_t i = 0; i < cw_calls_depth(task); i++)
			if (cw_call_at(task, i)->step)
				each_edge(cw_call_at(task, i)->step->link, refs);
}

int cw_stitch_check(struct cw_trace *t)
{
	return t->restitch ? cw_hops_check(t, &started(t)->hops) : 0;
}

static int finish(struct cw_trace *t)
{
	struct cw_stitch *st = started(t);

	for (uint32_t i = 0; i < st->hops.n; i++) {
		struct cw_submission *x, *next;

		expire(t, i, t->last_ts);
		for (x = st->open.queues[i].first; x; x = next) {
			next = x->later;
			close_open(t, x, &st->hops.h[i].open_at_end, "open at end", t->last_ts);
		}
	}
	return cw_stitch_check(t);
}

static int flush(struct cw_trace *t)
{
	cw_hops_write(t, &started(t)->hops);
	return 0;
}

static int begin(struct cw_trace *t)
{
	t->stitch = cw_zalloc(sizeof(*t->stitch));
	return 0;
}

static void release(struct cw_trace *t)
{
	struct cw_stitch *st = t->stitch;

	if (!st)
		return;
	for (struct cw_task *task = cw_task_oldest(t); task; task = task->newer)
		for (size_t i = 0; i < cw_calls_depth(task); i++) {
			struct cw_call *c = cw_call_at(task, i);

			if (c->step)
				cw_link_put(c->step->link);
			free(c->step);
			c->step = NULL;
		}
	if (st->started) {
		cw_submissions_free(&st->open);
		cw_hops_free(&st->hops);
	}
	cw_seen_keys_clear(&st->seen);
	free(st);
	t->stitch = NULL;
}

extern const struct cw_pass cw_pass_stitch;
const struct cw_pass cw_pass_stitch = {
	.name = "stitch",
	.version = 1,
	.reads = "plan calls loss probes",
	.writes = "edge unconsumed unmatched path path_hop hop_count",
	.begin = begin,
	.call_begin = call_begin,
	.call_end = call_end,
	.watermark = watermark,
	.flush = flush,
	.finish = finish,
	.free = release,
};
