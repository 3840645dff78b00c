/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns where perf maps are and which may be believed. What is in them is the analyzer's business.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "idmap.h"
#include "perfmap.h"

#define MAX_MAP (64u << 20)

static int check_owner(int fd, uint32_t uid)
{
	struct stat st;

	if (fd < 0)
		return fd;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_uid == uid && st.st_nlink == 1)
		return fd;
	close(fd);
	return -EACCES;
}

static int open_map(struct cw_modopen *opener, const struct cw_proc *p)
{
	const uint32_t pids[] = {p->ns_pid, p->rec_pid};
	char path[64];
	size_t i;
	int fd;

	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", pids[i]);
		fd = check_owner(cw_modopen_path(opener, p->rec_pid, p->mnt_ns, path), p->uid);
		if (fd >= 0)
			return fd;
	}
	return check_owner(cw_modopen_path(opener, (uint32_t)getpid(), 0, path), p->uid);
}

void cw_perfmap_hold(struct cw_modopen *opener, struct cw_proc *p)
{
	struct rlimit most;
	int fd;

	if (p->perf_fd)
		return;
	fd = open_map(opener, p);
	/* Descriptors are few, and others need them more. */
	if (fd >= 0 && !getrlimit(RLIMIT_NOFILE, &most) && (rlim_t)fd > most.rlim_cur / 2) {
		close(fd);
		fd = -EMFILE;
	}
	p->perf_fd = fd < 0 ? 0 : fd + 1;
}

/* What is there now; it may be growing. NULL: nothing, or no memory. */
static char *read_map(int fd, size_t *size)
{
	char *text = malloc(*size);
	size_t have = 0;
	ssize_t got;

	while (text && have < *size) {
		got = pread(fd, text + have, *size - have, (off_t)have);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			break;
		have += (size_t)got;
	}
	*size = have;
	return text;
}

static int write_map(struct cw_writer *w, int fd, const struct cw_proc *p, size_t bytes,
		     uint64_t room, uint64_t *size)
{
	char *text;
	uint32_t i;
	int rc = 0;

	if (!bytes || bytes > MAX_MAP || (uint64_t)bytes * p->njit > room)
		return 0;
	text = read_map(fd, &bytes);
	for (i = 0; text && bytes && !rc && i < p->njit; i++) {
		rc = cw_writer_blob(w, p->jit[i], CW_BLOB_PERF_MAP, text, bytes);
		*size += bytes;
	}
	free(text);
	return rc;
}

bool cw_perfmap_want(struct cw_proc *p, uint32_t module_id)
{
	uint32_t i;

	for (i = 0; i < p->njit; i++) {
		if (p->jit[i] == module_id)
			return false;
	}
	if (p->njit == sizeof(p->jit) / sizeof(p->jit[0]))
		return false;
	p->jit[p->njit++] = module_id;
	p->perf_map = 0;
	return true;
}

int cw_perfmap_embed(struct cw_writer *w, struct cw_modopen *opener, struct cw_proc *p,
		     uint64_t room, bool last, uint64_t *size)
{
	uint64_t version;
	struct stat st;
	int fd, rc = 0;

	*size = 0;
	if (!p->njit || !room || (p->perf_map && !last))
		return 0;
	cw_perfmap_hold(opener, p);
	fd = p->perf_fd ? p->perf_fd - 1 : open_map(opener, p);
	if (fd < 0)
		return 0;
	if (!fstat(fd, &st)) {
		version = cw_hash(1, &st.st_size, sizeof(st.st_size));
		version = cw_hash(version, &st.st_mtim, sizeof(st.st_mtim));
		if (version != p->perf_map)
			rc = write_map(w, fd, p, (size_t)st.st_size, room, size);
		p->perf_map = version;
	}
	if (!p->perf_fd)
		close(fd);
	return rc;
}

int cw_perfmap_forget(void *arg, struct cw_proc *p)
{
	(void)arg;
	p->perf_map = 0;
	p->njit = 0;
	return 0;
}
