/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The modules of a recording. Owns how the facts of /proc and perf become records, once each; it
 * must not know ELF or the layout of either source.
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "clock.h"
#include "procinfo.h"
#include "kallsyms.h"
#include "madecode.h"
#include "missing_text.h"
#include "mmapwatch.h"
#include "modtab.h"
#include "modules.h"
#include "moved.h"
#include "pending.h"
#include "perfmap.h"
#include "proctab.h"
#include "relook.h"
#include "snapshot.h"
#include "wanted.h"

#define RESCAN_NS 1000000000ull

struct cw_modules {
	struct cw_writer *w;
	struct cw_modtab *modtab;
	struct cw_proctab *procs;
	struct cw_kallsyms *ksyms;
	struct cw_mmapwatch *watch; /* NULL when nothing is watched */
	struct cw_pending *pending; /* mappings of processes that are not known yet */
	uint64_t lost;              /* reports of mappings */
	size_t room;                /* for them; 0: as much as is right */
	struct cw_wanted wanted;    /* by the stacks that went by */
	bool (*keep)(void *arg, uint32_t pid);
	void *keep_arg;
	void (*text)(void *arg, uint32_t pid, uint64_t start, uint64_t end); /* NULL none */
	void *text_arg;
	bool initial_ns;  /* the recorder's pids are the kernel's */
	uint64_t scanned; /* when stale mappings were last read */
	struct cw_relook relook;
	/* While a process is read: */
	struct cw_proc *proc;
	struct cw_missing_text *missing; /* NULL: not looked for */
	uint64_t ts;
};

struct cw_modules *cw_modules_new(struct cw_writer *w)
{
	struct cw_modules *m = calloc(1, sizeof(*m));

	if (!m)
		return NULL;
	m->w = w;
	m->modtab = cw_modtab_new(w);
	m->procs = cw_proctab_new();
	m->ksyms = cw_kallsyms_new("/proc/kallsyms");
	m->pending = cw_pending_new();
	m->initial_ns = cw_snapshot_initial_pid_ns();
	if (!m->modtab || !m->procs || !m->ksyms || !m->pending) {
		cw_modules_free(m);
		return NULL;
	}
	m->wanted.modtab = m->modtab;
	m->wanted.procs = m->procs;
	m->wanted.ksyms = m->ksyms;
	return m;
}

void cw_modules_free(struct cw_modules *m)
{
	if (!m)
		return;
	cw_mmapwatch_free(m->watch);
	cw_pending_free(m->pending);
	cw_kallsyms_free(m->ksyms);
	cw_proctab_free(m->procs);
	cw_modtab_free(m->modtab);
	free(m);
}

int cw_modules_add_fd(struct cw_modules *m, int fd, const char *path, uint32_t pid,
		      uint32_t *module_id)
{
	char link[64], absolute[4096];
	ssize_t n;

	/* A path relative to where the recorder runs says nothing to whoever reads the capture. */
	if (path[0] != '/') {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = readlink(link, absolute, sizeof(absolute) - 1);
		if (n > 0) {
			absolute[n] = '\0';
			path = absolute;
		}
	}
	*module_id = cw_modtab_add_fd(m->modtab, fd, path, pid, cw_clock_ns(CLOCK_MONOTONIC));
	if (!*module_id)
		return cw_writer_error(m->w) ? cw_writer_error(m->w) : -ENOMEM;
	cw_modtab_want(m->modtab, *module_id);
	return 0;
}

/* ---- mappings ---------------------------------------------------------------------------------
 */

static void tell_text(struct cw_modules *m, uint32_t pid, uint64_t start, uint64_t end)
{
	if (m->text)
		m->text(m->text_arg, pid, start, end);
}

static int write_map(struct cw_modules *m, const struct cw_proc *p, const struct cw_map_entry *e,
		     uint16_t flags)
{
	struct cw_map rec = {
		.h = {.type = CW_MAP,
		      .size = sizeof(rec),
		      .cpu = (uint16_t)e->cpu,
		      .flags = flags,
		      .ts = e->ts},
		.pid = p->pid,
		.module_id = e->module_id,
		.start = e->start,
		.end = e->end,
		.pgoff = e->pgoff,
		.prot = e->prot,
		.flags = e->flags,
	};

	cw_modtab_map(m->modtab, e->module_id);
	return cw_writer_append(m->w, &rec.h);
}

/* What p has in addition; nothing when it has that. */
static int add_map(struct cw_modules *m, struct cw_proc *p, const struct cw_map_entry *e)
{
	int rc = cw_proc_add_map(p, e);

	if (rc <= 0)
		return rc;
	tell_text(m, p->pid, e->start, e->end);
	return write_map(m, p, e, 0);
}

/* Memory that a child has from its parent stays its parent's: that is whose perf map names it. */
static uint32_t memory_module(struct cw_modules *m, const struct cw_proc *p,
			      const struct cw_mapped_file *f, uint64_t ts)
{
	const struct cw_map_entry *e = cw_proc_find_map(p, f->start);
	uint32_t owner;

	if (e && e->start == f->start && e->end == f->end &&
	    cw_modtab_is_memory(m->modtab, e->module_id, &owner) && owner)
		return e->module_id;
	return cw_modtab_add_memory(m->modtab, f->path, p->pid, ts);
}

/* Add a mapping to p; module and map records when they are news. */
static int put_map(struct cw_modules *m, struct cw_proc *p, const struct cw_mapped_file *f,
		   struct cw_map_entry *e)
{
	if (cw_moved_find(m->modtab, p, f, e) ||
	    ((e->flags & CW_MAP_PROC) && cw_moved_deduce(m->modtab, &m->missing, p, f, e))) {
		/* e says it all */
	} else if (cw_is_memory(f->path)) {
		e->module_id = memory_module(m, p, f, e->ts);
		cw_perfmap_hold(cw_modtab_opener(m->modtab), p);
		e->pgoff =
			f->start; /* so that offsets are addresses, which is what perf maps have */
	} else if (f->path[0] == '[')
		e->module_id = cw_modtab_add_named(m->modtab, f->path, e->ts);
	else
		e->module_id = cw_modtab_add_mapped(m->modtab, f, e->ts);
	if (!e->module_id)
		return cw_writer_error(m->w) ? cw_writer_error(m->w) : -ENOMEM;
	e->start = f->start;
	e->end = f->end;
	return add_map(m, p, e);
}

static int put_proc_map(void *arg, const struct cw_mapped_file *f, uint64_t pgoff, uint32_t prot)
{
	struct cw_modules *m = arg;
	struct cw_map_entry e = {
		.pgoff = pgoff,
		.ts = m->ts,
		.prot = prot,
		.flags = CW_MAP_PROC,
		.cpu = CW_CPU_NONE,
	};

	return put_map(m, m->proc, f, &e);
}

/* cw_snapshot_maps's: memory that lies over text by now. */
static int put_moved_over(void *arg, const struct cw_mapped_file *f, uint64_t pgoff, uint32_t prot)
{
	struct cw_modules *m = arg;
	struct cw_mapped_file part = *f;
	int rc = 0;

	for (; !rc && cw_moved_over(m->modtab, m->proc, &part, f->end); part.start = part.end)
		rc = put_proc_map(m, &part, pgoff + (part.start - f->start), prot);
	return rc;
}

static int look_again(void *arg, struct cw_proc *p)
{
	struct cw_modules *m = arg;
	int rc;

	m->proc = p;
	m->ts = cw_clock_ns(CLOCK_MONOTONIC);
	rc = cw_snapshot_maps(p->rec_pid, p->start_boottime, put_moved_over, m);
	cw_missing_text_free(m->missing);
	m->missing = NULL;
	return rc == -ESRCH ? 0 : rc;
}

/*
 * What was mapped before belongs to the program before, also what is mapped at the same place
 * again.
 */
static void put_exec(struct cw_modules *m, struct cw_proc *p, uint64_t ts)
{
	cw_proc_clear(p, ts);
	p->executed = ts;
	p->look_at = 0;
	cw_relook_new_program(&m->relook);
	p->whole = true;
	tell_text(m, p->pid, 0, 0);
	/* What /proc has shown of the new program already. */
	for (size_t i = 0; i < p->nmaps; i++)
		tell_text(m, p->pid, p->maps[i].start, p->maps[i].end);
}

static int put_event(struct cw_modules *m, struct cw_proc *p, const struct cw_mmap_event *ev)
{
	char name[PATH_MAX];
	struct cw_mapped_file f = ev->file;
	struct cw_map_entry e = {
		.pgoff = ev->pgoff,
		.ts = ev->ts,
		.prot = ev->prot,
		.flags = CW_MAP_MMAP2,
		.cpu = ev->cpu,
	};

	if (ev->ts < p->born || strlen(f.path) >= sizeof(name))
		return 0;
	if (ev->exec) {
		put_exec(m, p, ev->ts);
		return 0;
	}
	memcpy(name, f.path, strlen(f.path) + 1);
	cw_snapshot_clean_name(name, name[0] == '/');
	if (name[0] == '[')
		e.pgoff = 0;
	f.path = name;
	return put_map(m, p, &f, &e);
}

/* cw_pending_replay's: the mappings that were made before the process was known. */
static int replay(void *arg, const struct cw_mmap_event *ev)
{
	struct cw_modules *m = arg;

	return put_event(m, m->proc, ev);
}

static int read_maps(struct cw_modules *m, struct cw_proc *p)
{
	int rc;

	m->proc = p;
	m->ts = cw_clock_ns(CLOCK_MONOTONIC);
	p->stale = false;
	p->generation++;
	rc = cw_snapshot_maps(p->rec_pid, p->start_boottime, put_proc_map, m);
	cw_missing_text_free(m->missing);
	m->missing = NULL;
	if (!rc) {
		cw_proc_drop_old_maps(p);
		p->whole = m->watch; /* what comes is reported */
	}
	return rc == -ESRCH ? 0 : rc;
}

/* Reports of mappings that the capture does not have. */
static int write_lost(struct cw_modules *m, uint32_t cpu, uint32_t reason, uint64_t n,
		      uint64_t from, uint64_t to)
{
	struct cw_lost r = {
		.h = {.type = CW_LOST, .size = sizeof(r), .cpu = (uint16_t)cpu, .ts = from},
		.kind = CW_MAP,
		.reason = reason,
		.count = n,
		.end_ts = to,
	};

	m->lost += n;
	cw_writer_lost(m->w, CW_MAP, cpu, n);
	return cw_writer_append(m->w, &r.h);
}

/* What was reported before the process was known, and dropped, is lost where /proc cannot tell. */
static int put_dropped(struct cw_modules *m, const struct cw_proc *p, uint32_t pid)
{
	struct cw_dropped d = cw_pending_dropped(m->pending, pid);

	if (p->whole || !d.n || d.until < p->born)
		return 0;
	return write_lost(m, CW_CPU_NONE, CW_LOST_OVERLOAD, d.n, d.since, d.until);
}

/* ---- the interface ----------------------------------------------------------------------------
 */

bool cw_modules_born(struct cw_modules *m, uint32_t pid, uint64_t start_boottime)
{
	struct cw_proc *p = cw_proctab_get(m->procs, pid, false);
	bool another = p && !cw_snapshot_same_start(p->start_boottime, start_boottime);

	if (another)
		cw_modules_forget(m, pid);
	p = cw_proctab_get(m->procs, pid, true);
	if (p && start_boottime)
		p->start_boottime = start_boottime;
	return another;
}

int cw_modules_snapshot(struct cw_modules *m, uint32_t pid, uint32_t global)
{
	uint64_t ts = cw_clock_ns(CLOCK_MONOTONIC);
	struct cw_proc_info info;
	bool gone = cw_snapshot_process(pid, &info);
	struct cw_proc *p = cw_proctab_get(m->procs, global, true);
	int rc;

	if (!p)
		return -ENOMEM;
	cw_proctab_set_rec_pid(m->procs, p, pid);
	m->proc = p;
	m->ts = ts; /* it lived then, and had its number after */
	/* Of a process that is gone, though another may have its number, reports tell. */
	if (gone || !cw_snapshot_same_start(p->start_boottime, info.start_boottime)) {
		rc = cw_pending_replay(m->pending, pid, replay, m);
		if (!rc)
			rc = put_dropped(m, p, pid);
		return rc ? rc : -ESRCH;
	}
	if (!p->start_boottime)
		p->start_boottime = info.start_boottime;
	if (!p->look_at)
		cw_relook_new_program(&m->relook);
	p->ns_pid = info.ns_pid;
	p->uid = info.uid;
	p->mnt_ns = info.mnt_ns;
	if (info.mnt_ns)
		cw_modopen_hold_root(cw_modtab_opener(m->modtab), pid, info.mnt_ns);
	rc = cw_describe(m->w, m->procs, p, &info, ts);
	if (!rc || rc == -ESRCH)
		rc = cw_pending_replay(m->pending, pid, replay, m);
	if (!rc && !p->whole)
		rc = read_maps(m, p);
	return rc ? rc : put_dropped(m, p, pid);
}

void cw_modules_set_room(struct cw_modules *m, size_t bytes)
{
	m->room = bytes;
}

int cw_modules_watch(struct cw_modules *m, bool (*keep)(void *arg, uint32_t pid), void *arg)
{
	int rc = 0;

	m->keep = keep;
	m->keep_arg = arg;
	if (!m->watch)
		rc = cw_mmapwatch_new(&m->watch, m->room);
	m->wanted.reported = m->watch;
	return rc;
}

static int rescan(void *arg, struct cw_proc *p)
{
	p->whole = false;
	return read_maps(arg, p);
}

/* Nobody knows of which processes, but for what /proc still shows. */
static int put_lost(struct cw_modules *m, const struct cw_mmap_event *ev)
{
	int rc = write_lost(m, ev->cpu, CW_LOST_RING, ev->lost, ev->since, ev->ts);

	return rc ? rc : cw_proctab_each(m->procs, rescan, m);
}

int cw_modules_drain_last(struct cw_modules *m)
{
	if (m->watch)
		cw_mmapwatch_flush(m->watch);
	return cw_modules_drain(m);
}

uint64_t cw_modules_lost(const struct cw_modules *m)
{
	return m->lost;
}

/* cw_mmapwatch_drain's. */
static int take_event(void *arg, const struct cw_mmap_event *ev)
{
	struct cw_modules *m = arg;
	struct cw_proc *p;

	if (ev->lost)
		return put_lost(m, ev);
	p = cw_proctab_by_rec_pid(m->procs, ev->file.pid);
	if (!p && m->initial_ns && m->keep(m->keep_arg, ev->file.pid)) {
		int rc;

		cw_pending_add(m->pending, ev);
		rc = cw_modules_snapshot(m, ev->file.pid, ev->file.pid);
		return rc == -ESRCH ? 0 : rc;
	}
	if (!p || !m->keep(m->keep_arg, ev->file.pid)) {
		cw_pending_add(m->pending, ev);
		return 0;
	}
	return put_event(m, p, ev);
}

static int rescan_stale(void *arg, struct cw_proc *p)
{
	return p->stale ? read_maps(arg, p) : 0;
}

int cw_modules_reach(struct cw_modules *m, uint64_t ts)
{
	return m->watch ? cw_mmapwatch_drain(m->watch, ts, take_event, m) : 0;
}

int cw_modules_drain(struct cw_modules *m)
{
	return cw_modules_reach(m, cw_clock_ns(CLOCK_MONOTONIC));
}

int cw_modules_look_again(struct cw_modules *m, bool last)
{
	uint64_t t = cw_clock_ns(CLOCK_MONOTONIC);

	return cw_relook_visit(&m->relook, m->procs, t, last, look_again, m);
}

int cw_modules_make_room(struct cw_modules *m)
{
	return m->watch && cw_mmapwatch_crowded(m->watch) ? cw_modules_drain(m) : 0;
}

void cw_modules_note_stack(struct cw_modules *m, const struct cw_stack *s)
{
	cw_modules_reach(m, s->h.ts); /* the writer remembers its error */
	cw_wanted_stack(&m->wanted, s);
}

void cw_modules_note_saved(struct cw_modules *m, const struct cw_stack_regs *r)
{
	cw_wanted_saved(&m->wanted, r);
}

void cw_modules_know_kernel(struct cw_modules *m)
{
	cw_kallsyms_load(m->ksyms);
}

bool cw_modules_was_mapped(const struct cw_modules *m, uint32_t module_id)
{
	return cw_modtab_was_mapped(m->modtab, module_id);
}

const char *cw_modules_without_fp(const struct cw_modules *m, uint32_t *id)
{
	return cw_modtab_without_fp(m->modtab, id);
}

static int embed_perf_map(struct cw_modules *m, struct cw_proc *p, bool last)
{
	uint64_t size;
	int rc = cw_perfmap_embed(m->w, cw_modtab_opener(m->modtab), p, cw_modtab_room(m->modtab),
				  last, &size);

	cw_modtab_used(m->modtab, size);
	return rc;
}

static int embed_new_perf_map(void *arg, struct cw_proc *p)
{
	return embed_perf_map(arg, p, false);
}

static int embed_last_perf_map(void *arg, struct cw_proc *p)
{
	return embed_perf_map(arg, p, true);
}

int cw_modules_embed_last(struct cw_modules *m)
{
	return cw_proctab_each(m->procs, embed_last_perf_map, m);
}

void cw_modules_set_embed(struct cw_modules *m, enum cw_embed what, uint64_t max_bytes)
{
	cw_modtab_set_embed(m->modtab, what, max_bytes);
}

const char *cw_modules_left_out(const struct cw_modules *m, uint32_t *id, uint64_t *size)
{
	return cw_modtab_left_out(m->modtab, id, size);
}

int cw_modules_embed(struct cw_modules *m)
{
	uint64_t t = cw_clock_ns(CLOCK_MONOTONIC);
	int rc = 0;

	if (m->wanted.hungry && t - m->scanned > RESCAN_NS) {
		m->wanted.hungry = false;
		m->scanned = t;
		rc = cw_proctab_each(m->procs, rescan_stale, m);
	}
	cw_wanted_retry(&m->wanted);
	if (!rc)
		rc = cw_modtab_embed(m->modtab);
	if (!rc)
		rc = cw_proctab_each(m->procs, embed_new_perf_map, m);
	return rc ? rc : cw_kallsyms_flush(m->ksyms, m->w, t);
}

int cw_modules_fork(struct cw_modules *m, uint32_t parent, uint32_t child, uint64_t ts)
{
	struct cw_proc *to = cw_proctab_get(m->procs, child, true);
	struct cw_proc *from = cw_proctab_get(m->procs, parent, false);
	size_t i;
	int rc = 0;

	if (!to)
		return -ENOMEM;
	to->born = ts;
	if (!from)
		return 0;
	to->whole = from->whole && from->executed <= ts;
	for (i = 0; !rc && i < from->nmaps; i++) {
		struct cw_map_entry e = from->maps[i];

		/* Of what was there before, /proc does not say since when. */
		if (e.ts > ts && !(e.flags & CW_MAP_PROC))
			continue;
		e.ts = ts;
		e.cpu = CW_CPU_NONE; /* behind the record of the fork, at the same time */
		rc = add_map(m, to, &e);
	}
	return rc;
}

void cw_modules_forget(struct cw_modules *m, uint32_t pid)
{
	struct cw_proc *p = cw_proctab_get(m->procs, pid, false);

	if (p)
		embed_perf_map(m, p, true); /* the writer remembers its error */
	cw_proctab_drop(m->procs, pid);
	tell_text(m, pid, 0, 0);
}

void cw_modules_on_text(struct cw_modules *m,
			void (*text)(void *arg, uint32_t pid, uint64_t start, uint64_t end),
			void *arg)
{
	m->text = text;
	m->text_arg = arg;
}

static int repeat_proc(void *arg, struct cw_proc *p)
{
	struct cw_modules *m = arg;
	size_t i;
	int rc = 0;

	for (i = 0; !rc && i < p->nrecs; i++) {
		p->recs[i]->flags = CW_REC_REPEATED;
		rc = cw_writer_append(m->w, p->recs[i]);
	}
	for (i = 0; !rc && i < p->nmaps; i++)
		rc = write_map(m, p, &p->maps[i], CW_REC_REPEATED);
	return rc;
}

int cw_modules_repeat(struct cw_modules *m)
{
	int rc = cw_modtab_repeat(m->modtab);

	if (!rc)
		rc = cw_proctab_each(m->procs, repeat_proc, m);
	return rc ? rc : cw_kallsyms_repeat(m->ksyms, m->w);
}

void cw_modules_keep_files(struct cw_modules *m)
{
	cw_modtab_keep_files(m->modtab);
}

int cw_modules_restart(struct cw_modules *m, struct cw_writer *w)
{
	m->w = w;
	cw_modtab_restart(m->modtab, w);
	cw_proctab_each(m->procs, cw_perfmap_forget, NULL);
	return cw_modules_repeat(m);
}
