/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The lives of traced threads and processes: those there at the start, forks, execs, names and
 * exits. Decides, with target.bpf.h, who is traced; knows nothing of probes and scheduling.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "target.bpf.h"

#define CW_FILENAME_MAX   256
#define CW_INITIAL_PID_NS 0xeffffffcu /* the kernel's fixed inode number of it */

/* Process ids, as the recorder sees them, that it wants traced. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, CW_MAX_PROCS);
	__type(key, __u32);
	__type(value, __u32);
} wanted SEC(".maps");

/* Process id of a task in the recorder's own PID namespace; 0 when it is not visible there. */
static __always_inline __u32 cw_recorder_pid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, group_leader, thread_pid);
	__u32 level, i, inum, nr;

	if (!pid)
		return 0;
	level = BPF_CORE_READ(pid, level);
	for (i = 0; i < 8; i++) {
		if (i > level)
			break;
		inum = 0;
		nr = cw_pid_nr(pid, i, &inum);
		if (inum == cfg.pid_ns)
			return nr;
	}
	return 0;
}

/* Process ids as the recorder sees them, by the kernel's own: written where the two differ. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CW_MAX_PROCS);
	__type(key, __u32);
	__type(value, __u32);
} rec_pids SEC(".maps");

static __always_inline void cw_tell_pid(struct task_struct *task, __u32 pid)
{
	__u32 nr;

	if (cfg.pid_ns == CW_INITIAL_PID_NS)
		return;
	nr = cw_recorder_pid(task);
	bpf_map_update_elem(&rec_pids, &pid, &nr, BPF_ANY);
}

__noinline int cw_introduce(__u64 task, __u32 pid, __u32 tid, __u32 flags, __u64 ts)
{
	if (flags & CW_THREAD_TRACED)
		cw_tell_pid((struct task_struct *)task, pid);
	return cw_emit_thread((struct task_struct *)task, pid, tid, flags, NULL, ts);
}

/*
 * Run by the recorder over all threads once the other programs are attached: threads born
 * meanwhile were taken in by their parents. Tells the recorder the kernel-global pid, too.
 */
SEC("iter/task")
int cw_seed(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	__u32 pid, tid, nr, *want;
	__u64 ts = bpf_ktime_get_ns();
	struct cw_tstate *t;

	if (!task)
		return 0;
	nr = cw_recorder_pid(task);
	want = bpf_map_lookup_elem(&wanted, &nr);
	if (!want)
		return 0;
	pid = BPF_CORE_READ(task, tgid);
	tid = BPF_CORE_READ(task, pid);
	*want = pid;
	cw_tell_pid(task, pid);
	if (!bpf_map_lookup_elem(&procs, &pid) && !cw_proc_add(task, pid))
		return 0;
	t = cw_thread_find(tid);
	if (!t)
		t = cw_thread_add(task, pid, tid);
	/* Here the task is no number to the verifier, which cw_introduce would want. */
	if (t && t->epoch != cw_epoch &&
	    !cw_emit_thread(task, pid, tid, CW_THREAD_TRACED, NULL, ts))
		t->epoch = cw_epoch;
	return 0;
}

SEC("raw_tp/sched_process_fork")
int cw_process_fork(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct task_struct *parent = (void *)bpf_get_current_task();
	struct task_struct *child = (void *)CW_ARG(ctx, 1);
	__u32 child_tid = BPF_CORE_READ(child, pid), child_pid;
	struct cw_tstate *p = cw_thread_find(id), *c = NULL;
	struct cw_fork *r;

	/* A number used again must not inherit a state whose end was missed. */
	bpf_map_delete_elem(&threads, &child_tid);
	if (!p)
		return 0;
	child_pid = BPF_CORE_READ(child, tgid);
	if (child_pid == p->pid || (cfg.follow && cw_proc_add(child, child_pid)))
		c = cw_thread_add(child, child_pid, child_tid);
	cw_note_thread(p, parent, id, ts);
	if (c)
		cw_note_thread(c, child, child_tid, ts);
	else
		cw_note_other(child, child_pid, child_tid, ts);
	r = cw_reserve(CW_FORK, sizeof(*r), ts);
	if (!r)
		return 0;
	r->pid = id >> 32;
	r->tid = id;
	r->child_pid = child_pid;
	r->child_tid = child_tid;
	r->child_start_boottime = BPF_CORE_READ(child, start_boottime);
	cw_submit(r, CW_FORK);
	return 0;
}

/* Does this task run the ELF file whose processes are to be traced? */
static __always_inline bool cw_runs_elf(struct task_struct *task)
{
	struct inode *inode = BPF_CORE_READ(task, mm, exe_file, f_inode);

	return BPF_CORE_READ(inode, i_ino) == cfg.exec_ino &&
	       BPF_CORE_READ(inode, i_sb, s_dev) == cfg.exec_dev;
}

static __always_inline void cw_emit_exec(struct linux_binprm *bprm, __u64 id, __u32 old_tid,
					 __u32 flags, __u64 ts)
{
	struct cw_exec *r = cw_reserve(CW_EXEC, sizeof(*r) + CW_FILENAME_MAX, ts);
	long n;

	if (!r)
		return;
	r->pid = id >> 32;
	r->tid = id;
	r->old_tid = old_tid;
	r->flags = flags;
	n = bpf_probe_read_kernel_str(r->filename, CW_FILENAME_MAX, BPF_CORE_READ(bprm, filename));
	r->h.size = sizeof(*r) + (n > 0 ? n : 0);
	cw_submit(r, CW_EXEC);
}

SEC("raw_tp/sched_process_exec")
int cw_process_exec(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct task_struct *task = (void *)bpf_get_current_task();
	__u32 old_tid = (__u32)CW_ARG(ctx, 1), tid = id, pid = id >> 32;
	bool was = cw_thread_find(old_tid) || bpf_map_lookup_elem(&procs, &pid), still = was;
	struct cw_tstate *t;

	if (cfg.match_exec)
		still = cw_runs_elf(task);
	if (cfg.in_cgroup)
		still = (still || !cfg.match_exec) && !cw_kept_out();
	if (cw_stopped || (!was && !still))
		return 0;
	bpf_map_delete_elem(&threads, &old_tid);
	if (still) {
		cw_proc_add(task, pid);
		t = cw_thread_add(task, pid, tid);
		if (t)
			cw_note_thread(t, task, tid, ts);
	} else {
		bpf_map_delete_elem(&procs, &pid);
		cw_note_other(task, pid, tid, ts);
	}
	cw_emit_exec((void *)CW_ARG(ctx, 2), id, old_tid, still, ts);
	return 0;
}

/* The tracepoint comes before the name is stored. */
SEC("raw_tp/task_rename")
int cw_task_rename(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 ts = bpf_ktime_get_ns();
	struct task_struct *task = (void *)CW_ARG(ctx, 0);
	__u32 tid = BPF_CORE_READ(task, pid), epoch = cw_epoch;
	struct cw_tstate *t = cw_thread_find(tid);

	if (!t) {
		bpf_map_delete_elem(&others, &tid);
		return 0;
	}
	t->epoch = 0;
	if (!cw_emit_thread(task, t->pid, tid, CW_THREAD_TRACED, (const char *)CW_ARG(ctx, 1), ts))
		t->epoch = epoch;
	return 0;
}

/* The thread stays traced until its last switch. */
SEC("raw_tp/sched_process_exit")
int cw_process_exit(struct bpf_raw_tracepoint_args *ctx)
{
	__u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct task_struct *task = (void *)bpf_get_current_task();
	struct cw_tstate *t = cw_thread_find(id);
	__u32 pid = id >> 32;
	struct cw_exit *r;
	bool last;

	if (!t)
		return 0;
	cw_note_thread(t, task, id, ts);
	last = BPF_CORE_READ(task, signal, live.counter) == 0;
	if (last)
		bpf_map_delete_elem(&procs, &pid);
	r = cw_reserve(CW_EXIT, sizeof(*r), ts);
	if (!r)
		return 0;
	r->pid = pid;
	r->tid = id;
	r->flags = last;
	r->code = BPF_CORE_READ(task, exit_code);
	cw_submit(r, CW_EXIT);
	return 0;
}
