/* SPDX-License-Identifier: GPL-2.0-only */
/* Control groups, version 2: finding one and who is in it. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statfs.h>
#include <unistd.h>
#include "cgroup.h"
#include "resolve.h"

#define MAX_DEPTH 32

/* Where version 2 is mounted, malloc'ed; NULL when it is not. */
static char *mount_point(void)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char *line = NULL, *dash, *at = NULL;
	size_t size = 0;

	while (f && !at && getline(&line, &size, f) > 0) {
		dash = strstr(line, " - cgroup2 ");
		if (dash && sscanf(line, "%*s %*s %*s %*s %ms", &at) != 1)
			at = NULL;
	}
	free(line);
	if (f)
		fclose(f);
	return at;
}

static int open_dir(const char *path)
{
	return open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

static int open_under(const char *mount, const char *path, char **full)
{
	int fd = -1;

	if (asprintf(full, "%s/%s", mount, path + strspn(path, "/")) < 0) {
		*full = NULL;
		return -1;
	}
	fd = open_dir(*full);
	return fd;
}

int cw_cgroup_open(const char *path, char *err)
{
	char *mount = mount_point(), *full = NULL;
	int fd = open_dir(path), e = errno;
	struct statfs fs;

	if (fd < 0 && mount)
		fd = open_under(mount, path, &full);
	free(full);
	if (fd < 0) {
		snprintf(err, CW_ERR, "cannot open the cgroup %s: %s%s%s", path, strerror(e),
			 mount ? "; version 2 is mounted at " : "", mount ? mount : "");
	} else if (fstatfs(fd, &fs) || fs.f_type != CGROUP2_SUPER_MAGIC) {
		e = EINVAL;
		close(fd);
		fd = -1;
		snprintf(err, CW_ERR, "%s is no cgroup of version 2%s%s", path,
			 mount ? "; that is mounted at " : ", which is not mounted here",
			 mount ? mount : "");
	}
	free(mount);
	return fd < 0 ? -e : fd;
}

static void members(int dir, int depth, void (*add)(void *arg, uint32_t pid), void *arg)
{
	int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC), sub;
	FILE *f = fd < 0 ? NULL : fdopen(fd, "r");
	struct dirent *e;
	unsigned int pid;
	DIR *d;

	/* A zero is somebody who is not visible in this PID namespace. */
	while (f && fscanf(f, "%u", &pid) == 1) {
		if (pid)
			add(arg, pid);
	}
	if (f)
		fclose(f);
	sub = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	d = sub < 0 ? NULL : fdopendir(sub);
	while (d && depth && (e = readdir(d))) {
		if (e->d_type != DT_DIR || e->d_name[0] == '.')
			continue;
		sub = openat(dir, e->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		if (sub >= 0)
			members(sub, depth - 1, add, arg);
		close(sub);
	}
	if (d)
		closedir(d);
}

void cw_cgroup_members(int fd, void (*add)(void *arg, uint32_t pid), void *arg)
{
	members(fd, MAX_DEPTH, add, arg);
}
