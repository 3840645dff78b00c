/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks: walked into scratch, named by a hash, handed over the first time one is seen in an epoch.
 * bpf_get_stackid is not used because it loses stacks (its buckets hold one each).
 *
 * The loops are in global functions of stack.bpf.c, which know a slot by its number: the verifier
 * goes through those once, and not once for every path that leads there.
 */
#ifndef CW_STACK_BPF_H
#define CW_STACK_BPF_H

#include "emit.bpf.h"

#define CW_STACK_BYTES     (CW_MAX_FRAMES * 8)
#define CW_MAX_FRAMES_POW2 128 /* no less than CW_MAX_FRAMES */
#define CW_SLOT_SCHED      (CW_STACK_SLOTS - 1)
#define CW_NO_SLOT         CW_STACK_SLOTS
#define CW_MAX_PENDING     64 /* the kernel keeps so many returns of a thread */
#define CW_KSTACK_SKIP     2  /* frames of the tracer: the program and the function that ran it */

/* The registers a walk starts from. */
struct cw_uregs {
	__u64 ip, sp, bp;
};

/* What is known about a stack before it is walked. */
struct cw_stack_req {
	struct cw_uregs regs; /* of the current task; unused for a kernel stack */
	__u64 ts;
	__u64 seed;
	__u64 caller; /* at function entry */
	__u32 pid;
	__u32 flags; /* CW_STACK_* */
	__u32 gap;   /* there may be frames before the first frame pointer: save memory */
	__u32 reserved;
};

struct cw_slot {
	__u32 busy;
	__u32 odd;         /* the stack was not known, and leads to where no code is */
	__u32 n;           /* frames */
	__u32 trampolines; /* there may be return addresses that a probe replaced */
	__u32 want;        /* bytes of the user stack to save */
	__u32 saved;       /* bytes of it in the save area */
	__u32 at_end;      /* they end where the stack begins */
	__u32 frame;       /* one that is looked at */
	__u64 from;        /* where the bytes come from */
	__u64 end;         /* hash of the bytes behind the last frame pointers */
	__u64 top;         /* where the stack begins, or a little above; 0 unknown */
	__u64 code;        /* the program's own, and its bytes */
	__u64 code_size;
	struct cw_stack_req req;
	struct pt_regs regs; /* scratch: programs have 512 bytes of stack, callees included */
	__u64 fps[CW_MAX_FRAMES_POW2]; /* frame pointers: the return address of frame i is behind
					  fps[i] */
	__u8 rec[sizeof(struct cw_stack) + CW_STACK_BYTES] __attribute__((aligned(8)));
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, CW_STACK_SLOTS);
	__type(key, __u32);
	__type(value, struct cw_slot);
} slots __weak SEC(".maps");

/*
 * Walk the user stack of the current task as slot->req says, or name and hand over the frames that
 * are in the slot. Return the stack's id, 0 when there is none, and set slot->odd.
 */
extern __u64 cw_stack_user(__u32 slot);
extern __u64 cw_stack_finish(__u32 slot);

/* Return addresses: only the trampoline of return probes is likely to start a page. */
#define cw_may_be_trampoline(address) (!((address)&0xfff))
extern __u64 cw_true_return(__u64 at, __u64 address);

/* Saved memory, in save.bpf.c. */
extern int cw_save_copy(__u32 slot);
extern int cw_save_put_back(__u32 slot);
extern __u64 cw_save_hash(__u32 slot, __u64 h);
extern int cw_save_begin(__u32 slot, __u64 id);
extern int cw_save_end(__u32 slot, __u64 id);
extern int cw_save_end_hash(__u32 slot);
extern int cw_outside_code(__u32 slot);
extern __u64 cw_stack_top(void);
extern __u32 cw_save_room(__u32 slot, __u64 from, __u32 few, __u32 most);

static __always_inline struct cw_slot *cw_slot_at(__u32 i)
{
	return bpf_map_lookup_elem(&slots, &i);
}

/*
 * A slot for a uprobe program, which another one may preempt; CW_NO_SLOT when there is none. The
 * scheduler's programs have one of their own: they run with interrupts off, one at a time on a CPU.
 * A plain atomic addition does (compare-and-swap came in 5.12): who finds another one's mark beside
 * its own steps back.
 */
static __always_inline __u32 cw_slot_get(void)
{
	struct cw_slot *s;
	__u32 i;

#pragma unroll
	for (i = 0; i < CW_SLOT_SCHED; i++) {
		s = cw_slot_at(i);
		if (!s)
			break;
		__sync_fetch_and_add(&s->busy, 1);
		if (*(volatile __u32 *)&s->busy == 1)
			return i;
		__sync_fetch_and_add(&s->busy, -1);
	}
	return CW_NO_SLOT;
}

/*
 * Walk the current kernel stack. The tracer's own frames land on the words before the frames: the
 * helper's skip count would drop frames at the other end, too.
 */
static __always_inline __u64 cw_stack_kernel(void *ctx, __u64 ts)
{
	struct cw_slot *s = cw_slot_at(CW_SLOT_SCHED);
	struct cw_stack *r;
	long got;

	if (!s)
		return 0;
	r = (void *)s->rec;
	s->req = (struct cw_stack_req){.ts = ts, .flags = CW_STACK_KERNEL};
	s->saved = 0;
	s->end = 0;
	got = bpf_get_stack(ctx, r->frames - CW_KSTACK_SKIP, CW_STACK_BYTES, 0);
	if (got <= CW_KSTACK_SKIP * 8)
		return 0;
	s->n = ((__u32)got >> 3) - CW_KSTACK_SKIP;
	return cw_stack_finish(CW_SLOT_SCHED);
}

#endif
