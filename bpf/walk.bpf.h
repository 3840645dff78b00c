/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walking stacks into an array of addresses. User stacks are walked here rather than by
 * bpf_get_stack: that one reads whatever the outermost frame pointer points to, and the fault costs
 * more than all frames before; it loses the caller at function entry in a way that depends on the
 * kernel, and shows the trampoline of pending return probes before 6.11. Must not know about
 * records.
 */
#ifndef CW_WALK_BPF_H
#define CW_WALK_BPF_H

#include "records.h"
#include "compat.bpf.h"

#define CW_STACK_BYTES     (CW_MAX_FRAMES * 8)
#define CW_KSTACK_SKIP     2 /* frames of the tracer: the program and the function that ran it */
#define CW_MAX_FRAME_BYTES (1u << 20) /* a frame pointer further away than this is none */
#define CW_MIN_CODE        4096

#if defined(__TARGET_ARCH_arm64)
#define CW_CODE_MASK ((1ull << 48) - 1) /* without the signature of pointer authentication */
#else
#define CW_CODE_MASK (~0ull)
#endif

/* The registers a walk starts from. */
struct cw_uregs {
	__u64 ip, sp, bp;
};

/*
 * A walk's result. It lies in a map and is read anew in every round of a loop: what the verifier
 * does not know it cannot tell apart, else it would go through each number of frames on its own.
 */
struct cw_walked {
	volatile __u32 n;
	volatile __u32 trampolines; /* there may be some among the frames */
};

/*
 * Put back the addresses that return probes replaced by their trampoline's. Pending returns are
 * kept innermost first; those of tail calls share one place on the stack.
 */
static __noinline int cw_true_returns(__u64 *frames, struct cw_walked *w, struct task_struct *task)
{
	struct return_instance *r = BPF_CORE_READ(task, utask, return_instances);
	__u64 trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	__u32 i;

	if (!frames || !w || !trampoline)
		return 0;
	for (i = 1; i < CW_MAX_FRAMES; i++) {
		if (i >= w->n || !r)
			break;
		if (frames[i] != trampoline)
			continue;
		frames[i] = BPF_CORE_READ(r, orig_ret_vaddr);
		if (BPF_CORE_READ(r, chained))
			r = BPF_CORE_READ(r, next);
		r = BPF_CORE_READ(r, next);
	}
	return 0;
}

/*
 * Follow the frame pointers of the current task. Stops where a frame pointer does not point up the
 * stack or a return address cannot be code.
 */
static __noinline int cw_walk_user(__u64 *frames, struct cw_walked *w, const struct cw_uregs *from)
{
	__u64 fp, low, ret, pair[2];
	__u32 i;

	if (!frames || !from || !w)
		return 0;
	fp = from->bp;
	low = from->sp;
	frames[0] = from->ip;
	w->trampolines = 0;
	for (i = 1; i < CW_MAX_FRAMES; i++) {
		w->n = i;
		if (fp < low || (fp & 7) || fp - low > CW_MAX_FRAME_BYTES)
			return 0;
		if (bpf_probe_read_user(pair, sizeof(pair), (void *)fp))
			return 0;
		ret = pair[1] & CW_CODE_MASK;
		if (ret < CW_MIN_CODE || ret >> 56)
			return 0;
		/* Only the trampoline is likely to start a page. */
		if (!(ret & 0xfff))
			w->trampolines = 1;
		frames[i] = ret;
		low = fp + sizeof(pair);
		fp = pair[0];
	}
	w->n = i;
	return 0;
}

/*
 * Walk the current kernel stack; returns the number of frames. The tracer's own frames land on the
 * words before frames: the helper's skip count would drop frames at the other end, too.
 */
static __always_inline __u32 cw_walk_kernel(void *ctx, __u64 *frames)
{
	long got = bpf_get_stack(ctx, frames - CW_KSTACK_SKIP, CW_STACK_BYTES, 0);

	return got > CW_KSTACK_SKIP * 8 ? ((__u32)got >> 3) - CW_KSTACK_SKIP : 0;
}

#endif
