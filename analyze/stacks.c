/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns when distinct stacks are resolved. A user address is what the process has mapped at that
 * moment; when nothing covers it, the mapping may still be on its way, as may be what a module is
 * unwound by: such stacks wait a little before they are written. Must not know symbols.
 */
#include <stdlib.h>
#include "capture.h"
#include "frame_ids.h"
#include "identity.h"
#include "images.h"
#include "loss.h"
#include "stack_parts.h"
#include "stacks.h"
#include "unwind_modules.h"

#define WAIT_NS     2000000000ull  /* while somebody looks on */
#define PATIENCE_NS 20000000000ull /* else: a recorder on a busy machine is late with modules */
#define MAX_WAITING (64u << 20)    /* bytes of stacks that wait */
#define MAX_KEPT    (256u << 20)   /* bytes of what was saved of stacks that are written */

struct seen {
	struct cw_hnode by_id;
	struct seen *next;
	uint32_t epoch;
	/* Of a user stack: it may be unwound again, where other code is at its addresses. */
	uint32_t remaps; /* of its process, when it was last compared with what is mapped */
	uint64_t upid;   /* that process; 0: a kernel stack */
	uint64_t now;    /* the stack that it is since then: itself, or another id */
	struct cw_stack_parts kept; /* when it is written */
	uint64_t places;            /* what its addresses were then */
	uint64_t recorded;          /* the same of those in its record, when that came */
	bool dropped;               /* there was no room to keep what was saved of it */
};

/* A stack that waits for mappings or unwind information. */
struct waiting {
	struct cw_stack_parts parts;
	struct cw_maps *maps; /* of the process at that moment: it may execute another program */
	uint64_t upid, since;
};

struct cw_stacks {
	struct cw_frame_ids *frames;
	struct cw_htab stacks;
	struct seen *all_stacks; /* to free them */
	struct waiting *waiting;
	size_t nwaiting, waiting_cap, waiting_bytes, kept_bytes;
	struct cw_saved_parts saved; /* of stacks that did not come yet */
	struct cw_unwind_modules *modules;
	uint64_t modules_known; /* when the waiting ones were last tried */
	struct cw_unwound out;
};

/* ---- writing ------------------------------------------------------------------------------------
 */

static void write_frames(struct cw_trace *t, uint64_t stack_id, const struct cw_unwound *u,
			 const struct cw_unwind_process *process)
{
	for (unsigned i = 0; i < u->n; i++) {
		uint64_t rel_pc = u->pc[i], *w;
		int64_t module = process ? CW_NO_MODULE : CW_MODULE_KERNEL;
		uint32_t found;

		if (process && cw_unwind_process_find(process, u->pc[i], &found, &rel_pc))
			module = found;
		w = cw_rows_put(t->rows, CW_ROW_STACK_FRAME, 0);
		w[0] = stack_id;
		w[1] = i;
		w[2] = cw_frame_id(t->stacks->frames, t->rows, module, rel_pc, u->pc[i],
				   !u->exact[i]);
	}
}

static const char *how(const struct cw_unwound *u)
{
	if (u->by_rules)
		return u->by_fp ? "both" : "unwind tables";
	return u->by_fp ? "frame pointers" : NULL;
}

static void write_stack(struct cw_trace *t, const struct cw_stack *r, const struct cw_unwound *u,
			const struct cw_unwind_process *process, uint64_t upid)
{
	bool kernel = r->flags & CW_STACK_KERNEL;
	const char *by = kernel ? NULL : how(u);
	uint64_t *w;

	write_frames(t, r->id, u, kernel ? NULL : process);
	w = cw_rows_put(t->rows, CW_ROW_STACK,
			(kernel ? 1 << 1 : 0) | !by << 10 | !u->problem << 11);
	w[0] = r->id;
	w[1] = upid;
	w[2] = cw_word(kernel ? "kernel" : "user");
	w[3] = u->n;
	w[4] = u->truncated;
	w[5] = r->flags & CW_STACK_NO_FP && !u->by_rules;
	w[6] = !!(r->flags & CW_STACK_FAILED);
	w[7] = u->complete;
	w[8] = u->repaired;
	w[9] = u->broken;
	w[10] = cw_word(by);
	w[11] = cw_word(u->problem);
}

static struct seen *seen_of(const struct cw_trace *t, uint64_t id)
{
	struct cw_hnode *n = cw_htab_first(&t->stacks->stacks, id);

	return n ? cw_container(n, struct seen, by_id) : NULL;
}

static uint64_t recorded_places(const struct cw_stacks *st, const struct cw_stack *r,
				const struct cw_maps *maps)
{
	struct cw_unwind_process process = {st->modules, maps, NULL, false};
	size_t n = (r->h.size - offsetof(struct cw_stack, frames)) / sizeof(r->frames[0]);

	return cw_hash(cw_unwind_process_places(&process, (const uint64_t *)r->frames, n),
		       cw_unwind_process_places(&process, (const uint64_t *)&r->caller, 1));
}

static void write_kernel(struct cw_trace *t, const struct cw_stack *r)
{
	struct cw_unwound *u = &t->stacks->out;
	size_t n = (r->h.size - offsetof(struct cw_stack, frames)) / sizeof(r->frames[0]);

	memset(u, 0, sizeof(*u));
	u->n = n < CW_MAX_FRAMES ? n : CW_MAX_FRAMES;
	memcpy(u->pc, r->frames, u->n * sizeof(u->pc[0]));
	u->exact[0] = true;
	u->truncated = r->flags & CW_STACK_TRUNCATED;
	u->complete = !u->truncated;
	write_stack(t, r, u, NULL, 0);
}

/* Keep a stack that is written. Most have little saved, if anything. */
static void keep(struct cw_trace *t, const struct cw_stack_parts *s, uint64_t places)
{
	struct cw_stacks *st = t->stacks;
	struct seen *seen = seen_of(t, s->rec->id);
	struct cw_stack_parts some = *s;

	if (!seen || seen->kept.rec)
		return;
	seen->places = places;
	if (st->kept_bytes + cw_stack_parts_size(s) > MAX_KEPT) {
		seen->dropped = s->begin || s->end;
		some.begin = some.end = NULL;
	}
	seen->kept = cw_stack_parts_copy(&some);
	st->kept_bytes += cw_stack_parts_size(&some);
}

static bool covered(const struct cw_unwind_process *p, const struct cw_unwound *u)
{
	uint64_t offset;
	uint32_t module;

	for (unsigned i = 0; i < u->n; i++)
		if (!cw_unwind_process_find(p, u->pc[i], &module, &offset))
			return false;
	return true;
}

/*
 * Reports of mappings were lost: when one is missing, at any time since the program began, and else
 * while they were, since then /proc was asked.
 */
static void doubt(struct cw_trace *t, uint64_t ts, uint64_t since, bool whole, struct cw_unwound *u)
{
	if (!cw_loss_touches(t, whole ? ts : since, ts, CW_TYPE_BIT(CW_MAP)))
		return;
	u->complete = false;
	u->problem = "reports of mappings were lost";
}

/*
 * Unwind a user stack of x's process and write it; false when it is to wait, which only a patient
 * one is.
 */
static bool write_user(struct cw_trace *t, const struct waiting *x, const struct cw_maps *later,
		       bool patient)
{
	struct cw_stacks *st = t->stacks;
	const struct cw_stack_parts *s = &x->parts;
	struct cw_unwind_process process = {st->modules, x->maps, later, patient};
	struct cw_unwind_source source = cw_unwind_source_of(&process);
	bool ready = cw_unwind_stack(&source, s->rec, s->begin, s->end, &st->out);
	bool whole = covered(&process, &st->out);

	if (patient && !(ready && whole))
		return false;
	doubt(t, s->rec->h.ts, x->since, whole, &st->out);
	write_stack(t, s->rec, &st->out, &process, x->upid);
	keep(t, s, cw_unwind_process_places(&process, st->out.pc, st->out.n));
	return true;
}

/* ---- stacks -------------------------------------------------------------------------------------
 */

static void free_seen(struct cw_stacks *st, struct seen *s)
{
	if (s->kept.rec)
		st->kept_bytes -= cw_stack_parts_size(&s->kept);
	cw_stack_parts_free(&s->kept);
	free(s);
}

static struct seen *new_seen(struct cw_trace *t, uint64_t id)
{
	struct cw_stacks *st = t->stacks;
	struct seen *s = cw_zalloc(sizeof(*s));

	s->epoch = t->epoch;
	s->now = id;
	cw_htab_insert(&st->stacks, &s->by_id, id);
	s->next = st->all_stacks;
	st->all_stacks = s;
	return s;
}

/* A stack that is met now: the first time, else NULL. */
static struct seen *first_seen(struct cw_trace *t, uint64_t id)
{
	struct seen *s = seen_of(t, id);

	if (!s)
		return new_seen(t, id);
	s->epoch = t->epoch;
	return NULL;
}

/* Try those that wait again: the last time for those that have waited since before ts, and, when
 * something came, once more for the others. */
static void retry(struct cw_trace *t, uint64_t ts, bool others)
{
	struct cw_stacks *st = t->stacks;
	size_t kept = 0;

	if (others)
		st->modules_known = cw_unwind_modules_known(st->modules);
	for (size_t i = 0; i < st->nwaiting; i++) {
		struct waiting x = st->waiting[i];
		struct cw_stack *r = x.parts.rec;
		struct cw_proc *p;

		if (r->h.ts > ts && !others) {
			st->waiting[kept++] = x;
			continue;
		}
		p = cw_proc_of(t, r->pid, r->h.ts);
		if (!write_user(t, &x, p->upid == x.upid ? p->maps : NULL, r->h.ts > ts)) {
			st->waiting[kept++] = x;
			continue;
		}
		st->waiting_bytes -= cw_stack_parts_size(&x.parts);
		cw_maps_free(x.maps);
		cw_stack_parts_free(&x.parts);
	}
	st->nwaiting = kept;
}

static void wait_for_more(struct cw_trace *t, const struct waiting *now)
{
	struct cw_stacks *st = t->stacks;
	struct waiting *x;

	if (st->waiting_bytes > MAX_WAITING)
		retry(t, UINT64_MAX, false);
	cw_reserve(st->waiting, st->nwaiting, st->waiting_cap);
	x = &st->waiting[st->nwaiting++];
	*x = *now;
	cw_maps_inherit(x->maps);
	x->parts.rec = cw_stack_part_copy(&x->parts.rec->h);
	st->waiting_bytes += cw_stack_parts_size(&x->parts);
}

static void on_stack(struct cw_trace *t, const struct cw_stack *r)
{
	struct waiting x = {.parts.rec = (struct cw_stack *)r};
	struct seen *s = first_seen(t, r->id);
	struct cw_proc *p;

	cw_saved_parts_take(&t->stacks->saved, r->id, &x.parts);
	if (!s) {
		free(x.parts.begin);
		free(x.parts.end);
		return;
	}
	if (r->flags & CW_STACK_KERNEL) {
		write_kernel(t, r);
	} else {
		p = cw_proc_of(t, r->pid, r->h.ts);
		x.maps = p->maps;
		x.upid = s->upid = p->upid;
		x.since = p->image_ts;
		s->remaps = p->remaps;
		s->recorded = recorded_places(t->stacks, r, p->maps);
		if (!write_user(t, &x, NULL, true)) {
			wait_for_more(t, &x);
			return;
		}
	}
	free(x.parts.begin);
	free(x.parts.end);
}

/* ---- other code at a stack's addresses ----------------------------------------------------------
 */

static const struct cw_stack_parts *parts_of(const struct cw_stacks *st, const struct seen *s,
					     uint64_t id)
{
	if (s->kept.rec)
		return &s->kept;
	for (size_t i = 0; i < st->nwaiting; i++)
		if (st->waiting[i].parts.rec->id == id)
			return &st->waiting[i].parts;
	return NULL;
}

/* The stack as st->out has it: itself, when its addresses are what they were, or another one. */
static uint64_t write_other(struct cw_trace *t, const struct seen *s, const struct waiting *x,
			    const struct cw_unwind_process *process)
{
	struct cw_unwound *u = &t->stacks->out;
	uint64_t places = cw_unwind_process_places(process, u->pc, u->n);
	uint64_t id = x->parts.rec->id, other = cw_hash(id, places) | 1;
	struct cw_stack_parts parts;

	if (places == s->places)
		return id;
	if (!first_seen(t, other))
		return other;
	if (s->dropped) {
		u->complete = false;
		u->problem = "other code is there since it was unwound";
	}
	parts = cw_stack_parts_copy(&x->parts);
	parts.rec->id = other;
	write_stack(t, parts.rec, u, process, x->upid);
	cw_stack_parts_free(&parts);
	return other;
}

/*
 * The same where it cannot be told yet: then it is another stack, which waits. What it will be
 * depends on what is mapped now, and where memory was saved on anything there.
 */
static uint64_t wait_as_other(struct cw_trace *t, const struct seen *base, struct waiting *x,
			      const struct cw_proc *p, uint64_t ts)
{
	uint64_t places = recorded_places(t->stacks, x->parts.rec, p->maps), id = x->parts.rec->id,
		 other;
	bool saved = x->parts.begin || x->parts.end || base->dropped;
	struct cw_stack *rec;
	struct seen *s;

	if (!saved && places == base->recorded)
		return id;
	other = cw_hash(cw_hash(id, places), saved ? p->remaps : UINT64_MAX) | 1;
	s = first_seen(t, other);
	if (!s)
		return other;
	s->upid = p->upid;
	s->remaps = p->remaps;
	x->parts = cw_stack_parts_copy(&x->parts);
	rec = x->parts.rec;
	rec->id = other;
	rec->h.ts = ts;
	wait_for_more(t, x);
	free(rec);
	return other;
}

static uint64_t unwind_again(struct cw_trace *t, const struct seen *s, uint64_t id,
			     const struct cw_proc *p, uint64_t ts)
{
	struct cw_stacks *st = t->stacks;
	struct cw_unwind_process process = {st->modules, p->maps, NULL, true};
	struct cw_unwind_source source = cw_unwind_source_of(&process);
	const struct cw_stack_parts *parts = parts_of(st, s, id);
	struct waiting x = {.maps = p->maps, .upid = p->upid, .since = p->image_ts};

	if (!parts)
		return id;
	x.parts = *parts;
	if (s->kept.rec &&
	    cw_unwind_stack(&source, parts->rec, parts->begin, parts->end, &st->out) &&
	    covered(&process, &st->out))
		return write_other(t, s, &x, &process);
	return wait_as_other(t, s, &x, p, ts);
}

uint64_t cw_stack_remapped(struct cw_trace *t, uint64_t id, const struct cw_proc *p, uint64_t ts)
{
	struct seen *s = seen_of(t, id), *now;

	if (!s)
		return id;
	if (s->upid == p->upid && s->remaps == p->remaps) {
		now = seen_of(t, s->now);
		if (now) {
			now->epoch = t->epoch;
			return s->now;
		}
	}
	s->now = unwind_again(t, s, id, p, ts);
	s->upid = p->upid;
	s->remaps = p->remaps;
	return s->now;
}

/*
 * The image pass took in a payload, and may have had its last piece. In a crowd of modules not
 * each is worth a look at all that wait: they do not wait for long.
 */
static bool worth_retrying(const struct cw_stacks *st)
{
	uint64_t news = cw_unwind_modules_known(st->modules) - st->modules_known;

	return st->nwaiting && news && news >= st->modules_known / 4;
}

static int event(struct cw_trace *t, const struct cw_rec *rec)
{
	struct cw_stacks *st = t->stacks;

	switch (rec->type) {
	case CW_MODULE:
		cw_unwind_modules_add(st->modules, (const void *)rec);
		break;
	case CW_BLOB:
		if (worth_retrying(st))
			retry(t, 0, true);
		break;
	case CW_STACK_REGS:
		cw_saved_parts_add(&st->saved, (const void *)rec);
		break;
	case CW_STACK:
		if (((const struct cw_stack *)rec)->id)
			on_stack(t, (const void *)rec);
		else
			t->totals.bad++;
		break;
	}
	return 0;
}

static void forget(struct cw_trace *t)
{
	struct cw_stacks *st = t->stacks;
	struct seen **at = &st->all_stacks, *s;

	while ((s = *at)) {
		if (!cw_stale(t, s->epoch)) {
			at = &s->next;
			continue;
		}
		*at = s->next;
		t->watch->stack_gone(t->watch->arg, s->by_id.hash);
		cw_htab_remove(&st->stacks, &s->by_id);
		free_seen(st, s);
	}
}

void cw_stacks_payload(struct cw_trace *t, uint32_t module_id, uint32_t kind, const void *data,
		       size_t size)
{
	if (t->stacks)
		cw_unwind_modules_offer(t->stacks->modules, module_id, kind, data, size);
}

bool cw_stack_known(const struct cw_trace *t, uint64_t id)
{
	return cw_htab_first(&t->stacks->stacks, id) != NULL;
}

uint64_t cw_stacks_waiting(const struct cw_trace *t)
{
	return t->stacks->nwaiting ? t->stacks->waiting[0].parts.rec->h.ts : UINT64_MAX;
}

static void watermark(struct cw_trace *t, uint64_t ts)
{
	uint64_t wait = t->watch ? WAIT_NS : PATIENCE_NS;

	if (t->watch)
		forget(t);
	if (ts > wait && cw_stacks_waiting(t) <= ts - wait)
		retry(t, ts - wait, false);
}

static void write_unwind(void *arg, uint32_t module_id, const char *from, const char *tried)
{
	struct cw_trace *t = arg;
	uint64_t *w = cw_rows_put(t->rows, CW_ROW_MODULE_UNWIND, !from << 1 | !tried << 2);

	w[0] = module_id;
	w[1] = cw_word_dup(from);
	w[2] = cw_word_dup(tried);
}

static int finish(struct cw_trace *t)
{
	retry(t, UINT64_MAX, false);
	cw_unwind_modules_each(t->stacks->modules, write_unwind, t);
	return 0;
}

static int begin(struct cw_trace *t)
{
	t->stacks = cw_zalloc(sizeof(*t->stacks));
	t->stacks->frames = cw_frame_ids_new();
	t->stacks->modules = cw_unwind_modules_new(!t->return_sp_adjust, t->places);
	return 0;
}

static void release(struct cw_trace *t)
{
	struct cw_stacks *st = t->stacks;

	if (!st)
		return;
	cw_frame_ids_free(st->frames);
	for (struct seen *s = st->all_stacks, *next; s; s = next) {
		next = s->next;
		free_seen(st, s);
	}
	for (size_t i = 0; i < st->nwaiting; i++) {
		cw_maps_free(st->waiting[i].maps);
		cw_stack_parts_free(&st->waiting[i].parts);
	}
	free(st->waiting);
	cw_saved_parts_free(&st->saved);
	cw_unwind_modules_free(st->modules);
	cw_htab_free(&st->stacks);
	free(st);
	t->stacks = NULL;
}

extern const struct cw_pass cw_pass_stacks;
const struct cw_pass cw_pass_stacks = {
	.name = "stacks",
	.version = 7,
	.reads = "stack stack_regs module blob identity images",
	.writes = "stack stack_frame frame module_unwind",
	.types = CW_TYPE_BIT(CW_STACK) | CW_TYPE_BIT(CW_STACK_REGS) | CW_TYPE_BIT(CW_MODULE) |
		 CW_TYPE_BIT(CW_BLOB),
	.begin = begin,
	.event = event,
	.watermark = watermark,
	.finish = finish,
	.free = release,
};
