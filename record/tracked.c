/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Keeps up with the traced processes: what is new about one is described once. Records carry
 * kernel-global ids; outside the initial PID namespace the BPF programs tell which process that is
 * to the recorder, and one that it cannot see stays undescribed.
 */
#include <stdlib.h>
#include "pidset.h"
#include "snapshot.h"
#include "tracked.h"

struct cw_tracked {
	struct cw_modules *modules;
	struct cw_probes *probes;
	const struct cw_target *target;
	struct cw_pidset traced;  /* ids as the recorder sees them */
	struct cw_pidset known;   /* described; kernel-global */
	struct cw_pidset pending; /* to be described; kernel-global */
	uint32_t child;           /* of --exec, until it has executed its program; kernel-global */
	bool initial_ns;
};

struct cw_tracked *cw_tracked_new(struct cw_modules *m, struct cw_probes *pr,
				  const struct cw_target *target)
{
	struct cw_tracked *t = calloc(1, sizeof(*t));
	size_t i;

	if (!t)
		return NULL;
	t->modules = m;
	t->probes = pr;
	t->target = target;
	t->initial_ns = cw_snapshot_initial_pid_ns();
	/* Its mappings may be reported, and it may be gone, before its first record is read. */
	for (i = 0; i < target->nprocs; i++)
		cw_pidset_add(&t->traced, target->procs[i].pid);
	if (target->child)
		t->child = cw_probes_global_pid(pr, target->procs[0].pid);
	return t;
}

/* The id that the recorder sees a process by; 0 when it does not. */
static uint32_t seen_id(const struct cw_tracked *t, uint32_t global)
{
	return t->initial_ns ? global : cw_probes_rec_pid(t->probes, global);
}

/* True when it was not there before. */
static bool add_traced(struct cw_tracked *t, uint32_t id)
{
	return id && cw_pidset_add(&t->traced, id);
}

static void describe(struct cw_tracked *t, uint32_t global)
{
	uint32_t id = seen_id(t, global);

	cw_pidset_remove(&t->pending, global);
	if (!cw_pidset_add(&t->known, global) || !id)
		return;
	/* A process that has ended by now needs no telling. */
	if (!cw_modules_snapshot(t->modules, id, global))
		cw_probes_text_done(t->probes);
}

static void on_thread(struct cw_tracked *t, const struct cw_thread *r)
{
	uint32_t id;

	if (!(r->flags & CW_THREAD_TRACED))
		return;
	id = seen_id(t, r->pid);
	if (add_traced(t, id) && cw_target_adopts(t->target)) {
		/* First sight of a process that runs the file: its other threads, too. */
		cw_probes_want(t->probes, id);
		cw_probes_seed(t->probes);
	}
	/* The leader's start is its process's. The end of the one before may have been lost. */
	if (r->tid == r->pid && cw_modules_born(t->modules, r->pid, r->start_boottime))
		cw_pidset_remove(&t->known, r->pid);
	/* Before it executes its program, the child is a copy of the recorder. */
	if (r->pid != t->child && !cw_pidset_has(&t->known, r->pid))
		cw_pidset_add(&t->pending, r->pid);
}

static void on_fork(struct cw_tracked *t, const struct cw_fork *r)
{
	bool pending = cw_pidset_has(&t->pending, r->child_pid);

	if (r->child_pid == r->pid || (!pending && !cw_pidset_has(&t->known, r->child_pid)))
		return;
	cw_modules_fork(t->modules, r->pid, r->child_pid, r->h.ts);
	if (pending)
		describe(t, r->child_pid);
}

/* It is traced no more. */
static void forget(struct cw_tracked *t, uint32_t pid)
{
	cw_pidset_remove(&t->traced, seen_id(t, pid));
	cw_pidset_remove(&t->known, pid);
	cw_pidset_remove(&t->pending, pid);
	cw_modules_forget(t->modules, pid);
}

static void on_exec(struct cw_tracked *t, const struct cw_exec *r)
{
	if (!(r->flags & 1)) {
		forget(t, r->pid);
		return;
	}
	if (r->pid == t->child)
		t->child = 0;
	add_traced(t, seen_id(t, r->pid));
	/* What is mapped now comes from the kernel as well; this gets name and arguments. */
	cw_pidset_remove(&t->known, r->pid);
	describe(t, r->pid);
}

static void on_exit_record(struct cw_tracked *t, const struct cw_exit *r)
{
	if (!(r->flags & 1))
		return;
	if (cw_pidset_has(&t->pending, r->pid))
		describe(t, r->pid);
	forget(t, r->pid);
}

void cw_tracked_record(struct cw_tracked *t, const struct cw_rec *rec)
{
	/* What was mapped until then belongs to whom had the number until then. */
	cw_modules_reach(t->modules, rec->ts);
	switch (rec->type) {
	case CW_THREAD:
		on_thread(t, (const struct cw_thread *)rec);
		break;
	case CW_FORK:
		on_fork(t, (const struct cw_fork *)rec);
		break;
	case CW_EXEC:
		on_exec(t, (const struct cw_exec *)rec);
		break;
	case CW_EXIT:
		on_exit_record(t, (const struct cw_exit *)rec);
		break;
	}
}

void cw_tracked_settle(struct cw_tracked *t)
{
	while (t->pending.n)
		describe(t, t->pending.ids[0]);
}

bool cw_tracked_keep(void *tracked, uint32_t pid)
{
	const struct cw_tracked *t = tracked;

	return cw_pidset_has(&t->traced, pid);
}

void cw_tracked_free(struct cw_tracked *t)
{
	if (!t)
		return;
	cw_pidset_free(&t->traced);
	cw_pidset_free(&t->known);
	cw_pidset_free(&t->pending);
	free(t);
}
