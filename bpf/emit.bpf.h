/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Handing records to the recorder: a ring for each group of CPUs, and exact counts of what was
 * handed over and of what found no room, by record type and CPU. Knows nothing about what records
 * mean.
 */
#ifndef CW_EMIT_BPF_H
#define CW_EMIT_BPF_H

#include <bpf/bpf_helpers.h>
#include "records.h"
#include "abi.h"
#include "compat.bpf.h"

struct cw_ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 16); /* the recorder makes them */
};

/* By CPU: several share one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, __u32);
	__array(values, struct cw_ring);
} rings __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CW_KINDS);
	__type(key, __u32);
	__type(value, struct cw_count);
} counts __weak SEC(".maps");

/* Bumped by the recorder. */
volatile __u32 cw_epoch __weak = 1;
volatile __u32 cw_loss_gen __weak = 1;
/* Set by the recorder: nothing happens any more. Detaching takes its time, and not all at once. */
volatile __u32 cw_stopped __weak = 0;

/*
 * Uprobe programs can be preempted by others on the same CPU, hence atomics. A window is started
 * by the first loss of a generation; two are kept so that the recorder reads one at rest.
 */
static __noinline int cw_count_lost(__u32 kind, __u64 ts)
{
	struct cw_count *c = bpf_map_lookup_elem(&counts, &kind);
	struct cw_loss_window *w;
	__u32 gen = cw_loss_gen;

	if (!c)
		return 0;
	__sync_fetch_and_add(&c->lost, 1);
	w = gen & 1 ? &c->window[1] : &c->window[0];
	if (w->gen != gen) {
		w->first = ts;
		w->last = ts;
		w->gen = gen;
	}
	if (ts < w->first)
		w->first = ts;
	if (ts > w->last)
		w->last = ts;
	return 0;
}

static __always_inline void cw_count_emitted(__u32 kind)
{
	struct cw_count *c = bpf_map_lookup_elem(&counts, &kind);

	if (c)
		__sync_fetch_and_add(&c->emitted, 1);
}

/* NULL only where a CPU has a number that none had when the programs were loaded. */
static __always_inline void *cw_my_ring(void)
{
	__u32 cpu = bpf_get_smp_processor_id();

	return bpf_map_lookup_elem(&rings, &cpu);
}

/* Waking the reader is half the cost of an event: only when a good part of the ring is full. */
static __always_inline __u64 cw_wake_flags(void *ring)
{
	return bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) >= cfg.wake_bytes ? BPF_RB_FORCE_WAKEUP
									    : BPF_RB_NO_WAKEUP;
}

static __always_inline void cw_fill_header(struct cw_rec *h, __u32 kind, __u32 size, __u64 ts)
{
	h->type = kind;
	h->size = size;
	h->cpu = bpf_get_smp_processor_id();
	h->flags = 0;
	h->ts = ts;
}

/* Room for a record of constant size, its header filled; NULL when the ring is full (counted). */
static __always_inline void *cw_reserve(__u32 kind, __u32 size, __u64 ts)
{
	void *ring = cw_my_ring();
	struct cw_rec *h = ring ? bpf_ringbuf_reserve(ring, size, 0) : NULL;

	if (!h) {
		cw_count_lost(kind, ts);
		return NULL;
	}
	cw_fill_header(h, kind, size, ts);
	return h;
}

static __always_inline void cw_submit(void *rec, __u32 kind)
{
	void *ring = cw_my_ring();

	cw_count_emitted(kind);
	bpf_ringbuf_submit(rec, ring ? cw_wake_flags(ring) : 0);
}

/* Hand over a copy of a record of any size; its header must be filled. 0 when there was room. */
static __always_inline long cw_output(void *rec, __u32 size, __u32 kind, __u64 ts)
{
	void *ring = cw_my_ring();
	long err = ring ? bpf_ringbuf_output(ring, rec, size, cw_wake_flags(ring)) : -1;

	if (err)
		cw_count_lost(kind, ts);
	else
		cw_count_emitted(kind);
	return err;
}

#endif
