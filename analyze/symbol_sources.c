/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the order in which files are looked for and the rule which of them may be used. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "symbol_sources.h"

#define DEBUG_ROOT "/usr/lib/debug"

struct search {
	const struct cw_module_identity *module;
	const struct cw_source_places *where;
	struct cw_module_files *files;
	FILE *tried;
	char *missing; /* paths that are not there */
	size_t missing_size;
	FILE *missing_out;
	const struct cw_elf *linked; /* its .gnu_debuglink was followed */
	char id_path[160];           /* xx/yyyy… of the build id */
	char path[PATH_MAX];         /* of the module, without " (deleted)" */
};

void cw_sources_note(FILE *tried, const char *fmt, ...)
{
	va_list ap;

	if (ftell(tried) > 0)
		fputs("; ", tried);
	va_start(ap, fmt);
	vfprintf(tried, fmt, ap);
	va_end(ap);
}

static bool has_id(const struct search *s)
{
	return s->module->build_id && *s->module->build_id;
}

/* Without a build id, only the same inode of the same boot that did not change since. */
static bool same_inode(const struct search *s, const struct cw_elf *elf, const char **why)
{
	unsigned major, minor;
	uint64_t dev, ino;
	int64_t changed;

	*why = "the module has no build id, and the capture is not of this machine since it was "
	       "booted: not used";
	if (!s->where->same_boot || !s->where->start_wall_ns)
		return false;
	*why = "the module has no build id, and this is another file by device and inode: not used";
	if (!s->module->dev || sscanf(s->module->dev, "%u:%u", &major, &minor) != 2 ||
	    cw_elf_identity(elf, &dev, &ino, &changed) || dev != makedev(major, minor) ||
	    ino != s->module->ino)
		return false;
	*why = "the module has no build id, and the file was changed since the capture began: not "
	       "used";
	return changed <= s->where->start_wall_ns;
}

static bool is_right(const struct search *s, const struct cw_elf *elf)
{
	const char *id = cw_elf_build_id(elf), *why;

	if (!has_id(s)) {
		if (same_inode(s, elf, &why))
			return true;
		cw_sources_note(s->tried, "%s: %s", cw_elf_path(elf), why);
		return false;
	}
	if (!strcmp(id, s->module->build_id))
		return true;
	if (*id)
		cw_sources_note(s->tried, "%s: another build id, %s: not used", cw_elf_path(elf),
				id);
	else
		cw_sources_note(s->tried, "%s: has no build id: not used", cw_elf_path(elf));
	return false;
}

/* Look at one file; keep it if it serves. */
static void try_file(struct search *s, const char *path)
{
	struct cw_elf *elf;
	const char *why;

	if (s->files->debug)
		return;
	elf = cw_elf_open(path, &why);
	if (!elf) {
		if (!strcmp(why, strerrordesc_np(ENOENT)))
			fprintf(s->missing_out, "%s%s", ftell(s->missing_out) ? ", " : "", path);
		else
			cw_sources_note(s->tried, "%s: %s", path, why);
		return;
	}
	if (!is_right(s, elf)) {
		cw_elf_free(elf);
		return;
	}
	if (cw_elf_has_dwarf(elf)) {
		s->files->debug = elf;
	} else if (!s->files->image) {
		s->files->image = elf;
		cw_sources_note(s->tried, "%s: no debug information", path);
	} else {
		cw_sources_note(s->tried, "%s: no debug information", path);
		cw_elf_free(elf);
	}
}

static void __attribute__((format(printf, 2, 3))) try_path(struct search *s, const char *fmt, ...)
{
	char path[PATH_MAX];
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (len > 0 && (size_t)len < sizeof(path))
		try_file(s, path);
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void try_debug_dir(struct search *s, const char *dir)
{
	try_path(s, "%s/.build-id/%s.debug", dir, s->id_path);
	try_path(s, "%s/.build-id/%s", dir, s->id_path);
	try_path(s, "%s%s", dir, s->path);
	try_path(s, "%s%s.debug", dir, s->path);
	try_path(s, "%s/%s", dir, base_name(s->path));
	try_path(s, "%s/%s.debug", dir, base_name(s->path));
}

/* The places that a file system of the target has, with root before them. */
static void try_root(struct search *s, const char *root)
{
	try_path(s, "%s%s", root, s->path);
	if (!has_id(s))
		return;
	try_path(s, "%s" DEBUG_ROOT "/.build-id/%s.debug", root, s->id_path);
	try_path(s, "%s" DEBUG_ROOT "%s.debug", root, s->path);
}

/* The separate debug file that a stripped one, or what is embedded of it, names. */
static void try_debuglink(struct search *s, struct cw_elf *elf)
{
	const char *link = elf ? cw_elf_debuglink(elf) : NULL, *path;
	int dir;

	if (!link || !has_id(s) || elf == s->linked)
		return;
	s->linked = elf;
	path = cw_elf_path(elf) ? cw_elf_path(elf) : s->path;
	dir = base_name(path) - path;
	try_path(s, "%.*s%s", dir, path, link);
	try_path(s, "%.*s.debug/%s", dir, path, link);
	try_path(s, DEBUG_ROOT "%.*s%s", dir, path, link);
}

static void set_paths(struct search *s)
{
	static const char deleted[] = " (deleted)";
	const char *path = s->module->path, *id = s->module->build_id;
	size_t len = strlen(path), cut = strlen(deleted);

	if (len > cut && !strcmp(path + len - cut, deleted))
		len -= cut;
	if (path[0] == '/' && len < sizeof(s->path)) {
		memcpy(s->path, path, len);
		s->path[len] = 0;
	}
	/* Goes into paths: nothing but digits. */
	if (has_id(s) && strlen(id) > 2 && strspn(id, "0123456789abcdef") == strlen(id))
		snprintf(s->id_path, sizeof(s->id_path), "%.2s/%s", id, id + 2);
}

static void check_embedded(struct search *s)
{
	struct cw_module_files *f = s->files;
	const char *id = f->embedded ? cw_elf_build_id(f->embedded) : "";

	if (*id && has_id(s) && strcmp(id, s->module->build_id) != 0) {
		cw_sources_note(s->tried, "capture: another build id, %s: not used", id);
		cw_elf_free(f->embedded);
		f->embedded = NULL;
	}
	if (!f->embedded && f->embedded_why)
		cw_sources_note(s->tried, "capture: %s", f->embedded_why);
	else if (!f->embedded)
		cw_sources_note(s->tried, "capture: nothing embedded");
	else if (cw_elf_has_dwarf(f->embedded))
		f->debug = f->embedded;
	else
		cw_sources_note(s->tried, "capture: names only, no lines");
}

static void try_all(struct search *s)
{
	const char *const *dir;

	if (has_id(s)) {
		for (dir = s->where->debug_dirs; dir && *dir; dir++)
			try_debug_dir(s, *dir);
		try_debuglink(s, s->files->image);
		if (s->where->sysroot)
			try_root(s, s->where->sysroot);
		try_debuglink(s, s->files->image);
	}
	try_root(s, "");
	try_debuglink(s, s->files->image ? s->files->image : s->files->embedded);
}

void cw_sources_find(const struct cw_module_identity *m, const struct cw_source_places *where,
		     struct cw_module_files *files, FILE *tried)
{
	struct search s = {.module = m, .where = where, .files = files, .tried = tried};

	check_embedded(&s);
	set_paths(&s);
	s.missing_out = s.path[0] ? open_memstream(&s.missing, &s.missing_size) : NULL;
	if (!s.missing_out)
		return;
	try_all(&s);
	fclose(s.missing_out);
	if (s.missing_size)
		cw_sources_note(tried, "not there: %s", s.missing);
	free(s.missing);
}

void cw_sources_free(struct cw_module_files *files)
{
	if (files->debug != files->embedded && files->debug != files->image)
		cw_elf_free(files->debug);
	cw_elf_free(files->embedded);
	cw_elf_free(files->image);
	files->embedded = NULL;
	files->image = NULL;
	files->debug = NULL;
}
