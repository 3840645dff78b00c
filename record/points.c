/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the plan's functions to file offsets to probe, and their probe records. Must not know how
 * probes are attached.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "clock.h"
#include "ifunc.h"
#include "mapped.h"
#include "patterns.h"
#include "points.h"
#include "runtime.h"

/* Processes whose libraries are looked into for a function that their program has not. */
#define MAX_LOOKED_INTO 4

/* ---- files ----------------------------------------------------------------------------------- */

/* The file under its number here; NULL when there is no room. The descriptor is duplicated. */
static const struct cw_elf_file *keep_file(struct cw_points *p, const struct cw_target_file *from)
{
	struct cw_elf_file *f;
	size_t i;

	for (i = 0; i < p->nfiles; i++) {
		if (p->files[i]->dev == from->dev && p->files[i]->ino == from->ino)
			return p->files[i];
	}
	f = p->nfiles < CW_MAX_POINT_FILES ? calloc(1, sizeof(*f)) : NULL;
	if (!f)
		return NULL;
	*f = (struct cw_elf_file){.fd = fcntl(from->fd, F_DUPFD_CLOEXEC, 3),
				  .path = strdup(from->path),
				  .dev = from->dev,
				  .ino = from->ino,
				  .pid = from->pid,
				  .no_returns = cw_runtime_forbids_returns(from->fd)};
	p->files[p->nfiles++] = f;
	return f->path ? f : NULL;
}

static int replace_name(char **name, const char *old, const char *by)
{
	char *copy;

	if (!*name || strcmp(*name, old) != 0)
		return 0;
	copy = strdup(by);
	if (!copy)
		return -ENOMEM;
	free(*name);
	*name = copy;
	return 0;
}

/*
 * A file may be known by another name already: the plan then says that one, since it is what the
 * capture will show.
 */
static int rename_module(struct cw_plan *plan, const char *from, const char *to)
{
	char *old = strdup(from);
	size_t i;
	int rc = old ? 0 : -ENOMEM;

	for (i = 0; !rc && i < plan->nfuncs; i++)
		rc = replace_name(&plan->funcs[i].module, old, to);
	for (i = 0; !rc && i < plan->nhops; i++) {
		rc = replace_name(&plan->hops[i].source_module, old, to);
		if (!rc)
			rc = replace_name(&plan->hops[i].target_module, old, to);
	}
	free(old);
	return rc;
}

/* ---- functions ------------------------------------------------------------------------------- */

static struct cw_point *new_point(struct cw_points *p)
{
	struct cw_point *bigger;

	if (p->n == p->room) {
		bigger = realloc(p->at, (p->room ? 2 * p->room : 16) * sizeof(*p->at));
		if (!bigger)
			return NULL;
		p->at = bigger;
		p->room = p->room ? 2 * p->room : 16;
	}
	return memset(&p->at[p->n], 0, sizeof(*p->at));
}

/* What lies at its path, if anything, is not what runs, and may have the function. */
static void say_deleted(const struct cw_elf_file *f, char *err)
{
	size_t len = strlen(err);
	struct stat st;

	if (!fstat(f->fd, &st) && !st.st_nlink)
		snprintf(err + len, CW_ERR - len,
			 "; that is the file that runs, which was deleted or replaced since");
}

static int resolve(struct cw_point *pt, const struct cw_plan_func *pf, char *err)
{
	int rc;

	if (pf->name) {
		pt->name = strdup(pf->name);
		rc = cw_resolve_symbol(pt->file->fd, pt->file->path, pt->file->pid, pf->name,
				       &pt->fn, err);
		if (rc == -ENOENT)
			say_deleted(pt->file, err);
		return rc;
	}
	if (asprintf(&pt->name, "+0x%llx", (unsigned long long)pf->offset) < 0)
		return -ENOMEM;
	return cw_resolve_offset(pt->file->fd, pt->file->path, pt->file->pid, pf->offset, &pt->fn,
				 err);
}

static int check_return(const struct cw_point *pt, bool force_return, char *err)
{
	if (!pt->ret || force_return || !pt->file->no_returns)
		return 0;
	snprintf(err, CW_ERR,
		 "%s is %s; record entries only (without --ret, --time and hops), or insist with "
		 "--force-return-probes",
		 pt->file->path, pt->file->no_returns);
	return -EOPNOTSUPP;
}

struct find {
	struct cw_points *p;
	struct cw_plan *plan;
	const struct cw_target *t;
	bool force_return;
	void (*warn)(const char *text);
	char *err;
};

/* Of an indirect function what is called is wanted, not what chooses it. */
static void follow_ifunc(struct find *d, struct cw_point *pt, const struct cw_target_file *in)
{
	const struct cw_target *t = d->t;
	char text[CW_ERR];
	size_t i;

	for (i = 0; pt->fn.ifunc && !t->child && i < t->nprocs; i++)
		cw_ifunc_follow(t->procs[i].pid, in, pt->name, &pt->fn);
	if (pt->fn.ifunc)
		snprintf(text, sizeof(text),
			 "%s of %s is an indirect function (IFUNC): its resolver is probed, which "
			 "runs once a process; give the name or offset of an implementation to see "
			 "the calls",
			 pt->name, pt->file->path);
	else
		snprintf(text, sizeof(text),
			 "%s of %s is an indirect function (IFUNC): what is probed is the "
			 "implementation in use, at offset 0x%llx",
			 pt->name, pt->file->path, (unsigned long long)pt->fn.offset);
	d->warn(text);
}

/* The bit of an argument that is a key; of all that may be. */
static uint8_t key_bits(uint32_t arg)
{
	return arg == CW_ARG_AUTO ? 0xff : (uint8_t)(1u << (arg - 1));
}

/* Arguments by which hops know their handoffs. */
static uint8_t kept_arguments(const struct cw_plan *plan, const struct cw_plan_func *pf)
{
	uint8_t keep = 0;
	size_t i;

	for (i = 0; i < plan->nhops; i++) {
		const struct cw_plan_hop *h = &plan->hops[i];
		int source = cw_plan_find(plan, h->source, h->source_module);
		int target = cw_plan_find(plan, h->target, h->target_module);

		if (source >= 0 && &plan->funcs[source] == pf)
			keep |= key_bits(h->source_arg);
		if (target >= 0 && &plan->funcs[target] == pf)
			keep |= key_bits(h->target_arg);
	}
	return keep;
}

/* A function in one file. */
static int add_point(struct find *d, const struct cw_plan_func *pf, const struct cw_target_file *in,
		     bool last)
{
	struct cw_point *pt = new_point(d->p);
	struct cw_placement_wish wish = {.with_return = pf->ret,
					 .keep = kept_arguments(d->plan, pf)};
	int rc;

	if (!pt)
		return -ENOMEM;
	pt->file = keep_file(d->p, in);
	if (!pt->file) {
		snprintf(d->err, CW_ERR,
			 "too many ELF files: functions of at most %d can be traced at once",
			 CW_MAX_POINT_FILES);
		return -E2BIG;
	}
	pt->ret = pf->ret;
	pt->last = last;
	rc = resolve(pt, pf, d->err);
	if (!rc)
		rc = check_return(pt, d->force_return, d->err);
	if (rc) {
		free(pt->name);
		return rc;
	}
	if (pt->fn.ifunc && pf->name)
		follow_ifunc(d, pt, in);
	if (pf->name)
		cw_place_probe(pt->file->fd, &pt->fn, &wish, &pt->at);
	else
		cw_place_literally(pt->file->fd, &pt->fn, pf->offset, &pt->at);
	d->p->n++;
	return 0;
}

static int say_nowhere(struct find *d, const struct cw_plan_func *pf,
		       const struct cw_target_files *files)
{
	size_t i, len;

	snprintf(d->err, CW_ERR, "none of the target's programs has a function %s: ", pf->name);
	for (i = 0; i < files->n; i++) {
		len = strlen(d->err);
		snprintf(d->err + len, CW_ERR - len, "%s%s", i ? ", " : "", files->at[i].path);
	}
	return -ENOENT;
}

/* Where a process has a function that its program has not: the base name, malloc'ed, or NULL. */
static char *elsewhere(pid_t pid, const char *name)
{
	struct cw_mapped m;
	struct cw_func fn;
	char why[CW_ERR], *found = NULL;
	size_t i;

	if (cw_mapped_read(&m, pid, why))
		return NULL;
	for (i = 0; !found && i < m.n; i++) {
		const char *path = m.files[i].path;
		int fd = cw_mapped_open(&m.files[i]);

		*why = '\0';
		if (fd >= 0 && !cw_resolve_symbol(fd, path, (uint32_t)pid, name, &fn, why))
			found = strdup(strrchr(path, '/') + 1);
		if (fd >= 0)
			close(fd);
	}
	cw_mapped_free(&m);
	return found;
}

/* The program has no such function; one of its libraries may. */
static void say_elsewhere(struct find *d, const struct cw_plan_func *pf)
{
	char *module = NULL;
	size_t i;

	for (i = 0; !module && i < d->t->nprocs && i < MAX_LOOKED_INTO; i++)
		module = elsewhere(d->t->procs[i].pid, pf->name);
	if (module)
		snprintf(d->err, CW_ERR, "%s has no function %s, but %s has: give %s:%s",
			 d->t->own.at[0].path, pf->name, module, module, pf->name);
	free(module);
}

/* A function in each file that has it. */
static int find_func(struct find *d, size_t i, bool last)
{
	const struct cw_plan_func *pf = &d->plan->funcs[i];
	struct cw_target_files mods = {0};
	const struct cw_target_files *files = pf->module ? &mods : &d->t->own;
	int rc = pf->module ? cw_target_modules(d->t, pf->module, &mods, d->err) : 0;
	size_t before = d->p->n, f;

	for (f = 0; !rc && f < files->n; f++) {
		rc = add_point(d, pf, &files->at[f], last);
		if (rc == -ENOENT && files->n > 1)
			rc = 0;
	}
	if (!rc && d->p->n == before)
		rc = say_nowhere(d, pf, files);
	if (rc == -ENOENT && !pf->module && pf->name)
		say_elsewhere(d, pf);
	if (!rc && pf->module && !cw_mapped_is(d->p->at[before].file->path, pf->module))
		rc = rename_module(d->plan, pf->module, d->p->at[before].file->path);
	cw_target_files_free(&mods);
	return rc;
}

int cw_points_find(struct cw_points *p, struct cw_plan *plan, const struct cw_target *t,
		   bool force_return, void (*say)(const char *text), void (*warn)(const char *text),
		   char *err)
{
	struct find d = {p, plan, t, force_return, warn, err};
	size_t i, counted, from;
	int rc;

	memset(p, 0, sizeof(*p));
	rc = cw_patterns_expand(plan, t, &counted, say, err);
	if (rc)
		return rc;
	from = plan->nfuncs - counted;
	if (plan->nhops) {
		from = cw_plan_find(plan, plan->hops[plan->nhops - 1].target,
				    plan->hops[plan->nhops - 1].target_module);
		counted = 1;
	}
	for (i = 0; !rc && i < plan->nfuncs; i++)
		rc = find_func(&d, i, i >= from && i < from + counted);
	return rc;
}

int cw_points_write(struct cw_points *p, struct cw_writer *w, struct cw_modules *m, bool repeated)
{
	const uint64_t now = cw_clock_ns(CLOCK_MONOTONIC);
	size_t i;
	int rc;

	for (i = 0; i < p->n; i++) {
		struct cw_point *pt = &p->at[i];
		struct cw_probe r = {
			.h = {.type = CW_PROBE,
			      .cpu = CW_CPU_NONE,
			      .flags = repeated ? CW_REC_REPEATED : 0,
			      .ts = now},
			.probe_id = i,
			.value = pt->fn.value,
			.offset = pt->fn.offset,
			.placed = pt->at.placed,
			.size = pt->fn.size,
			.sp_adjust = pt->at.sp_adjust,
			.flags = pt->at.flags | CW_PROBE_HAS_ENTRY |
				 (pt->ret ? CW_PROBE_HAS_RETURN : 0),
		};

		rc = repeated ? 0
			      : cw_modules_add_fd(m, pt->file->fd, pt->file->path, pt->file->pid,
						  &pt->module_id);
		if (rc)
			return rc;
		r.module_id = pt->module_id;
		rc = cw_writer_append_tail(w, &r.h, sizeof(r), pt->name, strlen(pt->name));
		if (rc)
			return rc;
	}
	return 0;
}

void cw_points_free(struct cw_points *p)
{
	size_t i;

	for (i = 0; i < p->n; i++)
		free(p->at[i].name);
	free(p->at);
	for (i = 0; i < p->nfiles; i++) {
		close(p->files[i]->fd);
		free(p->files[i]->path);
		free(p->files[i]);
	}
	memset(p, 0, sizeof(*p));
}
