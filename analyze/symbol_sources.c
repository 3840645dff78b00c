/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the order in which files are looked for and the rule which of them may be used. */
#include <errno.h>
#include <limits.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>

#include "debuginfod.h"
#include "file_state.h"
#include "symbol_links.h"
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
	FILE *looked_out;
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

/* Whether nothing is wanted any more. */
static bool done(const struct search *s)
{
	const struct cw_module_files *f = s->files;
	struct cw_elf *all[] = {f->embedded, f->image, f->debug, f->embedded_symbols};
	bool layout = false, code = false, names = false;
	size_t i;

	for (i = 0; i < 4; i++) {
		layout |= all[i] && cw_elf_has_layout(all[i]);
		code |= all[i] && cw_elf_has_code(all[i]);
		names |= all[i] && cw_elf_has_symtab(all[i]);
	}
	if (s->where->whole && !code)
		return false;
	return layout && (f->debug || (names && s->where->no_lines && !s->where->whole));
}

/* Keep a file that is right for what it has; debug information goes first. */
static void keep(struct search *s, struct cw_elf *elf)
{
	struct cw_module_files *f = s->files;
	bool dwarf = cw_elf_has_dwarf(elf);

	if (dwarf && !f->debug) {
		f->debug = elf;
		return;
	}
	if (!dwarf)
		cw_sources_note(s->tried, "%s: no debug information", cw_elf_path(elf));
	if (f->image && !cw_elf_has_code(f->image) && cw_elf_has_code(elf)) {
		cw_elf_free(f->image);
		f->image = NULL;
	}
	if (f->image)
		cw_elf_free(elf);
	else
		f->image = elf;
}

/* Look at one file; keep it if it serves. */
static void try_file(struct search *s, const char *path)
{
	const struct cw_elf *had = s->files->debug;
	char state[CW_FILE_STATE];
	struct cw_elf *elf;
	const char *why;

	if (done(s))
		return;
	cw_file_state(state, path);
	elf = cw_elf_open(path, &why);
	if (!elf) {
		if (!strcmp(why, strerrordesc_np(ENOENT)))
			fprintf(s->missing_out, "%s%s", ftell(s->missing_out) ? ", " : "", path);
		else
			cw_sources_note(s->tried, "%s: %s", path, why);
	} else if (is_right(s, elf)) {
		keep(s, elf);
	} else {
		cw_elf_free(elf);
	}
	if (s->files->debug == had)
		cw_file_state_write(s->looked_out, state, path);
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
	try_path(s, "%s" DEBUG_ROOT "/.build-id/%s", root, s->id_path);
	try_path(s, "%s" DEBUG_ROOT "%s.debug", root, s->path);
}

/* The separate debug file that a stripped one, or what is embedded of it, names. */
static void try_debuglink(struct search *s, struct cw_elf *elf)
{
	const char *link = elf ? cw_elf_debuglink(elf) : NULL, *path, *const * extra;
	const char *root = s->where->sysroot;
	int dir, own_dir = base_name(s->path) - s->path;

	if (!link || !has_id(s) || elf == s->linked)
		return;
	s->linked = elf;
	path = cw_elf_path(elf) ? cw_elf_path(elf) : s->path;
	dir = base_name(path) - path;
	for (extra = s->where->debug_dirs; extra && *extra; extra++) {
		try_path(s, "%s/%s", *extra, link);
		try_path(s, "%s%.*s%s", *extra, own_dir, s->path, link);
	}
	if (root) {
		try_path(s, "%s%.*s%s", root, own_dir, s->path, link);
		try_path(s, "%s%.*s.debug/%s", root, own_dir, s->path, link);
		try_path(s, "%s" DEBUG_ROOT "%.*s%s", root, own_dir, s->path, link);
	}
	try_path(s, "%.*s%s", dir, path, link);
	try_path(s, "%.*s.debug/%s", dir, path, link);
	try_path(s, DEBUG_ROOT "%.*s%s", own_dir, s->path, link);
}

/* A server has no such file, which it is asked for once, or did not answer. */
static void not_given(struct search *s, const char *what, const char *why)
{
	cw_sources_note(s->tried, "debuginfod, %s: %s", what, why);
	if (strcmp(why, strerrordesc_np(ENOENT)) != 0)
		fputs(CW_STATE_OF_BEFORE, s->looked_out);
}

/* What no folder has may be on a server; it takes long, so that it comes last. */
static void try_debuginfod(struct search *s, enum cw_debuginfod_kind kind)
{
	const char *why;
	char *path;

	if (!s->where->debuginfod || !has_id(s) || done(s))
		return;
	if (kind == CW_DEBUGINFOD_EXECUTABLE && !s->where->whole && s->files->embedded)
		return;
	path = cw_debuginfod_find(s->module->build_id, kind, s->where->cancel, &why);
	if (path)
		try_file(s, path);
	else
		not_given(s, kind == CW_DEBUGINFOD_DEBUG ? "debug information" : "the file itself",
			  why);
	free(path);
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

/* One without a build id was found beside the module, or by its link, where that was recorded. */
static void check_payload(struct search *s, struct cw_elf **elf)
{
	const char *id = *elf ? cw_elf_build_id(*elf) : "";

	if (!*id || !has_id(s) || !strcmp(id, s->module->build_id))
		return;
	cw_sources_note(s->tried, "capture: another build id, %s: not used", id);
	cw_elf_free(*elf);
	*elf = NULL;
}

static void check_embedded(struct search *s)
{
	struct cw_module_files *f = s->files;

	check_payload(s, &f->embedded);
	check_payload(s, &f->embedded_symbols);
	if (f->embedded_debug && has_id(s) &&
	    !strcmp(cw_elf_build_id(f->embedded_debug), s->module->build_id) &&
	    cw_elf_has_dwarf(f->embedded_debug)) {
		f->debug = f->embedded_debug;
		f->embedded_debug = NULL;
	} else if (f->embedded_debug) {
		cw_sources_note(s->tried,
				"capture: a debug file with another build id or none: not "
				"used");
	}
	if (!f->embedded && f->embedded_why)
		cw_sources_note(s->tried, "capture: %s", f->embedded_why);
	else if (!f->embedded)
		cw_sources_note(s->tried, "capture: nothing embedded");
	else if (f->debug)
		;
	else if (cw_elf_has_dwarf(f->embedded))
		f->debug = f->embedded;
	else if (!s->where->no_lines)
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
	try_debuginfod(s, CW_DEBUGINFOD_DEBUG);
	try_debuginfod(s, CW_DEBUGINFOD_EXECUTABLE);
}

/* ---- what those files refer to ------------------------------------------------------------------
 */

/* One file that may be dwz's alternate one with this build id. */
static void try_alternate(struct search *s, const char *id, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static void try_alternate(struct search *s, const char *id, const char *fmt, ...)
{
	char path[PATH_MAX], state[CW_FILE_STATE];
	struct cw_elf *elf;
	const char *why;
	va_list ap;
	int len;

	va_start(ap, fmt);
	len = vsnprintf(path, sizeof(path), fmt, ap);
	va_end(ap);
	if (s->files->alt || len <= 0 || (size_t)len >= sizeof(path))
		return;
	cw_file_state(state, path);
	elf = cw_elf_open(path, &why);
	if (elf && !strcmp(cw_elf_build_id(elf), id)) {
		s->files->alt = elf;
		return;
	}
	cw_file_state_write(s->looked_out, state, path);
	if (elf)
		cw_sources_note(s->tried,
				"%s: another build id than the alternate file's: not used", path);
	else if (!strcmp(why, strerrordesc_np(ENOENT)))
		fprintf(s->missing_out, "%s%s", ftell(s->missing_out) ? ", " : "", path);
	else
		cw_sources_note(s->tried, "%s: %s", path, why);
	cw_elf_free(elf);
}

static void look_for_alternate(struct search *s, const char *name, const char *id)
{
	const char *path = cw_elf_path(s->files->debug), *const * dir, *why;
	const char *root = s->where->sysroot ? s->where->sysroot : "";
	char *found;

	for (dir = s->where->debug_dirs; dir && *dir; dir++) {
		try_alternate(s, id, "%s/.build-id/%.2s/%s.debug", *dir, id, id + 2);
		try_alternate(s, id, "%s/.dwz/%s", *dir, base_name(name));
		try_alternate(s, id, "%s/%s", *dir, base_name(name));
	}
	if (name[0] == '/') {
		if (*root)
			try_alternate(s, id, "%s%s", root, name);
		try_alternate(s, id, "%s", name);
	} else if (path) {
		try_alternate(s, id, "%.*s%s", (int)(base_name(path) - path), path, name);
	}
	if (*root)
		try_alternate(s, id, "%s" DEBUG_ROOT "/.build-id/%.2s/%s.debug", root, id, id + 2);
	try_alternate(s, id, DEBUG_ROOT "/.build-id/%.2s/%s.debug", id, id + 2);
	try_alternate(s, id, DEBUG_ROOT "/.dwz/%s", base_name(name));
	if (s->files->alt || !s->where->debuginfod)
		return;
	found = cw_debuginfod_find(id, CW_DEBUGINFOD_DEBUG, s->where->cancel, &why);
	if (found)
		try_alternate(s, id, "%s", found);
	else
		not_given(s, "alternate file", why);
	free(found);
}

static void find_alternate(struct search *s)
{
	struct cw_module_files *f = s->files;
	char id[CW_BUILD_ID_TEXT];
	const char *name = f->debug && !s->where->no_lines ? cw_elf_altlink(f->debug, id) : NULL;

	if (!name)
		return;
	if (f->embedded_alt && !strcmp(cw_elf_build_id(f->embedded_alt), id)) {
		f->alt = f->embedded_alt;
		f->embedded_alt = NULL;
	} else {
		look_for_alternate(s, name, id);
	}
	if (f->alt)
		return;
	cw_sources_note(s->tried,
			"%s, which the debug information refers to, is missing: some "
			"names are unknown",
			name);
	f->alt = cw_elf_open_nothing();
}

/* Symbols that a stripped file carries compressed, when nothing else has the full table. */
static void find_mini_debug(struct search *s)
{
	struct cw_module_files *f = s->files;
	struct cw_elf *all[] = {f->embedded, f->image, f->debug, f->embedded_symbols};
	const char *why = NULL;
	size_t i;

	for (i = 0; i < 4; i++) {
		if (all[i] && cw_elf_has_symtab(all[i]))
			return;
	}
	for (i = 0; i < 2 && !f->mini; i++)
		f->mini = all[i] ? cw_elf_mini_debug(all[i], &why) : NULL;
	if (!f->mini && why)
		cw_sources_note(s->tried, "%s", why);
}

void cw_sources_find(const struct cw_module_identity *m, const struct cw_source_places *where,
		     struct cw_module_files *files, FILE *tried)
{
	struct search s = {.module = m, .where = where, .files = files, .tried = tried};
	size_t looked_size;

	check_embedded(&s);
	set_paths(&s);
	s.missing_out = s.path[0] ? open_memstream(&s.missing, &s.missing_size) : NULL;
	s.looked_out = s.missing_out ? open_memstream(&files->looked, &looked_size) : NULL;
	if (!s.looked_out)
		goto out;
	try_all(&s);
	find_alternate(&s);
	find_mini_debug(&s);
	fclose(s.looked_out);
out:
	if (s.missing_out)
		fclose(s.missing_out);
	if (s.missing_size)
		cw_sources_note(tried, "not there: %s", s.missing);
	free(s.missing);
}

void cw_sources_free(struct cw_module_files *files)
{
	if (files->debug != files->embedded && files->debug != files->image)
		cw_elf_free(files->debug);
	/* Debug information goes before what it refers to. */
	cw_elf_free(files->embedded);
	cw_elf_free(files->image);
	cw_elf_free(files->alt);
	cw_elf_free(files->mini);
	cw_elf_free(files->embedded_debug);
	cw_elf_free(files->embedded_symbols);
	cw_elf_free(files->embedded_alt);
	free(files->looked);
	memset(files, 0, sizeof(*files));
}
