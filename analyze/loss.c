/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the ranges of loss, mostly in the order of their beginnings. The greatest end so far, kept
 * with each range, tells how far back one can matter, and that of a block which to pass over. Must
 * not know what the lost would have said.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include "capture.h"
#include "hash.h"
#include "loss.h"
#include "probes.h"

#define KEPT_NS 120000000000ull /* a followed capture knows losses one by one for so long */

struct range {
	uint64_t key; /* ts, or that of the range before when it came late: keys never go down */
	uint64_t ts, end_ts, count, types;
	uint64_t greatest_end; /* of this one and all before it */
	uint32_t cpu;
};

#define BLOCK 64u

struct cw_losses {
	struct range *r; /* by key */
	size_t n, cap;
	uint64_t *block_end; /* greatest end of each BLOCK ranges */
	size_t nblocks, blocks_cap;
	struct detached {
		uint32_t probe_id;
		uint64_t ts;
		char *reason; /* with the function's name, for its row */
	} * off;
	size_t noff, off_cap;
};

static void append(struct cw_losses *l, struct range r)
{
	const struct range *last = l->n ? &l->r[l->n - 1] : NULL;
	uint64_t *block;

	r.key = last && last->key > r.ts ? last->key : r.ts;
	r.greatest_end = last && last->greatest_end > r.end_ts ? last->greatest_end : r.end_ts;
	if (l->n % BLOCK == 0) {
		cw_reserve(l->block_end, l->nblocks, l->blocks_cap);
		l->block_end[l->nblocks++] = 0;
	}
	block = &l->block_end[l->nblocks - 1];
	if (*block < r.end_ts)
		*block = r.end_ts;
	cw_reserve(l->r, l->n, l->cap);
	l->r[l->n++] = r;
}

/* The range before index i that may reach to from, as an index + 1; 0 when there is none. */
static size_t reaching(const struct cw_losses *l, size_t i, uint64_t from)
{
	while (i && l->r[i - 1].greatest_end >= from) {
		if (i % BLOCK == 0 && l->block_end[i / BLOCK - 1] < from)
			i -= BLOCK;
		else if (l->r[i - 1].end_ts >= from)
			return i;
		else
			i--;
	}
	return 0;
}

/* Index behind the last range that begins at or before ts. */
static size_t behind(const struct cw_losses *l, uint64_t ts)
{
	size_t lo = 0, hi = l->n;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (l->r[mid].key <= ts)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

bool cw_loss_touches(const struct cw_trace *t, uint64_t from, uint64_t to, uint64_t types)
{
	const struct cw_losses *l = t->losses;

	if (!l->n || l->r[l->n - 1].greatest_end < from)
		return false;
	for (size_t i = reaching(l, behind(l, to), from); i; i = reaching(l, i - 1, from))
		if (l->r[i - 1].types & types)
			return true;
	return false;
}

uint64_t cw_loss_within(const struct cw_trace *t, uint64_t from, uint64_t to, uint64_t types,
			uint32_t cpu, uint64_t *lo, uint64_t *hi)
{
	const struct cw_losses *l = t->losses;
	uint64_t count = 0;

	if (!l->n || l->r[l->n - 1].greatest_end < from)
		return 0;
	for (size_t i = reaching(l, behind(l, to), from); i; i = reaching(l, i - 1, from)) {
		const struct range *r = &l->r[i - 1];
		uint64_t a = r->ts > from ? r->ts : from, b = r->end_ts < to ? r->end_ts : to;

		if (!(r->types & types) ||
		    (cpu != CW_ANY_CPU && r->cpu != CW_ANY_CPU && r->cpu != cpu))
			continue;
		if (!count || a < *lo)
			*lo = a;
		if (!count || b > *hi)
			*hi = b;
		count += r->count < UINT32_MAX ? r->count : UINT32_MAX;
		/* The others can only add to the count. */
		if (count > 1 && *lo == from && *hi == to)
			break;
	}
	return count;
}

static const char *reason_name(uint32_t reason)
{
	switch (reason) {
	case CW_LOST_RING:
		return "ring full";
	case CW_LOST_MISSED:
		return "probe missed";
	case CW_LOST_OVERLOAD:
		return "overload";
	case CW_LOST_DELETED:
		return "deleted";
	case CW_LOST_DETACHED:
		return "detached";
	case CW_LOST_DAMAGED:
		return "damaged file";
	case CW_LOST_LATE:
		return "late";
	case CW_LOST_FOUND:
		return "contradiction";
	default:
		return "unknown";
	}
}

static void write_row(struct cw_trace *t, const struct cw_lost *lost, const char *reason)
{
	const struct cw_type *type = cw_type_by_id((uint16_t)lost->kind);
	uint64_t *w = cw_rows_put(t->rows, CW_ROW_LOSS,
				  (lost->h.cpu == CW_CPU_NONE ? 8 : 0) | (lost->count ? 0 : 32));

	w[0] = lost->h.ts;
	w[1] = lost->end_ts < INT64_MAX ? lost->end_ts : INT64_MAX;
	w[2] = cw_word(type ? type->name : "*");
	w[3] = lost->h.cpu;
	w[4] = cw_word(reason);
	w[5] = lost->count;
}

/* One range for two: wider than the truth, never narrower. */
static void join(struct range *r, const struct range *other)
{
	r->types |= other->types;
	r->count += other->count;
	r->cpu = CW_ANY_CPU;
	if (other->ts < r->ts)
		r->ts = other->ts;
	if (other->end_ts > r->end_ts)
		r->end_ts = other->end_ts;
}

/* Repeated in every part of a capture: the first time counts. */
static int detached(struct cw_trace *t, const struct cw_lost *lost)
{
	uint32_t probe_id = lost->probe - 1;
	struct cw_losses *l = t->losses;
	struct detached d = {.probe_id = probe_id, .ts = lost->h.ts};

	if (cw_loss_detached(t, probe_id) != UINT64_MAX || l->noff > UINT16_MAX)
		return 0;
	if (asprintf(&d.reason, "detached: %s", cw_probe_of(t, probe_id)->name) < 0)
		return -ENOMEM;
	cw_reserve(l->off, l->noff, l->off_cap);
	l->off[l->noff++] = d;
	write_row(t, lost, d.reason);
	return 0;
}

uint64_t cw_loss_detached(const struct cw_trace *t, uint32_t probe_id)
{
	const struct cw_losses *l = t->losses;

	for (size_t i = 0; i < l->noff; i++)
		if (l->off[i].probe_id == probe_id)
			return l->off[i].ts;
	return UINT64_MAX;
}

bool cw_loss_detached_at(const struct cw_trace *t, size_t i, uint32_t *probe_id, uint64_t *ts)
{
	const struct cw_losses *l = t->losses;

	if (i >= l->noff)
		return false;
	*probe_id = l->off[i].probe_id;
	*ts = l->off[i].ts;
	return true;
}

static int event(struct cw_trace *t, const struct cw_rec *rec)
{
	const struct cw_lost *lost = (const void *)rec;
	struct cw_losses *l = t->losses;
	struct range new = {
		.ts = rec->ts,
		.end_ts = lost->end_ts,
		.count = lost->count && lost->count < UINT32_MAX ? lost->count : UINT32_MAX,
		.types = lost->kind && lost->kind < 64 ? CW_TYPE_BIT(lost->kind) : UINT64_MAX,
		.cpu = rec->cpu == CW_CPU_NONE ? CW_ANY_CPU : rec->cpu,
	};

	if (lost->end_ts < rec->ts) {
		t->totals.bad++;
		return 0;
	}
	if (lost->reason == CW_LOST_DETACHED && lost->probe)
		return detached(t, lost);
	write_row(t, lost, reason_name(lost->reason));
	append(l, new);
	return 0;
}

void cw_loss_found(struct cw_trace *t, uint32_t kind, uint32_t cpu, uint64_t from, uint64_t to)
{
	struct cw_lost lost = {
		.h = {.type = CW_LOST, .cpu = cpu < CW_CPU_NONE ? cpu : CW_CPU_NONE, .ts = from},
		.kind = kind,
		.reason = CW_LOST_FOUND,
		.count = 1,
		.end_ts = to,
	};

	/* A loss that was counted covers it already. */
	if (!cw_loss_touches(t, from, to, CW_SWITCH_TYPES))
		write_row(t, &lost, reason_name(lost.reason));
}

void cw_loss_late(struct cw_trace *t, const struct cw_rec *rec)
{
	struct cw_lost lost = {.h = *rec, .kind = rec->type, .count = 1, .end_ts = rec->ts};

	lost.reason = CW_LOST_LATE;
	t->totals.late++;
	write_row(t, &lost, reason_name(lost.reason));
}

/* One range instead of all that ended before limit. */
static void join_old(struct cw_losses *l, uint64_t limit)
{
	size_t n = 0, total = l->n;

	while (n < l->n && l->r[n].greatest_end < limit)
		n++;
	if (n < 2)
		return;
	for (size_t i = 1; i < n; i++)
		join(&l->r[0], &l->r[i]);
	l->n = 1;
	l->nblocks = 1;
	l->r[0].greatest_end = l->block_end[0] = l->r[0].end_ts;
	for (size_t i = n; i < total; i++)
		append(l, l->r[i]);
}

static void watermark(struct cw_trace *t, uint64_t ts)
{
	uint64_t age = t->max_age_ns ? t->max_age_ns : t->plan ? t->plan->max_age_ns : 0;
	uint64_t kept = KEPT_NS > 2 * age ? KEPT_NS : 2 * age;

	if (t->watch && ts > kept)
		join_old(t->losses, ts - kept);
}

static int begin(struct cw_trace *t)
{
	t->losses = cw_zalloc(sizeof(*t->losses));
	return 0;
}

static void release(struct cw_trace *t)
{
	if (t->losses) {
		free(t->losses->r);
		free(t->losses->block_end);
		for (size_t i = 0; i < t->losses->noff; i++)
			free(t->losses->off[i].reason);
		free(t->losses->off);
	}
	free(t->losses);
	t->losses = NULL;
}

extern const struct cw_pass cw_pass_loss;
const struct cw_pass cw_pass_loss = {
	.name = "loss",
	.version = 2,
	.reads = "lost probes",
	.writes = "loss",
	.types = CW_TYPE_BIT(CW_LOST),
	.begin = begin,
	.event = event,
	.watermark = watermark,
	.free = release,
};
