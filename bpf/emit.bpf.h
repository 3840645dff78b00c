/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Handing records to the recorder: one ring, and exact counts of what was handed over and of what
 * found no room, by record type and CPU. Knows nothing about what records mean.
 */
#ifndef CW_EMIT_BPF_H
#define CW_EMIT_BPF_H

#include <bpf/bpf_helpers.h>
#include "records.h"
#include "abi.h"
#include "compat.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 16 << 20);
} events __weak SEC(".maps");

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

/* Waking the reader is half the cost of an event: only when a good part of the ring is full. */
static __always_inline __u64 cw_wake_flags(void)
{
	return bpf_ringbuf_query(&events, BPF_RB_AVAIL_DATA) >= cfg.wake_bytes ? BPF_RB_FORCE_WAKEUP
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
	struct cw_rec *h = bpf_ringbuf_reserve(&events, size, 0);

	if (!h) {
		cw_count_lost(kind, ts);
		return NULL;
	}
	cw_fill_header(h, kind, size, ts);
	return h;
}

static __always_inline void cw_submit(void *rec, __u32 kind)
{
	cw_count_emitted(kind);
	bpf_ringbuf_submit(rec, cw_wake_flags());
}

/* Hand over a copy of a record of any size; its header must be filled. 0 when there was room. */
static __always_inline long cw_output(void *rec, __u32 size, __u32 kind, __u64 ts)
{
	long err = bpf_ringbuf_output(&events, rec, size, cw_wake_flags());

	if (err)
		cw_count_lost(kind, ts);
	else
		cw_count_emitted(kind);
	return err;
}

#endif
