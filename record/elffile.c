/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few questions the recorder asks of an ELF file. Owns the mapping between libelf and those
 * questions and nothing else; it must not know probes, processes or captures.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "elffile.h"

#if defined(__x86_64__)
#define OWN_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define OWN_MACHINE EM_AARCH64
#else
#define OWN_MACHINE EM_NONE
#endif

static int refuse(char *err, int rc, const char *path, const char *why)
{
	if (err)
		snprintf(err, CW_ERR, "%s %s", path, why);
	return rc;
}

static int check_regular(int fd, const char *path, char *err)
{
	struct stat st;

	if (fstat(fd, &st)) {
		int rc = -errno;

		if (err)
			snprintf(err, CW_ERR, "cannot read %s: %s", path, strerror(-rc));
		return rc;
	}
	if (!S_ISREG(st.st_mode))
		return refuse(err, -ENOEXEC, path,
			      "is not a regular file: give the path of a program or library");
	if (!st.st_size)
		return refuse(err, -ENOEXEC, path,
			      "is empty: give the path of a program or library");
	return 0;
}

static int check_ident(Elf *elf, const char *path, char *err)
{
	const char *ident = elf_getident(elf, NULL);
	GElf_Ehdr ehdr;

	if (elf_kind(elf) != ELF_K_ELF || !ident)
		return refuse(err, -ENOEXEC, path,
			      "is not an ELF file: give a program or library, not a script");
	if (ident[EI_CLASS] != ELFCLASS64)
		return refuse(err, -ENOEXEC, path,
			      "is a 32-bit ELF file: only 64-bit programs can be traced");
	if (ident[EI_DATA] != ELFDATA2LSB || !gelf_getehdr(elf, &ehdr) ||
	    (OWN_MACHINE != EM_NONE && ehdr.e_machine != OWN_MACHINE))
		return refuse(err, -ENOEXEC, path,
			      "was built for another processor than this machine's");
	return 0;
}

int cw_elf_open(Elf **out, int fd, const char *path, char *err)
{
	Elf *elf;
	int rc;

	*out = NULL;
	elf_version(EV_CURRENT);
	rc = check_regular(fd, path, err);
	if (rc)
		return rc;
	/* Read, not mapped: a file that is cut short meanwhile must not kill the recorder. */
	elf = elf_begin(fd, ELF_C_READ, NULL);
	if (!elf) {
		if (err)
			snprintf(err, CW_ERR, "cannot read %s: %s", path, elf_errmsg(-1));
		return -EIO;
	}
	rc = check_ident(elf, path, err);
	if (rc) {
		elf_end(elf);
		return rc;
	}
	*out = elf;
	return 0;
}

Elf_Scn *cw_elf_section(Elf *elf, uint32_t type, const char *name, GElf_Shdr *shdr)
{
	Elf_Scn *scn = NULL;
	size_t strndx;

	if (elf_getshdrstrndx(elf, &strndx))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *sname;

		if (!gelf_getshdr(scn, shdr))
			continue;
		if (!name) {
			if (shdr->sh_type == type)
				return scn;
			continue;
		}
		sname = elf_strptr(elf, strndx, shdr->sh_name);
		if (sname && !strcmp(sname, name))
			return scn;
	}
	return NULL;
}

static bool is_defined_func(const GElf_Sym *sym)
{
	unsigned int type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && sym->st_shndx != SHN_UNDEF;
}

void cw_elf_each_func(Elf *elf, uint32_t table, cw_elf_sym_fn fn, void *arg)
{
	GElf_Shdr shdr;
	Elf_Scn *scn = cw_elf_section(elf, table, NULL, &shdr);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	size_t i, n;

	if (!data || shdr.sh_type == SHT_NOBITS)
		return;
	n = data->d_size / sizeof(Elf64_Sym);
	for (i = 0; i < n; i++) {
		GElf_Sym sym;
		const char *name;

		if (!gelf_getsym(data, (int)i, &sym))
			return;
		if (!is_defined_func(&sym))
			continue;
		name = elf_strptr(elf, shdr.sh_link, sym.st_name);
		if (name && *name && !fn(arg, name, &sym, i))
			return;
	}
}

static int32_t get_int32(const uint8_t *at)
{
	int32_t x;

	memcpy(&x, at, sizeof(x));
	return x;
}

/* Pairs of numbers of four bytes, counted from the header's address: a function, and its entry. */
struct unwound {
	const uint8_t *pairs;
	uint64_t n, base;
};

/* The kernel loads no program with more of them: 64 KiB. */
#define MAX_SEGMENTS (65536 / sizeof(Elf64_Phdr))

bool cw_elf_segment(Elf *elf, size_t i, GElf_Phdr *ph)
{
	return i < MAX_SEGMENTS && gelf_getphdr(elf, (int)i, ph);
}

#define UNWOUND_HEADER 12u
#define UNWOUND_PAIR   8u

static bool find_unwound(Elf *elf, struct unwound *u)
{
	static const uint8_t form[] = {1, 0x1b, 0x03,
				       0x3b}; /* version, and how numbers are written */
	Elf_Data *data = NULL;
	const uint8_t *bytes;
	GElf_Phdr ph;
	size_t i;

	for (i = 0; !data && cw_elf_segment(elf, i, &ph); i++) {
		if (ph.p_type == PT_GNU_EH_FRAME)
			data = elf_getdata_rawchunk(elf, (int64_t)ph.p_offset, ph.p_filesz,
						    ELF_T_BYTE);
	}
	if (!data || data->d_size < UNWOUND_HEADER || memcmp(data->d_buf, form, sizeof(form)) != 0)
		return false;
	bytes = data->d_buf;
	u->base = ph.p_vaddr;
	u->pairs = bytes + UNWOUND_HEADER;
	u->n = (uint32_t)get_int32(bytes + 8);
	if (u->n > (data->d_size - UNWOUND_HEADER) / UNWOUND_PAIR)
		u->n = (data->d_size - UNWOUND_HEADER) / UNWOUND_PAIR;
	return true;
}

void cw_elf_each_unwound(Elf *elf, cw_elf_sym_fn fn, void *arg)
{
	struct unwound u;
	GElf_Sym sym = {0};
	uint64_t i;

	if (!find_unwound(elf, &u))
		return;
	for (i = 0; i + 1 < u.n; i++) {
		int32_t here = get_int32(u.pairs + i * UNWOUND_PAIR);
		int32_t next = get_int32(u.pairs + (i + 1) * UNWOUND_PAIR);

		sym.st_value = u.base + (uint64_t)(int64_t)here;
		sym.st_size = next > here ? (uint64_t)((int64_t)next - here) : 0;
		if (!fn(arg, NULL, &sym, 0))
			return;
	}
}

/* Between file offsets and addresses: the loaded segment that holds x, as seen from either side. */
static bool find_load(Elf *elf, uint64_t x, bool by_addr, bool exec, GElf_Phdr *ph)
{
	size_t i;

	for (i = 0; cw_elf_segment(elf, i, ph); i++) {
		uint64_t from;

		if (ph->p_type != PT_LOAD)
			continue;
		if (exec && !(ph->p_flags & PF_X))
			continue;
		from = by_addr ? ph->p_vaddr : ph->p_offset;
		if (x >= from && x - from < ph->p_filesz)
			return true;
	}
	return false;
}

bool cw_elf_addr_to_offset(Elf *elf, uint64_t addr, bool exec, uint64_t *offset)
{
	GElf_Phdr ph;

	if (!find_load(elf, addr, true, exec, &ph))
		return false;
	*offset = addr - ph.p_vaddr + ph.p_offset;
	return true;
}

bool cw_elf_offset_to_addr(Elf *elf, uint64_t offset, bool exec, uint64_t *addr)
{
	GElf_Phdr ph;

	if (!find_load(elf, offset, false, exec, &ph))
		return false;
	*addr = offset - ph.p_offset + ph.p_vaddr;
	return true;
}

/* Look for the note; returns its size or 0. */
static int take_build_id(Elf_Data *notes, uint8_t id[24])
{
	size_t at = 0, name, desc;
	GElf_Nhdr note;

	while (notes && (at = gelf_getnote(notes, at, &note, &name, &desc)) > 0) {
		if (note.n_type != NT_GNU_BUILD_ID || note.n_namesz != 4 || note.n_descsz > 24 ||
		    memcmp((char *)notes->d_buf + name, "GNU", 4) != 0)
			continue;
		memcpy(id, (char *)notes->d_buf + desc, note.n_descsz);
		return (int)note.n_descsz;
	}
	return 0;
}

int cw_elf_build_id(int fd, uint8_t id[24])
{
	Elf_Scn *scn = NULL;
	GElf_Shdr shdr;
	GElf_Phdr ph;
	size_t i;
	Elf *elf;
	int rc = cw_elf_open(&elf, fd, "", NULL);

	memset(id, 0, 24);
	if (rc)
		return rc;
	while (!rc && (scn = elf_nextscn(elf, scn))) {
		if (gelf_getshdr(scn, &shdr) && shdr.sh_type == SHT_NOTE)
			rc = take_build_id(elf_getdata(scn, NULL), id);
	}
	/* Some files have lost their section headers. */
	for (i = 0; !rc && cw_elf_segment(elf, i, &ph); i++) {
		if (ph.p_type == PT_NOTE)
			rc = take_build_id(elf_getdata_rawchunk(elf, (int64_t)ph.p_offset,
								ph.p_filesz, ELF_T_NHDR),
					   id);
	}
	elf_end(elf);
	return rc;
}
