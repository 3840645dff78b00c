/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks: walked into scratch, named by a hash, handed over the first time one is seen in an epoch.
 * bpf_get_stackid is not used because it loses stacks (its buckets hold one each).
 */
#ifndef CW_STACK_BPF_H
#define CW_STACK_BPF_H

#include "emit.bpf.h"

#define CW_STACK_BYTES (CW_MAX_FRAMES * 8)
#define CW_KSTACK_SKIP 2 /* frames of the tracer: the program and the function that ran it */

struct cw_slot {
	__u32 busy;
	__u32 reserved;
	__u8 rec[sizeof(struct cw_stack) + CW_STACK_BYTES] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CW_STACK_SLOTS);
	__type(key, __u32);
	__type(value, struct cw_slot);
} slots __weak SEC(".maps");

/* Ids handed over, with the epoch it was done in. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u32);
} seen_stacks __weak SEC(".maps");

/* The slot of the scheduler's programs: they run with interrupts off, one at a time on a CPU. */
static __always_inline struct cw_slot *cw_slot_sched(void)
{
	__u32 i = CW_STACK_SLOTS - 1;

	return bpf_map_lookup_elem(&slots, &i);
}

/*
 * A slot for a uprobe program, which another one may preempt. Before 5.12 there is no
 * compare-and-swap, but then these programs run with preemption off.
 */
static __always_inline struct cw_slot *cw_slot_get(void)
{
	struct cw_slot *s;
	__u32 i;

#pragma unroll
	for (i = 0; i < CW_STACK_SLOTS - 1; i++) {
		__u32 key = i;

		s = bpf_map_lookup_elem(&slots, &key);
		if (!s)
			return NULL;
		if (!cfg.has_cmpxchg)
			return s;
		if (__sync_val_compare_and_swap(&s->busy, 0, 1) == 0)
			return s;
	}
	return NULL;
}

static __always_inline void cw_slot_put(struct cw_slot *s)
{
	s->busy = 0;
}

static __noinline __u64 cw_hash_frames(const __u64 *frames, __u32 n, __u64 h)
{
	__u32 i;

	if (!frames)
		return h;
	for (i = 0; i < CW_MAX_FRAMES; i++) {
		if (i >= n)
			break;
		h = (h ^ frames[i]) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h;
}

/* What is known about a stack before it is walked. */
struct cw_stack_req {
	__u64 ts;
	__u64 seed;
	__u64 caller; /* at function entry */
	__u64 ip;     /* when only this is kept */
	__u32 pid;
	__u32 flags; /* CW_STACK_* */
};

/*
 * Walk into r->frames; returns how many there are. The tracer's own frames of a kernel stack land
 * on fields that are filled later: the helper's skip count drops frames at the other end, too.
 */
static __always_inline __u32 cw_walk(void *ctx, struct cw_stack *r, __u32 flags)
{
	long got;

	if (!(flags & CW_STACK_KERNEL)) {
		got = bpf_get_stack(ctx, r->frames, CW_STACK_BYTES, BPF_F_USER_STACK);
		return got > 0 ? (__u32)got >> 3 : 0;
	}
	got = bpf_get_stack(ctx, r->frames - CW_KSTACK_SKIP, CW_STACK_BYTES, 0);
	return got > CW_KSTACK_SKIP * 8 ? ((__u32)got >> 3) - CW_KSTACK_SKIP : 0;
}

/*
 * Walk the stack into s and hand it over unless that was done before. Returns its id, 0 when there
 * is none; *fresh says whether it was new. The mark is made only after the record found room.
 */
static __always_inline __u64 cw_stack_take(void *ctx, struct cw_slot *s,
					   const struct cw_stack_req *q, bool *fresh)
{
	struct cw_stack *r = (void *)s->rec;
	__u32 flags = q->flags, n = 1, epoch = cw_epoch, *seen, size;
	__u64 id;

	*fresh = false;
	if (flags & CW_STACK_NO_FP) {
		r->frames[0] = q->ip;
	} else {
		n = cw_walk(ctx, r, flags);
		if (!n) {
			if (!q->ip)
				return 0;
			r->frames[0] = q->ip;
			flags |= CW_STACK_FAILED;
			n = 1;
		}
		if (n >= CW_MAX_FRAMES - CW_KSTACK_SKIP)
			flags |= CW_STACK_TRUNCATED;
	}
	id = cw_hash_frames(r->frames, n, (q->seed ^ q->caller) * 0xff51afd7ed558ccdull + flags);
	if (!id)
		id = 1;
	seen = bpf_map_lookup_elem(&seen_stacks, &id);
	if (seen && *seen == epoch)
		return id;
	*fresh = !seen;
	size = sizeof(*r) + n * 8;
	if (size > sizeof(s->rec))
		return id;
	cw_fill_header(&r->h, CW_STACK, size, q->ts);
	r->id = id;
	r->pid = q->pid;
	r->flags = flags;
	r->caller = q->caller;
	if (!cw_output(r, size, CW_STACK, q->ts))
		bpf_map_update_elem(&seen_stacks, &id, &epoch, BPF_ANY);
	return id;
}

#endif
