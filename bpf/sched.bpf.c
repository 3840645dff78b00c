/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the scheduler does with traced threads: who leaves and gets a CPU, why a thread sleeps, who
 * wakes it, when it is runnable. Durations and causes are worked out by the analyzer.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "target.bpf.h"
#include "stack.bpf.h"
#include "file.bpf.h"

/* Traced threads waiting on each CPU's run queue: while there are any, all its switches are
 * recorded. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __s64);
} runq SEC(".maps");

struct cw_syscall {
	struct cw_uregs regs; /* where it was called */
	__s32 nr;
	__u64 args[CW_NSYSARGS];
};

static __always_inline void cw_runq_count(__u32 cpu, __s64 n)
{
	__s64 *c = bpf_map_lookup_elem(&runq, &cpu);

	if (c)
		__sync_fetch_and_add(c, n);
}

/* The thread now waits on cpu - 1, or on none. The run queue's lock keeps callers apart. */
static __always_inline void cw_runq_set(struct cw_tstate *t, __u32 cpu_plus_one)
{
	__u32 old = t->runq;

	if (old == cpu_plus_one)
		return;
	t->runq = cpu_plus_one;
	if (old)
		cw_runq_count(old - 1, -1);
	if (cpu_plus_one)
		cw_runq_count(cpu_plus_one - 1, 1);
}

/* The system call that the current thread is in, from the user registers it saved on the way in. */
static __always_inline void cw_syscall_read(struct task_struct *current, struct cw_syscall *sc)
{
	struct cw_slot *s = cw_slot_at(CW_SLOT_SCHED);
	struct pt_regs *regs;

	sc->nr = -1;
	if (!s)
		return;
	regs = &s->regs;
	if (bpf_probe_read_kernel(regs, sizeof(*regs), cw_saved_regs(current)))
		return;
#if defined(__TARGET_ARCH_x86)
	sc->regs = (struct cw_uregs){regs->ip, regs->sp, regs->bp};
	if ((__s32)regs->orig_ax < 0)
		return;
	sc->nr = (__s32)regs->orig_ax;
	sc->args[0] = regs->di;
	sc->args[1] = regs->si;
	sc->args[2] = regs->dx;
	sc->args[3] = regs->r10;
	sc->args[4] = regs->r8;
	sc->args[5] = regs->r9;
#elif defined(__TARGET_ARCH_arm64)
	sc->regs = (struct cw_uregs){regs->pc, regs->sp, regs->regs[29]};
	if (regs->syscallno < 0)
		return;
	sc->nr = regs->syscallno;
	sc->args[0] = regs->orig_x0;
	sc->args[1] = regs->regs[1];
	sc->args[2] = regs->regs[2];
	sc->args[3] = regs->regs[3];
	sc->args[4] = regs->regs[4];
	sc->args[5] = regs->regs[5];
#else
#error "where are system call arguments saved?"
#endif
}

/* User stack of the current thread, which is traced when t is given. */
static __always_inline __u64 cw_user_stack(struct cw_tstate *t, struct task_struct *current,
					   const struct cw_uregs *regs, __u32 pid, __u64 ts)
{
	struct cw_slot *s = cw_slot_at(CW_SLOT_SCHED);
	struct cw_pstate *p;
	__u64 id;

	if (!cfg.stacks || !regs->ip || !s)
		return 0;
	s->req = (struct cw_stack_req){
		.regs = *regs,
		.ts = ts,
		.seed = t ? t->seed : cw_stack_seed(current),
		.pid = pid,
		.gap = 1, /* in the C library's wrapper of the system call */
		.flags = t && t->no_fp ? CW_STACK_NO_FP : 0,
	};
	id = cw_stack_user(CW_SLOT_SCHED);
	if (!t || t->no_fp || cfg.stack_bytes)
		return id;
	t->taken++;
	if (!s->odd)
		return id;
	t->odd++;
	if (t->taken >= CW_GUARD_HITS && t->odd > t->taken / 4) {
		t->no_fp = 1;
		p = bpf_map_lookup_elem(&procs, &pid);
		if (p)
			p->no_fp = 1;
	}
	return id;
}

/*
 * How far into the current thread's kernel stack the tracepoint's arguments are. Halves of the
 * addresses do: a half is a number to the verifier, which has no arithmetic for contexts.
 */
static __always_inline __u32 cw_stack_depth(void *ctx, struct task_struct *current)
{
	__u32 stack = (__u64)BPF_CORE_READ(current, stack);
	__u32 here = (__u64)ctx;

	asm volatile("" : "+w"(here));
	return here - stack;
}

/*
 * In an interrupt the thread on the CPU is not the waker. There is no preempt count to read on all
 * kernels; interrupts from kernel mode run on a stack of their own.
 */
static __always_inline bool cw_in_interrupt(void *ctx, struct task_struct *current)
{
	return cw_stack_depth(ctx, current) >= (__u32)cfg.thread_size;
}

/* Kernel stacks of plain waits, by what fixes them: see cw_kernel_stack. */
struct cw_wait_stack {
	__u64 id;
	__u32 epoch;
	__u32 reserved;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, struct cw_wait_stack);
} wait_stacks SEC(".maps");

#if defined(__TARGET_ARCH_x86)
#define CW_NR_FUTEX 202
#else
#define CW_NR_FUTEX 98
#endif

/* System calls whose interruptible sleep always comes from one place in the kernel. */
static __always_inline bool cw_plain_wait(__s32 nr)
{
	switch (nr) {
#if defined(__TARGET_ARCH_x86)
	case 35: /* nanosleep */
	case CW_NR_FUTEX:
	case 230: /* clock_nanosleep */
	case 232: /* epoll_wait */
	case 281: /* epoll_pwait */
	case 441: /* epoll_pwait2 */
	case 449: /* futex_waitv */
#elif defined(__TARGET_ARCH_arm64)
	case 22: /* epoll_pwait */
	case CW_NR_FUTEX:
	case 101: /* nanosleep */
	case 115: /* clock_nanosleep */
	case 441: /* epoll_pwait2 */
	case 449: /* futex_waitv */
#endif
		return true;
	}
	return false;
}

/*
 * Walking the kernel stack costs more than all the rest of the record. A plain wait with the same
 * operation, state and depth of the stack has been through the same functions: walked once an
 * epoch.
 */
static __always_inline __u64 cw_kernel_stack(void *ctx, const struct cw_syscall *sc,
					     struct task_struct *current, __u32 state, __u64 ts)
{
	struct cw_wait_stack *known, found = {.epoch = cw_epoch};
	bool plain = cw_plain_wait(sc->nr) && (state & CW_TASK_INTERRUPTIBLE);
	__u64 key = 0;

	if (plain) {
		key = (__u64)cw_stack_depth(ctx, current) << 40 ^ (__u64)(__u16)state << 24 ^
		      (sc->nr == CW_NR_FUTEX ? (sc->args[1] & 0x7f) << 16 : 0) ^ (__u16)sc->nr;
		known = bpf_map_lookup_elem(&wait_stacks, &key);
		if (known && known->epoch == found.epoch)
			return known->id;
	}
	found.id = cw_stack_kernel(ctx, ts);
	if (plain && found.id)
		bpf_map_update_elem(&wait_stacks, &key, &found, BPF_ANY);
	return found.id;
}

struct cw_switch_info {
	__u64 ts;
	struct task_struct *prev, *next;
	__u32 prev_pid, prev_tid, next_pid, next_tid;
	__u32 state, flags;
};

#define CW_FILL_SWITCH(r, i) \
	do { \
		(r)->prev_pid = (i)->prev_pid; \
		(r)->prev_tid = (i)->prev_tid; \
		(r)->next_pid = (i)->next_pid; \
		(r)->next_tid = (i)->next_tid; \
		(r)->prev_state = (i)->state; \
		(r)->flags = (i)->flags; \
	} while (0)

static __always_inline void cw_emit_switch(const struct cw_switch_info *i)
{
	struct cw_sched_switch *r = cw_reserve(CW_SCHED_SWITCH, sizeof(*r), i->ts);

	if (!r)
		return;
	CW_FILL_SWITCH(r, i);
	cw_submit(r, CW_SCHED_SWITCH);
}

static __always_inline void cw_emit_block(void *ctx, const struct cw_switch_info *i,
					  struct cw_tstate *p)
{
	struct cw_syscall sc = {};
	struct cw_sched_block *r;
	__u64 ustack = 0, kstack = 0, file = 0;
	int fd;

	cw_syscall_read(i->prev, &sc);
	fd = cw_syscall_fd(sc.nr, sc.args);
	if (fd >= 0)
		file = cw_file_note(fd, i->ts);
	kstack = cw_kernel_stack(ctx, &sc, i->prev, i->state, i->ts);
	ustack = cw_user_stack(p, i->prev, &sc.regs, i->prev_pid, i->ts);
	r = cw_reserve(CW_SCHED_BLOCK, sizeof(*r), i->ts);
	if (!r)
		return;
	CW_FILL_SWITCH(r, i);
	r->syscall = sc.nr;
	r->reserved = 0;
	__builtin_memcpy(r->args, sc.args, sizeof(sc.args));
	r->ustack = ustack;
	r->kstack = kstack;
	r->file = file;
	cw_submit(r, CW_SCHED_BLOCK);
}

SEC("raw_tp/sched_switch")
int cw_sched_switch(struct bpf_raw_tracepoint_args *ctx)
{
	struct cw_switch_info i = {.ts = bpf_ktime_get_ns()};
	__u64 id = bpf_get_current_pid_tgid();
	__u32 cpu = bpf_get_smp_processor_id();
	struct cw_tstate *p = NULL, *n = NULL;
	struct task_struct *next = (void *)CW_ARG(ctx, 2);
	__s64 *waiting;

	i.next = next;
	i.prev_tid = id;
	i.next_tid = BPF_CORE_READ(next, pid);
	if (i.prev_tid)
		p = cw_thread_find(i.prev_tid);
	if (i.next_tid)
		n = cw_thread_find(i.next_tid);
	waiting = bpf_map_lookup_elem(&runq, &cpu);
	if (!p) {
		/* clang would combine the two pointers into one test, which the verifier refuses.
		 */
		barrier_var(n);
		if (!n && (cw_stopped || !(waiting && *waiting > 0)))
			return 0;
	}

	i.prev = (void *)CW_ARG(ctx, 1);
	i.prev_pid = id >> 32;
	i.next_pid = BPF_CORE_READ(next, tgid);
	if ((__u8)CW_ARG(ctx, 0))
		i.flags = CW_SWITCH_PREEMPTED;
	else
		i.state = cw_switch_state(ctx, i.prev);
	/* With a signal for it, a thread does not sleep after all: its own state says so. */
	if (i.state && !cw_task_state(i.prev))
		i.state = 0;
	if (i.state)
		i.flags |= CW_SWITCH_PREV_ASLEEP;
	if (n) {
		i.flags |= CW_SWITCH_NEXT_TRACED;
		cw_runq_set(n, 0);
		cw_note_thread(n, i.next, i.next_tid, i.ts);
	} else {
		cw_note_other(i.next, i.next_pid, i.next_tid, i.ts);
	}
	if (!p) {
		cw_note_other(i.prev, i.prev_pid, i.prev_tid, i.ts);
		cw_emit_switch(&i);
		return 0;
	}
	i.flags |= CW_SWITCH_PREV_TRACED;
	cw_runq_set(p, i.state ? 0 : cpu + 1);
	cw_note_thread(p, i.prev, i.prev_tid, i.ts);
	if (i.state && !(i.state & CW_TASK_DEAD)) {
		cw_emit_block(ctx, &i, p);
	} else {
		cw_emit_switch(&i);
		if (i.state)
			bpf_map_delete_elem(&threads, &i.prev_tid);
	}
	return 0;
}

SEC("raw_tp/sched_waking")
int cw_sched_waking(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), ustack = 0;
	struct task_struct *wakee = (void *)CW_ARG(ctx, 0), *current;
	__u32 tid = BPF_CORE_READ(wakee, pid), flags = 0;
	struct cw_tstate *t = cw_thread_find(tid), *w;
	struct cw_syscall sc = {.nr = -1};
	struct cw_sched_waking *r;

	if (!t)
		return 0;
	current = (void *)bpf_get_current_task();
	cw_note_thread(t, wakee, tid, ts);
	w = (__u32)id ? cw_thread_find(id) : NULL;
	if (w) {
		flags |= CW_WAKING_WAKER_TRACED;
		cw_note_thread(w, current, id, ts);
	} else {
		cw_note_other(current, id >> 32, id, ts);
	}
	if (cw_in_interrupt(ctx, current)) {
		flags |= CW_WAKING_IRQ;
	} else if ((__u32)id && !(BPF_CORE_READ(current, flags) & CW_PF_KTHREAD)) {
		cw_syscall_read(current, &sc);
		/* An interrupt from user mode runs on the task's own stack on x86. */
		if (sc.nr < 0)
			flags |= CW_WAKING_IRQ;
		else
			ustack = cw_user_stack(w, current, &sc.regs, id >> 32, ts);
	}
	r = cw_reserve(CW_SCHED_WAKING, sizeof(*r), ts);
	if (!r)
		return 0;
	r->pid = id >> 32;
	r->tid = id;
	r->wakee_pid = t->pid;
	r->wakee_tid = tid;
	r->target_cpu = cw_task_cpu(wakee);
	r->flags = flags;
	r->syscall = sc.nr;
	r->reserved = 0;
	__builtin_memcpy(r->args, sc.args, sizeof(sc.args));
	r->ustack = ustack;
	cw_submit(r, CW_SCHED_WAKING);
	return 0;
}

static __always_inline int cw_wakeup(struct bpf_raw_tracepoint_args *ctx, __u32 flags)
{
	__u64 ts = bpf_ktime_get_ns();
	struct task_struct *task = (void *)CW_ARG(ctx, 0);
	__u32 tid = BPF_CORE_READ(task, pid), cpu;
	struct cw_tstate *t = cw_thread_find(tid);
	struct cw_sched_wakeup *r;

	if (!t)
		return 0;
	cpu = cw_task_cpu(task);
	/* A thread woken before it left the CPU does not wait for one. */
	if (!BPF_CORE_READ(task, on_cpu))
		cw_runq_set(t, cpu + 1);
	cw_note_thread(t, task, tid, ts);
	r = cw_reserve(CW_SCHED_WAKEUP, sizeof(*r), ts);
	if (!r)
		return 0;
	r->pid = t->pid;
	r->tid = tid;
	r->target_cpu = cpu;
	r->flags = flags;
	cw_submit(r, CW_SCHED_WAKEUP);
	return 0;
}

SEC("raw_tp/sched_wakeup")
int cw_sched_wakeup(struct bpf_raw_tracepoint_args *ctx)
{
	return cw_wakeup(ctx, 0);
}

SEC("raw_tp/sched_wakeup_new")
int cw_sched_wakeup_new(struct bpf_raw_tracepoint_args *ctx)
{
	return cw_wakeup(ctx, 1);
}

SEC("raw_tp/sched_migrate_task")
int cw_sched_migrate(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = (void *)CW_ARG(ctx, 0);
	struct cw_tstate *t = cw_thread_find(BPF_CORE_READ(task, pid));

	if (t && t->runq)
		cw_runq_set(t, (__u32)CW_ARG(ctx, 1) + 1);
	return 0;
}
