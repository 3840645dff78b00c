/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the BPF programs and the recorder agree on beside the records: configuration, map values
 * and the layout of a probe's cookie. Included after vmlinux.h or <linux/types.h>; it must not know
 * how either side works.
 */
#ifndef CW_ABI_H
#define CW_ABI_H

#define CW_KINDS       64    /* record types counted: ids below this */
#define CW_STACK_SLOTS 4     /* scratch per CPU; the last one belongs to the scheduler's programs */
#define CW_GUARD_HITS  512   /* stacks taken before one judges whether frame pointers work */
#define CW_GUARD_FIRST 16    /* of each process: these are not among them */
#define CW_MAX_THREADS 32768 /* traced threads at a time */
#define CW_MAX_PROCS   8192  /* traced processes at a time */

/* Set before loading, constant afterwards. */
struct cw_bpf_config {
	__u32 adopt;      /* a probe hit makes its process traced (an ELF file was given) */
	__u32 follow;     /* child processes of traced processes are traced */
	__u32 match_exec; /* a process that executes exec_dev:exec_ino is traced, others no longer
			   */
	__u32 exec_dev;   /* kernel's dev_t: major << 20 | minor */
	__u64 exec_ino;
	__u64 wake_bytes;  /* wake the reader when this much is waiting in the ring */
	__u64 thread_size; /* bytes of a kernel stack */
	__u64 only_cookie; /* used where the kernel has no cookies */
	__u32 pid_ns;      /* inode of the recorder's PID namespace */
	__u32 switch_args; /* arguments of the raw tracepoint sched_switch */
	__u32 stacks;      /* take user stacks */
	__u32 in_cgroup;   /* processes join when they are in the cgroup of the map of this name */
	__u32 stack_bytes; /* of the user stack to save with each; 0: as far as the first frame
			      pointer */
	__u32 save_bytes;  /* room for them, the greatest of all */
	__u32 reserved;
	__u64 max_rate; /* hits a second that a probe may have; 0: as many as it likes */
};

/* A traced thread, by tid. */
struct cw_tstate {
	__u64 start_boottime;
	__u64 seed; /* of its process's stack ids */
	__u32 pid;
	__u32 epoch; /* in which its thread record was written; 0 never */
	__u32 runq;  /* CPU whose run queue it waits on, plus one; 0 none */
	__u32 no_fp; /* frame pointers do not work in this thread */
	__u32 taken; /* user stacks taken while it blocked or woke somebody */
	__u32 odd;   /* of those, how many were new and led to where no code is */
};

/* A traced process, by pid. */
struct cw_pstate {
	__u64 seed;
	__u32 no_fp;
	__u32 reserved;
};

/* First and last loss within one generation; the recorder starts a new one at every poll. */
struct cw_loss_window {
	__u64 first;
	__u64 last;
	__u32 gen;
	__u32 reserved;
};

/* Records of one type on one CPU. */
struct cw_count {
	__u64 emitted;
	__u64 lost;
	struct cw_loss_window window[2];
};

/* How often a probe was hit lately, where that is limited. */
struct cw_rate {
	__u64 since; /* up to a second ago */
	__u64 count;
	__u64 off; /* nothing is recorded of it from this moment on; 0 nothing happened */
};

/* How often a probe's stacks were new and led to where no code is, on one CPU. */
struct cw_guard {
	__u32 taken;
	__u32 odd;
};

/* Whether a probe's stacks are garbage, and what tells: those beyond a process's first. */
struct cw_verdict {
	__u32 taken;
	__u32 odd;
	__u32 no_fp; /* nonzero: only the address and the caller are kept */
};

/*
 * Where a process has code: a bit for each 64 KiB by a hash, to dismiss most words at once, and the
 * mappings by address; more of them than there is room for are known by their bits only. Nothing is
 * taken out, as what was mapped may be on a stack.
 */
#define CW_TEXT_SHIFT        16
#define CW_TEXT_WORDS        128
#define CW_TEXT_RANGES       64
#define CW_TEXT_BIT(address) ((__u32)(((address) >> CW_TEXT_SHIFT) * 0x9e3779b97f4a7c15ull >> 51))
struct cw_texts {
	__u64 bits[CW_TEXT_WORDS];
	__u32 n; /* CW_TEXT_RANGES + 1: there were more */
	__u32 reserved;
	struct {
		__u64 start, end;
	} ranges[CW_TEXT_RANGES]; /* those after n are at the greatest address */
};

/* Bytes saved before the first frame pointer, and of a save area for n bytes. */
#define CW_GAP_MAX       2048u
#define CW_GAP_UNKNOWN   1024u /* when there is no frame pointer */
#define CW_END_MAX       6144u /* at the end of a stack, when that is so close */
#define CW_SAVE_MIN      8192u
#define CW_SAVE_VALUE(n) (512u + (n) + 4096u)

/* Cookie of a probe: id in bits 0-15, flags in 16-31, sp_adjust in 32-63. */
#define CW_COOKIE_NO_FP 1u
#define CW_COOKIE_STACK 2u
#define CW_COOKIE(id, flags, adjust) \
	((__u64)(__u16)(id) | (__u64)(__u16)(flags) << 16 | (__u64)(__u32)(adjust) << 32)

#endif
