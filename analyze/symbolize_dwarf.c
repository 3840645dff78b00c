/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the walk over DWARF: which unit covers which addresses, the tree of functions and inlined
 * copies in it, and its line table. libdw checks bounds; loops in a damaged tree are cut here by
 * going on only while the offset of the entries rises.
 */
#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "symbolize_dwarf.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

#define MAX_DEPTH 200 /* of nested entries; compilers stay far below */

struct walk {
	struct cw_dwarf_pc **pcs; /* of this unit, sorted by pc */
	size_t count;
	struct obstack *mem;
	const volatile sig_atomic_t *cancel;
	Dwarf_Off last;  /* greatest offset seen */
	bool everywhere; /* also look where functions rarely are */

	Dwarf_Die unit;
	Dwarf_Files *files;
	size_t file_count;
	const char *const *dirs;
	size_t dir_count;
	const char **shown; /* names of files as made so far */
};

/* ---- names of source files --------------------------------------------------------------------
 */

/*
 * libdw joins the compilation directory to relative names; take it away again. It was relative
 * when neither the unit's own name nor a directory of the line table gives it in full.
 */
static const char *as_written(const struct walk *w, const char *path)
{
	const char *base = w->dir_count ? w->dirs[0] : NULL, *slash = strrchr(path, '/'), *name;
	size_t len = base ? strlen(base) : 0, i;

	if (!len || !slash || strncmp(path, base, len) != 0 || path[len] != '/')
		return path;
	name = dwarf_diename((Dwarf_Die *)&w->unit);
	if (name && !strcmp(name, path))
		return path;
	for (i = 1; i < w->dir_count; i++) {
		const char *dir = w->dirs[i];

		/* Directory 1 repeats the compilation directory in DWARF 5. */
		if (dir && strlen(dir) == (size_t)(slash - path) && dir[0] == '/' &&
		    strcmp(dir, base) != 0 && !strncmp(dir, path, slash - path))
			return path;
	}
	path += len;
	return path + strspn(path, "/");
}

static const char *file_name(struct walk *w, uint64_t index)
{
	const char *path;

	if (index >= w->file_count)
		return NULL;
	if (w->shown && w->shown[index])
		return w->shown[index];
	path = dwarf_filesrc(w->files, index, NULL, NULL);
	if (path)
		path = as_written(w, path);
	if (w->shown)
		w->shown[index] = path;
	return path;
}

static void read_files(struct walk *w, Dwarf_Die *die)
{
	w->files = NULL;
	w->file_count = 0;
	w->dir_count = 0;
	free(w->shown);
	w->shown = NULL;
	if (dwarf_getsrcfiles(die, &w->files, &w->file_count)) {
		w->file_count = 0;
		return;
	}
	if (dwarf_getsrcdirs(w->files, &w->dirs, &w->dir_count))
		w->dir_count = 0;
	w->shown = calloc(w->file_count + 1, sizeof(*w->shown));
}

static void find_lines(struct walk *w)
{
	size_t i;

	for (i = 0; i < w->count && !*w->cancel; i++) {
		Dwarf_Line *line = dwarf_getsrc_die(&w->unit, w->pcs[i]->pc);
		Dwarf_Files *files;
		size_t index;

		if (!line)
			continue;
		if (!dwarf_line_file(line, &files, &index) && files == w->files)
			w->pcs[i]->file = file_name(w, index);
		if (dwarf_lineno(line, &w->pcs[i]->line) || w->pcs[i]->line < 0)
			w->pcs[i]->line = 0;
	}
}

/* ---- functions ----------------------------------------------------------------------------------
 */

/* Index of the first address that is not below pc. */
static size_t lower_bound(struct cw_dwarf_pc *const *pcs, size_t count, uint64_t pc)
{
	size_t lo = 0, hi = count;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;

		if (pcs[mid]->pc < pc)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static uint64_t attr_number(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_formudata(dwarf_attr(die, name, &attr), &value) ? 0 : value;
}

static const char *function_name(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *name;

	name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));
	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_MIPS_linkage_name, &attr));
	if (!name)
		name = dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
	return name && *name ? name : NULL;
}

static struct cw_scope *new_scope(struct walk *w, Dwarf_Die *die, const struct cw_scope *outer)
{
	struct cw_scope *s = obstack_alloc(w->mem, sizeof(*s));

	memset(s, 0, sizeof(*s));
	s->name = function_name(die);
	s->die = *die;
	s->inlined = dwarf_tag(die) == DW_TAG_inlined_subroutine;
	if (s->inlined) {
		uint64_t line = attr_number(die, DW_AT_call_line);

		s->outer = outer;
		s->call_file = file_name(w, attr_number(die, DW_AT_call_file));
		s->call_line = line <= INT32_MAX ? line : 0;
	} else if (dwarf_entrypc(die, &s->start)) {
		s->start = 0;
	}
	return s;
}

enum cover { COVERS_NONE, COVERS_SOME, NO_RANGES };

/* Whether die's ranges hold an address of the unit; those get a new scope when scoped is set. */
static enum cover cover(struct walk *w, Dwarf_Die *die, const struct cw_scope **scope, bool scoped)
{
	const struct cw_scope *outer = *scope;
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;
	enum cover result = NO_RANGES;
	struct cw_scope *made = NULL;

	while ((next = dwarf_ranges(die, next, &base, &start, &end)) > 0) {
		size_t i = lower_bound(w->pcs, w->count, start);

		if (result == NO_RANGES)
			result = COVERS_NONE;
		for (; i < w->count && w->pcs[i]->pc < end; i++) {
			result = COVERS_SOME;
			if (!scoped)
				return result;
			if (!made)
				*scope = made = new_scope(w, die, outer);
			w->pcs[i]->scope = made;
		}
	}
	return result;
}

static bool may_hold_functions(const struct walk *w, int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
		return true;
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_common_block:
		return w->everywhere;
	default:
		return false;
	}
}

/* Whether to look at the children of die; *scope becomes what they are nested in. */
static bool enter(struct walk *w, Dwarf_Die *die, const struct cw_scope **scope)
{
	int tag = dwarf_tag(die);

	switch (tag) {
	case DW_TAG_subprogram:
	case DW_TAG_inlined_subroutine:
	case DW_TAG_entry_point:
		return cover(w, die, scope, true) == COVERS_SOME || w->everywhere;
	case DW_TAG_lexical_block:
	case DW_TAG_try_block:
	case DW_TAG_catch_block:
		return cover(w, die, scope, false) != COVERS_NONE || w->everywhere;
	default:
		return may_hold_functions(w, tag);
	}
}

static void walk_children(struct walk *w, Dwarf_Die *die, const struct cw_scope *outer,
			  unsigned depth)
{
	Dwarf_Die child;

	if (depth > MAX_DEPTH || dwarf_child(die, &child))
		return;
	do {
		const struct cw_scope *scope = outer;
		Dwarf_Off offset = dwarf_dieoffset(&child);

		if (offset <= w->last || *w->cancel)
			return;
		w->last = offset;
		if (enter(w, &child, &scope))
			walk_children(w, &child, scope, depth + 1);
	} while (!dwarf_siblingof(&child, &child));
}

static void find_functions(struct walk *w, Dwarf_Die *root)
{
	size_t i;

	w->last = dwarf_dieoffset(root);
	w->everywhere = false;
	walk_children(w, root, NULL, 0);
	for (i = 0; i < w->count; i++) {
		if (!w->pcs[i]->scope)
			break;
	}
	if (i == w->count || *w->cancel)
		return;
	/* Functions in types or outside the range of the function that holds them. */
	w->last = dwarf_dieoffset(root);
	w->everywhere = true;
	walk_children(w, root, NULL, 0);
}

/* ---- parameters ---------------------------------------------------------------------------------
 */

/* Does a value of the type that die refers to fit into one register? Without a type there is none.
 */
static bool is_word(Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	Dwarf_Die type;

	if (!dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attr), &type))
		return dwarf_tag(die) == DW_TAG_subprogram;
	if (dwarf_peel_type(&type, &type))
		return false;
	switch (dwarf_tag(&type)) {
	case DW_TAG_base_type:
		return dwarf_bytesize(&type) > 0 && dwarf_bytesize(&type) <= 8;
	case DW_TAG_enumeration_type:
	case DW_TAG_pointer_type:
	case DW_TAG_reference_type:
	case DW_TAG_rvalue_reference_type:
		return true;
	default:
		return false;
	}
}

/* Languages whose functions take their arguments as C does. */
static bool is_c(Dwarf_Die *die, bool *needs_prototype)
{
	Dwarf_Die unit;
	int language = dwarf_diecu(die, &unit, NULL, NULL) ? dwarf_srclang(&unit) : -1;

	*needs_prototype = language == DW_LANG_C89 || language == DW_LANG_C ||
			   language == DW_LANG_C99 || language == DW_LANG_C11;
	return *needs_prototype || language == DW_LANG_C_plus_plus ||
	       language == DW_LANG_C_plus_plus_03 || language == DW_LANG_C_plus_plus_11 ||
	       language == DW_LANG_C_plus_plus_14;
}

int cw_dwarf_parameters(const struct cw_scope *function)
{
	Dwarf_Die die = function->die, child;
	bool needs_prototype;
	int n = 0;

	if (function->inlined || dwarf_tag(&die) != DW_TAG_subprogram ||
	    !is_c(&die, &needs_prototype) || !is_word(&die) ||
	    (needs_prototype && !dwarf_hasattr_integrate(&die, DW_AT_prototyped)))
		return -1;
	if (dwarf_child(&die, &child))
		return 0;
	do {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_unspecified_parameters ||
		    (tag == DW_TAG_formal_parameter && !is_word(&child)))
			return -1;
		n += tag == DW_TAG_formal_parameter;
	} while (n < MAX_DEPTH && !dwarf_siblingof(&child, &child));
	return n;
}

/* ---- units
 * ---------------------------------------------------------------------------------------- */

static int by_pc(const void *pa, const void *pb)
{
	const struct cw_dwarf_pc *a = *(struct cw_dwarf_pc *const *)pa;
	const struct cw_dwarf_pc *b = *(struct cw_dwarf_pc *const *)pb;

	return a->pc < b->pc ? -1 : a->pc > b->pc;
}

/* Collect the addresses that the unit covers and that no other unit claimed, in order. */
static void claim(struct walk *w, struct cw_dwarf_pc **all, size_t count, unsigned part)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;
	bool sorted = true;

	w->count = 0;
	while ((next = dwarf_ranges(&w->unit, next, &base, &start, &end)) > 0) {
		size_t i = lower_bound(all, count, start);

		for (; i < count && all[i]->pc < end; i++) {
			if (all[i]->claimed)
				continue;
			all[i]->claimed = true;
			all[i]->part = part;
			if (w->count && w->pcs[w->count - 1]->pc > all[i]->pc)
				sorted = false;
			w->pcs[w->count++] = all[i];
		}
	}
	if (!sorted)
		qsort(w->pcs, w->count, sizeof(struct cw_dwarf_pc *), by_pc);
}

/* With split DWARF the functions are in another file; this unit says which. */
static void note_apart(struct walk *w)
{
	Dwarf_Attribute attr;
	const char *name = dwarf_formstring(dwarf_attr(&w->unit, DW_AT_dwo_name, &attr));

	if (!name)
		name = dwarf_formstring(dwarf_attr(&w->unit, DW_AT_GNU_dwo_name, &attr));
	for (size_t i = 0; i < w->count; i++)
		w->pcs[i]->apart = name;
}

/* That file has its own table of file names. */
static void look_into(struct walk *w, Dwarf_Die *split, uint8_t type)
{
	if (type == DW_UT_skeleton && !split->addr)
		note_apart(w);
	if (split->addr) {
		read_files(w, split);
		find_functions(w, split);
		read_files(w, &w->unit);
	} else {
		read_files(w, &w->unit);
		find_functions(w, &w->unit);
	}
	find_lines(w);
}

void cw_dwarf_lookup(Dwarf *dwarf, struct cw_dwarf_pc *pcs, size_t count, unsigned part,
		     unsigned parts, struct obstack *mem, atomic_size_t *done,
		     const volatile sig_atomic_t *cancel)
{
	struct walk w = {.mem = mem, .cancel = cancel};
	struct cw_dwarf_pc **all = calloc(count + 1, sizeof(struct cw_dwarf_pc *));
	size_t i, left = count, unit = 0;
	Dwarf_CU *cu = NULL;
	Dwarf_Die split;
	uint8_t type;

	w.pcs = calloc(count + 1, sizeof(struct cw_dwarf_pc *));
	if (!all || !w.pcs)
		goto cleanup;
	for (i = 0; i < count; i++)
		all[i] = &pcs[i];
	while (left && !*cancel && !dwarf_get_units(dwarf, cu, &cu, NULL, &type, &w.unit, &split)) {
		if (type != DW_UT_compile && type != DW_UT_skeleton)
			continue;
		claim(&w, all, count, unit % parts);
		if (w.count && unit % parts == part) {
			look_into(&w, &split, type);
			if (done)
				atomic_fetch_add(done, w.count);
		}
		left -= w.count;
		unit++;
	}
cleanup:
	free(w.shown);
	free(w.pcs);
	free(all);
}
