/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Walking, naming and handing over stacks. User stacks are walked here rather than by
 * bpf_get_stack: that one reads whatever the outermost frame pointer points to, and the fault costs
 * more than all frames before; it loses the caller at function entry in a way that depends on the
 * kernel, and shows the trampoline of pending return probes before 6.11.
 *
 * Counts lie in a map and are read anew in every round of a loop: what the verifier does not know
 * it cannot tell apart, else it would go through every number of frames on its own.
 */
#include "vmlinux.h"
#include "stack.bpf.h"

#define CW_MAX_FRAME_BYTES (1u << 20) /* a frame pointer further away than this is none */
#define CW_MIN_CODE        4096

#if defined(__TARGET_ARCH_arm64)
#define CW_CODE_MASK ((1ull << 48) - 1) /* without the signature of pointer authentication */
#else
#define CW_CODE_MASK (~0ull)
#endif

/* Ids handed over, with the epoch it was done in. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, __u64);
	__type(value, __u32);
} seen_stacks SEC(".maps");

/*
 * Put back the addresses that return probes replaced by their trampoline's. Pending returns are
 * kept innermost first, with the place of the address: those of functions that keep no frame
 * pointer are on no frame. Tail calls share a place, and each has the address that was there first.
 */
__noinline int cw_true_returns(__u32 slot)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_instance *r = BPF_CORE_READ(task, utask, return_instances);
	__u64 trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr), *frames;
	volatile struct cw_slot *s = cw_slot_at(slot);
	__u32 i, step;

	if (!s || !trampoline)
		return 0;
	frames = ((struct cw_stack *)s->rec)->frames;
	s->frame = 1;
	for (step = 0; step < CW_MAX_FRAMES + CW_MAX_PENDING; step++) {
		i = s->frame;
		if (i >= s->n || i >= CW_MAX_FRAMES || !r)
			break;
		if (frames[i] != trampoline) {
			s->frame = i + 1;
			continue;
		}
		if (BPF_CORE_READ(r, stack) > s->fps[i])
			frames[i] = BPF_CORE_READ(r, orig_ret_vaddr);
		r = BPF_CORE_READ(r, next);
	}
	return 0;
}

/* The same of a return address that was read at a place. */
__noinline __u64 cw_true_return(__u64 at, __u64 address)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_instance *r = BPF_CORE_READ(task, utask, return_instances);
	__u64 trampoline = BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr);
	__u32 i;

	for (i = 0; i < CW_MAX_PENDING; i++) {
		if (!r || address != trampoline)
			break;
		if (BPF_CORE_READ(r, stack) == at)
			address = BPF_CORE_READ(r, orig_ret_vaddr);
		r = BPF_CORE_READ(r, next);
	}
	return address;
}

/*
 * Follow the frame pointers of the current task. Stops where a frame pointer does not point up the
 * stack or a return address cannot be code.
 */
__noinline int cw_walk(__u32 slot)
{
	volatile struct cw_slot *s = cw_slot_at(slot);
	__u64 fp, low, ret, pair[2], *frames;
	__u32 i;

	if (!s)
		return 0;
	frames = ((struct cw_stack *)s->rec)->frames;
	fp = s->req.regs.bp;
	low = s->req.regs.sp;
	frames[0] = s->req.regs.ip;
	s->trampolines = 0;
	for (i = 1; i < CW_MAX_FRAMES; i++) {
		s->n = i;
		if (!fp) {
			s->req.flags |= CW_STACK_FP_END;
			return 0;
		}
		if (fp < low || (fp & 7) || fp - low > CW_MAX_FRAME_BYTES)
			return 0;
		/* The data of a thread lies there, and begins with a pointer to itself. */
		if (fp >= s->top && low < s->top)
			return 0;
		if (bpf_probe_read_user(pair, sizeof(pair), (void *)fp))
			return 0;
		ret = pair[1] & CW_CODE_MASK;
		if (ret < CW_MIN_CODE || ret >> 56)
			return 0;
		if (cw_may_be_trampoline(ret))
			s->trampolines = 1;
		frames[i] = ret;
		s->fps[i] = fp;
		low = fp + sizeof(pair);
		fp = pair[0];
	}
	s->n = i;
	return 0;
}

__noinline __u64 cw_stack_hash(__u32 slot)
{
	volatile struct cw_slot *s = cw_slot_at(slot);
	__u64 *frames, h;
	__u32 i;

	if (!s)
		return 0;
	frames = ((struct cw_stack *)s->rec)->frames;
	h = (s->req.seed ^ s->req.caller ^ s->end) * 0xff51afd7ed558ccdull + s->req.flags;
	for (i = 0; i < CW_MAX_FRAMES; i++) {
		if (i >= s->n)
			break;
		/* Saved memory knows better what lies in it. */
		if (i && s->req.flags & CW_STACK_DWARF &&
		    s->fps[i & (CW_MAX_FRAMES_POW2 - 1)] - s->from < s->saved)
			continue;
		h = (h ^ frames[i]) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	if (s->saved)
		h = cw_save_hash(slot, h);
	return h ? h : 1;
}

/* Hand over what the stack is unwound from; 0 when there was room. */
static __always_inline int cw_save_stack(__u32 slot, __u64 id)
{
	struct cw_slot *s = cw_slot_at(slot);

	if (!s)
		return 0;
	if (s->saved && cw_save_begin(slot, id))
		return -1;
	return s->n > 1 && s->n < CW_MAX_FRAMES ? cw_save_end(slot, id) : 0;
}

/* The mark that a stack is known is made only after its record found room. */
__noinline __u64 cw_stack_finish(__u32 slot)
{
	struct cw_slot *s = cw_slot_at(slot);
	__u32 epoch = cw_epoch, *seen, n;
	struct cw_stack *r;
	__u64 id;

	if (!s || !s->n)
		return 0;
	if (s->n >= CW_MAX_FRAMES - CW_KSTACK_SKIP)
		s->req.flags |= CW_STACK_TRUNCATED;
	id = cw_stack_hash(slot);
	seen = bpf_map_lookup_elem(&seen_stacks, &id);
	s->odd = !seen && !(s->req.flags & CW_STACK_KERNEL) && !cfg.stack_bytes &&
		 cw_outside_code(slot);
	if (seen && *seen == epoch)
		return id;
	if (!(s->req.flags & CW_STACK_KERNEL) && cw_save_stack(slot, id))
		return id;
	n = s->n;
	if (n > CW_MAX_FRAMES)
		return 0;
	r = (void *)s->rec;
	cw_fill_header(&r->h, CW_STACK, sizeof(*r) + n * 8, s->req.ts);
	r->id = id;
	r->pid = s->req.pid;
	r->flags = s->req.flags;
	r->caller = s->req.caller;
	if (!cw_output(r, sizeof(*r) + n * 8, CW_STACK, s->req.ts))
		bpf_map_update_elem(&seen_stacks, &id, &epoch, BPF_ANY);
	return id;
}

/* Bytes of the user stack to save, after the walk. */
static __always_inline __u32 cw_want(__u32 slot, struct cw_slot *s)
{
	__u64 gap = s->req.regs.bp + 16 - s->req.regs.sp;

	s->at_end = 0;
	if (cfg.stack_bytes)
		return cw_save_room(slot, s->from, cfg.stack_bytes, cfg.stack_bytes);
	if (!s->req.gap)
		return 0;
	if (s->n < 2)
		return cw_save_room(slot, s->from, CW_GAP_UNKNOWN, CW_END_MAX);
	return gap < CW_GAP_MAX ? gap : CW_GAP_MAX;
}

__noinline __u64 cw_stack_user(__u32 slot)
{
	struct cw_slot *s = cw_slot_at(slot);

	if (!s)
		return 0;
	if (cfg.stack_bytes)
		s->req.flags |= CW_STACK_DWARF;
	s->end = 0;
	if (s->req.flags & CW_STACK_NO_FP) {
		((struct cw_stack *)s->rec)->frames[0] = s->req.regs.ip;
		s->n = 1;
		s->saved = 0;
		return cw_stack_finish(slot);
	}
	s->top = cw_stack_top();
	cw_walk(slot);
	if (s->trampolines)
		cw_true_returns(slot);
	cw_save_end_hash(slot);
	s->from = s->req.regs.sp & ~7ull;
	s->want = cw_want(slot, s);
	cw_save_copy(slot);
	if (s->saved)
		cw_save_put_back(slot);
	/* A frame pointer that led nowhere: it is used for something else. */
	if (s->n == 1 && s->req.regs.bp)
		s->req.flags |= CW_STACK_NO_FP;
	return cw_stack_finish(slot);
}
