/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns how the files of a module are put together: addresses by the segments of the file that has
 * them, names by the symbol tables of all, lines and inlined functions by DWARF.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "demangle.h"
#include "symbol_links.h"
#include "symbolize_dwarf.h"
#include "symbolize_module.h"
#include "symbolize_perfmap.h"
#include "symbolize_table.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

static int by_pc(const void *pa, const void *pb)
{
	const struct cw_code *a = pa, *b = pb;

	if (a->known != b->known)
		return a->known ? -1 : 1;
	return a->pc < b->pc ? -1 : a->pc > b->pc;
}

/* The file whose segments say which address a file offset is. */
static const struct cw_elf *layout_of(const struct cw_module_files *f)
{
	const struct cw_elf *all[] = {f->embedded, f->image, f->debug};
	size_t i;

	for (i = 0; i < 3; i++) {
		if (all[i] && cw_elf_has_layout(all[i]))
			return all[i];
	}
	return NULL;
}

/* Set pc of all codes and sort them, the known ones first; returns how many those are. */
static size_t find_addresses(struct cw_module_work *w, FILE *tried)
{
	const struct cw_elf *layout = layout_of(&w->files);
	size_t i, known = 0;

	for (i = 0; i < w->code_count; i++) {
		struct cw_code *c = &w->codes[i];
		uint64_t offset = c->file_offset - (c->is_return && c->file_offset);

		c->known = layout && cw_elf_address(layout, offset, &c->pc);
		known += c->known;
	}
	qsort(w->codes, w->code_count, sizeof(*w->codes), by_pc);
	if (!layout && (w->files.embedded || w->files.image || w->files.debug))
		cw_sources_note(tried, "no loadable segments: file offsets say nothing");
	else if (layout && known < w->code_count)
		cw_sources_note(tried, "%zu of %zu addresses lie outside the loadable segments",
				w->code_count - known, w->code_count);
	return known;
}

static int fill_table(struct cw_module_files *f, struct cw_symtab *table)
{
	int err = 0;

	if (f->embedded)
		err = cw_elf_add_symbols(f->embedded, table);
	if (!err && f->image)
		err = cw_elf_add_symbols(f->image, table);
	if (!err && f->debug && f->debug != f->embedded)
		err = cw_elf_add_symbols(f->debug, table);
	if (!err && f->embedded_symbols)
		err = cw_elf_add_symbols(f->embedded_symbols, table);
	if (!err && f->mini)
		err = cw_elf_add_symbols(f->mini, table);
	return err;
}

/*
 * One function is inlined in many places, and demangling costs more than all the rest. Names are
 * known by where they are in the file.
 */
#define SHOWN_SLOTS 4096

struct cw_shown_name {
	const char *name;
	const char *shown;
};

static const char *shown(struct cw_module_work *w, const char *name)
{
	struct cw_shown_name *slot;

	if (!name || w->mangled)
		return name;
	if (!w->shown)
		w->shown = calloc(SHOWN_SLOTS, sizeof(*w->shown));
	if (!w->shown)
		return cw_demangle(name, &w->mem);
	slot = &w->shown[((uintptr_t)name * 0x9e3779b97f4a7c15) >> 52];
	if (slot->name != name) {
		slot->name = name;
		slot->shown = cw_demangle(name, &w->mem);
	}
	return slot->shown;
}

/* Rows of one address: inlined functions from DWARF, the function itself by its symbol if it has
 * one. */
static void join(struct cw_module_work *w, struct cw_code *c, const struct cw_dwarf_pc *found,
		 struct cw_symtab *table)
{
	struct cw_symbol rows[CW_MAX_INLINED + 1];
	const struct cw_scope *s;
	uint64_t start = 0;
	const char *name = cw_symtab_find(table, c->pc, &start);
	const char *file = found ? found->file : NULL;
	int line = found ? found->line : 0;
	unsigned count = 0;

	for (s = found ? found->scope : NULL; s && s->inlined && count < CW_MAX_INLINED;
	     s = s->outer) {
		rows[count++] = (struct cw_symbol){shown(w, s->name), file, line, -1};
		file = s->call_file;
		line = s->call_line;
	}
	/* Of a clone the compiler may have changed the arguments. */
	c->parameters = s && s->start == c->pc && !(name && strchr(name, '.'))
				? cw_dwarf_parameters(s)
				: -1;
	if (!name && s && !s->inlined) {
		name = s->name;
		start = s->start;
	}
	if (name || file)
		rows[count++] =
			(struct cw_symbol){shown(w, name), file, line,
					   name ? (int64_t)(c->pc + c->is_return - start) : -1};
	c->count = count;
	c->symbols = count ? obstack_copy(&w->mem, rows, count * sizeof(*rows)) : NULL;
}

static struct cw_dwarf_pc *find_in_dwarf(struct cw_module_work *w, size_t known, FILE *tried,
					 const volatile sig_atomic_t *cancel)
{
	struct cw_dwarf_pc *found;
	Dwarf *dwarf;
	size_t i;

	if (!w->files.debug)
		return NULL;
	if (w->plain)
		cw_elf_share_plain(w->files.debug, w->plain);
	dwarf = cw_elf_dwarf(w->files.debug);
	if (!dwarf)
		cw_sources_note(tried, "its debug information cannot be read: %s",
				cw_elf_dwarf_why(w->files.debug));
	else if (cw_elf_dwarf_why(w->files.debug))
		cw_sources_note(tried, "debug information is missing: %s",
				cw_elf_dwarf_why(w->files.debug));
	if (!dwarf || !known)
		return NULL;
	if (w->files.alt)
		cw_elf_set_alternate(w->files.debug, w->files.alt);
	found = calloc(known, sizeof(*found));
	for (i = 0; found && i < known; i++)
		found[i].pc = w->codes[i].pc;
	if (found)
		cw_dwarf_lookup(dwarf, found, known, w->part, w->parts, &w->mem, w->done, cancel);
	return found;
}

static const char *path_of(const struct cw_elf *elf)
{
	return cw_elf_path(elf) ? cw_elf_path(elf) : "capture";
}

/* The file that names are from when its lines do not tell: the first that has a table of them. */
static const char *named_by(const struct cw_module_files *f)
{
	struct cw_elf *all[] = {f->embedded, f->embedded_symbols, f->image, f->debug};

	for (size_t i = 0; i < 4; i++)
		if (all[i] && cw_elf_has_symtab(all[i]))
			return path_of(all[i]);
	return path_of(f->embedded ? f->embedded : f->image ? f->image : f->debug);
}

/* Addresses whose functions are in other files, the first of which is named. */
static void note_apart(const struct cw_module_work *w, const struct cw_dwarf_pc *found,
		       size_t known, FILE *tried)
{
	const char *name = NULL;
	size_t i, n = 0;

	for (i = 0; i < known; i++) {
		if (found[i].part != w->part || !found[i].apart)
			continue;
		n++;
		if (!name)
			name = found[i].apart;
	}
	if (n)
		cw_sources_note(tried,
				"not there: %s, so no inlined functions at %zu of %zu addresses",
				name, n, known);
}

static void name_codes(struct cw_module_work *w, struct cw_symtab *table, bool no_lines,
		       FILE *tried, const volatile sig_atomic_t *cancel)
{
	size_t known = find_addresses(w, tried), i, own = 0, named = 0, lines = 0;
	struct cw_dwarf_pc *found = no_lines ? NULL : find_in_dwarf(w, known, tried, cancel);

	for (i = 0; i < known && !*cancel; i++) {
		if ((found ? found[i].part : 0) != w->part)
			continue;
		own++;
		join(w, &w->codes[i], found ? &found[i] : NULL, table);
		named += w->codes[i].count != 0;
		lines += found && found[i].file;
	}
	if (found && !*cancel)
		note_apart(w, found, known, tried);
	free(found);
	if (*cancel)
		cw_sources_note(tried, "cancelled");
	else if (named < own)
		cw_sources_note(tried, "no symbol covers %zu of %zu addresses", own - named, known);
	if (!*cancel && own && w->files.debug && !no_lines && !lines)
		cw_sources_note(tried, "%s: debug information without lines of these addresses",
				path_of(w->files.debug));
	if (lines)
		w->lines_from = path_of(w->files.debug);
	if (named)
		w->symbols_from = lines ? path_of(w->files.debug) : named_by(&w->files);
}

/* Code made at run time has no file: addresses are those in the process. */
static int name_by_map(struct cw_module_work *w, struct cw_symtab *table, FILE *tried)
{
	long lines = cw_perfmap_add(w->perf_map, w->perf_map_size, &w->mem, table);
	size_t i, named = 0;

	if (lines < 0)
		return lines;
	for (i = 0; i < w->code_count; i++) {
		struct cw_code *c = &w->codes[i];

		c->pc = c->address - (c->is_return && c->address);
		c->known = true;
	}
	qsort(w->codes, w->code_count, sizeof(*w->codes), by_pc);
	for (i = 0; i < w->code_count; i++) {
		join(w, &w->codes[i], NULL, table);
		named += w->codes[i].count != 0;
	}
	cw_sources_note(tried, "capture: perf map of %ld lines names %zu of %zu addresses", lines,
			named, w->code_count);
	if (named)
		w->symbols_from = "capture";
	return 0;
}

int cw_module_symbolize(struct cw_module_work *w, const struct cw_source_places *where,
			const volatile sig_atomic_t *cancel)
{
	struct cw_symtab *table = cw_symtab_new();
	size_t size;
	FILE *tried = open_memstream(&w->tried, &size);
	int err = table && tried ? 0 : -ENOMEM;

	if (!err && w->perf_map) {
		err = name_by_map(w, table, tried);
	} else if (!err) {
		cw_sources_find(&w->identity, where, &w->files, tried);
		err = fill_table(&w->files, table);
		if (!err)
			name_codes(w, table, where->no_lines, tried, cancel);
	}
	if (tried)
		fclose(tried);
	cw_symtab_free(table);
	return err;
}
