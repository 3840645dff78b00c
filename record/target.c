/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The target: finding its processes and its own ELF files, and other ELF files by the names the
 * target knows them by. Must not know about probes, BPF or captures.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "cgroup.h"
#include "exec.h"
#include "mapped.h"
#include "needed.h"
#include "newborn.h"
#include "resolve.h"
#include "snapshot.h"
#include "target.h"

#define LINE      8192
#define MAX_FILES 64

/* ---- lists of files -------------------------------------------------------------------------- */

static void drop(int fd, char *path)
{
	if (fd >= 0)
		close(fd);
	free(path);
}

/* Takes over fd and path. The same file is kept once. */
static int add_file(struct cw_target_files *l, int fd, char *path, uint32_t pid, char *err)
{
	struct cw_target_file *bigger;
	struct stat st;
	size_t i;
	int rc = path ? 0 : -ENOMEM;

	if (!rc && fstat(fd, &st)) {
		rc = -errno;
		snprintf(err, CW_ERR, "cannot examine %s: %s", path, strerror(-rc));
	} else if (!rc && S_ISDIR(st.st_mode)) {
		rc = -ENOEXEC;
		snprintf(err, CW_ERR, "%s is a directory, not an ELF file", path);
	} else if (!rc && l->n == MAX_FILES) {
		rc = -E2BIG;
		snprintf(err, CW_ERR, "the target runs more than %d programs: name the BINARY",
			 MAX_FILES);
	}
	for (i = 0; !rc && i < l->n; i++) {
		if (l->at[i].ino == st.st_ino &&
		    l->at[i].dev == (major(st.st_dev) << 20 | minor(st.st_dev))) {
			drop(fd, path);
			return 0;
		}
	}
	bigger = rc ? NULL : realloc(l->at, (l->n + 1) * sizeof(*l->at));
	if (!bigger) {
		drop(fd, path);
		return rc ? rc : -ENOMEM;
	}
	l->at = bigger;
	l->at[l->n++] = (struct cw_target_file){fd, path, major(st.st_dev) << 20 | minor(st.st_dev),
						st.st_ino, pid};
	return 0;
}

void cw_target_files_free(struct cw_target_files *f)
{
	while (f->n) {
		f->n--;
		drop(f->at[f->n].fd, f->at[f->n].path);
	}
	free(f->at);
	f->at = NULL;
}

static int open_file(const char *path, char *err)
{
	int fd = open(path, CW_OPEN_ELF), rc = -errno;

	if (fd >= 0)
		return fd;
	snprintf(err, CW_ERR, "cannot open %s: %s", path, strerror(-rc));
	return rc;
}

static int add_path(struct cw_target_files *l, const char *path, char *err)
{
	int fd = open_file(path, err);

	return fd < 0 ? fd : add_file(l, fd, strdup(path), 0, err);
}

/* ---- processes ------------------------------------------------------------------------------- */

static int add_proc(struct cw_target *t, pid_t pid, int fd)
{
	struct cw_target_proc *bigger = realloc(t->procs, (t->nprocs + 1) * sizeof(*t->procs));

	if (!bigger) {
		if (fd >= 0)
			close(fd);
		return -ENOMEM;
	}
	t->procs = bigger;
	t->procs[t->nprocs++] = (struct cw_target_proc){pid, fd};
	return 0;
}

/* The program that a process runs. */
static int add_exe(struct cw_target *t, pid_t pid, char *err)
{
	char link[64], path[PATH_MAX];
	ssize_t n;
	int fd, e;

	snprintf(link, sizeof(link), "/proc/%d/exe", pid);
	n = readlink(link, path, sizeof(path) - 1);
	fd = n < 0 ? -1 : open(link, O_RDONLY | O_CLOEXEC);
	e = errno;
	if (fd >= 0) {
		path[n] = 0;
		cw_snapshot_clean_name(path, true);
		return add_file(&t->own, fd, strdup(path), (uint32_t)pid, err);
	}
	if (e == ENOENT)
		snprintf(err, CW_ERR,
			 "process %d is a kernel thread or is exiting: it has no program", pid);
	else
		snprintf(err, CW_ERR,
			 "cannot open the program of process %d: %s; CAP_SYS_PTRACE is needed for "
			 "processes of other users, so run as root or name the file with --binary",
			 pid, strerror(e));
	return -e;
}

static int open_pid(struct cw_target *t, pid_t pid, char *err)
{
	int fd = syscall(SYS_pidfd_open, pid, 0), e = errno;

	if (fd >= 0)
		cw_newborn_wait((uint32_t)pid);
	if (fd >= 0)
		return add_proc(t, pid, fd) ? -ENOMEM : t->given ? 0 : add_exe(t, pid, err);
	if (e == EINVAL || (e == ENOENT && !kill(pid, 0))) {
		snprintf(err, CW_ERR, "%d is a thread, not a process; give the id of its process",
			 pid);
		return -EINVAL;
	}
	if (e == ESRCH)
		snprintf(err, CW_ERR, "no such process: %d", pid);
	else
		snprintf(err, CW_ERR, "cannot watch process %d: %s", pid, strerror(e));
	return -e;
}

static int open_exec(struct cw_target *t, const struct cw_options *o, char *err)
{
	char *path = cw_exec_find(o->exec_prog);
	int rc = 0;

	if (!path) {
		snprintf(err, CW_ERR, "cannot execute %s: %s", o->exec_prog, strerror(errno));
		return -ENOENT;
	}
	if (!t->given)
		rc = add_path(&t->own, path, err);
	if (!rc)
		rc = cw_child_start(&t->child, path, o->exec_argv, !strcmp(o->output, "-"), err);
	free(path);
	if (rc)
		return rc;
	return add_proc(t, cw_child_pid(t->child),
			syscall(SYS_pidfd_open, cw_child_pid(t->child), 0));
}

static void add_member(void *arg, uint32_t pid)
{
	struct cw_target *t = arg;
	char why[CW_ERR];

	/* Some are about to end, or are the kernel's: they have no program. */
	if (!add_proc(t, pid, -1) && !t->given)
		add_exe(t, pid, why);
}

static int open_cgroup(struct cw_target *t, const struct cw_options *o, char *err)
{
	t->cgroup_fd = cw_cgroup_open(o->cgroup, err);
	if (t->cgroup_fd < 0)
		return t->cgroup_fd;
	cw_cgroup_members(t->cgroup_fd, add_member, t);
	return 0;
}

static int say_empty(const struct cw_options *o, char *err)
{
	snprintf(err, CW_ERR,
		 "no process in the cgroup %s has a program that can be opened: name the BINARY "
		 "that will run there",
		 o->cgroup);
	return -ESRCH;
}

int cw_target_open(struct cw_target *t, const struct cw_options *o, char *err)
{
	size_t i;
	int rc = 0;

	memset(t, 0, sizeof(*t));
	t->cgroup_fd = -1;
	t->follow = o->follow;
	t->given = o->binary;
	t->by_file = !o->npids && !o->exec_prog && !o->cgroup;
	for (i = 0; !rc && i < o->npids; i++)
		rc = open_pid(t, o->pids[i], err);
	if (!rc && o->cgroup)
		rc = open_cgroup(t, o, err);
	/* Processes of other mount namespaces have their own files under the same names. */
	if (!rc && o->binary)
		rc = t->nprocs && *o->binary == '/' ? cw_target_modules(t, o->binary, &t->own, err)
						    : add_path(&t->own, o->binary, err);
	if (!rc && o->exec_prog)
		rc = open_exec(t, o, err);
	if (!rc && !t->own.n)
		rc = say_empty(o, err);
	return rc;
}

static bool maps_file(const char *pid, uint64_t dev, uint64_t ino)
{
	char path[64], line[LINE];
	unsigned int maj, min;
	unsigned long inode;
	bool found = false;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%s/maps", pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		if (sscanf(line, "%*x-%*x %*s %*x %x:%x %lu", &maj, &min, &inode) == 3)
			found = inode == ino && (maj << 20 | min) == dev;
	}
	if (f)
		fclose(f);
	return found;
}

void cw_target_scan(const struct cw_target *t, void (*add)(void *arg, uint32_t pid), void *arg)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		if (isdigit((unsigned char)e->d_name[0]) &&
		    maps_file(e->d_name, t->own.at[0].dev, t->own.at[0].ino))
			add(arg, strtoul(e->d_name, NULL, 10));
	}
	if (d)
		closedir(d);
}

/* ---- modules --------------------------------------------------------------------------------- */

static int say_candidates(const struct cw_mapped *m, pid_t pid, const char *name, char *err)
{
	size_t i, len;

	snprintf(err, CW_ERR, "process %d has several files called %s: ", pid, name);
	for (i = 0; i < m->n; i++) {
		if (!cw_mapped_is(m->files[i].path, name))
			continue;
		len = strlen(err);
		snprintf(err + len, CW_ERR - len, "%s%s", err[len - 2] == ':' ? "" : ", ",
			 m->files[i].path);
	}
	len = strlen(err);
	snprintf(err + len, CW_ERR - len, "; give the path of one");
	return -ENOTUNIQ;
}

/* Add what the process has mapped under this name; nothing when there is none. */
static int add_mapped(struct cw_target_files *out, pid_t pid, const char *name, char *err)
{
	const struct cw_mapped_file *found = NULL;
	struct cw_mapped m;
	size_t i;
	int rc = cw_mapped_read(&m, pid, err), fd;

	for (i = 0; !rc && i < m.n; i++) {
		if (!cw_mapped_is(m.files[i].path, name))
			continue;
		if (found)
			rc = say_candidates(&m, pid, name, err);
		found = &m.files[i];
	}
	if (!rc && found) {
		fd = cw_mapped_open(found);
		rc = fd < 0 ? fd : add_file(out, fd, strdup(found->path), found->pid, err);
		if (fd < 0)
			snprintf(err, CW_ERR, "cannot open %s of process %d: %s", found->path, pid,
				 strerror(-fd));
	}
	cw_mapped_free(&m);
	return rc;
}

struct search {
	struct cw_target_files *out;
	const char *name;
};

/* cw_target_scan's: whether one process has several is of no concern when none was named. */
static void add_of_runner(void *arg, uint32_t pid)
{
	struct search *s = arg;
	char why[CW_ERR];

	if (!s->out->n)
		add_mapped(s->out, pid, s->name, why);
}

/* A path that no process has mapped yet, as they see it. */
static int add_in_root(struct cw_target_files *out, pid_t pid, const char *path, char *err)
{
	char full[PATH_MAX + 32];
	int fd;

	snprintf(full, sizeof(full), "/proc/%d/root%s", pid, path);
	fd = open(full, CW_OPEN_ELF);
	return fd < 0 ? 0 : add_file(out, fd, strdup(path), (uint32_t)pid, err);
}

/* The target's own file by its base name, or a library that it will load. */
static int add_unmapped(const struct cw_target *t, const char *name, struct cw_target_files *out,
			char *err)
{
	const struct cw_target_file *own = &t->own.at[0];
	char *path;
	int fd;

	if (cw_mapped_is(own->path, name))
		return add_file(out, fcntl(own->fd, F_DUPFD_CLOEXEC, 3), strdup(own->path),
				own->pid, err);
	fd = cw_needed_open(own->fd, own->path, name, &path);
	return fd < 0 ? 0 : add_file(out, fd, path, 0, err);
}

static int say_no_module(const struct cw_target *t, const char *module, char *err)
{
	struct cw_mapped m = {0};
	const char *like = NULL;
	char why[CW_ERR];

	if (t->child || t->by_file || !t->nprocs) {
		snprintf(err, CW_ERR,
			 "%s is none of the libraries of %s, nor in the system's folders; give its "
			 "path",
			 module, t->own.at[0].path);
		return -ENOENT;
	}
	if (!cw_mapped_read(&m, t->procs[0].pid, why))
		like = cw_mapped_like(&m, module);
	snprintf(err, CW_ERR, "%s%d%s has mapped no file called %s%s%s; give %s",
		 t->nprocs > 1 ? "none of the processes (" : "process ", t->procs[0].pid,
		 t->nprocs > 1 ? ", ...)" : "", module, like ? ", but " : "", like ? like : "",
		 like ? "that name" : "its path");
	cw_mapped_free(&m);
	return -ENOENT;
}

int cw_target_modules(const struct cw_target *t, const char *module, struct cw_target_files *out,
		      char *err)
{
	bool is_path = strchr(module, '/');
	struct search s = {out, module};
	size_t i;
	int rc = 0;

	memset(out, 0, sizeof(*out));
	for (i = 0; !rc && !t->child && i < t->nprocs; i++) {
		rc = add_mapped(out, t->procs[i].pid, module, err);
		/* In a cgroup, processes come and go. */
		if (rc == -ESRCH && t->cgroup_fd >= 0)
			rc = 0;
	}
	if (t->by_file && !is_path)
		cw_target_scan(t, add_of_runner, &s);
	for (i = 0; !rc && !out->n && *module == '/' && !t->child && i < t->nprocs; i++)
		rc = add_in_root(out, t->procs[i].pid, module, err);
	if (!rc && !out->n && is_path)
		rc = add_path(out, module, err);
	if (!rc && !out->n && !is_path && (t->child || t->by_file || t->cgroup_fd >= 0))
		rc = add_unmapped(t, module, out, err);
	if (!rc && !out->n)
		rc = say_no_module(t, module, err);
	if (rc)
		cw_target_files_free(out);
	return rc;
}

bool cw_target_adopts(const struct cw_target *t)
{
	return t->by_file || t->cgroup_fd >= 0;
}

void cw_target_close(struct cw_target *t)
{
	size_t i;

	cw_child_free(t->child);
	for (i = 0; i < t->nprocs; i++) {
		if (t->procs[i].fd >= 0)
			close(t->procs[i].fd);
	}
	free(t->procs);
	cw_target_files_free(&t->own);
	if (t->cgroup_fd >= 0)
		close(t->cgroup_fd);
	memset(t, 0, sizeof(*t));
	t->cgroup_fd = -1;
}
