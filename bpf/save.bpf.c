/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Saving what a stack is unwound from offline: registers and memory of the user stack. Frame
 * pointers skip callers where a library has none, so between the stack pointer and the first frame
 * pointer memory says more; with --stack dwarf it says all. Knows nothing of events.
 *
 * Two stacks that share their frame pointers are still different when memory holds different return
 * addresses. Which words are some is not known here, but they lie where code is mapped: all such
 * words are hashed, and a stack id never stands for two ways to the same place. A leftover from an
 * earlier call costs no more than another record.
 */
#include "vmlinux.h"
#include "stack.bpf.h"

#define CW_MAX_SAVE  32768
#define CW_PAGE      4096
#define CW_PART      1024 /* of saved memory: the verifier counts the ways through a loop */
#define CW_END_BYTES 512  /* behind the last frame pointers: two or three frames of a C library */
#define CW_NEAR      (4u << 20)
#define CW_MEMORY    sizeof(struct cw_stack_regs)

/* One save area a CPU and slot: a record with room for its memory; sized by the recorder. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(__u32));
	__uint(value_size, CW_SAVE_VALUE(CW_GAP_MAX));
} saves SEC(".maps");

/* Where processes have code. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, CW_MAX_PROCS);
	__type(key, __u32);
	__type(value, struct cw_texts);
} texts SEC(".maps");

static __always_inline __u8 *cw_save_area(__u32 slot)
{
	__u32 i = bpf_get_smp_processor_id() * CW_STACK_SLOTS + slot;

	return bpf_map_lookup_elem(&saves, &i);
}

/*
 * Copy s->want bytes from s->from on, page by page: a copy fails whole when one of its pages is not
 * there.
 */
__noinline int cw_save_copy(__u32 slot)
{
	volatile struct cw_slot *s = cw_slot_at(slot);
	__u8 *area = cw_save_area(slot);
	__u32 i, done, chunk, left;

	if (!s || !area)
		return 0;
	s->saved = 0;
	for (i = 0; i < CW_MAX_SAVE / CW_PAGE + 1; i++) {
		done = s->saved;
		left = s->want;
		if (done >= left || done > cfg.save_bytes)
			break;
		left -= done;
		chunk = CW_PAGE - ((s->from + done) & (CW_PAGE - 1));
		if (chunk > left)
			chunk = left;
		/* The verifier of 6.1 must see the bound that the compiler knows. */
		barrier_var(chunk);
		if (chunk > CW_PAGE)
			break;
		if (bpf_probe_read_user(area + CW_MEMORY + done, chunk, (void *)s->from + done))
			break;
		s->saved = done + chunk;
	}
	return 0;
}

/* Put back the return addresses that probes replaced. Each knows the place it lies at. */
__noinline int cw_save_put_back(__u32 slot)
{
#if defined(__TARGET_ARCH_x86)
	struct task_struct *task = (void *)bpf_get_current_task();
	struct return_instance *r = BPF_CORE_READ(task, utask, return_instances);
	volatile struct cw_slot *s = cw_slot_at(slot);
	__u8 *area = r ? cw_save_area(slot) : NULL;
	__u64 off;
	__u32 i;

	if (!s || !area)
		return 0;
	for (i = 0; i < CW_MAX_PENDING; i++) {
		if (!r)
			break;
		off = BPF_CORE_READ(r, stack) - s->from;
		if (off < s->saved && off < cfg.save_bytes && !(off & 7))
			*(__u64 *)(area + CW_MEMORY + off) = BPF_CORE_READ(r, orig_ret_vaddr);
		r = BPF_CORE_READ(r, next);
	}
#endif
	return 0;
}

/*
 * Number of the mapped code that a word points into, from 1; 0 none, CW_TEXT_RANGES + 1 not known.
 * A function of its own: the verifier would go through all its ways for each word of the memory.
 */
__noinline int cw_in_ranges(__u32 pid, __u64 word)
{
	struct cw_texts *t = bpf_map_lookup_elem(&texts, &pid);
	__u32 i = 0, step;

	if (!t || t->n > CW_TEXT_RANGES)
		return CW_TEXT_RANGES + 1;
#pragma unroll
	for (step = CW_TEXT_RANGES / 2; step; step /= 2) {
		if (t->ranges[(i + step) & (CW_TEXT_RANGES - 1)].start <= word)
			i += step;
	}
	i &= CW_TEXT_RANGES - 1;
	return t->ranges[i].start <= word && word < t->ranges[i].end ? i + 1 : 0;
}

/* Is word within size bytes from start on? Without a jump: the verifier goes both ways of each. */
static __always_inline __u64 cw_within(__u64 word, __u64 start, __u64 size)
{
	__u64 at = word - start;

	return ((at - size) & ~at) >> 63;
}

/*
 * Is code mapped where the word points? Until the recorder has said where that is: what lies around
 * the instruction pointer.
 */
static __always_inline __u64 cw_may_be_text(const struct cw_texts *t, __u64 word, __u64 ip)
{
	__u32 bit;

	if (!t)
		return cw_within(word, ip - CW_NEAR, 2 * CW_NEAR);
	bit = CW_TEXT_BIT(word);
	return t->bits[bit >> 6 & (CW_TEXT_WORDS - 1)] >> (bit & 63) & 1;
}

/*
 * Does a return address of the stack point where no code is: at data of the program, at its heap or
 * above all mappings; or, once the recorder has said where code is, elsewhere.
 */
__noinline int cw_outside_code(__u32 slot)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 code, code_size, data, data_size, top, word, *frames;
	volatile struct cw_slot *s = cw_slot_at(slot);
	struct mm_struct *mm;
	struct cw_texts *t;
	__u32 i, pid;

	if (!s)
		return 0;
	pid = s->req.pid;
	t = bpf_map_lookup_elem(&texts, &pid);
	mm = BPF_CORE_READ(task, mm);
	code = BPF_CORE_READ(mm, start_code);
	code_size = BPF_CORE_READ(mm, end_code) - code;
	data = BPF_CORE_READ(mm, start_data);
	data_size = BPF_CORE_READ(mm, brk) - data;
	top = BPF_CORE_READ(mm, mmap_base);
	frames = ((struct cw_stack *)s->rec)->frames;
	for (i = 1; i < CW_MAX_FRAMES; i++) {
		if (i >= s->n)
			break;
		word = frames[i];
		if (cw_within(word, code, code_size))
			continue;
		if (cw_within(word, data, data_size) | cw_within(word, top, ~0ull / 2 - top))
			return 1;
		if (t && !cw_may_be_text(t, word, 0))
			return 1;
	}
	return 0;
}

/* Go on with hash h over those words of a part of the saved memory that may be return addresses. */
__noinline __u64 cw_save_hash_part(__u32 slot, __u32 part, __u64 h)
{
	volatile struct cw_slot *s = cw_slot_at(slot);
	__u8 *area = cw_save_area(slot);
	__u64 word, ip, start, size, own;
	struct cw_texts *t;
	__u32 i, at, pid;

	if (!s || !area)
		return h;
	pid = s->req.pid;
	ip = s->req.regs.ip;
	t = bpf_map_lookup_elem(&texts, &pid);
	start = s->code;
	size = s->code_size;
	part = part % (CW_MAX_SAVE / CW_PART) * CW_PART;
	for (i = 0; i < CW_PART; i += 8) {
		at = part + i;
		barrier_var(at); /* what is compared is what is used */
		if (at >= s->saved || at >= cfg.save_bytes)
			break;
		word = *(__u64 *)(area + CW_MEMORY + at);
		own = cw_within(word, start, size);
		if (!(own | cw_may_be_text(t, word, ip)) || !(own | cw_in_ranges(pid, word)))
			continue;
		h = (h ^ word) * 0x9e3779b97f4a7c15ull;
		h ^= h >> 29;
	}
	return h;
}

__noinline __u64 cw_save_hash(__u32 slot, __u64 h)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	volatile struct cw_slot *s = cw_slot_at(slot);
	__u32 part;

	if (!s)
		return h;
	/* The program's own counts always: after an exec the recorder's word is of the one before.
	 */
	s->code = BPF_CORE_READ(task, mm, start_code);
	s->code_size = BPF_CORE_READ(task, mm, end_code) - s->code;
	for (part = 0; part < CW_MAX_SAVE / CW_PART; part++) {
		if (part * CW_PART >= s->saved)
			break;
		h = cw_save_hash_part(slot, part, h);
	}
	return h;
}

/* All registers of the current thread, by their DWARF numbers. */
static __always_inline void cw_fill_regs(struct cw_stack_regs *r, struct pt_regs *p)
{
#if defined(__TARGET_ARCH_x86)
	r->regs[0] = p->ax;
	r->regs[1] = p->dx;
	r->regs[2] = p->cx;
	r->regs[3] = p->bx;
	r->regs[4] = p->si;
	r->regs[5] = p->di;
	r->regs[6] = p->bp;
	r->regs[7] = p->sp;
	r->regs[8] = p->r8;
	r->regs[9] = p->r9;
	r->regs[10] = p->r10;
	r->regs[11] = p->r11;
	r->regs[12] = p->r12;
	r->regs[13] = p->r13;
	r->regs[14] = p->r14;
	r->regs[15] = p->r15;
	r->regs[16] = p->ip;
	r->known = (1ull << 17) - 1;
#elif defined(__TARGET_ARCH_arm64)
	__u32 i;

#pragma unroll
	for (i = 0; i < 31; i++)
		r->regs[i] = p->regs[i];
	r->regs[31] = p->sp;
	r->regs[32] = p->pc;
	r->known = (1ull << 33) - 1;
#else
#error "which numbers have registers in DWARF?"
#endif
}

static __always_inline long cw_save_output(struct cw_slot *s, __u8 *area, __u64 id, __u32 frame)
{
	struct cw_stack_regs *r = (void *)area;
	__u32 n = s->saved;

	if (n > cfg.save_bytes)
		return 0;
	cw_fill_header(&r->h, CW_STACK_REGS, CW_MEMORY + n, s->req.ts);
	r->id = id;
	r->pid = s->req.pid;
	r->frame = frame;
	r->address = s->from;
	r->wanted = s->want;
	r->flags = s->at_end ? CW_SAVED_ALL : 0;
	return cw_output(r, CW_MEMORY + n, CW_STACK_REGS, s->req.ts);
}

/* Hand over what was saved where the stack begins. 0 when there was room. */
__noinline int cw_save_begin(__u32 slot, __u64 id)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	struct cw_slot *s = cw_slot_at(slot);
	__u8 *area = cw_save_area(slot);

	if (!s || !area || bpf_probe_read_kernel(&s->regs, sizeof(s->regs), cw_saved_regs(task)))
		return 0;
	cw_fill_regs((void *)area, &s->regs);
	return cw_save_output(s, area, id, 0);
}

/* Where the current thread's stack begins, or a little above; 0 unknown. */
__noinline __u64 cw_stack_top(void)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	__u64 id = bpf_get_current_pid_tgid();

	if (id >> 32 == (__u32)id)
		return BPF_CORE_READ(task, mm, start_stack);
#if defined(__TARGET_ARCH_x86)
	/* Threads of the C library have data of their own in between. */
	return BPF_CORE_READ(task, thread.fsbase);
#else
	return 0;
#endif
}

/*
 * Bytes to save from a place on: all that there are to where the main thread's stack begins, when
 * those are not more than the most, else a few.
 */
__noinline __u32 cw_save_room(__u32 slot, __u64 from, __u32 few, __u32 most)
{
	volatile struct cw_slot *s = cw_slot_at(slot);
	__u64 id = bpf_get_current_pid_tgid(), top, left;

	if (!s)
		return 0;
	top = s->top;
	left = top - from;
	s->at_end = id >> 32 == (__u32)id && left <= most;
	if (s->at_end)
		return left;
	return top && left < few ? left : few;
}

/*
 * Memory where the frame pointers ended: libraries start programs and threads, often without frame
 * pointers, and may have used the register for something else. The last ones are taken, too, so
 * that they can be checked. Returns the frame that it belongs to; 0 when there is none.
 */
static __always_inline __u32 cw_save_end_copy(__u32 slot, struct cw_slot *s)
{
	__u32 n = s->n, i, want;

	if (n < 2 || n >= CW_MAX_FRAMES)
		return 0;
	i = n > 3 ? n - 3 : 1;
	barrier_var(i);
	if (i >= CW_MAX_FRAMES)
		return 0;
	if (s->fps[n - 1] - s->fps[i] > CW_END_BYTES)
		i = n - 1;
	barrier_var(i);
	if (i >= CW_MAX_FRAMES)
		return 0;
	s->from = s->fps[i];
	want = s->fps[n - 1] - s->from + 16;
	s->want = want + cw_save_room(slot, s->from + want, CW_END_BYTES, CW_END_MAX);
	cw_save_copy(slot);
	cw_save_put_back(slot);
	return s->saved < 16 ? 0 : i;
}

/*
 * The code of the C library that starts programs and threads: nothing else is behind it. That is
 * proved once for a return address and how far it is from where the stack begins.
 */
struct cw_start {
	__u64 ret; /* and whose */
	__u64 distance;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 4096);
	__type(key, struct cw_start);
	__type(value, __u32);
} starts SEC(".maps");

#define CW_FIRST_BYTES \
	64 /* of the main thread's stack: return address to a program's first code \
	    */

/* May code return to an address: is there a call before it? */
__noinline int cw_after_call(__u64 address)
{
#if defined(__TARGET_ARCH_x86)
	__u8 b[8] = {};

	if (bpf_probe_read_user(b, sizeof(b), (void *)(address - sizeof(b))))
		return 1;
	/* Through an address, and through a register or memory with what it takes to name it. */
	return b[3] == 0xe8 || (b[6] == 0xff && (b[7] & 0x38) == 0x10) ||
	       (b[5] == 0xff && (b[6] & 0x38) == 0x10) || (b[4] == 0xff && (b[5] & 0x38) == 0x10) ||
	       (b[2] == 0xff && (b[3] & 0x38) == 0x10) || (b[1] == 0xff && (b[2] & 0x38) == 0x10);
#elif defined(__TARGET_ARCH_arm64)
	__u32 insn = 0;

	if (bpf_probe_read_user(&insn, sizeof(insn), (void *)(address - sizeof(insn))))
		return 1;
	return insn >> 26 == 0x25 || (insn & 0xfffff000) == 0xd63f0000;
#else
#error "how does a function call another one?"
#endif
}

/* Can a word of a part of the saved memory, from begin on, be a return address into other code? */
__noinline int cw_leads_away(__u32 slot, __u32 begin, __u32 end, int own)
{
	volatile struct cw_slot *s = cw_slot_at(slot);
	__u8 *area = cw_save_area(slot);
	__u32 i, at, pid;
	__u64 word;
	int other;

	if (!s || !area)
		return 1;
	pid = s->req.pid;
	for (i = 0; i < CW_PART; i += 8) {
		at = begin + i;
		barrier_var(at);
		if (at >= end || at >= cfg.save_bytes)
			break;
		word = *(__u64 *)(area + CW_MEMORY + at);
		other = cw_in_ranges(pid, word);
		if (other && other != own && cw_after_call(word))
			return 1;
	}
	return 0;
}

/*
 * Does the saved memory hold all from the last frame pointer to where the stack begins, and can no
 * word of it be a return address into other code than the last frame's, which must be that of a
 * library: what is linked statically is one with the program? -1: it is not known yet where code
 * is.
 */
__noinline int cw_is_start(__u32 slot)
{
	struct task_struct *task = (void *)bpf_get_current_task();
	volatile struct cw_slot *s = cw_slot_at(slot);
	__u32 part, at, begin, end, last;
	__u64 ip, code;
	int own;

	if (!s || !s->top || s->from + s->saved < s->top)
		return 0;
	last = s->n - 1;
	if (last >= CW_MAX_FRAMES)
		return 0;
	ip = ((struct cw_stack *)s->rec)->frames[last];
	code = BPF_CORE_READ(task, mm, start_code);
	if (ip - code < BPF_CORE_READ(task, mm, end_code) - code)
		return 0;
	own = cw_in_ranges(s->req.pid, ip);
	if (own > CW_TEXT_RANGES)
		return -1;
	begin = s->fps[last & (CW_MAX_FRAMES_POW2 - 1)] + 16 - s->from;
	end = s->top - s->from;
	if (bpf_get_current_pid_tgid() >> 32 == (__u32)bpf_get_current_pid_tgid())
		end -= CW_FIRST_BYTES;
	for (part = 0; own && part < CW_SAVE_MIN / CW_PART; part++) {
		at = begin + part * CW_PART;
		if (at >= end)
			break;
		if (cw_leads_away(slot, at, end, own))
			return 0;
	}
	return own != 0;
}

/*
 * What unwinding depends on must be part of the stack's name: two callers of a library function may
 * differ only behind the last frame pointer. With --stack dwarf all of it may be saved anyway.
 */
__noinline int cw_save_end_hash(__u32 slot)
{
	struct cw_slot *s = cw_slot_at(slot);
	struct cw_start key;
	__u32 n, *known, is;
	int start;

	if (!s)
		return 0;
	n = s->n;
	if (n < 2 || n >= CW_MAX_FRAMES)
		return 0;
	if (s->fps[n - 1] + CW_END_MAX - s->req.regs.sp < cfg.stack_bytes)
		return 0;
	key.ret = ((struct cw_stack *)s->rec)->frames[n - 1] ^ s->req.seed;
	key.distance = s->top - s->fps[n - 1];
	known = bpf_map_lookup_elem(&starts, &key);
	if (known && *known)
		return 0;
	if (!cw_save_end_copy(slot, s))
		return 0;
	start = known ? 0 : cw_is_start(slot);
	is = start > 0;
	if (!known && start >= 0)
		bpf_map_update_elem(&starts, &key, &is, BPF_ANY);
	if (!is)
		s->end = cw_save_hash(slot, 1);
	return 0;
}

/* Hand it over. */
__noinline int cw_save_end(__u32 slot, __u64 id)
{
	struct cw_slot *s = cw_slot_at(slot);
	__u8 *area = cw_save_area(slot);
	struct cw_stack_regs *r = (void *)area;
	__u32 i;

	if (!s || !area)
		return 0;
	i = cw_save_end_copy(slot, s);
	barrier_var(i);
	if (!i || i >= CW_MAX_FRAMES)
		return 0;
	__builtin_memset(r->regs, 0, sizeof(r->regs));
#if defined(__TARGET_ARCH_x86)
	r->regs[6] = *(__u64 *)(area + CW_MEMORY);
	r->regs[7] = s->from + 16;
	r->regs[16] = ((struct cw_stack *)s->rec)->frames[i];
	r->known = 1ull << 6 | 1ull << 7 | 1ull << 16;
#elif defined(__TARGET_ARCH_arm64)
	r->regs[29] = *(__u64 *)(area + CW_MEMORY);
	r->regs[31] = s->from + 16;
	r->regs[32] = ((struct cw_stack *)s->rec)->frames[i];
	r->known = 1ull << 29 | 1ull << 31 | 1ull << 32;
#endif
	return cw_save_output(s, area, id, i);
}
