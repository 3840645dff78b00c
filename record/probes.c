/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The maps and variables that the BPF programs share with the recorder: who is traced, where code
 * is, what was counted. Must not know what records mean.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <bpf/bpf.h>
#include "probes_own.h"

int cw_probes_want(struct cw_probes *pr, uint32_t pid)
{
	uint32_t none = 0;

	return bpf_map_update_elem(bpf_map__fd(pr->skel->maps.wanted), &pid, &none, BPF_ANY)
		       ? -errno
		       : 0;
}

int cw_probes_seed(struct cw_probes *pr)
{
	struct bpf_link *link = bpf_program__attach_iter(pr->skel->progs.cw_seed, NULL);
	char buf[64];
	int fd, rc = 0;
	ssize_t n;

	if (!link)
		return -errno;
	fd = bpf_iter_create(bpf_link__fd(link));
	if (fd < 0) {
		rc = -errno;
	} else {
		while ((n = read(fd, buf, sizeof(buf))) > 0 ||
		       (n < 0 && (errno == EAGAIN || errno == EINTR)))
			;
		rc = n < 0 ? -errno : 0;
		close(fd);
	}
	bpf_link__destroy(link);
	return rc;
}

uint32_t cw_probes_global_pid(const struct cw_probes *pr, uint32_t pid)
{
	uint32_t global = 0;

	bpf_map_lookup_elem(bpf_map__fd(pr->skel->maps.wanted), &pid, &global);
	return global;
}

bool cw_probes_any_process(const struct cw_probes *pr)
{
	uint32_t pid;

	return !bpf_map_get_next_key(bpf_map__fd(pr->skel->maps.procs), NULL, &pid);
}

static void texts_add(struct cw_texts *t, uint64_t start, uint64_t end)
{
	uint64_t at;
	uint32_t i;

	if ((end - start) >> CW_TEXT_SHIFT >= CW_TEXT_WORDS * 64)
		memset(t->bits, 0xff, sizeof(t->bits));
	else
		for (at = start >> CW_TEXT_SHIFT; at <= (end - 1) >> CW_TEXT_SHIFT; at++)
			t->bits[CW_TEXT_BIT(at << CW_TEXT_SHIFT) >> 6] |=
				1ull << (CW_TEXT_BIT(at << CW_TEXT_SHIFT) & 63);
	if (t->n >= CW_TEXT_RANGES) {
		t->n = CW_TEXT_RANGES + 1;
		return;
	}
	for (i = t->n++; i && t->ranges[i - 1].start > start; i--)
		t->ranges[i] = t->ranges[i - 1];
	t->ranges[i].start = start;
	t->ranges[i].end = end;
}

/*
 * Processes map their files in a row, and many have ended by the end of the batch: what is known of
 * one is gathered before it is told to the programs.
 */
void cw_probes_text_done(struct cw_probes *pr)
{
	struct cw_text_gather *g = &pr->text;

	/* Without room stacks are told apart by more than they need. */
	if (g->changed)
		bpf_map_update_elem(bpf_map__fd(pr->skel->maps.texts), &g->pid, &g->texts, BPF_ANY);
	g->told |= g->changed;
	g->changed = false;
}

/* What is told of pid into pr->text. */
static void gather(struct cw_probes *pr, uint32_t pid)
{
	struct cw_text_gather *g = &pr->text;

	if (g->pid == pid)
		return;
	cw_probes_text_done(pr);
	g->pid = pid;
	g->told = !bpf_map_lookup_elem(bpf_map__fd(pr->skel->maps.texts), &pid, &g->texts);
	if (!g->told) {
		memset(&g->texts, 0, sizeof(g->texts));
		memset(g->texts.ranges, 0xff, sizeof(g->texts.ranges));
	}
}

void cw_probes_text(void *probes, uint32_t pid, uint64_t start, uint64_t end)
{
	struct cw_probes *pr = probes;
	struct cw_text_gather *g = &pr->text;

	if (start < end) {
		gather(pr, pid);
		texts_add(&g->texts, start, end);
		g->changed = true;
		return;
	}
	if (g->pid != pid || g->told)
		bpf_map_delete_elem(bpf_map__fd(pr->skel->maps.texts), &pid);
	if (g->pid == pid)
		memset(g, 0, sizeof(*g));
}

uint32_t cw_probes_rec_pid(const struct cw_probes *pr, uint32_t global)
{
	uint32_t pid = 0;

	bpf_map_lookup_elem(bpf_map__fd(pr->skel->maps.rec_pids), &global, &pid);
	return pid;
}

void cw_probes_stop(struct cw_probes *pr)
{
	pr->skel->bss->cw_stopped = 1;
}

const int *cw_probes_rings(const struct cw_probes *pr, size_t *n, uint64_t *bytes)
{
	*n = pr->nrings;
	*bytes = pr->ring_bytes;
	return pr->rings;
}

unsigned int cw_probes_cpus(const struct cw_probes *pr)
{
	return pr->cpus;
}

int cw_probes_counts(const struct cw_probes *pr, uint32_t kind, struct cw_count *percpu)
{
	return bpf_map_lookup_elem(bpf_map__fd(pr->skel->maps.counts), &kind, percpu) ? -errno : 0;
}

uint32_t cw_probes_next_loss_gen(struct cw_probes *pr)
{
	return pr->skel->data->cw_loss_gen++;
}

void cw_probes_next_epoch(struct cw_probes *pr)
{
	pr->skel->data->cw_epoch++;
}

static uint64_t prog_misses(const struct bpf_program *prog)
{
	struct bpf_prog_info info = {};
	uint32_t len = sizeof(info);

	return bpf_obj_get_info_by_fd(bpf_program__fd(prog), &info, &len) ? 0
									  : info.recursion_misses;
}

uint64_t cw_probes_missed(const struct cw_probes *pr, uint32_t kind)
{
	const struct {
		uint32_t kind;
		const struct bpf_program *prog;
	} list[] = {
		{CW_PROBE_ENTRY, pr->skel->progs.cw_func_entry},
		{CW_PROBE_RETURN, pr->skel->progs.cw_func_return},
		{CW_SCHED_SWITCH, pr->skel->progs.cw_sched_switch},
		{CW_SCHED_WAKING, pr->skel->progs.cw_sched_waking},
		{CW_SCHED_WAKEUP, pr->skel->progs.cw_sched_wakeup},
		{CW_SCHED_WAKEUP, pr->skel->progs.cw_sched_wakeup_new},
		{CW_FORK, pr->skel->progs.cw_process_fork},
		{CW_EXEC, pr->skel->progs.cw_process_exec},
		{CW_EXIT, pr->skel->progs.cw_process_exit},
		{CW_THREAD, pr->skel->progs.cw_task_rename},
	};
	uint64_t n = 0;
	size_t i;

	for (i = 0; i < sizeof(list) / sizeof(*list); i++)
		n += list[i].kind == kind ? prog_misses(list[i].prog) : 0;
	for (i = 0; i < pr->ncopies; i++) {
		if (kind == CW_PROBE_ENTRY)
			n += prog_misses(pr->copies[i]->progs.cw_func_entry);
		else if (kind == CW_PROBE_RETURN)
			n += prog_misses(pr->copies[i]->progs.cw_func_return);
	}
	return n;
}

void cw_probes_free(struct cw_probes *pr)
{
	if (!pr)
		return;
	cw_probes_detach(pr);
	while (pr->ncopies)
		callweave_bpf__destroy(pr->copies[--pr->ncopies]);
	free(pr->copies);
	callweave_bpf__destroy(pr->skel);
	while (pr->nrings)
		close(pr->rings[--pr->nrings]);
	free(pr->links);
	free(pr->own);
	free(pr);
}
