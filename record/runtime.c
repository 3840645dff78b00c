/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Programs whose threads do not keep to one stack. Owns by what they are known. A return probe
 * replaces a return address on the stack, and the kernel keeps the replaced ones in a list per
 * thread, newest first. Go copies stacks and reads those addresses; where coroutines of one thread
 * have stacks of their own, one of them returns to where another one was called from.
 */
#include <string.h>
#include "elffile.h"
#include "runtime.h"

static const char go[] = "a Go program, which moves its stacks: a return probe would crash it";
static const char coroutines[] =
	"a program with several stacks in a thread (coroutines): a return probe would send one of "
	"them to the return address of another";

/* Go's own linker names its sections, in position-independent programs behind a prefix. */
static bool has_go_section(Elf *elf)
{
	static const char *const names[] = {".gopclntab", ".data.rel.ro.gopclntab",
					    ".note.go.buildid", ".go.buildinfo"};
	GElf_Shdr shdr;
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (cw_elf_section(elf, SHT_NULL, names[i], &shdr))
			return true;
	}
	return false;
}

static const char *forbidden_by(const char *name, bool defined)
{
	if (!strcmp(name, "runtime.morestack") || !strcmp(name, "runtime.goexit"))
		return go;
	if (!strcmp(name, "jump_fcontext") || !strcmp(name, "__morestack") ||
	    !strcmp(name, "__splitstack_makecontext"))
		return coroutines;
	/* The C library has it for those who want it. */
	return !defined && !strcmp(name, "makecontext") ? coroutines : NULL;
}

/* Defined symbols and those of other files, in one table. */
static const char *forbidden_in(Elf *elf, uint32_t table)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = cw_elf_section(elf, table, NULL, &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	const char *why = NULL;
	char plain[32];
	GElf_Sym sym;
	int i;

	for (i = 0; data && !why && gelf_getsym(data, i, &sym); i++) {
		const char *name = elf_strptr(elf, shdr.sh_link, sym.st_name);
		size_t len = name ? strcspn(name, "@") : 0;

		if (!len || len >= sizeof(plain))
			continue;
		memcpy(plain, name, len);
		plain[len] = '\0';
		why = forbidden_by(plain, sym.st_shndx != SHN_UNDEF);
	}
	return why;
}

/* Libraries offer contexts to others and need not use them for what is probed. */
static bool is_program(Elf *elf)
{
	size_t i;
	GElf_Ehdr ehdr;
	GElf_Phdr ph;

	if (gelf_getehdr(elf, &ehdr) && ehdr.e_type == ET_EXEC)
		return true;
	for (i = 0; cw_elf_segment(elf, i, &ph); i++) {
		if (ph.p_type == PT_INTERP)
			return true;
	}
	return false;
}

const char *cw_runtime_forbids_returns(int fd)
{
	const char *why = NULL;
	Elf *elf;

	if (cw_elf_open(&elf, fd, "", NULL))
		return NULL;
	if (has_go_section(elf))
		why = go;
	if (!why)
		why = forbidden_in(elf, SHT_SYMTAB);
	if (!why)
		why = forbidden_in(elf, SHT_DYNSYM);
	if (why == coroutines && !is_program(elf))
		why = NULL;
	elf_end(elf);
	return why;
}
