/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Finding functions in ELF files. Owns which symbol a name means; it must not know BPF, processes
 * or what the function is wanted for.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cxxname.h"
#include "debugfile.h"
#include "elffile.h"
#include "nearest.h"
#include "resolve.h"

#define MAX_MATCHES   32
#define MAX_DEMANGLED 60000 /* names demangled for suggestions: about 0.1 s */

/* How well a symbol answers: a higher rank wins, equal ranks at different addresses are ambiguous.
 */
enum rank { RANK_CLONE = 1, RANK_LOCAL, RANK_OLD_VERSION, RANK_GLOBAL };

struct match {
	enum rank rank;
	char *name;
	GElf_Sym sym;
};

struct search {
	Elf *elf;
	struct cw_debug_file debug; /* has the .symtab that elf was stripped of */
	const char *path;
	const char *symbol;  /* as asked for */
	char base[512];      /* symbol without its version */
	const char *version; /* in base's buffer, or NULL */
	struct cw_cxx_query query;
	bool cxx; /* comparing readable names with query */
	Elf_Data *versym;
	bool versions; /* the file defines versions, so that a symbol without has none */
	struct match matches[MAX_MATCHES];
	size_t n;
	size_t total; /* matches, those beyond MAX_MATCHES included */
	bool other_version;
	struct cw_nearest nearest;
	size_t demangled;
};

/* Append to a sentence of CW_ERR bytes. */
static void __attribute__((format(printf, 2, 3))) add(char *err, const char *fmt, ...)
{
	size_t len = strlen(err);
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(err + len, CW_ERR - len, fmt, ap);
	va_end(ap);
}

/* Compilers split, specialize and outline parts of a function under its name plus these. */
bool cw_resolve_is_clone(const char *name)
{
	return strstr(name, ".constprop") || strstr(name, ".isra") || strstr(name, ".part") ||
	       strstr(name, ".cold");
}

/* The name of version number ndx as the file defines it, or NULL. */
static const char *version_name(Elf *elf, unsigned int ndx)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = cw_elf_section(elf, SHT_GNU_verdef, NULL, &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	size_t at = 0, i;

	for (i = 0; data && i < shdr.sh_info; i++) {
		GElf_Verdef def;
		GElf_Verdaux aux;

		if (!gelf_getverdef(data, (int)at, &def))
			return NULL;
		if ((def.vd_ndx & 0x7fff) == ndx) {
			if (!gelf_getverdaux(data, (int)(at + def.vd_aux), &aux))
				return NULL;
			return elf_strptr(elf, shdr.sh_link, aux.vda_name);
		}
		if (!def.vd_next)
			return NULL;
		at += def.vd_next;
	}
	return NULL;
}

/* The version of a symbol, or NULL; old: it is not the one that programs link to by default. */
static const char *symbol_version(struct search *s, const char *name, size_t index, bool *old)
{
	const char *at = strchr(name, '@');
	GElf_Versym v;

	*old = false;
	if (at) {
		*old = at[1] != '@';
		return at + (*old ? 1 : 2);
	}
	if (!s->versym || !gelf_getversym(s->versym, (int)index, &v))
		return NULL;
	*old = v & 0x8000;
	return (v & 0x7fff) > 1 ? version_name(s->elf, v & 0x7fff) : NULL;
}

/* old_version is that of a symbol whose name does not say it. */
static void keep(struct search *s, const char *name, const char *old_version, const GElf_Sym *sym,
		 enum rank rank)
{
	struct match *m;
	size_t i;

	for (i = 0; i < s->n; i++) {
		m = &s->matches[i];
		if (m->sym.st_value != sym->st_value)
			continue;
		if (rank > m->rank)
			m->rank = rank;
		return;
	}
	s->total++;
	if (s->n == MAX_MATCHES)
		return;
	m = &s->matches[s->n];
	if (asprintf(&m->name, "%s%s%s", name, old_version ? "@" : "",
		     old_version ? old_version : "") < 0)
		return;
	m->sym = *sym;
	m->rank = rank;
	s->n++;
}

static bool same_name(struct search *s, const char *name, size_t len)
{
	char plain[CW_CXX_LONGEST + 1];

	if (!s->cxx)
		return !strncmp(name, s->base, len) && !s->base[len];
	if (!cw_cxx_is_mangled(name) || len > CW_CXX_LONGEST)
		return false;
	memcpy(plain, name, len);
	plain[len] = '\0';
	return cw_cxx_matches(&s->query, plain);
}

/* cw_elf_sym_fn: keep the symbol when its name is the one asked for, or that of a clone of it. */
static bool compare(void *arg, const char *name, const GElf_Sym *sym, size_t index)
{
	struct search *s = arg;
	enum rank rank = GELF_ST_BIND(sym->st_info) == STB_LOCAL ? RANK_LOCAL : RANK_GLOBAL;
	size_t len = strcspn(name, "@");
	const char *dot = memchr(name, '.', len), *version;
	bool old;

	if (dot && dot > name && !same_name(s, name, len)) {
		rank = cw_resolve_is_clone(dot) ? RANK_CLONE : RANK_LOCAL;
		len = (size_t)(dot - name);
	}
	if (!same_name(s, name, len))
		return true;
	version = symbol_version(s, name, index, &old);
	if (s->version && (version ? strcmp(version, s->version) != 0 : s->versions)) {
		s->other_version = true;
		return true;
	}
	if (old && !s->version)
		rank = RANK_OLD_VERSION;
	keep(s, name, old && !strchr(name, '@') ? version : NULL, sym, rank);
	return true;
}

/* The file that has the .symtab. */
static Elf *full_table(const struct search *s)
{
	return s->debug.elf ? s->debug.elf : s->elf;
}

static void search_tables(struct search *s)
{
	GElf_Shdr shdr;
	Elf_Scn *scn;

	s->versym = NULL;
	s->versions = cw_elf_section(s->elf, SHT_GNU_verdef, NULL, &shdr);
	cw_elf_each_func(full_table(s), SHT_SYMTAB, compare, s);
	scn = cw_elf_section(s->elf, SHT_GNU_versym, NULL, &shdr);
	s->versym = scn ? elf_getdata(scn, NULL) : NULL;
	cw_elf_each_func(s->elf, SHT_DYNSYM, compare, s);
}

/* cw_elf_sym_fn: offer the name, and for a mangled one its readable and its last part. */
static bool suggest(void *arg, const char *name, const GElf_Sym *sym, size_t index)
{
	struct search *s = arg;
	char plain[128], *readable;
	const char *p, *last;
	size_t len = strcspn(name, "@");

	(void)sym;
	(void)index;
	if (cw_cxx_is_mangled(name) && !cw_cxx_is_mangled(s->base)) {
		readable = s->demangled++ < MAX_DEMANGLED ? cw_cxx_demangle(name, false) : NULL;
		if (!readable)
			return true;
		cw_nearest_offer(&s->nearest, readable);
		for (last = readable; (p = strstr(last, "::"));)
			last = p + 2;
		if (last != readable && !strcmp(last, s->base))
			cw_nearest_offer_at(&s->nearest, readable, 1);
		free(readable);
		return true;
	}
	if (len < sizeof(plain)) {
		memcpy(plain, name, len);
		plain[len] = '\0';
		cw_nearest_offer(&s->nearest, plain);
	}
	return true;
}

static enum rank best_rank(const struct search *s)
{
	enum rank best = 0;
	size_t i;

	for (i = 0; i < s->n; i++) {
		if (s->matches[i].rank > best)
			best = s->matches[i].rank;
	}
	return best;
}

static int say_none(struct search *s, char *err)
{
	size_t i;

	if (s->other_version) {
		add(err, "%s has no version %s of %s", s->path, s->version, s->base);
		return -ENOENT;
	}
	cw_nearest_init(&s->nearest, s->base);
	cw_elf_each_func(full_table(s), SHT_SYMTAB, suggest, s);
	cw_elf_each_func(s->elf, SHT_DYNSYM, suggest, s);
	add(err, "%s has no function %s", s->path, s->symbol);
	if (!s->nearest.n) {
		GElf_Shdr shdr;

		if (!cw_elf_section(full_table(s), SHT_SYMTAB, NULL, &shdr))
			add(err, ": it is stripped, so only exported functions have names,"
				 " and its separate debug file was not found;"
				 " give the file offset as +0xOFFSET");
		return -ENOENT;
	}
	add(err, "; the nearest names are ");
	for (i = 0; i < s->nearest.n; i++)
		add(err, "%s%s", i ? ", " : "", s->nearest.best[i].name);
	return -ENOENT;
}

static int say_clones(struct search *s, char *err)
{
	size_t i;

	add(err, "%s has no function %s, only what the compiler made of it: ", s->path, s->symbol);
	for (i = 0; i < s->n; i++)
		add(err, "%s%s", i ? ", " : "", s->matches[i].name);
	add(err, "; ask for one of these by its full name");
	return -ENOENT;
}

static int say_ambiguous(struct search *s, enum rank rank, char *err)
{
	size_t i, said = 0;

	add(err, "%s has %zu functions called %s: ", s->path, s->total, s->symbol);
	for (i = 0; i < s->n; i++) {
		char *readable = cw_cxx_demangle(s->matches[i].name, true);
		uint64_t offset = 0;

		if (s->matches[i].rank < rank) {
			free(readable);
			continue;
		}
		if (strlen(err) > CW_ERR - 160) {
			add(err, ", and others");
			free(readable);
			break;
		}
		cw_elf_addr_to_offset(s->elf, s->matches[i].sym.st_value, false, &offset);
		if (readable)
			add(err, "%s%.90s (%.90s)", said ? ", " : "", s->matches[i].name, readable);
		else
			add(err, "%s+0x%llx", said ? ", " : "", (unsigned long long)offset);
		free(readable);
		said++;
	}
	add(err, "; ask for one of these");
	return -ENOTUNIQ;
}

/* Choose among what was found. */
static int choose(struct search *s, struct cw_func *out, char *err)
{
	enum rank best = best_rank(s);
	const struct match *m = NULL;
	size_t i;

	if (best == RANK_CLONE)
		return say_clones(s, err);
	for (i = 0; i < s->n; i++) {
		if (s->matches[i].rank < best)
			continue;
		if (m)
			return say_ambiguous(s, best, err);
		m = &s->matches[i];
	}
	if (!m)
		return say_none(s, err);
	out->value = m->sym.st_value;
	out->size = m->sym.st_size;
	out->ifunc = GELF_ST_TYPE(m->sym.st_info) == STT_GNU_IFUNC;
	if (!cw_elf_addr_to_offset(s->elf, out->value, true, &out->offset)) {
		add(err,
		    "%s does not hold the code of %s: give the program or library itself, not an "
		    "object or debug file",
		    s->path, s->symbol);
		return -ENOEXEC;
	}
	return 0;
}

static int split_version(struct search *s, const char *symbol, char *err)
{
	char *at;

	if (!*symbol || strlen(symbol) >= sizeof(s->base)) {
		add(err, "\"%.40s\" cannot be the name of a function: it is %s", symbol,
		    *symbol ? "too long" : "empty");
		return -EINVAL;
	}
	s->symbol = symbol;
	memcpy(s->base, symbol, strlen(symbol) + 1);
	at = strchr(s->base, '@');
	if (at) {
		*at++ = '\0';
		s->version = *at == '@' ? at + 1 : at;
	}
	return 0;
}

static void search_free(struct search *s)
{
	size_t i;

	if (!s)
		return;
	for (i = 0; i < s->n; i++)
		free(s->matches[i].name);
	cw_debug_file_close(&s->debug);
	elf_end(s->elf);
	free(s);
}

/* Find all that symbol may mean. */
static int search_file(struct search **out, int fd, const char *path, uint32_t pid,
		       const char *symbol, char *err)
{
	struct search *s = calloc(1, sizeof(*s));
	int rc = s ? 0 : -ENOMEM;

	err[0] = '\0';
	*out = s;
	if (!rc)
		rc = split_version(s, symbol, err);
	if (rc)
		return rc;
	s->path = path;
	rc = cw_elf_open(&s->elf, fd, path, err);
	if (rc)
		return rc;
	cw_debug_file_open_as_process(&s->debug, s->elf, fd, path, pid);
	search_tables(s);
	if (!s->n && cw_cxx_query_init(&s->query, s->base)) {
		s->cxx = true;
		search_tables(s);
	}
	return 0;
}

int cw_resolve_symbol(int fd, const char *path, uint32_t pid, const char *symbol,
		      struct cw_func *out, char *err)
{
	struct search *s;
	int rc = search_file(&s, fd, path, pid, symbol, err);

	memset(out, 0, sizeof(*out));
	if (!rc)
		rc = choose(s, out, err);
	search_free(s);
	return rc;
}

int cw_resolve_each(int fd, const char *path, uint32_t pid, const char *symbol,
		    void (*fn)(void *arg, const char *name, const struct cw_func *func), void *arg,
		    char *err)
{
	struct search *s;
	int rc = search_file(&s, fd, path, pid, symbol, err);
	size_t i, told = 0;

	for (i = 0; !rc && i < s->n; i++) {
		const struct match *m = &s->matches[i];
		struct cw_func func = {.value = m->sym.st_value,
				       .size = m->sym.st_size,
				       .ifunc = GELF_ST_TYPE(m->sym.st_info) == STT_GNU_IFUNC};

		if (m->rank == RANK_CLONE)
			continue;
		cw_elf_addr_to_offset(s->elf, func.value, true, &func.offset);
		fn(arg, m->name, &func);
		told++;
	}
	if (!rc && !told)
		rc = s->n ? say_clones(s, err) : say_none(s, err);
	search_free(s);
	return rc;
}

struct around {
	uint64_t addr;
	GElf_Sym best;
	bool found;
};

/* cw_elf_sym_fn: the nearest start below wins, as inner labels may overlap a function. */
static bool surround(void *arg, const char *name, const GElf_Sym *sym, size_t index)
{
	struct around *a = arg;

	(void)name;
	(void)index;
	if (a->addr < sym->st_value || a->addr - sym->st_value >= sym->st_size)
		return true;
	if (!a->found || sym->st_value > a->best.st_value) {
		a->best = *sym;
		a->found = true;
	}
	return true;
}

int cw_resolve_offset(int fd, const char *path, uint32_t pid, uint64_t offset, struct cw_func *out,
		      char *err)
{
	struct around a = {0};
	struct cw_debug_file debug;
	Elf *elf;
	int rc;

	err[0] = '\0';
	memset(out, 0, sizeof(*out));
	rc = cw_elf_open(&elf, fd, path, err);
	if (rc)
		return rc;
	if (!cw_elf_offset_to_addr(elf, offset, true, &a.addr)) {
		add(err, "offset 0x%llx of %s is not code", (unsigned long long)offset, path);
		rc = -ERANGE;
		goto cleanup;
	}
	cw_debug_file_open_as_process(&debug, elf, fd, path, pid);
	cw_elf_each_func(debug.elf ? debug.elf : elf, SHT_SYMTAB, surround, &a);
	cw_debug_file_close(&debug);
	if (!a.found)
		cw_elf_each_func(elf, SHT_DYNSYM, surround, &a);
	out->value = a.found ? a.best.st_value : a.addr;
	out->size = a.found ? a.best.st_size : 0;
	out->ifunc = a.found && GELF_ST_TYPE(a.best.st_info) == STT_GNU_IFUNC;
	cw_elf_addr_to_offset(elf, out->value, true, &out->offset);
cleanup:
	elf_end(elf);
	return rc;
}
