/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * How many functions of a file would have a single-stepped entry probe: placement FILE prints the
 * number of functions, of those that begin with an instruction that the kernel single-steps, and
 * of those where the probe is still on such a one after it was placed.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include "../../record/elffile.h"
#include "../../record/placement.h"
#include "capture.h"

struct list {
	GElf_Sym *at;
	size_t n, room;
};

static bool keep(void *arg, const char *name, const GElf_Sym *sym, size_t index)
{
	struct list *l = arg;

	(void)name;
	(void)index;
	if (!sym->st_size)
		return true;
	if (l->n == l->room) {
		l->room = l->room ? 2 * l->room : 1024;
		l->at = realloc(l->at, l->room * sizeof(*l->at));
		if (!l->at)
			exit(1);
	}
	l->at[l->n++] = *sym;
	return true;
}

static int by_value(const void *a, const void *b)
{
	const GElf_Sym *x = a, *y = b;

	return x->st_value < y->st_value ? -1 : x->st_value > y->st_value;
}

/* Every argument is kept and none of the code may be looked at: the entry as it is. */
static bool is_stepped_at_entry(int fd, const struct cw_func *fn)
{
	static const struct cw_placement_wish as_it_is = {.at_entry = true};
	struct cw_placement at;

	cw_place_probe(fd, fn, &as_it_is, &at);
	return at.flags & CW_PROBE_SINGLE_STEPPED;
}

int main(int argc, char **argv)
{
	static const struct cw_placement_wish any = {0};
	size_t i, functions = 0, entry = 0, placed = 0;
	struct list l = {0};
	int fd;
	Elf *elf;

	fd = argc == 2 ? open(argv[1], O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0 || cw_elf_open(&elf, fd, argv[1], NULL)) {
		fprintf(stderr, "usage: placement ELF_FILE\n");
		return 2;
	}
	cw_elf_each_func(elf, SHT_SYMTAB, keep, &l);
	cw_elf_each_func(elf, SHT_DYNSYM, keep, &l);
	qsort(l.at, l.n, sizeof(*l.at), by_value);
	for (i = 0; i < l.n; i++) {
		struct cw_func fn = {.value = l.at[i].st_value, .size = l.at[i].st_size};
		struct cw_placement at;

		if ((i && l.at[i].st_value == l.at[i - 1].st_value) ||
		    !cw_elf_addr_to_offset(elf, fn.value, true, &fn.offset))
			continue;
		functions++;
		entry += is_stepped_at_entry(fd, &fn);
		cw_place_probe(fd, &fn, &any, &at);
		placed += !!(at.flags & CW_PROBE_SINGLE_STEPPED);
	}
	printf("functions %zu entry %zu placed %zu\n", functions, entry, placed);
	free(l.at);
	elf_end(elf);
	return 0;
}
