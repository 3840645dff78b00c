/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks: walked into scratch, named by a hash, handed over the first time one is seen in an epoch.
 * bpf_get_stackid is not used because it loses stacks (its buckets hold one each).
 */
#ifndef CW_STACK_BPF_H
#define CW_STACK_BPF_H

#include "emit.bpf.h"
#include "walk.bpf.h"

struct cw_slot {
	__u32 busy;
	__u32 reserved;
	struct cw_walked walked;
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

static __noinline __u64 cw_hash_frames(const __u64 *frames, const struct cw_walked *w, __u64 h)
{
	__u32 i;

	if (!frames || !w)
		return h;
	for (i = 0; i < CW_MAX_FRAMES; i++) {
		if (i >= w->n)
			break;
		h = (h ^ frames[i]) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h;
}

/* What is known about a stack before it is walked. */
struct cw_stack_req {
	struct cw_uregs regs; /* of the current task; unused for a kernel stack */
	__u64 ts;
	__u64 seed;
	__u64 caller; /* at function entry */
	__u32 pid;
	__u32 flags; /* CW_STACK_* */
};

/*
 * Walk the stack into s and hand it over unless that was done before. Returns its id, 0 when there
 * is none; *fresh says whether it was new. The mark is made only after the record found room.
 */
static __always_inline __u64 cw_stack_take(void *ctx, struct cw_slot *s,
					   struct task_struct *current, struct cw_stack_req *q,
					   bool *fresh)
{
	struct cw_stack *r = (void *)s->rec;
	__u32 flags = q->flags, n, epoch = cw_epoch, *seen, size;
	__u64 id;

	*fresh = false;
	if (flags & CW_STACK_KERNEL) {
		s->walked.n = cw_walk_kernel(ctx, r->frames);
	} else if (flags & CW_STACK_NO_FP) {
		r->frames[0] = q->regs.ip;
		s->walked.n = 1;
	} else {
		cw_walk_user(r->frames, &s->walked, &q->regs);
		if (s->walked.trampolines)
			cw_true_returns(r->frames, &s->walked, current);
		/* A frame pointer that led nowhere: it is used for something else. */
		if (s->walked.n == 1 && q->regs.bp)
			flags |= CW_STACK_NO_FP;
	}
	if (!s->walked.n)
		return 0;
	if (s->walked.n >= CW_MAX_FRAMES - CW_KSTACK_SKIP)
		flags |= CW_STACK_TRUNCATED;
	id = cw_hash_frames(r->frames, &s->walked,
			    (q->seed ^ q->caller) * 0xff51afd7ed558ccdull + flags);
	if (!id)
		id = 1;
	seen = bpf_map_lookup_elem(&seen_stacks, &id);
	if (seen && *seen == epoch)
		return id;
	*fresh = !seen;
	n = s->walked.n;
	if (n > CW_MAX_FRAMES)
		return id;
	size = sizeof(*r) + n * 8;
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
