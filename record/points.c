/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From the plan's functions to file offsets to probe, and their probe records. Must not know how
 * probes are attached.
 */
#include <errno.h>
#include <fcntl.h>
#include <libelf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "points.h"

/* Takes over path, and fd when own_fd says so; NULL when there is no room. */
static struct cw_elf_file *add_file(struct cw_points *p, int fd, char *path, bool own_fd)
{
	struct cw_elf_file *f;
	struct stat st;
	size_t i;

	if (fstat(fd, &st))
		memset(&st, 0, sizeof(st));
	for (i = 0; i < p->nfiles; i++) {
		f = p->files[i];
		if (f->dev != st.st_dev || f->ino != st.st_ino)
			continue;
		free(path);
		if (own_fd)
			close(fd);
		return f;
	}
	f = p->nfiles < 64 ? calloc(1, sizeof(*f)) : NULL;
	if (!f) {
		free(path);
		if (own_fd)
			close(fd);
		return NULL;
	}
	*f = (struct cw_elf_file){fd, path, st.st_dev, st.st_ino, own_fd};
	p->files[p->nfiles++] = f;
	return f;
}

static int file_of(struct cw_points *p, const struct cw_target *t, const struct cw_plan_func *pf,
		   const struct cw_elf_file **out, char *err)
{
	bool own = pf->module != NULL;
	char *path = NULL;
	int fd = t->elf_fd;

	if (own) {
		fd = cw_target_open_module(t, pf->module, &path, err);
		if (fd < 0) {
			free(path);
			return fd;
		}
	}
	*out = add_file(p, fd, path ? path : strdup(t->elf_path), own);
	if (*out)
		return 0;
	snprintf(err, CW_ERR, "too many ELF files: functions of at most 64 can be traced at once");
	return -E2BIG;
}

/* Programs of the Go runtime move their stacks, and a hijacked return address kills them then. */
static bool moves_stacks(int fd)
{
	Elf *elf;
	Elf_Scn *scn = NULL;
	size_t shstr;
	bool go = false;

	elf_version(EV_CURRENT);
	elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (!elf)
		return false;
	if (!elf_getshdrstrndx(elf, &shstr)) {
		while (!go && (scn = elf_nextscn(elf, scn))) {
			Elf64_Shdr *sh = elf64_getshdr(scn);
			const char *name = sh ? elf_strptr(elf, shstr, sh->sh_name) : NULL;

			go = name &&
			     (!strcmp(name, ".note.go.buildid") || !strcmp(name, ".gopclntab"));
		}
	}
	elf_end(elf);
	return go;
}

static int find_point(struct cw_points *p, struct cw_point *pt, const struct cw_plan_func *pf,
		      const struct cw_target *t, bool force_return, char *err)
{
	int rc = file_of(p, t, pf, &pt->file, err);

	if (rc)
		return rc;
	if (pf->name) {
		rc = cw_resolve_symbol(pt->file->fd, pt->file->path, pf->name, &pt->fn, err);
		pt->name = strdup(pf->name);
	} else {
		rc = cw_resolve_offset(pt->file->fd, pt->file->path, pf->offset, &pt->fn, err);
		if (!rc && asprintf(&pt->name, "+0x%llx", (unsigned long long)pf->offset) < 0)
			rc = -ENOMEM;
	}
	if (rc)
		return rc;
	pt->ret = pf->ret;
	if (pt->ret && !force_return && moves_stacks(pt->file->fd)) {
		snprintf(err, CW_ERR,
			 "%s is a Go program: a return probe would corrupt its moving stacks; "
			 "leave --ret and "
			 "--time away, or insist with --force-return-probes",
			 pt->file->path);
		return -EOPNOTSUPP;
	}
	/* A place given by offset is meant literally. */
	if (pf->name)
		cw_place_probe(pt->file->fd, &pt->fn, pt->ret, &pt->at);
	else
		pt->at.placed = pf->offset;
	return 0;
}

int cw_points_find(struct cw_points *p, const struct cw_plan *plan, const struct cw_target *t,
		   bool force_return, char *err)
{
	size_t i;
	int rc, last = -1;

	memset(p, 0, sizeof(*p));
	p->at = calloc(plan->nfuncs, sizeof(*p->at));
	if (!p->at)
		return -ENOMEM;
	if (plan->nhops)
		last = cw_plan_find(plan, plan->hops[plan->nhops - 1].target,
				    plan->hops[plan->nhops - 1].target_module);
	for (i = 0; i < plan->nfuncs; i++) {
		rc = find_point(p, &p->at[i], &plan->funcs[i], t, force_return, err);
		if (rc)
			return rc;
		p->at[i].last = last < 0 ? plan->funcs[i].target : (int)i == last;
		p->n++;
	}
	return 0;
}

int cw_points_write(struct cw_points *p, struct cw_writer *w, struct cw_modules *m, bool repeated)
{
	struct timespec now;
	size_t i;
	int rc;

	clock_gettime(CLOCK_MONOTONIC, &now);
	for (i = 0; i < p->n; i++) {
		struct cw_point *pt = &p->at[i];
		struct cw_probe r = {
			.h = {.type = CW_PROBE,
			      .cpu = CW_CPU_NONE,
			      .flags = repeated ? CW_REC_REPEATED : 0,
			      .ts = now.tv_sec * 1000000000ull + now.tv_nsec},
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
			      : cw_modules_add_fd(m, pt->file->fd, pt->file->path, &pt->module_id);
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
		if (p->files[i]->own_fd)
			close(p->files[i]->fd);
		free(p->files[i]->path);
		free(p->files[i]);
	}
	memset(p, 0, sizeof(*p));
}
