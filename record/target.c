/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The target: finding its process and its own ELF file, and other ELF files by the names the target
 * knows them by. Must not know about probes, BPF or captures.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>
#include "exec.h"
#include "resolve.h"
#include "target.h"

#define LINE 8192

/* Where shared libraries are, for names given before any process runs. */
static const char *const lib_dirs[] = {"/lib/x86_64-linux-gnu",
				       "/usr/lib/x86_64-linux-gnu",
				       "/lib/aarch64-linux-gnu",
				       "/usr/lib/aarch64-linux-gnu",
				       "/lib64",
				       "/usr/lib64",
				       "/lib",
				       "/usr/lib",
				       "/usr/local/lib"};

static int open_file(const char *path, char *err)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd >= 0)
		return fd;
	snprintf(err, CW_ERR, "cannot open %s: %s", path, strerror(errno));
	return -errno;
}

static int identify(struct cw_target *t, char *err)
{
	struct stat st;

	if (fstat(t->elf_fd, &st)) {
		snprintf(err, CW_ERR, "cannot examine %s: %s", t->elf_path, strerror(errno));
		return -errno;
	}
	if (S_ISDIR(st.st_mode)) {
		snprintf(err, CW_ERR, "%s is a directory, not an ELF file", t->elf_path);
		return -ENOEXEC;
	}
	t->dev = major(st.st_dev) << 20 | minor(st.st_dev);
	t->ino = st.st_ino;
	return 0;
}

static int open_exe(struct cw_target *t, char *err)
{
	char link[64], path[PATH_MAX];
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/%d/exe", t->pid);
	n = readlink(link, path, sizeof(path) - 1);
	t->elf_fd = n < 0 ? -1 : open(link, O_RDONLY | O_CLOEXEC);
	if (t->elf_fd < 0) {
		int e = errno;

		if (e == ENOENT)
			snprintf(err, CW_ERR,
				 "process %d is a kernel thread or is exiting: it has no program",
				 t->pid);
		else
			snprintf(err, CW_ERR,
				 "cannot open the program of process %d: %s; CAP_SYS_PTRACE is "
				 "needed for "
				 "processes of other users, so run as root or name the file with "
				 "--binary",
				 t->pid, strerror(e));
		return -e;
	}
	path[n] = 0;
	t->elf_path = strdup(path);
	return identify(t, err);
}

static int open_pid(struct cw_target *t, const struct cw_options *o, char *err)
{
	t->pid = o->pid;
	t->pidfd = syscall(SYS_pidfd_open, t->pid, 0);
	if (t->pidfd < 0 && errno == EINVAL) {
		snprintf(err, CW_ERR, "%d is a thread, not a process; give the id of its process",
			 t->pid);
		return -EINVAL;
	}
	if (t->pidfd < 0) {
		snprintf(err, CW_ERR, "no such process: %d", t->pid);
		return -ESRCH;
	}
	if (!o->binary)
		return open_exe(t, err);
	t->elf_fd = open_file(o->binary, err);
	t->elf_path = strdup(o->binary);
	return t->elf_fd < 0 ? t->elf_fd : identify(t, err);
}

static int open_exec(struct cw_target *t, const struct cw_options *o, char *err)
{
	char *path = cw_exec_find(o->exec_prog);
	int rc;

	if (!path) {
		snprintf(err, CW_ERR, "cannot execute %s: %s", o->exec_prog, strerror(errno));
		return -errno;
	}
	t->elf_fd = open_file(o->binary ? o->binary : path, err);
	t->elf_path = strdup(o->binary ? o->binary : path);
	rc = t->elf_fd < 0 ? t->elf_fd : identify(t, err);
	if (!rc)
		rc = cw_child_start(&t->child, path, o->exec_argv, !strcmp(o->output, "-"), err);
	free(path);
	if (rc)
		return rc;
	t->pid = cw_child_pid(t->child);
	t->pidfd = syscall(SYS_pidfd_open, t->pid, 0);
	return 0;
}

int cw_target_open(struct cw_target *t, const struct cw_options *o, char *err)
{
	memset(t, 0, sizeof(*t));
	t->pidfd = t->elf_fd = -1;
	if (o->pid)
		return open_pid(t, o, err);
	if (o->exec_prog)
		return open_exec(t, o, err);
	t->elf_fd = open_file(o->binary, err);
	t->elf_path = strdup(o->binary);
	return t->elf_fd < 0 ? t->elf_fd : identify(t, err);
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
		if (isdigit((unsigned char)e->d_name[0]) && maps_file(e->d_name, t->dev, t->ino))
			add(arg, strtoul(e->d_name, NULL, 10));
	}
	if (d)
		closedir(d);
}

/* Path, in the target's root, of what it has mapped under this base name; NULL when there is none.
 */
static char *mapped_path(pid_t pid, const char *base)
{
	char path[64], line[LINE], *slash, *found = NULL;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", pid);
	f = fopen(path, "re");
	while (f && !found && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = 0;
		slash = strrchr(line, '/');
		if (slash && !strcmp(slash + 1, base))
			found = strdup(strchr(line, '/'));
	}
	if (f)
		fclose(f);
	return found;
}

static int open_in_root(pid_t pid, const char *path)
{
	char full[PATH_MAX + 32];

	snprintf(full, sizeof(full), "/proc/%d/root%s", pid, path);
	return open(full, O_RDONLY | O_CLOEXEC);
}

static int open_in_lib_dirs(const char *base, char **path)
{
	size_t i;
	int fd;

	for (i = 0; i < sizeof(lib_dirs) / sizeof(*lib_dirs); i++) {
		if (asprintf(path, "%s/%s", lib_dirs[i], base) < 0)
			break;
		fd = open(*path, O_RDONLY | O_CLOEXEC);
		if (fd >= 0)
			return fd;
		free(*path);
	}
	*path = NULL;
	return -1;
}

int cw_target_open_module(const struct cw_target *t, const char *module, char **path, char *err)
{
	bool running = t->pid && !t->child;
	int fd = -1;

	*path = NULL;
	if (strchr(module, '/')) {
		*path = strdup(module);
		if (running && *module == '/')
			fd = open_in_root(t->pid, module);
		return fd >= 0 ? fd : open_file(module, err);
	}
	if (running) {
		*path = mapped_path(t->pid, module);
		if (*path)
			fd = open_in_root(t->pid, *path);
	} else {
		fd = open_in_lib_dirs(module, path);
	}
	if (fd >= 0)
		return fd;
	if (running && !*path)
		snprintf(err, CW_ERR, "process %d has mapped no file called %s; give its path",
			 t->pid, module);
	else
		snprintf(err, CW_ERR, "cannot open %s; give its path", *path ? *path : module);
	return -ENOENT;
}

void cw_target_close(struct cw_target *t)
{
	cw_child_free(t->child);
	if (t->pidfd >= 0)
		close(t->pidfd);
	if (t->elf_fd >= 0)
		close(t->elf_fd);
	free(t->elf_path);
	memset(t, 0, sizeof(*t));
	t->pidfd = t->elf_fd = -1;
}
