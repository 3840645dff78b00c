/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Who is traced, and who has been introduced: a thread record goes before the first event that
 * names the thread. Knows nothing of probes or the scheduler.
 */
#ifndef CW_TARGET_BPF_H
#define CW_TARGET_BPF_H

#include "emit.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CW_MAX_THREADS);
	__type(key, __u32);
	__type(value, struct cw_tstate);
} threads __weak SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CW_MAX_PROCS);
	__type(key, __u32);
	__type(value, struct cw_pstate);
} procs __weak SEC(".maps");

/* Untraced threads that were introduced: start time and epoch by tid. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, __u64);
} others __weak SEC(".maps");

/* The cgroup whose processes are traced. */
struct {
	__uint(type, BPF_MAP_TYPE_CGROUP_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} cgroup __weak SEC(".maps");

/* Is the current process where only those of one cgroup may join, or not in that one? */
static __always_inline bool cw_kept_out(void)
{
	return cfg.in_cgroup && bpf_current_task_under_cgroup(&cgroup, 0) != 1;
}

/* The state of a traced thread; NULL for all others, and for all once the recorder has stopped. */
static __always_inline struct cw_tstate *cw_thread_find(__u32 tid)
{
	if (cw_stopped)
		return NULL;
	return bpf_map_lookup_elem(&threads, &tid);
}

/* What tells the stacks of one program image from those of any other. */
static __always_inline __u64 cw_stack_seed(struct task_struct *task)
{
	__u64 start = BPF_CORE_READ(task, group_leader, start_boottime);
	__u32 pid = BPF_CORE_READ(task, tgid);

	return start ^ (__u64)pid << 40 ^ (__u64)BPF_CORE_READ(task, self_exec_id) << 20;
}

/* The pid numbers of a thread in the namespace at this depth of its own chain; 0 when there is
 * none. */
static __always_inline __u32 cw_pid_nr(struct pid *pid, __u32 level, __u32 *ns_inum)
{
	struct upid up;
	struct pid_namespace *ns;

	if (!pid || level > 32 ||
	    bpf_probe_read_kernel(&up, sizeof(up),
				  (void *)pid + bpf_core_field_offset(struct pid, numbers) +
					  level * bpf_core_type_size(struct upid)))
		return 0;
	if (ns_inum) {
		ns = up.ns;
		*ns_inum = BPF_CORE_READ(ns, ns.inum);
	}
	return up.nr;
}

static __always_inline __u32 cw_own_ns_nr(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, thread_pid);

	return pid ? cw_pid_nr(pid, BPF_CORE_READ(pid, level), NULL) : 0;
}

/* Introduce a thread. comm may be NULL: the task's own. 0 when the record was handed over. */
static __always_inline int cw_emit_thread(struct task_struct *task, __u32 pid, __u32 tid,
					  __u32 flags, const char *comm, __u64 ts)
{
	struct cw_thread *r = cw_reserve(CW_THREAD, sizeof(*r) + CW_COMM_LEN, ts);

	if (!r)
		return -1;
	r->pid = pid;
	r->tid = tid;
	r->ns_pid = cw_own_ns_nr(BPF_CORE_READ(task, group_leader));
	r->ns_tid = cw_own_ns_nr(task);
	r->start_boottime = BPF_CORE_READ(task, start_boottime);
	r->flags = flags | (BPF_CORE_READ(task, flags) & CW_PF_KTHREAD ? CW_THREAD_KERNEL : 0);
	r->reserved = 0;
	if (comm)
		bpf_probe_read_kernel(r->comm, CW_COMM_LEN, comm);
	else
		bpf_probe_read_kernel(r->comm, CW_COMM_LEN, &task->comm);
	r->comm[CW_COMM_LEN - 1] = 0;
	cw_submit(r, CW_THREAD);
	return 0;
}

/* The same with the task's own name, verified once: in process.bpf.c. task is a pointer. */
extern int cw_introduce(__u64 task, __u32 pid, __u32 tid, __u32 flags, __u64 ts);

static __always_inline void cw_note_thread(struct cw_tstate *t, struct task_struct *task, __u32 tid,
					   __u64 ts)
{
	__u32 epoch = cw_epoch;

	if (t->epoch != epoch && !cw_introduce((__u64)task, t->pid, tid, CW_THREAD_TRACED, ts))
		t->epoch = epoch;
}

static __always_inline void cw_note_other(struct task_struct *task, __u32 pid, __u32 tid, __u64 ts)
{
	__u64 mark, *seen;

	if (!tid)
		return;
	mark = BPF_CORE_READ(task, start_boottime) ^ (__u64)cw_epoch << 48;
	seen = bpf_map_lookup_elem(&others, &tid);
	if (seen && *seen == mark)
		return;
	if (!cw_introduce((__u64)task, pid, tid, 0, ts))
		bpf_map_update_elem(&others, &tid, &mark, BPF_ANY);
}

/* Start tracing a process; NULL when there are too many. */
static __always_inline struct cw_pstate *cw_proc_add(struct task_struct *task, __u32 pid)
{
	struct cw_pstate p = {.seed = cw_stack_seed(task)};

	bpf_map_update_elem(&procs, &pid, &p, BPF_ANY);
	return bpf_map_lookup_elem(&procs, &pid);
}

/* Start tracing a thread of a traced process; NULL when there are too many. */
static __always_inline struct cw_tstate *cw_thread_add(struct task_struct *task, __u32 pid,
						       __u32 tid)
{
	struct cw_pstate *p = bpf_map_lookup_elem(&procs, &pid);
	struct cw_tstate t = {
		.start_boottime = BPF_CORE_READ(task, start_boottime),
		.seed = cw_stack_seed(task),
		.pid = pid,
		.no_fp = p ? p->no_fp : 0,
	};

	/* A thread there is no room for is not traced: that is a loss, too. */
	if (bpf_map_update_elem(&threads, &tid, &t, BPF_ANY))
		cw_count_lost(CW_THREAD, bpf_ktime_get_ns());
	return bpf_map_lookup_elem(&threads, &tid);
}

#endif
