/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Every difference between kernels that the BPF programs meet, with the version it came in. Nothing
 * else here: no maps, no records.
 */
#ifndef CW_COMPAT_BPF_H
#define CW_COMPAT_BPF_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#define CW_PF_KTHREAD         0x00200000
#define CW_TASK_INTERRUPTIBLE 1
#define CW_TASK_DEAD          0x80

const volatile struct cw_bpf_config cfg __weak;

/*
 * Argument n of a raw tracepoint. clang may merge the reads of two branches into one with a
 * variable offset, which the verifier refuses: the offset is fixed by hand.
 */
#define CW_ARG(ctx, n) \
	({ \
		__u64 v__; \
		asm volatile("%0 = *(u64 *)(%1 + %2)" : "=r"(v__) : "r"(ctx), "i"((n)*8)); \
		v__; \
	})

/* task_struct.state was renamed __state in 5.14. */
struct task_struct___old_state {
	volatile long state;
} __attribute__((preserve_access_index));

static __always_inline __u32 cw_task_state(struct task_struct *task)
{
	struct task_struct___old_state *old = (void *)task;

	if (bpf_core_field_exists(task->__state))
		return BPF_CORE_READ(task, __state);
	return (__u32)BPF_CORE_READ(old, state);
}

/* task_struct.cpu moved into thread_info in 5.16 on x86 and arm64. */
struct task_struct___old_cpu {
	unsigned int cpu;
} __attribute__((preserve_access_index));

static __always_inline __u32 cw_task_cpu(struct task_struct *task)
{
	struct task_struct___old_cpu *old = (void *)task;

	if (bpf_core_field_exists(old->cpu))
		return BPF_CORE_READ(old, cpu);
	return BPF_CORE_READ(task, thread_info.cpu);
}

/* sched_switch hands over the state it decided on since 5.18; before, the task's own is all there
 * is. */
static __always_inline __u32 cw_switch_state(void *ctx, struct task_struct *prev)
{
	if (cfg.switch_args >= 4)
		return (__u32)CW_ARG(ctx, 3);
	return cw_task_state(prev);
}

/* Cookies came in 5.15; without them only one probe can be told. */
static __always_inline __u64 cw_cookie(void *ctx)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_get_attach_cookie))
		return bpf_get_attach_cookie(ctx);
	return cfg.only_cookie;
}

/* Where the current thread's user registers are saved; bpf_task_pt_regs came in 5.15. */
static __always_inline void *cw_saved_regs(struct task_struct *current)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id, BPF_FUNC_task_pt_regs))
		return (void *)bpf_task_pt_regs(bpf_get_current_task_btf());
	return BPF_CORE_READ(current, stack) + cfg.thread_size - sizeof(struct pt_regs);
}

#endif
