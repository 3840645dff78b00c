/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the programs are attached: tracepoints, and functions by links of a file or of their own,
 * until they are let go. Must not know what is recorded there.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "attach.h"
#include "probes_own.h"

static int keep_link(struct cw_probes *pr, struct bpf_link *link)
{
	if (!link)
		return -errno;
	pr->links[pr->nlinks++] = link;
	return 0;
}

/* Tracepoints; without one of them the recording is poorer but still true. */
static void attach_tracepoints(struct cw_probes *pr, void (*warn)(const char *text))
{
	const struct {
		struct bpf_program *prog;
		const char *name, *lost;
	} list[] = {
		{pr->skel->progs.cw_process_fork, "sched_process_fork",
		 "new threads are not noticed"},
		{pr->skel->progs.cw_process_exec, "sched_process_exec",
		 "executed programs are not noticed"},
		{pr->skel->progs.cw_process_exit, "sched_process_exit",
		 "ends of threads are not noticed"},
		{pr->skel->progs.cw_task_rename, "task_rename",
		 "new names of threads are not noticed"},
		{pr->skel->progs.cw_sched_switch, "sched_switch", "times off the CPU are unknown"},
		{pr->skel->progs.cw_sched_waking, "sched_waking", "wakers are unknown"},
		{pr->skel->progs.cw_sched_wakeup, "sched_wakeup",
		 "times on the run queue are unknown"},
		{pr->skel->progs.cw_sched_wakeup_new, "sched_wakeup_new",
		 "first times on the run queue are unknown"},
		{pr->skel->progs.cw_sched_migrate, "sched_migrate_task",
		 "who ran instead of a thread moved to another CPU is unknown"},
	};
	char text[256];
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(*list); i++) {
		int rc = keep_link(pr, bpf_program__attach(list[i].prog));

		if (!rc)
			continue;
		snprintf(text, sizeof(text), "cannot attach to the tracepoint %s (%s): %s",
			 list[i].name, strerror(-rc), list[i].lost);
		warn(text);
	}
}

/* All points of one file with one link. */
static int attach_file_multi(struct cw_probes *pr, size_t file, const struct cw_points *p, bool ret,
			     pid_t pid)
{
	const struct cw_elf_file *f = p->files[file];
	uint64_t *offsets = calloc(p->n, sizeof(*offsets)),
		 *cookies = calloc(p->n, sizeof(*cookies));
	struct bpf_program *prog =
		ret ? pr->skel->progs.cw_func_return : pr->skel->progs.cw_func_entry;
	size_t i, n = 0;
	int fd = 0;

	for (i = 0; offsets && cookies && i < p->n; i++) {
		if (p->at[i].file != f || (ret && !p->at[i].ret))
			continue;
		offsets[n] = p->at[i].at.placed;
		cookies[n++] = cw_probes_cookie(pr, p, i);
	}
	if (n)
		fd = cw_attach_multi(bpf_program__fd(prog), f->fd, offsets, cookies, n, ret, pid);
	free(offsets);
	free(cookies);
	if (n && fd >= 0)
		pr->fds[file][ret] = fd;
	return fd < 0 ? fd : 0;
}

/* The same for one point: a link that can be closed alone. */
static int attach_own_multi(struct cw_probes *pr, const struct cw_points *p, size_t i, bool ret,
			    pid_t pid)
{
	uint64_t offset = p->at[i].at.placed, cookie = cw_probes_cookie(pr, p, i);
	struct bpf_program *prog =
		ret ? pr->skel->progs.cw_func_return : pr->skel->progs.cw_func_entry;
	int fd = cw_attach_multi(bpf_program__fd(prog), p->at[i].file->fd, &offset, &cookie, 1, ret,
				 pid);

	pr->own[i].fd[ret] = fd > 0 ? fd : 0;
	return fd < 0 ? fd : 0;
}

static int attach_single(struct cw_probes *pr, const struct cw_points *p, size_t i, bool ret,
			 pid_t pid)
{
	struct bpf_uprobe_opts opts = {
		.sz = sizeof(opts),
		.bpf_cookie = pr->cookies ? cw_probes_cookie(pr, p, i) : 0,
		.retprobe = ret,
	};
	struct callweave_bpf *skel = pr->cookies ? pr->skel : pr->copies[i];
	struct bpf_program *prog = ret ? skel->progs.cw_func_return : skel->progs.cw_func_entry;
	struct bpf_link *link;
	char path[64];

	if (pr->multi)
		return attach_own_multi(pr, p, i, ret, pid);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", p->at[i].file->fd);
	link = bpf_program__attach_uprobe_opts(prog, pid ? pid : -1, path, p->at[i].at.placed,
					       &opts);
	pr->own[i].link[ret] = link;
	return link ? 0 : -errno;
}

/* It may end while the programs are loaded. */
static const char *why(int rc)
{
	return rc == -ESRCH ? "the process has ended" : strerror(-rc);
}

static int attach_files(struct cw_probes *pr, const struct cw_points *p, pid_t pid, char *err)
{
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < p->nfiles; i++) {
		rc = attach_file_multi(pr, i, p, true, pid);
		if (!rc)
			rc = attach_file_multi(pr, i, p, false, pid);
		if (rc)
			snprintf(err, CW_ERR, "cannot probe functions of %s: %s", p->files[i]->path,
				 why(rc));
	}
	return rc;
}

static int attach_functions(struct cw_probes *pr, const struct cw_points *p, pid_t pid, char *err)
{
	size_t i;
	int rc = 0;

	if (pr->multi && !pr->skel->rodata->cfg.max_rate)
		return attach_files(pr, p, pid, err);
	for (i = 0; !rc && i < p->n; i++) {
		rc = p->at[i].ret ? attach_single(pr, p, i, true, pid) : 0;
		if (!rc)
			rc = attach_single(pr, p, i, false, pid);
		if (rc)
			snprintf(err, CW_ERR, "cannot probe %s in %s: %s", p->at[i].name,
				 p->at[i].file->path, why(rc));
	}
	return rc;
}

/* The process to put breakpoints into; 0 when others can join it. */
static pid_t only_process(const struct cw_target *t)
{
	bool alone = t->nprocs == 1 && !t->child && !t->follow && !cw_target_adopts(t);

	return alone ? t->procs[0].pid : 0;
}

int cw_probes_attach(struct cw_probes *pr, const struct cw_target *t, const struct cw_points *p,
		     void (*warn)(const char *text), char *err)
{
	attach_tracepoints(pr, warn);
	return attach_functions(pr, p, only_process(t), err);
}

static void detach_own(struct cw_own_links *own)
{
	for (int ret = 0; ret < 2; ret++) {
		if (own->fd[ret])
			close(own->fd[ret]);
		bpf_link__destroy(own->link[ret]);
	}
	memset(own, 0, sizeof(*own));
	own->gone = true;
}

static void detach_files(int fds[2])
{
	for (int ret = 0; ret < 2; ret++) {
		if (fds[ret])
			close(fds[ret]);
		fds[ret] = 0;
	}
}

bool cw_probes_detach_point(struct cw_probes *pr, size_t point)
{
	if (pr->own[point].gone)
		return false;
	detach_own(&pr->own[point]);
	return true;
}

void cw_probes_detach_file(struct cw_probes *pr, const struct cw_points *p,
			   const struct cw_elf_file *f)
{
	for (size_t i = 0; i < p->nfiles; i++)
		if (p->files[i] == f)
			detach_files(pr->fds[i]);
}

bool cw_probes_take_hot(struct cw_probes *pr, struct cw_hot_probe *out)
{
	struct cw_rate r;
	uint32_t i;

	if (pr->skel->bss->cw_too_hot == pr->hot)
		return false;
	for (i = 0; i < pr->nown; i++) {
		if (pr->own[i].gone ||
		    bpf_map_lookup_elem(bpf_map__fd(pr->skel->maps.probe_rates), &i, &r) || !r.off)
			continue;
		detach_own(&pr->own[i]);
		*out = (struct cw_hot_probe){.probe = i, .hits = r.count};
		/* Nobody is silent any more: what moved the moment to and fro is over. */
		bpf_map_lookup_elem(bpf_map__fd(pr->skel->maps.probe_rates), &i, &r);
		out->ts = r.off;
		out->ns = r.off > r.since ? r.off - r.since : 1;
		return true;
	}
	/* Two CPUs may have counted the same one. */
	pr->hot = pr->skel->bss->cw_too_hot;
	return false;
}

void cw_probes_detach(struct cw_probes *pr)
{
	for (size_t i = 0; i < CW_MAX_POINT_FILES; i++)
		detach_files(pr->fds[i]);
	while (pr->nown)
		detach_own(&pr->own[--pr->nown]);
	while (pr->nlinks)
		bpf_link__destroy(pr->links[--pr->nlinks]);
}
