/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Shared libraries of a program that does not run yet: what it needs, what those need, and where
 * the dynamic loader looks. The program is not run for it.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "elffile.h"
#include "needed.h"
#include "resolve.h"

#define MAX_LIBS 128

static const char *const system_dirs[] = {"/lib/x86_64-linux-gnu",
					  "/usr/lib/x86_64-linux-gnu",
					  "/lib/aarch64-linux-gnu",
					  "/usr/lib/aarch64-linux-gnu",
					  "/lib64",
					  "/usr/lib64",
					  "/lib",
					  "/usr/lib",
					  "/usr/local/lib"};

struct walk {
	const char *name; /* wanted */
	char *rpath;      /* of the program, $ORIGIN replaced; NULL when it has none */
	char **seen;      /* names of libraries */
	char *found;      /* path of the wanted one */
	size_t nseen;
	int found_fd;
};

static int open_at(const char *dir, size_t len, const char *name, char **path)
{
	int fd;

	if (asprintf(path, "%.*s/%s", (int)len, dir, name) < 0)
		return -ENOMEM;
	fd = open(*path, CW_OPEN_ELF);
	if (fd < 0) {
		free(*path);
		*path = NULL;
	}
	return fd;
}

static int open_in_list(const char *dirs, const char *name, char **path)
{
	int fd = -1;

	while (fd < 0 && dirs && *dirs) {
		size_t len = strcspn(dirs, ":");

		if (len)
			fd = open_at(dirs, len, name, path);
		dirs += len + (dirs[len] == ':');
	}
	return fd;
}

/* own: of the library that needs it; NULL when it has none. */
static int open_library(const struct walk *w, const char *own, const char *name, char **path)
{
	int fd = open_in_list(own, name, path);
	size_t i;

	*path = fd < 0 ? NULL : *path;
	if (fd < 0)
		fd = open_in_list(w->rpath, name, path);

	*path = fd < 0 ? NULL : *path;
	if (fd < 0)
		fd = open_in_list(getenv("LD_LIBRARY_PATH"), name, path);
	for (i = 0; fd < 0 && i < sizeof(system_dirs) / sizeof(*system_dirs); i++)
		fd = open_at(system_dirs[i], strlen(system_dirs[i]), name, path);
	return fd;
}

/* DT_RUNPATH with $ORIGIN replaced by the folder of path; malloc'ed. */
static char *expand_origin(const char *runpath, const char *path)
{
	const char *slash = strrchr(path, '/');
	int dir = slash ? (int)(slash - path) : 1;
	char *out = NULL;
	size_t size = 0;
	FILE *f = open_memstream(&out, &size);

	while (f && *runpath) {
		size_t skip = !strncmp(runpath, "$ORIGIN", 7)     ? 7
			      : !strncmp(runpath, "${ORIGIN}", 9) ? 9
								  : 0;

		if (skip)
			fprintf(f, "%.*s", dir, slash ? path : ".");
		else
			fputc(*runpath++, f);
		runpath += skip;
	}
	if (f)
		fclose(f);
	return out;
}

static bool see(struct walk *w, const char *name)
{
	size_t i;

	for (i = 0; i < w->nseen; i++) {
		if (!strcmp(w->seen[i], name))
			return false;
	}
	if (w->nseen == MAX_LIBS)
		return false;
	w->seen[w->nseen] = strdup(name);
	return w->seen[w->nseen++] != NULL;
}

/* A library is also known by the name that its links lead to, which is what gets mapped. */
static bool is_wanted(const struct walk *w, const char *name, const char *path)
{
	char *real = realpath(path, NULL), *slash = real ? strrchr(real, '/') : NULL;
	bool yes = !strcmp(name, w->name) || (slash && !strcmp(slash + 1, w->name));

	free(real);
	return yes;
}

static void visit(struct walk *w, int fd, const char *path, int depth);

static void visit_needed(struct walk *w, const char *own, const char *name, int depth)
{
	char *path = NULL;
	int fd;

	if (!see(w, name))
		return;
	fd = open_library(w, own, name, &path);
	if (fd < 0)
		return;
	if (is_wanted(w, name, path)) {
		w->found = path;
		w->found_fd = fd;
		return;
	}
	visit(w, fd, path, depth + 1);
	free(path);
	close(fd);
}

static void visit(struct walk *w, int fd, const char *path, int depth)
{
	GElf_Shdr sh;
	Elf_Scn *scn;
	Elf_Data *data;
	GElf_Dyn dyn;
	char *own = NULL;
	Elf *elf;
	int i;

	if (depth > 16 || cw_elf_open(&elf, fd, path, NULL))
		return;
	scn = cw_elf_section(elf, SHT_DYNAMIC, NULL, &sh);
	data = scn ? elf_getdata(scn, NULL) : NULL;
	for (i = 0; data && !own && gelf_getdyn(data, i, &dyn); i++) {
		const char *text = dyn.d_tag == DT_RUNPATH || dyn.d_tag == DT_RPATH
					   ? elf_strptr(elf, sh.sh_link, dyn.d_un.d_val)
					   : NULL;

		if (text)
			own = expand_origin(text, path);
	}
	if (!depth)
		w->rpath = own;
	for (i = 0; data && w->found_fd < 0 && gelf_getdyn(data, i, &dyn); i++) {
		const char *name =
			dyn.d_tag == DT_NEEDED ? elf_strptr(elf, sh.sh_link, dyn.d_un.d_val) : NULL;

		if (name)
			visit_needed(w, own, name, depth);
	}
	if (depth)
		free(own);
	elf_end(elf);
}

int cw_needed_open(int fd, const char *path, const char *name, char **found)
{
	char *seen[MAX_LIBS];
	struct walk w = {.name = name, .seen = seen, .found_fd = -1};

	visit(&w, fd, path, 0);
	if (w.found_fd < 0)
		w.found_fd = open_library(&w, NULL, name, &w.found);
	while (w.nseen)
		free(seen[--w.nseen]);
	free(w.rpath);
	*found = w.found_fd < 0 ? NULL : w.found;
	return w.found_fd < 0 ? -ENOENT : w.found_fd;
}
