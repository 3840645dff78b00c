/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which incarnation a process or thread id means at the moment. An id alone names nothing: it is
 * used again; the start time tells incarnations apart.
 */
#ifndef CW_IDENTITY_H
#define CW_IDENTITY_H

#include "passes.h"

struct cw_maps;
struct cw_tstate;
struct cw_tcalls;

struct cw_proc {
	struct cw_hnode by_pid;
	struct cw_proc *older, *newer; /* all that live, in the order of their numbers */
	uint64_t upid;
	uint32_t pid, ns_pid, rec_pid;
	bool traced, ended, current; /* current: pid means this one */
	uint32_t nthreads;
	uint64_t start_boottime; /* 0 unknown */
	uint64_t parent_upid;    /* 0 unknown */
	uint64_t start_ts, end_ts;
	uint64_t image_ts; /* it executed or forked within the capture; 0: it was there before */
	uint64_t pid_ns, mnt_ns;
	char *exe, *cmdline, *name;
	struct cw_maps *maps; /* the image pass's */
	uint32_t remaps;      /* its: times that other code came where some was mapped */
	uint32_t epoch;       /* of the last mention */
	uint64_t written;     /* hash of the row as it was put last; 0 never */
};

struct cw_task {
	struct cw_hnode by_tid;
	struct cw_task *older, *newer;
	struct cw_proc *process;
	uint64_t utid;
	uint32_t tid, ns_tid;
	bool traced, exited, gone, current;
	uint64_t start_boottime; /* 0 unknown */
	uint64_t start_ts, end_ts;
	char name[CW_COMM_LEN];
	struct cw_tstate *state; /* the state pass's */
	struct cw_tcalls *calls; /* the call pass's */
	uint32_t epoch;          /* of the last mention */
	uint64_t written;        /* hash of the row as it was put last; 0 never */
};

/*
 * The thread that tid means at ts; made when there is none. NULL for tid 0 (idle). One that is
 * gone comes back only as another incarnation.
 */
struct cw_task *cw_task_of(struct cw_trace *t, uint32_t pid, uint32_t tid, uint64_t ts);
struct cw_proc *cw_proc_of(struct cw_trace *t, uint32_t pid, uint64_t ts);

/* The thread had its last moment on a CPU: what passes keep for it is freed. */
void cw_task_gone(struct cw_trace *t, struct cw_task *th, uint64_t ts);

/* The oldest of the threads that are kept; go on with ->newer. */
struct cw_task *cw_task_oldest(const struct cw_trace *t);

/* Task state bits of a thread that will not run again: dead, zombie, exit. */
#define CW_STATE_DEAD (0x80u | 0x20u | 0x10u)

#endif
