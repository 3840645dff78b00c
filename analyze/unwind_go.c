/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns what Go's tables do not say: some functions of its runtime go on on the stack of a thread.
 * What lies above them there is left over from other calls.
 */
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "symbolize_elf.h"
#include "unwind_go.h"

#define MOST 16 /* a name may be there twice, for both ways to call it */

struct place {
	uint64_t from, to; /* offsets in the file */
	enum cw_code_info info;
};

struct cw_go {
	unsigned n;
	struct place places[MOST];
};

static enum cw_code_info known(const char *name)
{
	static const struct {
		const char *name;
		enum cw_code_info info;
	} all[] = {
		{"mcall", CW_CODE_BEGINS},         {"rt0_go", CW_CODE_BEGINS},
		{"systemstack", CW_CODE_SWITCHES}, {"morestack", CW_CODE_SWITCHES},
		{"asmcgocall", CW_CODE_SWITCHES},
	};
	size_t i, len;

	if (!name || strncmp(name, "runtime.", 8) != 0)
		return CW_CODE_NONE;
	name += 8;
	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		len = strlen(all[i].name);
		if (!strncmp(name, all[i].name, len) &&
		    (!name[len] || !strcmp(name + len, ".abi0")))
			return all[i].info;
	}
	return CW_CODE_NONE;
}

static void add(struct cw_go *go, Elf *elf, const GElf_Sym *sym, enum cw_code_info info)
{
	GElf_Phdr ph;

	/* As many as there are: the file may claim to have more. */
	for (int i = 0; go->n < MOST && gelf_getphdr(elf, i, &ph); i++) {
		if (ph.p_type != PT_LOAD || sym->st_value - ph.p_vaddr >= ph.p_filesz)
			continue;
		go->places[go->n].from = sym->st_value - ph.p_vaddr + ph.p_offset;
		go->places[go->n].to = go->places[go->n].from + sym->st_size;
		go->places[go->n++].info = info;
		return;
	}
}

struct cw_go *cw_go_new(struct cw_elf *from)
{
	struct cw_go *go;
	GElf_Shdr sh;
	GElf_Sym sym;
	Elf_Scn *scn = cw_elf_find_section(from, ".symtab", &sh);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	Elf *elf = cw_elf_handle(from);

	if (!data || !cw_cfi_is_go(from))
		return NULL;
	go = cw_zalloc(sizeof(*go));
	for (int i = 0; gelf_getsym(data, i, &sym); i++) {
		enum cw_code_info info = CW_CODE_NONE;

		if (GELF_ST_TYPE(sym.st_info) == STT_FUNC)
			info = known(elf_strptr(elf, sh.sh_link, sym.st_name));
		if (info != CW_CODE_NONE)
			add(go, elf, &sym, info);
	}
	if (go->n)
		return go;
	free(go);
	return NULL;
}

enum cw_code_info cw_go_find(const struct cw_go *go, uint64_t file_offset)
{
	for (unsigned i = 0; go && i < go->n; i++)
		if (file_offset >= go->places[i].from && file_offset < go->places[i].to)
			return go->places[i].info;
	return CW_CODE_NONE;
}
