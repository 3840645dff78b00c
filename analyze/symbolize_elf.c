/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns reading of ELF headers, symbol tables and the PLT. libelf keeps its own bounds; what is
 * computed from a file here (ranges of segments, string offsets, counts) is checked here.
 */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <obstack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "plain_debug.h"
#include "symbolize_elf.h"
#include "symbolize_table.h"

#define obstack_chunk_alloc malloc
#define obstack_chunk_free  free

#define MAX_LOADS    64
#define MAX_BUILD_ID 64

struct load {
	uint64_t offset, size, address;
	uint64_t end; /* first address after it in memory */
	bool exec;
};

struct cw_elf {
	Elf *elf;
	Elf *plain; /* without compressed sections; NULL: elf has none */
	struct cw_plain_debug *own, *shared;
	Dwarf *dwarf;
	bool dwarf_tried;
	const char *dwarf_why;
	int fd;
	char *image;
	char *path;
	struct load loads[MAX_LOADS];
	size_t load_count;
	char build_id[2 * MAX_BUILD_ID + 1];
	struct obstack names; /* of PLT entries */
};

/* Segments whose ranges wrap around are left out. */
static void read_loads(struct cw_elf *e)
{
	size_t i, count;

	if (elf_getphdrnum(e->elf, &count))
		return;
	for (i = 0; i < count && e->load_count < MAX_LOADS; i++) {
		struct load *l = &e->loads[e->load_count];
		GElf_Phdr ph;

		if (!gelf_getphdr(e->elf, i, &ph))
			return;
		if (ph.p_type != PT_LOAD || !ph.p_memsz || ph.p_filesz > ph.p_memsz)
			continue;
		if (ph.p_offset + ph.p_filesz < ph.p_offset || ph.p_vaddr + ph.p_memsz < ph.p_vaddr)
			continue;
		l->offset = ph.p_offset;
		l->size = ph.p_filesz;
		l->address = ph.p_vaddr;
		l->end = ph.p_vaddr + ph.p_memsz;
		l->exec = ph.p_flags & PF_X;
		e->load_count++;
	}
}

/* Find the build id among the notes in data. */
static bool scan_notes(struct cw_elf *e, Elf_Data *data)
{
	size_t pos = 0, name, desc, i;
	GElf_Nhdr nh;

	while (data && data->d_buf && (pos = gelf_getnote(data, pos, &nh, &name, &desc)) > 0) {
		const unsigned char *id = (const unsigned char *)data->d_buf + desc;

		if (nh.n_type != NT_GNU_BUILD_ID || nh.n_namesz != 4 || !nh.n_descsz ||
		    nh.n_descsz > MAX_BUILD_ID || memcmp((char *)data->d_buf + name, "GNU", 4) != 0)
			continue;
		for (i = 0; i < nh.n_descsz; i++)
			sprintf(e->build_id + 2 * i, "%02x", id[i]);
		return true;
	}
	return false;
}

/* From the sections first: in a separate debug file the segments' bytes are not there. */
static void read_build_id(struct cw_elf *e)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	GElf_Phdr ph;
	size_t i, count;

	while ((scn = elf_nextscn(e->elf, scn))) {
		if (gelf_getshdr(scn, &sh) && sh.sh_type == SHT_NOTE &&
		    scan_notes(e, elf_getdata(scn, NULL)))
			return;
	}
	if (elf_getphdrnum(e->elf, &count))
		return;
	for (i = 0; i < count && gelf_getphdr(e->elf, i, &ph); i++) {
		if (ph.p_type == PT_NOTE &&
		    scan_notes(e, elf_getdata_rawchunk(e->elf, ph.p_offset, ph.p_filesz,
						       ph.p_align == 8 ? ELF_T_NHDR8 : ELF_T_NHDR)))
			return;
	}
}

static struct cw_elf *finish_open(struct cw_elf *e, const char **why)
{
	if (!e->elf || elf_kind(e->elf) != ELF_K_ELF) {
		*why = "not an ELF file";
		cw_elf_free(e);
		return NULL;
	}
	read_loads(e);
	read_build_id(e);
	return e;
}

static struct cw_elf *alloc_elf(const char **why)
{
	struct cw_elf *e = calloc(1, sizeof(*e));

	if (!e) {
		*why = "out of memory";
		return NULL;
	}
	elf_version(EV_CURRENT);
	e->fd = -1;
	obstack_init(&e->names);
	return e;
}

struct cw_elf *cw_elf_open(const char *path, const char **why)
{
	struct cw_elf *e = alloc_elf(why);
	struct stat st;

	if (!e)
		return NULL;
	e->path = strdup(path);
	if (!e->path || stat(path, &st)) {
		*why = strerrordesc_np(errno);
		cw_elf_free(e);
		return NULL;
	}
	/* Opening what a foreign capture names can have effects if it is a device or a FIFO. */
	if (!S_ISREG(st.st_mode)) {
		*why = "not a regular file";
		cw_elf_free(e);
		return NULL;
	}
	e->fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (e->fd < 0) {
		*why = strerrordesc_np(errno);
		cw_elf_free(e);
		return NULL;
	}
	e->elf = elf_begin(e->fd, ELF_C_READ_MMAP, NULL);
	return finish_open(e, why);
}

struct cw_elf *cw_elf_open_memory(const void *data, size_t size, const char **why)
{
	struct cw_elf *e = alloc_elf(why);

	if (!e)
		return NULL;
	/* libelf converts in place and wants the image aligned. */
	e->image = malloc(size ? size : 1);
	if (!e->image) {
		*why = "out of memory";
		cw_elf_free(e);
		return NULL;
	}
	memcpy(e->image, data, size);
	e->elf = elf_memory(e->image, size);
	return finish_open(e, why);
}

void cw_elf_free(struct cw_elf *elf)
{
	if (!elf)
		return;
	if (elf->dwarf)
		dwarf_end(elf->dwarf);
	elf_end(elf->plain);
	cw_plain_debug_free(elf->own);
	elf_end(elf->elf);
	if (elf->fd >= 0)
		close(elf->fd);
	obstack_free(&elf->names, NULL);
	free(elf->image);
	free(elf->path);
	free(elf);
}

const char *cw_elf_path(const struct cw_elf *elf)
{
	return elf->path;
}

int cw_elf_fd(const struct cw_elf *elf)
{
	return elf->fd;
}

const char *cw_elf_build_id(const struct cw_elf *elf)
{
	return elf->build_id;
}

int cw_elf_identity(const struct cw_elf *elf, uint64_t *dev, uint64_t *ino, int64_t *ctime_ns)
{
	struct stat st;

	if (elf->fd < 0)
		return -ENOENT;
	if (fstat(elf->fd, &st))
		return -errno;
	*dev = st.st_dev;
	*ino = st.st_ino;
	*ctime_ns = st.st_ctim.tv_sec * 1000000000ll + st.st_ctim.tv_nsec;
	return 0;
}

bool cw_elf_has_layout(const struct cw_elf *elf)
{
	size_t i;

	for (i = 0; i < elf->load_count; i++) {
		if (elf->loads[i].exec && elf->loads[i].size)
			return true;
	}
	return false;
}

bool cw_elf_address(const struct cw_elf *elf, uint64_t offset, uint64_t *address)
{
	const struct load *found = NULL;
	size_t i;

	for (i = 0; i < elf->load_count; i++) {
		const struct load *l = &elf->loads[i];

		if (offset >= l->offset && offset - l->offset < l->size && (!found || l->exec))
			found = l;
	}
	if (!found)
		return false;
	*address = found->address + (offset - found->offset);
	return true;
}

/* End of the segment that holds an address: where a symbol without size ends at the latest. */
static uint64_t segment_end(const struct cw_elf *e, uint64_t address)
{
	size_t i;

	for (i = 0; i < e->load_count; i++) {
		if (e->loads[i].exec && address >= e->loads[i].address && address < e->loads[i].end)
			return e->loads[i].end;
	}
	return 0;
}

/* A string section that ends with a NUL, so that every offset in it is a string. */
static const char *string_section(struct cw_elf *e, size_t index, size_t *size)
{
	Elf_Scn *scn = elf_getscn(e->elf, index);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;
	const char *text;

	if (!data || !data->d_buf || !data->d_size)
		return NULL;
	text = data->d_buf;
	if (text[data->d_size - 1])
		return NULL;
	*size = data->d_size;
	return text;
}

static bool is_function(const GElf_Sym *sym)
{
	int type = GELF_ST_TYPE(sym->st_info);

	return (type == STT_FUNC || type == STT_GNU_IFUNC) && sym->st_shndx != SHN_UNDEF;
}

static int add_section(struct cw_elf *e, Elf_Scn *scn, const GElf_Shdr *sh, struct cw_symtab *table)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t i, count, text_size;
	const char *text = string_section(e, sh->sh_link, &text_size);
	int err = 0;

	if (!data || !data->d_buf || !text || !sh->sh_entsize)
		return 0;
	count = data->d_size / sh->sh_entsize;
	for (i = 0; i < count && !err; i++) {
		GElf_Sym sym;
		uint64_t limit;

		if (!gelf_getsym(data, i, &sym))
			break;
		if (!is_function(&sym) || sym.st_name >= text_size || !text[sym.st_name])
			continue;
		limit = segment_end(e, sym.st_value);
		if (limit)
			err = cw_symtab_add(table, sym.st_value, sym.st_size, limit,
					    text + sym.st_name,
					    GELF_ST_BIND(sym.st_info) != STB_LOCAL);
	}
	return err;
}

struct plt {
	uint64_t address, size; /* of the section that calls go to */
	uint64_t header, entry; /* bytes before the first entry, and of each */
	Elf_Scn *relocations, *symbols;
};

/* Find the sections of the PLT; false when there is none or its layout is not known. */
static bool find_plt(struct cw_elf *e, struct plt *p)
{
	GElf_Ehdr eh;
	GElf_Shdr sh;
	Elf_Scn *scn = NULL;
	size_t names;
	bool second = false;

	if (!gelf_getehdr(e->elf, &eh) || elf_getshdrstrndx(e->elf, &names))
		return false;
	if (eh.e_machine != EM_X86_64 && eh.e_machine != EM_AARCH64)
		return false;
	memset(p, 0, sizeof(*p));
	p->entry = 16;
	while ((scn = elf_nextscn(e->elf, scn))) {
		const char *name =
			gelf_getshdr(scn, &sh) ? elf_strptr(e->elf, names, sh.sh_name) : NULL;

		if (!name || sh.sh_type == SHT_NOBITS)
			continue;
		if (!strcmp(name, ".rela.plt")) {
			p->relocations = scn;
			p->symbols = elf_getscn(e->elf, sh.sh_link);
		} else if (!strcmp(name, ".plt.sec") || (!strcmp(name, ".plt") && !second)) {
			second = name[4];
			p->address = sh.sh_addr;
			p->size = sh.sh_size;
			p->header = second ? 0 : eh.e_machine == EM_AARCH64 ? 32 : 16;
		}
	}
	return p->address && p->relocations && p->symbols;
}

/* The n-th relocation of .rela.plt belongs to the n-th entry of the PLT. */
static int add_plt(struct cw_elf *e, struct cw_symtab *table)
{
	struct plt p;
	GElf_Shdr sh;
	Elf_Data *rel, *syms;
	const char *text;
	size_t i, text_size;
	int err = 0;

	if (!find_plt(e, &p) || !gelf_getshdr(p.symbols, &sh))
		return 0;
	rel = elf_getdata(p.relocations, NULL);
	syms = elf_getdata(p.symbols, NULL);
	text = string_section(e, sh.sh_link, &text_size);
	if (!rel || !rel->d_buf || rel->d_type != ELF_T_RELA || !syms || !syms->d_buf ||
	    syms->d_type != ELF_T_SYM || !text)
		return 0;
	for (i = 0; !err; i++) {
		uint64_t start = p.address + p.header + i * p.entry;
		GElf_Rela rela;
		GElf_Sym sym;

		if (p.header + (i + 1) * p.entry > p.size || !gelf_getrela(rel, i, &rela))
			break;
		if (!gelf_getsym(syms, GELF_R_SYM(rela.r_info), &sym) || sym.st_name >= text_size ||
		    !text[sym.st_name])
			continue;
		obstack_grow(&e->names, text + sym.st_name, strlen(text + sym.st_name));
		obstack_grow0(&e->names, "@plt", 4);
		err = cw_symtab_add(table, start, p.entry, segment_end(e, start),
				    obstack_finish(&e->names), false);
	}
	return err;
}

int cw_elf_add_symbols(struct cw_elf *elf, struct cw_symtab *table)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;
	int err = 0;

	while (!err && (scn = elf_nextscn(elf->elf, scn))) {
		if (!gelf_getshdr(scn, &sh) || (sh.sh_flags & SHF_COMPRESSED))
			continue;
		if (sh.sh_type == SHT_SYMTAB || sh.sh_type == SHT_DYNSYM)
			err = add_section(elf, scn, &sh, table);
	}
	return err ? err : add_plt(elf, table);
}

Elf_Scn *cw_elf_find_section(struct cw_elf *e, const char *wanted, GElf_Shdr *sh)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(e->elf, &names))
		return NULL;
	while ((scn = elf_nextscn(e->elf, scn))) {
		const char *name =
			gelf_getshdr(scn, sh) ? elf_strptr(e->elf, names, sh->sh_name) : NULL;

		if (name && !strcmp(name, wanted))
			return scn;
	}
	return NULL;
}

static bool has_section(const struct cw_elf *e, uint32_t type, uint64_t flags)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(e->elf, scn))) {
		if (gelf_getshdr(scn, &sh) && sh.sh_type == type &&
		    (sh.sh_flags & flags) == flags && sh.sh_size)
			return true;
	}
	return false;
}

bool cw_elf_has_code(const struct cw_elf *elf)
{
	return has_section(elf, SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR);
}

bool cw_elf_has_symtab(const struct cw_elf *elf)
{
	return has_section(elf, SHT_SYMTAB, 0);
}

bool cw_elf_has_dwarf(struct cw_elf *elf)
{
	GElf_Shdr sh;

	return (cw_elf_find_section(elf, ".debug_info", &sh) ||
		cw_elf_find_section(elf, ".zdebug_info", &sh)) &&
	       sh.sh_type != SHT_NOBITS && sh.sh_size;
}

Elf *cw_elf_handle(const struct cw_elf *elf)
{
	return elf->elf;
}

void cw_elf_share_plain(struct cw_elf *elf, struct cw_plain_debug *plain)
{
	elf->shared = plain;
}

Dwarf *cw_elf_dwarf(struct cw_elf *elf)
{
	struct cw_plain_debug *plain;

	if (elf->dwarf_tried)
		return elf->dwarf;
	elf->dwarf_tried = true;
	elf->own = elf->shared ? NULL : cw_plain_debug_new();
	plain = elf->shared ? elf->shared : elf->own;
	elf->plain = plain ? cw_plain_debug_open(plain, elf->elf, &elf->dwarf_why) : NULL;
	elf->dwarf =
		elf->plain || !elf->dwarf_why
			? dwarf_begin_elf(elf->plain ? elf->plain : elf->elf, DWARF_C_READ, NULL)
			: NULL;
	if (!elf->dwarf && !elf->dwarf_why)
		elf->dwarf_why = dwarf_errmsg(-1);
	return elf->dwarf;
}

const char *cw_elf_dwarf_why(const struct cw_elf *elf)
{
	return elf->dwarf_why;
}
