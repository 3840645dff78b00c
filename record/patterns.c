/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions by pattern. Owns what a pattern is and what it matches; probing them is another's. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cxxname.h"
#include "debugfile.h"
#include "elffile.h"
#include "patterns.h"
#include "resolve.h"

#define MAX_NAMES 4096

struct names {
	const char *pattern;
	char *at[MAX_NAMES];
	size_t n;
	uint64_t addrs[MAX_NAMES]; /* of one file */
	size_t naddrs;
	bool stripped; /* a file without the table of all names */
};

/* Parameters and operators of C++ hold stars and brackets, too. */
bool cw_patterns_is(const char *name)
{
	size_t plain = name ? strcspn(name, "(") : 0;

	return name && !strstr(name, "operator") && strcspn(name, "*?[") < plain;
}

static bool matches(const char *pattern, const char *name)
{
	char *readable;
	bool yes = !fnmatch(pattern, name, 0);

	if (yes || !cw_cxx_is_mangled(name))
		return yes;
	readable = cw_cxx_demangle(name, false);
	yes = readable && !fnmatch(pattern, readable, 0);
	free(readable);
	return yes;
}

static bool known(const struct names *l, const char *name, uint64_t addr)
{
	size_t i;

	for (i = 0; i < l->naddrs; i++) {
		if (l->addrs[i] == addr)
			return true;
	}
	for (i = 0; i < l->n; i++) {
		if (!strcmp(l->at[i], name))
			return true;
	}
	return false;
}

/* cw_elf_sym_fn */
static bool take(void *arg, const char *name, const GElf_Sym *sym, size_t index)
{
	struct names *l = arg;
	char plain[CW_CXX_LONGEST + 1];
	size_t len = strcspn(name, "@");

	(void)index;
	if (!sym->st_size || GELF_ST_TYPE(sym->st_info) != STT_FUNC || len > CW_CXX_LONGEST ||
	    cw_resolve_is_clone(name))
		return true;
	memcpy(plain, name, len);
	plain[len] = '\0';
	if (!matches(l->pattern, plain) || known(l, plain, sym->st_value))
		return true;
	if (l->n == MAX_NAMES)
		return false;
	l->at[l->n] = strdup(plain);
	l->n += l->at[l->n] != NULL;
	l->addrs[l->naddrs++] = sym->st_value;
	return true;
}

static int match_in(struct names *l, const struct cw_target_file *f, char *err)
{
	struct cw_debug_file debug;
	GElf_Shdr shdr;
	Elf *elf;
	int rc = cw_elf_open(&elf, f->fd, f->path, err);

	if (rc)
		return rc;
	l->naddrs = 0;
	cw_debug_file_open_as_process(&debug, elf, f->fd, f->path, f->pid);
	cw_elf_each_func(debug.elf ? debug.elf : elf, SHT_SYMTAB, take, l);
	l->stripped |= !cw_elf_section(debug.elf ? debug.elf : elf, SHT_SYMTAB, NULL, &shdr);
	cw_debug_file_close(&debug);
	cw_elf_each_func(elf, SHT_DYNSYM, take, l);
	elf_end(elf);
	return 0;
}

static int say_none(const struct names *l, const char *path, char *err)
{
	snprintf(err, CW_ERR, "%s has no function that matches '%s'%s", path, l->pattern,
		 l->stripped ? ": it is stripped, so only exported functions have names, and its "
			       "separate debug file was not found"
			     : "");
	return -ENOENT;
}

static int by_name(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

struct placed {
	const char *name;
	struct cw_func func;
};

static int by_placed_name(const void *a, const void *b)
{
	return strcmp(((const struct placed *)a)->name, ((const struct placed *)b)->name);
}

static int place_all(const struct names *l, struct placed *all, const struct cw_target_file *f,
		     char *err)
{
	Elf *elf;
	int rc = cw_elf_open(&elf, f->fd, f->path, err);
	size_t i;

	for (i = 0; !rc && i < l->n; i++) {
		all[i].name = l->at[i];
		all[i].func.value = l->addrs[i];
		cw_elf_addr_to_offset(elf, l->addrs[i], true, &all[i].func.offset);
	}
	if (!rc)
		elf_end(elf);
	return rc;
}

int cw_patterns_each(int fd, const char *path, uint32_t pid, const char *pattern,
		     void (*fn)(void *arg, const char *name, const struct cw_func *func), void *arg,
		     char *err)
{
	const struct cw_target_file file = {.fd = fd, .path = (char *)path, .pid = pid};
	struct names *l = calloc(1, sizeof(*l));
	struct placed *all = calloc(MAX_NAMES, sizeof(*all));
	int rc = l && all ? 0 : -ENOMEM;
	size_t i;

	if (rc)
		snprintf(err, CW_ERR, "out of memory");
	if (!rc) {
		l->pattern = pattern;
		rc = match_in(l, &file, err);
	}
	if (!rc && !l->n)
		rc = say_none(l, path, err);
	if (!rc)
		rc = place_all(l, all, &file, err);
	if (!rc)
		qsort(all, l->n, sizeof(*all), by_placed_name);
	for (i = 0; !rc && i < l->n; i++)
		fn(arg, all[i].name, &all[i].func);
	if (!rc && l->n == MAX_NAMES) {
		snprintf(err, CW_ERR,
			 "%s has more functions that match '%s' than these %d: narrow it", path,
			 pattern, MAX_NAMES);
		rc = -E2BIG;
	}
	while (l && l->n)
		free(l->at[--l->n]);
	free(l);
	free(all);
	return rc;
}

/* Whether the name means one function in one of the files; else say why not. */
static bool is_usable(const struct cw_target_files *files, const char *name,
		      void (*say)(const char *text))
{
	char err[CW_ERR] = "", text[CW_ERR + 32];
	struct cw_func fn;
	size_t i;

	for (i = 0; i < files->n; i++) {
		if (!cw_resolve_symbol(files->at[i].fd, files->at[i].path, files->at[i].pid, name,
				       &fn, err))
			return true;
	}
	snprintf(text, sizeof(text), "left out: %s", err);
	say(text);
	return false;
}

static void tell(const struct cw_target_files *files, const struct names *l,
		 void (*say)(const char *text))
{
	char text[CW_ERR];
	size_t i;

	snprintf(text, sizeof(text), "%zu function%s of %s%s match '%s':", l->n,
		 l->n == 1 ? "" : "s", files->at[0].path, files->n > 1 ? " and others" : "",
		 l->pattern);
	say(text);
	for (i = 0; i < l->n; i++) {
		char *readable = cw_cxx_demangle(l->at[i], true);

		snprintf(text, sizeof(text), "  %s%s%s", l->at[i], readable ? "  " : "",
			 readable ? readable : "");
		say(text);
		free(readable);
	}
}

static int find_names(struct names *l, const struct cw_target *t, const char *module,
		      void (*say)(const char *text), char *err)
{
	struct cw_target_files mods = {0};
	const struct cw_target_files *files = module ? &mods : &t->own;
	int rc = module ? cw_target_modules(t, module, &mods, err) : 0;
	size_t i, n = 0;

	for (i = 0; !rc && i < files->n; i++)
		rc = match_in(l, &files->at[i], err);
	if (!rc && !l->n) {
		rc = say_none(l, files->at[0].path, err);
	} else if (!rc && l->n > CW_MAX_BY_PATTERN) {
		snprintf(err, CW_ERR,
			 "%zu%s functions of %s match '%s': at most %d can be recorded by "
			 "pattern, so narrow it",
			 l->n, l->n == MAX_NAMES ? " or more" : "", files->at[0].path, l->pattern,
			 CW_MAX_BY_PATTERN);
		rc = -E2BIG;
	}
	for (i = 0; !rc && i < l->n; i++) {
		if (is_usable(files, l->at[i], say))
			l->at[n++] = l->at[i];
		else
			free(l->at[i]);
	}
	if (!rc) {
		l->n = n;
		qsort(l->at, l->n, sizeof(*l->at), by_name);
		tell(files, l, say);
	}
	cw_target_files_free(&mods);
	return rc;
}

static int expand(struct cw_plan *plan, size_t i, const struct cw_target *t, size_t *became,
		  void (*say)(const char *text), char *err)
{
	struct names *l = calloc(1, sizeof(*l));
	int rc = l ? 0 : -ENOMEM;

	if (!rc) {
		l->pattern = plan->funcs[i].name;
		rc = find_names(l, t, plan->funcs[i].module, say, err);
	}
	*became = rc ? 0 : l->n;
	if (!rc && cw_plan_expand_func(plan, i, l->at, l->n)) {
		rc = -ENOMEM;
		snprintf(err, CW_ERR, "the plan has too many functions");
	}
	while (l && l->n)
		free(l->at[--l->n]);
	free(l);
	return rc;
}

int cw_patterns_expand(struct cw_plan *plan, const struct cw_target *t, size_t *last,
		       void (*say)(const char *text), char *err)
{
	size_t i = plan->nfuncs, became, all = 0;
	int rc = 0;

	*last = 1;
	/* From the end, so that those before keep their numbers. */
	while (!rc && i--) {
		bool is_last = i + 1 == plan->nfuncs;

		if (!cw_patterns_is(plan->funcs[i].name))
			continue;
		rc = expand(plan, i, t, &became, say, err);
		if (is_last)
			*last = became;
		all += became;
	}
	if (!rc && all > CW_MAX_BY_PATTERN) {
		snprintf(err, CW_ERR,
			 "the patterns match %zu functions: at most %d can be recorded by pattern, "
			 "so narrow them",
			 all, CW_MAX_BY_PATTERN);
		rc = -E2BIG;
	}
	return rc;
}
