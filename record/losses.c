/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Nothing is lost silently: polls the BPF programs' exact counts and says in the capture when,
 * where and of which kind something was lost. Must not know how records are drained.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "clock.h"
#include "losses.h"

/* The record types that BPF programs write. */
static const uint32_t kinds[] = {CW_THREAD,       CW_STACK,        CW_STACK_REGS,   CW_FILE,
				 CW_PROBE_ENTRY,  CW_PROBE_RETURN, CW_SCHED_SWITCH, CW_SCHED_BLOCK,
				 CW_SCHED_WAKING, CW_SCHED_WAKEUP, CW_FORK,         CW_EXEC,
				 CW_EXIT};
#define NKINDS (sizeof(kinds) / sizeof(*kinds))

struct cw_losses {
	struct cw_probes *pr;
	struct cw_writer *w;
	unsigned int cpus;
	struct cw_count *now; /* of one kind, by CPU */
	uint64_t *reported;   /* lost so far, [kind][cpu] */
	uint64_t *discarded;  /* on purpose, [kind][cpu] */
	/* Where the recording goes on in several files, [kind][cpu]; NULL elsewhere. */
	struct cw_file_counts {
		uint64_t written;     /* to the present file */
		uint64_t written_old; /* to the one before */
		uint64_t moved;       /* to files that were left, and to those only */
		uint64_t lost_old;    /* reported in the one before */
		uint64_t lost_before; /* reported in files that were left */
	} * files;
	uint64_t emitted[NKINDS], lost[NKINDS], missed[NKINDS];
	uint64_t last_poll;
	uint32_t *detached; /* probes */
	size_t ndetached;
};

struct cw_losses *cw_losses_new(struct cw_probes *pr, struct cw_writer *w)
{
	struct cw_losses *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	l->pr = pr;
	l->w = w;
	l->cpus = cw_probes_cpus(pr);
	l->now = calloc(l->cpus, sizeof(*l->now));
	l->reported = calloc(l->cpus * NKINDS, sizeof(*l->reported));
	l->discarded = calloc(l->cpus * NKINDS, sizeof(*l->discarded));
	l->last_poll = cw_clock_ns(CLOCK_MONOTONIC);
	if (l->now && l->reported && l->discarded)
		return l;
	cw_losses_free(l);
	return NULL;
}

int cw_losses_count_files(struct cw_losses *l)
{
	l->files = calloc(l->cpus * NKINDS, sizeof(*l->files));
	return l->files ? 0 : -ENOMEM;
}

void cw_losses_next_file(struct cw_losses *l, struct cw_writer *w)
{
	size_t i;

	for (i = 0; i < l->cpus * NKINDS; i++) {
		struct cw_file_counts *f = &l->files[i];

		f->moved += f->written;
		f->written_old = f->written;
		f->written = 0;
		f->lost_old = l->reported[i] - f->lost_before;
		f->lost_before = l->reported[i];
	}
	l->w = w;
}

static int append_lost(struct cw_losses *l, uint32_t kind, uint32_t cpu, uint64_t n,
		       uint32_t reason, uint64_t from, uint64_t to)
{
	struct cw_lost r = {
		.h = {.type = CW_LOST, .size = sizeof(r), .cpu = cpu, .ts = from},
		.kind = kind,
		.reason = reason,
		.count = n,
		.end_ts = to,
	};

	cw_writer_lost(l->w, kind, cpu, n);
	return cw_writer_append(l->w, &r.h);
}

static int append_detached(struct cw_losses *l, uint32_t probe, uint64_t ts, uint32_t flags)
{
	struct cw_lost r = {
		.h = {.type = CW_LOST,
		      .size = sizeof(r),
		      .cpu = CW_CPU_NONE,
		      .flags = (uint16_t)flags,
		      .ts = ts},
		.kind = CW_PROBE_ENTRY,
		.reason = CW_LOST_DETACHED,
		.end_ts = UINT64_MAX,
		.probe = probe + 1,
	};

	return cw_writer_append(l->w, &r.h);
}

int cw_losses_detached(struct cw_losses *l, uint32_t probe, uint64_t ts)
{
	uint32_t *more = realloc(l->detached, (l->ndetached + 1) * sizeof(*more));

	if (!more)
		return -ENOMEM;
	l->detached = more;
	l->detached[l->ndetached++] = probe;
	return append_detached(l, probe, ts, 0);
}

int cw_losses_repeat(struct cw_losses *l)
{
	uint64_t now = cw_clock_ns(CLOCK_MONOTONIC);
	int rc = 0;

	for (size_t i = 0; !rc && i < l->ndetached; i++)
		rc = append_detached(l, l->detached[i], now, CW_REC_REPEATED);
	return rc;
}

/*
 * From the first to the last loss of the generation that ended. A program that ran while it ended
 * may have written into the next one, or not at all yet: then the time since the last poll is
 * meant.
 */
static int report_cpu(struct cw_losses *l, size_t k, uint32_t cpu, uint32_t gen, uint64_t now)
{
	const struct cw_count *c = &l->now[cpu];
	uint64_t *done = &l->reported[k * l->cpus + cpu], n = c->lost - *done;
	uint64_t from = UINT64_MAX, to = 0;
	int i;

	if (!n)
		return 0;
	for (i = 0; i < 2; i++) {
		const struct cw_loss_window *win = &c->window[i];

		if (win->gen != gen && win->gen != gen + 1)
			continue;
		from = win->first < from ? win->first : from;
		to = win->last > to ? win->last : to;
	}
	if (!to) {
		from = l->last_poll;
		to = now;
	}
	*done = c->lost;
	return append_lost(l, kinds[k], cpu, n, CW_LOST_RING, from, to);
}

static int report_missed(struct cw_losses *l, size_t k, uint64_t now)
{
	uint64_t missed = cw_probes_missed(l->pr, kinds[k]), n = missed - l->missed[k];

	if (!n)
		return 0;
	l->missed[k] = missed;
	return append_lost(l, kinds[k], CW_CPU_NONE, n, CW_LOST_MISSED, l->last_poll, now);
}

int cw_losses_poll(struct cw_losses *l)
{
	uint32_t gen = cw_probes_next_loss_gen(l->pr), cpu;
	uint64_t now = cw_clock_ns(CLOCK_MONOTONIC);
	size_t k;
	int rc = 0;

	for (k = 0; !rc && k < NKINDS; k++) {
		if (cw_probes_counts(l->pr, kinds[k], l->now))
			continue;
		l->emitted[k] = l->lost[k] = 0;
		for (cpu = 0; !rc && cpu < l->cpus; cpu++) {
			l->emitted[k] += l->now[cpu].emitted - l->discarded[k * l->cpus + cpu];
			l->lost[k] += l->now[cpu].lost;
			rc = report_cpu(l, k, cpu, gen, now);
		}
		if (!rc)
			rc = report_missed(l, k, now);
	}
	l->last_poll = now;
	return rc;
}

static int append_counter(struct cw_writer *w, size_t k, uint32_t cpu, uint64_t ts,
			  uint64_t emitted, uint64_t lost)
{
	struct cw_counter r = {.h = {.type = CW_COUNTER, .size = sizeof(r), .cpu = cpu, .ts = ts},
			       .kind = kinds[k],
			       .emitted = emitted,
			       .lost = lost};

	return emitted || lost ? cw_writer_append(w, &r.h) : 0;
}

int cw_losses_end_file(struct cw_losses *l, struct cw_writer *old)
{
	uint32_t cpu;
	size_t k;
	int rc = 0;

	for (k = 0; k < NKINDS; k++) {
		for (cpu = 0; !rc && cpu < l->cpus; cpu++) {
			const struct cw_file_counts *f = &l->files[k * l->cpus + cpu];

			rc = append_counter(old, k, cpu, l->last_poll, f->written_old, f->lost_old);
		}
	}
	return rc;
}

int cw_losses_finish(struct cw_losses *l)
{
	uint32_t cpu;
	size_t k;
	int rc = cw_losses_poll(l);

	for (k = 0; !rc && k < NKINDS; k++) {
		if (cw_probes_counts(l->pr, kinds[k], l->now))
			continue;
		for (cpu = 0; !rc && cpu < l->cpus; cpu++) {
			size_t i = k * l->cpus + cpu;
			uint64_t moved = l->files ? l->files[i].moved : 0;
			uint64_t lost_before = l->files ? l->files[i].lost_before : 0;

			rc = append_counter(l->w, k, cpu, l->last_poll,
					    l->now[cpu].emitted - l->discarded[i] - moved,
					    l->now[cpu].lost - lost_before);
		}
	}
	return rc;
}

static size_t kind_index(uint32_t kind)
{
	size_t k;

	for (k = 0; k < NKINDS && kinds[k] != kind; k++)
		;
	return k;
}

void cw_losses_discard(struct cw_losses *l, uint32_t kind, uint32_t cpu)
{
	size_t k = kind_index(kind);

	if (k < NKINDS && cpu < l->cpus)
		l->discarded[k * l->cpus + cpu]++;
}

void cw_losses_wrote(struct cw_losses *l, const struct cw_rec *rec, bool old, bool present)
{
	size_t k = l->files ? kind_index(rec->type) : NKINDS;
	struct cw_file_counts *f;

	if (k == NKINDS || rec->cpu >= l->cpus)
		return;
	f = &l->files[k * l->cpus + rec->cpu];
	f->written += present;
	f->written_old += old;
	f->moved += !present;
}

uint64_t cw_losses_emitted(const struct cw_losses *l, uint32_t kind)
{
	size_t k = kind_index(kind);

	return k < NKINDS ? l->emitted[k] : 0;
}

uint64_t cw_losses_lost(const struct cw_losses *l, uint32_t kind)
{
	size_t k = kind_index(kind);

	return k < NKINDS ? l->lost[k] : 0;
}

uint64_t cw_losses_missed(const struct cw_losses *l, uint32_t kind)
{
	size_t k = kind_index(kind);

	return k < NKINDS ? l->missed[k] : 0;
}

size_t cw_losses_ndetached(const struct cw_losses *l)
{
	return l->ndetached;
}

void cw_losses_free(struct cw_losses *l)
{
	if (!l)
		return;
	free(l->now);
	free(l->reported);
	free(l->discarded);
	free(l->files);
	free(l->detached);
	free(l);
}
