/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Entries and returns of probed functions. One program serves all probes; the cookie says which one
 * was hit. Pairing entries with returns is left to the analyzer.
 */
#include "vmlinux.h"
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "target.bpf.h"
#include "stack.bpf.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cw_guard);
} probe_guard SEC(".maps");

/* While many of a probe's stacks are odd: how many each process had, by its seed and the probe. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, CW_MAX_PROCS);
	__type(key, __u64);
	__type(value, __u32);
} probe_first SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cw_verdict);
} probe_verdict SEC(".maps");

/* With a limit of hits a second: how often each probe was hit. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct cw_rate);
} probe_rates SEC(".maps");

/* Probes that had too many, for the recorder to detach. */
volatile __u32 cw_too_hot = 0;

#define SECOND 1000000000ll

static __always_inline struct cw_rate *cw_rate_of(__u64 cookie)
{
	__u32 probe = (__u16)cookie;

	return cfg.max_rate ? bpf_map_lookup_elem(&probe_rates, &probe) : NULL;
}

/*
 * Has this probe had more hits within a second than it may? It is silent from then on, long before
 * the recorder has detached it. Hits on several CPUs at a time count once at least.
 */
static __always_inline bool cw_too_often(__u64 cookie, __u64 ts)
{
	struct cw_rate *r = cw_rate_of(cookie);

	if (!r)
		return false;
	if (r->off) {
		if (ts < r->off)
			r->off = ts;
		return true;
	}
	if ((__s64)(ts - r->since) >= SECOND) {
		r->since = ts;
		r->count = 0;
	}
	__sync_fetch_and_add(&r->count, 1);
	if (r->count <= cfg.max_rate)
		return false;
	r->off = ts;
	__sync_fetch_and_add(&cw_too_hot, 1);
	return true;
}

/* The current thread when it is traced, taking it in when its process is. */
static __always_inline struct cw_tstate *cw_current_traced(struct task_struct *task, __u32 pid,
							   __u32 tid)
{
	struct cw_tstate *t = cw_thread_find(tid);

	if (t)
		return t;
	if (cw_stopped)
		return NULL;
	if (!bpf_map_lookup_elem(&procs, &pid) &&
	    (!cfg.adopt || cw_kept_out() || !cw_proc_add(task, pid)))
		return NULL;
	return cw_thread_add(task, pid, tid);
}

/* Is this one of the first stacks of a process? The recorder may not know yet where its code is. */
static __always_inline bool cw_first_stacks(__u64 seed, __u32 probe)
{
	__u64 key = seed ^ (__u64)probe * 0x9e3779b97f4a7c15ull;
	__u32 *n = bpf_map_lookup_elem(&probe_first, &key), one = 1;

	if (!n) {
		bpf_map_update_elem(&probe_first, &key, &one, BPF_ANY);
		return true;
	}
	if (*n >= CW_GUARD_FIRST)
		return false;
	(*n)++;
	return true;
}

/*
 * Without frame pointers a walk yields garbage, and every hit another one: when more than a quarter
 * of the stacks are new after a while, and lead to where no code is, only the address and the
 * caller are kept. Each CPU counts for itself, which is cheap, and calm nearly always; when it is
 * not, those of all CPUs count together.
 */
static __always_inline void cw_guard_probe(struct cw_verdict *v, __u64 seed, __u32 probe, bool odd)
{
	struct cw_guard *g = bpf_map_lookup_elem(&probe_guard, &probe);

	if (!g)
		return;
	g->taken++;
	g->odd += odd;
	if (g->odd <= g->taken / 4 || cw_first_stacks(seed, probe))
		return;
	__sync_fetch_and_add(&v->taken, 1);
	if (!odd)
		return;
	__sync_fetch_and_add(&v->odd, 1);
	if (v->taken >= CW_GUARD_HITS && v->odd > v->taken / 4)
		v->no_fp = 1;
}

static __always_inline __u64 cw_entry_stack(struct pt_regs *ctx, struct cw_tstate *t, __u64 cookie,
					    __u64 caller, __u64 ts)
{
	__u32 probe = (__u16)cookie, slot;
	struct cw_verdict *v = bpf_map_lookup_elem(&probe_verdict, &probe);
	bool garbage, odd;
	struct cw_slot *s;
	__u64 id;

	if (!v)
		return 0;
	slot = cw_slot_get();
	s = cw_slot_at(slot);
	if (!s)
		return 0;
	garbage = !cfg.stack_bytes && (cookie >> 16 & CW_COOKIE_NO_FP || v->no_fp);
	s->req = (struct cw_stack_req){
		.ts = ts,
		.seed = t->seed,
		.caller = caller,
		.regs = {PT_REGS_IP(ctx), PT_REGS_SP(ctx), PT_REGS_FP(ctx)},
		.pid = t->pid,
		.flags = CW_STACK_ENTRY | (garbage ? CW_STACK_NO_FP : 0),
	};
	id = cw_stack_user(slot);
	odd = s->odd;
	__sync_fetch_and_add(&s->busy, -1);
	if (!garbage && !cfg.stack_bytes)
		cw_guard_probe(v, t->seed, probe, odd);
	return id;
}

SEC("uprobe")
int cw_func_entry(struct pt_regs *ctx)
{
	__u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid(), cookie, sp, stack = 0;
	struct task_struct *task = (void *)bpf_get_current_task();
	struct cw_tstate *t = cw_current_traced(task, id >> 32, id);
	__u64 words[3] = {};
	struct cw_probe_entry *r;

	if (!t)
		return 0;
	cookie = cw_cookie(ctx);
	if (cw_too_often(cookie, ts))
		return 0;
	sp = PT_REGS_SP(ctx) + (__s32)(cookie >> 32);
	cw_note_thread(t, task, id, ts);
#if defined(__TARGET_ARCH_x86)
	/* The return address, then the arguments that did not fit into registers. */
	bpf_probe_read_user(words, sizeof(words), (void *)sp);
#else
	words[0] = PT_REGS_RET(ctx);
#endif
	/* A tail call's return address may be replaced by its caller's probe. */
	if (cw_may_be_trampoline(words[0]))
		words[0] = cw_true_return(sp, words[0]);
	if (cookie >> 16 & CW_COOKIE_STACK)
		stack = cw_entry_stack(ctx, t, cookie, words[0], ts);
	r = cw_reserve(CW_PROBE_ENTRY, sizeof(*r), ts);
	if (!r)
		return 0;
	r->pid = id >> 32;
	r->tid = id;
	r->probe_id = (__u16)cookie;
	r->reserved = 0;
	r->sp = sp;
	r->stack = stack;
	r->args[0] = PT_REGS_PARM1(ctx);
	r->args[1] = PT_REGS_PARM2(ctx);
	r->args[2] = PT_REGS_PARM3(ctx);
	r->args[3] = PT_REGS_PARM4(ctx);
	r->args[4] = PT_REGS_PARM5(ctx);
#if defined(__TARGET_ARCH_x86)
	r->args[5] = ctx->r9;
	r->args[6] = words[1];
	r->args[7] = words[2];
#elif defined(__TARGET_ARCH_arm64)
	r->args[5] = ((const struct user_pt_regs *)ctx)->regs[5];
	r->args[6] = ((const struct user_pt_regs *)ctx)->regs[6];
	r->args[7] = ((const struct user_pt_regs *)ctx)->regs[7];
#else
#error "which registers hold arguments six to eight?"
#endif
	cw_submit(r, CW_PROBE_ENTRY);
	return 0;
}

SEC("uretprobe")
int cw_func_return(struct pt_regs *ctx)
{
	__u64 ts = bpf_ktime_get_ns(), id = bpf_get_current_pid_tgid();
	struct task_struct *task = (void *)bpf_get_current_task();
	struct cw_tstate *t = cw_thread_find(id);
	__u64 cookie = cw_cookie(ctx);
	struct cw_rate *rate = cw_rate_of(cookie);
	struct cw_probe_return *r;

	if (!t || (rate && rate->off))
		return 0;
	cw_note_thread(t, task, id, ts);
	r = cw_reserve(CW_PROBE_RETURN, sizeof(*r), ts);
	if (!r)
		return 0;
	r->pid = id >> 32;
	r->tid = id;
	r->probe_id = (__u16)cookie;
	r->reserved = 0;
	r->sp = PT_REGS_SP(ctx);
	r->ret = PT_REGS_RC(ctx);
	cw_submit(r, CW_PROBE_RETURN);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
