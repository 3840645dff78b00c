/* SPDX-License-Identifier: GPL-2.0-only */
/* --find-symbol: the files to look into, and how what is found is shown. */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cxxname.h"
#include "findsym.h"
#include "mapped.h"
#include "patterns.h"
#include "resolve.h"
#include "say.h"

struct finder {
	const char *symbol;
	const char *path; /* of the file at hand */
	bool path_shown;
	size_t files; /* looked into */
	size_t found;
	char why[CW_ERR];     /* of the last file without the symbol */
	char trouble[CW_ERR]; /* of the last file that could not be looked into */
};

/* cw_resolve_each's */
static void show(void *arg, const char *name, const struct cw_func *func)
{
	struct finder *f = arg;
	char *readable = cw_cxx_demangle(name, true);

	if (!f->path_shown) {
		cw_put(stdout, "%s", f->path);
		putchar('\n');
	}
	f->path_shown = true;
	cw_put(stdout, "  symbol=%s value=0x%" PRIx64, name, func->value);
	if (func->offset)
		printf(" offset=0x%" PRIx64, func->offset);
	cw_put(stdout, "%s%s%s%s", func->ifunc ? " ifunc" : "", readable ? " (" : "",
	       readable ? readable : "", readable ? ")" : "");
	putchar('\n');
	free(readable);
	f->found++;
}

static void look_into(struct finder *f, int fd, const char *path, uint32_t pid)
{
	char err[CW_ERR] = "";
	int rc;

	f->path = path;
	f->path_shown = false;
	rc = (cw_patterns_is(f->symbol) ? cw_patterns_each
					: cw_resolve_each)(fd, path, pid, f->symbol, show, f, err);
	if (rc && rc != -ENOENT)
		memcpy(f->trouble, err, sizeof(err));
	else if (rc)
		memcpy(f->why, err, sizeof(err));
	if (!rc || rc == -ENOENT)
		f->files++;
}

static void look_into_path(struct finder *f, const char *path)
{
	int fd = open(path, CW_OPEN_ELF);

	if (fd < 0) {
		snprintf(f->trouble, CW_ERR, "cannot open %s: %s", path, strerror(errno));
		return;
	}
	look_into(f, fd, path, 0);
	close(fd);
}

static void look_into_process(struct finder *f, pid_t pid, const char *module)
{
	struct cw_mapped m;
	size_t i, fitting = 0;

	if (cw_mapped_read(&m, pid, f->trouble))
		return;
	for (i = 0; i < m.n; i++) {
		int fd;

		if (module && !cw_mapped_is(m.files[i].path, module))
			continue;
		fitting++;
		fd = cw_mapped_open(&m.files[i]);
		if (fd < 0) {
			snprintf(f->trouble, CW_ERR, "cannot open %s of process %d: %s",
				 m.files[i].path, pid, strerror(-fd));
			continue;
		}
		look_into(f, fd, m.files[i].path, (uint32_t)pid);
		close(fd);
	}
	if (!fitting) {
		const char *like = module ? cw_mapped_like(&m, module) : NULL;

		snprintf(f->trouble, CW_ERR, "process %d has mapped no file called %s%s%s", pid,
			 module ? module : "anything", like ? ", but " : "", like ? like : "");
	}
	cw_mapped_free(&m);
}

static void say_nothing_found(const struct finder *f)
{
	if (f->files == 1)
		cw_say("%s", f->why);
	else if (cw_patterns_is(f->symbol))
		cw_say("none of the %zu mapped files has a function that matches '%s'", f->files,
		       f->symbol);
	else
		cw_say("none of the %zu mapped files has a function %s; a pattern, as '*%s*', "
		       "lists those with that in their names",
		       f->files, f->symbol, f->symbol);
}

int cw_find_symbol(const struct cw_options *o)
{
	struct finder f = {.symbol = o->find_symbol};
	size_t i;

	if (o->binary)
		look_into_path(&f, o->binary);
	for (i = 0; !o->binary && i < o->npids; i++)
		look_into_process(&f, o->pids[i], o->module);
	if (*f.trouble)
		cw_say("%s", f.trouble);
	else if (!f.found)
		say_nothing_found(&f);
	return f.found ? 0 : 1;
}
