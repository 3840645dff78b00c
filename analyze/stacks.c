/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns distinct stacks and distinct code addresses. A user address is resolved by what the process
 * has mapped at that moment; when nothing covers it, the mapping may still be on its way, so such
 * stacks wait a little before they are written. Must not know symbols.
 */
#include <stdlib.h>
#include "capture.h"
#include "identity.h"
#include "images.h"
#include "stacks.h"

#define WAIT_NS     2000000000ull
#define NO_MODULE   INT64_MIN
#define MAX_WAITING 4096u

struct frame {
	struct cw_hnode by_place;
	struct frame *next;
	int64_t module; /* NO_MODULE: rel_pc is an address */
	uint64_t rel_pc, id;
	bool is_return;
};

struct seen {
	struct cw_hnode by_id;
	struct seen *next;
	uint32_t epoch;
};

/* A stack that waits for mappings. */
struct waiting {
	struct cw_stack *rec;
	uint64_t upid;
};

struct cw_stacks {
	struct cw_htab frames, stacks;
	struct frame *all_frames; /* to free them */
	struct seen *all_stacks;
	uint64_t nframes;
	struct waiting *waiting;
	size_t nwaiting, waiting_cap;
};

static uint64_t frame_id(struct cw_trace *t, int64_t module, uint64_t rel_pc, uint64_t address,
			 bool is_return)
{
	struct cw_stacks *st = t->stacks;
	uint64_t hash = cw_hash(cw_hash((uint64_t)module, rel_pc), is_return), *w;
	struct frame *f;

	for (struct cw_hnode *n = cw_htab_first(&st->frames, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		f = cw_container(n, struct frame, by_place);
		if (f->module == module && f->rel_pc == rel_pc && f->is_return == is_return)
			return f->id;
	}
	f = cw_zalloc(sizeof(*f));
	f->module = module;
	f->rel_pc = rel_pc;
	f->is_return = is_return;
	cw_htab_insert(&st->frames, &f->by_place, hash);
	f->next = st->all_frames;
	st->all_frames = f;
	f->id = ++st->nframes;
	w = cw_rows_put(t->rows, CW_ROW_FRAME, module == NO_MODULE ? 2 : 0);
	w[0] = f->id;
	w[1] = (uint64_t)module;
	w[2] = rel_pc;
	w[3] = address;
	w[4] = is_return;
	return f->id;
}

/* Addresses of a stack, the caller put in where the walk lost it. Returns how many. */
static size_t addresses(const struct cw_stack *r, uint64_t *a)
{
	size_t n = (r->h.size - offsetof(struct cw_stack, frames)) / sizeof(r->frames[0]), k = 0;

	if (n > CW_MAX_FRAMES)
		n = CW_MAX_FRAMES;
	for (size_t i = 0; i < n; i++) {
		a[k++] = r->frames[i];
		if (!i && r->flags & CW_STACK_ENTRY && r->caller &&
		    !(n > 1 && r->frames[1] == r->caller))
			a[k++] = r->caller;
	}
	return k;
}

static bool covered(const struct cw_maps *maps, const struct cw_stack *r)
{
	uint64_t a[CW_MAX_FRAMES + 1], offset;
	size_t n = addresses(r, a);
	uint32_t module;

	for (size_t i = 0; i < n; i++)
		if (!cw_maps_find(maps, a[i], &module, &offset))
			return false;
	return true;
}

static void write_stack(struct cw_trace *t, const struct cw_stack *r, const struct cw_maps *maps,
			uint64_t upid)
{
	bool kernel = r->flags & CW_STACK_KERNEL;
	uint64_t a[CW_MAX_FRAMES + 1], *w;
	size_t n = addresses(r, a);

	for (size_t i = 0; i < n; i++) {
		uint64_t rel_pc = a[i], id;
		int64_t module = kernel ? CW_MODULE_KERNEL : NO_MODULE;
		uint32_t found;

		if (!kernel && cw_maps_find(maps, a[i], &found, &rel_pc))
			module = found;
		id = frame_id(t, module, rel_pc, a[i], i > 0);
		w = cw_rows_put(t->rows, CW_ROW_STACK_FRAME, 0);
		w[0] = r->id;
		w[1] = i;
		w[2] = id;
	}
	w = cw_rows_put(t->rows, CW_ROW_STACK, kernel ? 2 : 0);
	w[0] = r->id;
	w[1] = upid;
	w[2] = cw_word(kernel ? "kernel" : "user");
	w[3] = n;
	w[4] = !!(r->flags & CW_STACK_TRUNCATED);
	w[5] = !!(r->flags & CW_STACK_NO_FP);
	w[6] = !!(r->flags & CW_STACK_FAILED);
}

/* True the first time. */
static bool first_seen(struct cw_trace *t, uint64_t id)
{
	struct cw_stacks *st = t->stacks;
	struct cw_hnode *n = cw_htab_first(&st->stacks, id);
	struct seen *s;

	if (n) {
		cw_container(n, struct seen, by_id)->epoch = t->epoch;
		return false;
	}
	s = cw_zalloc(sizeof(*s));
	s->epoch = t->epoch;
	cw_htab_insert(&st->stacks, &s->by_id, id);
	s->next = st->all_stacks;
	st->all_stacks = s;
	return true;
}

static int event(struct cw_trace *t, const struct cw_rec *rec)
{
	const struct cw_stack *r = (const void *)rec;
	size_t most = offsetof(struct cw_stack, frames[CW_MAX_FRAMES]);
	size_t size = rec->size < most ? rec->size : most;
	struct cw_stacks *st = t->stacks;
	struct cw_proc *p;
	struct waiting *x;

	if (!r->id || rec->size < sizeof(*r)) {
		t->totals.bad++;
		return 0;
	}
	if (!first_seen(t, r->id))
		return 0;
	if (r->flags & CW_STACK_KERNEL) {
		write_stack(t, r, NULL, 0);
		return 0;
	}
	p = cw_proc_of(t, r->pid, rec->ts);
	if (covered(p->maps, r) || st->nwaiting >= MAX_WAITING) {
		write_stack(t, r, p->maps, p->upid);
		return 0;
	}
	cw_reserve(st->waiting, st->nwaiting, st->waiting_cap);
	x = &st->waiting[st->nwaiting++];
	x->upid = p->upid;
	x->rec = cw_grow(NULL, size, 1);
	memcpy(x->rec, r, size);
	x->rec->h.size = (uint16_t)size;
	return 0;
}

/* Write those that have waited since before ts, with what is mapped now. */
static void end_wait(struct cw_trace *t, uint64_t ts)
{
	struct cw_stacks *st = t->stacks;
	size_t kept = 0;

	for (size_t i = 0; i < st->nwaiting; i++) {
		struct waiting x = st->waiting[i];
		struct cw_proc *p;

		if (x.rec->h.ts > ts) {
			st->waiting[kept++] = x;
			continue;
		}
		p = cw_proc_of(t, x.rec->pid, x.rec->h.ts);
		write_stack(t, x.rec, p->upid == x.upid ? p->maps : NULL, x.upid);
		free(x.rec);
	}
	st->nwaiting = kept;
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
		free(s);
	}
}

bool cw_stack_known(const struct cw_trace *t, uint64_t id)
{
	return cw_htab_first(&t->stacks->stacks, id) != NULL;
}

uint64_t cw_stacks_waiting(const struct cw_trace *t)
{
	return t->stacks->nwaiting ? t->stacks->waiting[0].rec->h.ts : UINT64_MAX;
}

static void watermark(struct cw_trace *t, uint64_t ts)
{
	if (t->watch)
		forget(t);
	end_wait(t, ts > WAIT_NS ? ts - WAIT_NS : 0);
}

static int finish(struct cw_trace *t)
{
	end_wait(t, UINT64_MAX);
	return 0;
}

static int begin(struct cw_trace *t)
{
	t->stacks = cw_zalloc(sizeof(*t->stacks));
	return 0;
}

static void release(struct cw_trace *t)
{
	struct cw_stacks *st = t->stacks;

	if (!st)
		return;
	for (struct frame *f = st->all_frames, *next; f; f = next) {
		next = f->next;
		free(f);
	}
	for (struct seen *s = st->all_stacks, *next; s; s = next) {
		next = s->next;
		free(s);
	}
	for (size_t i = 0; i < st->nwaiting; i++)
		free(st->waiting[i].rec);
	free(st->waiting);
	cw_htab_free(&st->frames);
	cw_htab_free(&st->stacks);
	free(st);
	t->stacks = NULL;
}

extern const struct cw_pass cw_pass_stacks;
const struct cw_pass cw_pass_stacks = {
	.name = "stacks",
	.version = 1,
	.reads = "stack identity images",
	.writes = "stack stack_frame frame",
	.types = CW_TYPE_BIT(CW_STACK),
	.begin = begin,
	.event = event,
	.watermark = watermark,
	.finish = finish,
	.free = release,
};
