/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns how the facts of /proc about a process become records, once each. Must not know mappings. */
#include <errno.h>
#include <string.h>
#include "procinfo.h"

#define MAX_ARGS 32768 /* bytes of a command line that are kept */

struct describing {
	struct cw_writer *w;
	struct cw_proctab *procs;
	struct cw_proc *p;
	uint64_t ts;
	bool initial_ns; /* the recorder's pids are the kernel's */
};

/* Write a record about the process when it says something new, and keep it. */
static int put_rec(const struct describing *d, struct cw_rec *rec, size_t fixed, const char *tail,
		   size_t tail_size)
{
	uint64_t buf[(sizeof(struct cw_process) + MAX_ARGS + 7) / 8];
	struct cw_rec *whole = (struct cw_rec *)buf;
	int rc;

	memcpy(buf, rec, fixed);
	memcpy((char *)buf + fixed, tail, tail_size);
	whole->size = (uint16_t)(fixed + tail_size);
	whole->cpu = CW_CPU_NONE;
	whole->ts = d->ts;
	rc = cw_proc_keep_rec(d->p, whole);
	return rc <= 0 ? rc : cw_writer_append(d->w, whole);
}

/* The kernel-global pid of a pid in the recorder's namespace; 0 unknown. */
static uint32_t global_pid(const struct describing *d, uint32_t rec_pid)
{
	struct cw_proc *p = d->initial_ns ? NULL : cw_proctab_by_rec_pid(d->procs, rec_pid);

	return d->initial_ns ? rec_pid : p ? p->pid : 0;
}

static int put_process(const struct describing *d, const struct cw_proc_info *info)
{
	struct cw_process rec = {
		.h.type = CW_PROCESS,
		.pid = d->p->pid,
		.ppid = global_pid(d, info->ppid),
		.ns_pid = info->ns_pid,
		.rec_pid = info->pid,
		.start_boottime = info->start_boottime,
		.pid_ns = info->pid_ns,
		.mnt_ns = info->mnt_ns,
		.uid = info->uid,
		.flags = 1,
	};

	return put_rec(d, &rec.h, sizeof(rec), info->exe, strlen(info->exe));
}

static int put_args(const struct describing *d, const struct cw_proc_info *info)
{
	struct cw_process_args rec = {.h.type = CW_PROCESS_ARGS, .pid = d->p->pid};
	char args[MAX_ARGS];
	size_t size = cw_snapshot_args(info->pid, args, sizeof(args));

	if (!cw_snapshot_is(info->pid, info->start_boottime))
		return -ESRCH; /* they may be another's */
	return size ? put_rec(d, &rec.h, sizeof(rec), args, size) : 0;
}

static int put_thread(void *arg, const struct cw_thread_info *t)
{
	const struct describing *d = arg;
	struct cw_thread rec = {
		.h.type = CW_THREAD,
		.pid = d->p->pid,
		.tid = t->tid,
		.ns_pid = t->ns_pid,
		.ns_tid = t->ns_tid,
		.start_boottime = t->start_boottime,
		.flags = CW_THREAD_TRACED,
	};

	/* The number is another's by now. */
	if (t->tid == d->p->rec_pid &&
	    !cw_snapshot_same_start(t->start_boottime, d->p->start_boottime))
		return -ESRCH;
	/* Elsewhere only the main thread's kernel-global id is known; the others come from BPF. */
	if (!d->initial_ns && d->p->pid != d->p->rec_pid) {
		if (t->tid != d->p->rec_pid)
			return 0;
		rec.tid = d->p->pid;
	}
	return put_rec(d, &rec.h, sizeof(rec), t->comm, strlen(t->comm));
}

int cw_describe(struct cw_writer *w, struct cw_proctab *procs, struct cw_proc *p,
		const struct cw_proc_info *info, uint64_t ts)
{
	struct describing d = {w, procs, p, ts, cw_snapshot_initial_pid_ns()};
	int rc = put_process(&d, info);

	if (!rc)
		rc = put_args(&d, info);
	return rc ? rc : cw_snapshot_threads(info->pid, put_thread, &d);
}
