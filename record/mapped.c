/* SPDX-License-Identifier: GPL-2.0-only */
/* The files that a running process has mapped executable, once each. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "mapped.h"
#include "resolve.h"
#include "snapshot.h"

static int take(void *arg, const struct cw_mapped_file *f, uint64_t pgoff, uint32_t prot)
{
	struct cw_mapped *m = arg;
	struct cw_mapped_file *bigger;
	size_t i;

	(void)pgoff;
	(void)prot;
	if (!f->ino || f->path[0] != '/')
		return 0;
	for (i = 0; i < m->n; i++) {
		if (m->files[i].ino == f->ino && m->files[i].dev_major == f->dev_major &&
		    m->files[i].dev_minor == f->dev_minor)
			return 0;
	}
	bigger = realloc(m->files, (m->n + 1) * sizeof(*m->files));
	if (!bigger)
		return -ENOMEM;
	m->files = bigger;
	m->files[m->n] = *f;
	m->files[m->n].path = strdup(f->path);
	if (!m->files[m->n].path)
		return -ENOMEM;
	m->n++;
	return 0;
}

int cw_mapped_read(struct cw_mapped *m, pid_t pid, char *err)
{
	int rc;

	memset(m, 0, sizeof(*m));
	errno = 0;
	rc = cw_snapshot_maps(pid, 0, take, m);
	if (!rc)
		return 0;
	if (rc == -ESRCH && errno && errno != ENOENT)
		rc = -errno;
	if (rc == -ESRCH)
		snprintf(err, CW_ERR, "no such process: %d", pid);
	else
		snprintf(err, CW_ERR, "cannot read the mappings of process %d: %s", pid,
			 strerror(-rc));
	cw_mapped_free(m);
	return rc;
}

void cw_mapped_free(struct cw_mapped *m)
{
	size_t i;

	for (i = 0; i < m->n; i++)
		free((char *)m->files[i].path);
	free(m->files);
	memset(m, 0, sizeof(*m));
}

int cw_mapped_open(const struct cw_mapped_file *f)
{
	struct cw_modopen *o = cw_modopen_new();
	int fd = o ? cw_modopen_file(o, f) : -ENOMEM;

	cw_modopen_free(o);
	return fd;
}

bool cw_mapped_is(const char *path, const char *name)
{
	const char *slash = strrchr(path, '/');

	return !strcmp(path, name) || (!strchr(name, '/') && slash && !strcmp(slash + 1, name));
}

const char *cw_mapped_like(const struct cw_mapped *m, const char *name)
{
	const char *so = strstr(name, ".so"), *slash;
	size_t i, len = so ? (size_t)(so - name) + 3 : strlen(name);

	for (i = 0; len && i < m->n; i++) {
		slash = strrchr(m->files[i].path, '/');
		if (slash && !strncmp(slash + 1, name, len))
			return slash + 1;
	}
	return NULL;
}
