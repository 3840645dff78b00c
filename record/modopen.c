/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Opening the file behind a mapping of another process. Owns the ways to get there and the checks
 * that it is that file; it must not know modules' numbers or records.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#include "modopen.h"
#include "resolve.h"

#define MAX_ROOTS 64
/* A path may lead to a FIFO or a terminal: neither block on it nor make it ours. */
#define OPEN_FLAGS (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

struct cw_modopen {
	struct root {
		uint64_t mnt_ns;
		int fd;
	} roots[MAX_ROOTS];
	size_t nroots;
};

struct cw_modopen *cw_modopen_new(void)
{
	return calloc(1, sizeof(struct cw_modopen));
}

void cw_modopen_free(struct cw_modopen *o)
{
	size_t i;

	if (!o)
		return;
	for (i = 0; i < o->nroots; i++)
		close(o->roots[i].fd);
	free(o);
}

void cw_modopen_hold_root(struct cw_modopen *o, uint32_t pid, uint64_t mnt_ns)
{
	char path[64];
	size_t i;
	int fd;

	for (i = 0; i < o->nroots; i++) {
		if (o->roots[i].mnt_ns == mnt_ns)
			return;
	}
	if (o->nroots == MAX_ROOTS)
		return;
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return;
	o->roots[o->nroots].mnt_ns = mnt_ns;
	o->roots[o->nroots++].fd = fd;
}

/* Whether the open file is the mapped one; a build-id decides where the kernel gave it. */
static bool is_mapped_file(int fd, const struct cw_mapped_file *f, bool by_path)
{
	struct stat st;
	uint8_t id[24];

	if (fstat(fd, &st) || !S_ISREG(st.st_mode))
		return false;
	if (f->build_id_size)
		return cw_elf_build_id(fd, id) == (int)f->build_id_size &&
		       !memcmp(id, f->build_id, f->build_id_size);
	/*
	 * Without one, the inode. The device numbers are not compared: on some file systems
	 * (btrfs, overlayfs) stat and the kernel's mappings name different ones for the
	 * same file.
	 */
	return !by_path || (f->ino && st.st_ino == f->ino);
}

static int checked(int fd, const struct cw_mapped_file *f, bool by_path)
{
	if (fd >= 0 && !is_mapped_file(fd, f, by_path)) {
		close(fd);
		return -ENOENT;
	}
	return fd < 0 ? -errno : fd;
}

static void map_file_path(const struct cw_mapped_file *f, char path[96])
{
	snprintf(path, 96, "/proc/%u/map_files/%llx-%llx", f->pid, (unsigned long long)f->start,
		 (unsigned long long)f->end);
}

/* The name in a path, without " (deleted)"; sets its length. */
static const char *name_in(const char *path, size_t *len)
{
	static const char deleted[] = " (deleted)";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	size_t cut = sizeof(deleted) - 1;

	*len = strlen(name);
	if (*len > cut && !strcmp(name + *len - cut, deleted))
		*len -= cut;
	return name;
}

/*
 * By the time that a mapping is looked at, another file may be mapped there: one with another inode
 * and another name. Where file systems lie on others, the inode alone may be another for the same.
 */
static bool is_still_mapped(int fd, const char *link, const struct cw_mapped_file *f)
{
	size_t len, wanted_len;
	const char *name, *wanted;
	char path[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (f->build_id_size || !f->ino || (!fstat(fd, &st) && st.st_ino == f->ino))
		return true;
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= 0)
		return false;
	path[n] = '\0';
	name = name_in(path, &len);
	wanted = name_in(f->path, &wanted_len);
	return len == wanted_len && !memcmp(name, wanted, len);
}

/* The kernel's own link to the mapped file: right even when it was deleted. Wants privileges. */
static int open_map_file(const struct cw_mapped_file *f)
{
	char path[96];
	int fd;

	if (!f->pid || !f->end)
		return -ENOENT;
	map_file_path(f, path);
	fd = checked(open(path, OPEN_FLAGS), f, false);
	if (fd >= 0 && !is_still_mapped(fd, path, f)) {
		close(fd);
		fd = -ENOENT;
	}
	return fd;
}

uint64_t cw_modopen_mtime(const struct cw_mapped_file *f)
{
	struct stat st;
	char path[96];

	map_file_path(f, path);
	if (stat(path, &st))
		return 0;
	return (uint64_t)st.st_mtim.tv_sec * 1000000000ull + (uint64_t)st.st_mtim.tv_nsec;
}

static int open_under(int root, const struct cw_mapped_file *f)
{
	struct open_how how = {.flags = OPEN_FLAGS, .resolve = RESOLVE_IN_ROOT};

	return checked((int)syscall(SYS_openat2, root, f->path, &how, sizeof(how)), f, true);
}

static int open_root(uint32_t pid)
{
	char path[64];
	int root;

	if (!pid)
		return -ENOENT;
	snprintf(path, sizeof(path), "/proc/%u/root", pid);
	root = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return root < 0 ? -errno : root;
}

static int open_in_process(const struct cw_mapped_file *f)
{
	int root, fd;

	if (!f->pid)
		return -ENOENT;
	root = open_root(f->pid);
	if (root < 0)
		return root;
	fd = open_under(root, f);
	close(root);
	return fd;
}

int cw_modopen_path(struct cw_modopen *o, uint32_t pid, uint64_t mnt_ns, const char *path)
{
	struct open_how how = {.flags = OPEN_FLAGS | O_NOFOLLOW, .resolve = RESOLVE_IN_ROOT};
	int root = open_root(pid), fd = -ENOENT;
	size_t i;

	if (root >= 0) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		fd = fd < 0 ? -errno : fd;
		close(root);
		return fd;
	}
	for (i = 0; i < o->nroots && fd < 0; i++) {
		if (o->roots[i].mnt_ns != mnt_ns)
			continue;
		fd = (int)syscall(SYS_openat2, o->roots[i].fd, path, &how, sizeof(how));
		fd = fd < 0 ? -errno : fd;
	}
	return fd;
}

int cw_modopen_root(struct cw_modopen *o, uint32_t pid, size_t nth)
{
	int fd = open_root(pid);

	if (fd >= 0 && nth) {
		close(fd);
		fd = -ENOENT;
	} else if (fd < 0 && nth < o->nroots) {
		fd = fcntl(o->roots[nth].fd, F_DUPFD_CLOEXEC, 3);
	}
	return fd < 0 ? -ENOENT : fd;
}

int cw_modopen_file(struct cw_modopen *o, const struct cw_mapped_file *f)
{
	size_t i;
	int fd = open_map_file(f);

	if (fd >= 0)
		return fd;
	if (f->path[0] != '/')
		return -ENOENT;
	fd = open_in_process(f);
	for (i = 0; fd < 0 && i < o->nroots; i++)
		fd = open_under(o->roots[i].fd, f);
	if (fd < 0)
		fd = checked(open(f->path, OPEN_FLAGS), f, true);
	return fd;
}
