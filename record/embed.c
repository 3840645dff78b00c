/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Payloads that make a capture readable elsewhere. Owns the choice of sections and the layout of
 * the small ELF file they go to; it must not know processes or modules' tables.
 *
 * The small file has the same section numbers, names, addresses and loaded segments as the large
 * one, as symbols, unwind tables and mappings refer to those; only the contents of other sections
 * are left out, the way a separate debug file leaves out code.
 */
#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "elffile.h"
#include "embed.h"

#define MAX_IMAGE       (64u << 20)
#define MAX_AT_ONCE     (8u << 20)   /* larger images are never whole in memory */
#define MAX_WHOLE       (512u << 20) /* what readers take in one payload */
#define MAX_DEBUG_FRAME (1u << 20)
#define MAX_PAIRS       (1u << 22)    /* segments times sections: each pair is looked at */
#define PART            (16u * 61440) /* bytes of one that are in memory: they fill a frame */

/* Contents at one place of the image: from the file, or from memory. */
struct part {
	uint64_t to, size;
	uint64_t from; /* file offset, when mem is NULL */
	const void *mem;
};

struct image {
	int fd;
	uint64_t file_size;
	Elf64_Ehdr ehdr;
	Elf64_Phdr *phdrs;
	Elf64_Shdr *shdrs;
	bool *kept;
	struct part *parts; /* in the order of their places */
	size_t nparts;
	uint64_t size;
};

/* ---- choosing ---------------------------------------------------------------------------------
 */

static bool is_wanted_name(const char *name)
{
	static const char *const names[] = {
		".eh_frame",      ".eh_frame_hdr", ".note.gnu.build-id",
		".gnu_debuglink", ".debug_frame",  ".gnu_debugdata",
	};
	size_t i;

	for (i = 0; name && i < sizeof(names) / sizeof(names[0]); i++) {
		if (!strcmp(name, names[i]))
			return true;
	}
	return false;
}

static bool is_wanted(const struct image *im, size_t i, const char *name)
{
	const Elf64_Shdr *s = &im->shdrs[i];

	switch (s->sh_type) {
	case SHT_SYMTAB:
	case SHT_DYNSYM:
	case SHT_SYMTAB_SHNDX:
	case SHT_GNU_versym:
	case SHT_GNU_verdef:
	case SHT_GNU_verneed:
		return true;
	case SHT_NULL:
	case SHT_NOBITS:
		return false;
	default:
		if (name && !strcmp(name, ".debug_frame") && s->sh_size > MAX_DEBUG_FRAME)
			return false;
		return is_wanted_name(name);
	}
}

static uint64_t kept_bytes(const struct image *im)
{
	uint64_t sum = 0;
	size_t i;

	for (i = 0; i < im->ehdr.e_shnum; i++)
		sum += im->kept[i] ? im->shdrs[i].sh_size : 0;
	return sum;
}

/* Whether the file holds all of the section; a damaged one says more than it has. */
static bool is_whole(const struct image *im, size_t i)
{
	const Elf64_Shdr *s = &im->shdrs[i];

	return s->sh_offset <= im->file_size && s->sh_size <= im->file_size - s->sh_offset;
}

/* Mark what is kept: wanted sections and the string tables that they name. */
static void choose(struct image *im, Elf *elf, bool with_symtab)
{
	size_t i;

	memset(im->kept, 0, im->ehdr.e_shnum * sizeof(*im->kept));
	for (i = 1; i < im->ehdr.e_shnum; i++) {
		const Elf64_Shdr *s = &im->shdrs[i];

		if (s->sh_type == SHT_SYMTAB && !with_symtab)
			continue;
		if (!is_whole(im, i) ||
		    !is_wanted(im, i, elf_strptr(elf, im->ehdr.e_shstrndx, s->sh_name)))
			continue;
		im->kept[i] = true;
		if (s->sh_link < im->ehdr.e_shnum && is_whole(im, s->sh_link) &&
		    im->shdrs[s->sh_link].sh_type == SHT_STRTAB)
			im->kept[s->sh_link] = true;
	}
	im->kept[im->ehdr.e_shstrndx] = is_whole(im, im->ehdr.e_shstrndx);
}

/* ---- laying out -------------------------------------------------------------------------------
 */

static void add_part(struct image *im, uint64_t size, uint64_t from, const void *mem)
{
	struct part *p = &im->parts[im->nparts++];

	*p = (struct part){.to = im->size, .size = size, .from = from, .mem = mem};
	im->size += size;
}

static void align(struct image *im)
{
	im->size = (im->size + 15) & ~15ull;
}

/* Give every section its place in the image; those without contents keep address and size. */
static void place_sections(struct image *im)
{
	size_t i;

	for (i = 1; i < im->ehdr.e_shnum; i++) {
		Elf64_Shdr *s = &im->shdrs[i];

		if (im->kept[i]) {
			align(im);
			add_part(im, s->sh_size, s->sh_offset, NULL);
			s->sh_offset = im->parts[im->nparts - 1].to;
		} else if (s->sh_flags & SHF_ALLOC) {
			s->sh_type = SHT_NOBITS;
			s->sh_offset = im->size;
		} else {
			/* The name stays, or tools would take the next table for a damaged one. */
			*s = (Elf64_Shdr){.sh_name = s->sh_name};
		}
	}
}

/*
 * Loaded segments stay as they are, though the image does not hold them: addresses are computed
 * with them. Other segments must point to contents or go.
 */
static void place_segments(struct image *im)
{
	size_t i, j;

	for (i = 0; i < im->ehdr.e_phnum; i++) {
		Elf64_Phdr *p = &im->phdrs[i];

		if (p->p_type == PT_LOAD || p->p_type == PT_PHDR || !p->p_filesz)
			continue;
		for (j = 1; j < im->ehdr.e_shnum; j++) {
			if (im->kept[j] && im->shdrs[j].sh_addr == p->p_vaddr &&
			    (im->shdrs[j].sh_flags & SHF_ALLOC))
				break;
		}
		if (j == im->ehdr.e_shnum) {
			p->p_type = PT_NULL;
			continue;
		}
		p->p_offset = im->shdrs[j].sh_offset;
		if (p->p_filesz > im->shdrs[j].sh_size)
			p->p_filesz = im->shdrs[j].sh_size;
	}
}

static void lay_out(struct image *im)
{
	add_part(im, sizeof(im->ehdr), 0, &im->ehdr);
	im->ehdr.e_phoff = im->ehdr.e_phnum ? im->size : 0;
	add_part(im, im->ehdr.e_phnum * sizeof(*im->phdrs), 0, im->phdrs);
	place_sections(im);
	place_segments(im);
	align(im);
	im->ehdr.e_shoff = im->size;
	add_part(im, im->ehdr.e_shnum * sizeof(*im->shdrs), 0, im->shdrs);
}

/* ---- reading ----------------------------------------------------------------------------------
 */

static bool read_at(int fd, void *buf, size_t size, uint64_t offset)
{
	size_t n = 0;

	while (n < size) {
		ssize_t got = pread(fd, (char *)buf + n, size - n, (off_t)(offset + n));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return false;
		n += (size_t)got;
	}
	return true;
}

/* Copy a piece of the image; gaps between parts are zero. False when the file became shorter. */
static bool read_image(const struct image *im, uint64_t offset, void *buf, size_t size)
{
	size_t i;

	memset(buf, 0, size);
	for (i = 0; i < im->nparts; i++) {
		const struct part *p = &im->parts[i];
		uint64_t from = p->to > offset ? p->to : offset;
		uint64_t end = p->to + p->size < offset + size ? p->to + p->size : offset + size;
		char *to = (char *)buf + (from - offset);

		if (from >= end)
			continue;
		if (p->mem)
			memcpy(to, (const char *)p->mem + (from - p->to), end - from);
		else if (!read_at(im->fd, to, end - from, p->from + (from - p->to)))
			return false;
	}
	return true;
}

/* The headers, as libelf found them; false for a file that has no sections or no memory. */
static bool read_headers(struct image *im, Elf *elf)
{
	Elf64_Ehdr *ehdr = elf64_getehdr(elf);
	Elf64_Phdr *phdrs = elf64_getphdr(elf);
	size_t i, segments;
	struct stat st;

	if (fstat(im->fd, &st))
		return false;
	im->file_size = (uint64_t)st.st_size;
	if (!ehdr || !ehdr->e_shnum || ehdr->e_shstrndx >= ehdr->e_shnum)
		return false;
	if ((uint64_t)ehdr->e_phnum * ehdr->e_shnum > MAX_PAIRS)
		return false;
	im->ehdr = *ehdr;
	/* As many as libelf has: the number in the header may be more, or stand for another. */
	if (!phdrs || elf_getphdrnum(elf, &segments))
		segments = 0;
	if (segments < im->ehdr.e_phnum)
		im->ehdr.e_phnum = (Elf64_Half)segments;
	im->phdrs = calloc(im->ehdr.e_phnum + 1u, sizeof(*im->phdrs));
	im->shdrs = calloc(im->ehdr.e_shnum, sizeof(*im->shdrs));
	im->kept = calloc(im->ehdr.e_shnum, sizeof(*im->kept));
	im->parts = calloc(im->ehdr.e_shnum + 3u, sizeof(*im->parts));
	if (!im->phdrs || !im->shdrs || !im->kept || !im->parts)
		return false;
	if (phdrs)
		memcpy(im->phdrs, phdrs, im->ehdr.e_phnum * sizeof(*phdrs));
	for (i = 0; i < im->ehdr.e_shnum; i++) {
		Elf64_Shdr *s = elf64_getshdr(elf_getscn(elf, i));

		if (!s)
			return false;
		im->shdrs[i] = *s;
	}
	return true;
}

/* ---- writing ----------------------------------------------------------------------------------
 */

static int write_whole(struct cw_writer *w, uint32_t module_id, enum cw_blob_kind kind,
		       const struct image *im)
{
	void *buf =
		mmap(NULL, im->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int rc = 0;

	if (buf == MAP_FAILED)
		return 0;
	if (read_image(im, 0, buf, im->size))
		rc = cw_writer_blob(w, module_id, kind, buf, im->size);
	munmap(buf, im->size);
	return rc;
}

static int write_parts(struct cw_writer *w, uint32_t module_id, enum cw_blob_kind kind,
		       const struct image *im)
{
	char *buf = malloc(PART);
	uint64_t offset = 0;
	int rc = 0;

	while (buf && !rc && offset < im->size) {
		size_t n = im->size - offset < PART ? im->size - offset : PART;

		if (!read_image(im, offset, buf, n))
			break;
		rc = cw_writer_blob_part(w, module_id, kind, offset, im->size, buf, n);
		offset += n;
	}
	free(buf);
	return rc;
}

/* Write what of the file is kept, with its symbol table or, where there is no room, without. */
static int embed_parts(struct cw_writer *w, uint32_t module_id, enum cw_blob_kind kind, int fd,
		       uint64_t room, uint64_t *size)
{
	struct image im = {.fd = fd};
	uint64_t most = room < MAX_IMAGE ? room : MAX_IMAGE;
	Elf *elf;
	int rc = 0;

	*size = 0;
	if (cw_elf_open(&elf, fd, "", NULL))
		return 0;
	if (!read_headers(&im, elf))
		goto cleanup;
	choose(&im, elf, true);
	/* A debug file has nothing but its symbols to give. */
	if (kept_bytes(&im) > most && kind == CW_BLOB_SYMBOLS)
		choose(&im, elf, false);
	*size = kept_bytes(&im);
	if (*size > most) {
		*size = *size > room ? *size : room + 1;
		goto cleanup;
	}
	lay_out(&im);
	*size = im.size;
	rc = im.size <= MAX_AT_ONCE ? write_whole(w, module_id, kind, &im)
				    : write_parts(w, module_id, kind, &im);
cleanup:
	elf_end(elf);
	free(im.phdrs);
	free(im.shdrs);
	free(im.kept);
	free(im.parts);
	return rc;
}

int cw_embed_elf(struct cw_writer *w, uint32_t module_id, int fd, uint64_t room, uint64_t *size)
{
	return embed_parts(w, module_id, CW_BLOB_SYMBOLS, fd, room, size);
}

int cw_embed_debug_symbols(struct cw_writer *w, uint32_t module_id, int fd, uint64_t room,
			   uint64_t *size)
{
	return embed_parts(w, module_id, CW_BLOB_DEBUG_SYMBOLS, fd, room, size);
}

/* All of a file, if there is room. */
static int embed_file(struct cw_writer *w, uint32_t module_id, enum cw_blob_kind kind, int fd,
		      uint64_t room, uint64_t *size)
{
	struct part all = {0};
	struct image im = {.fd = fd, .parts = &all, .nparts = 1};
	struct stat st;
	Elf *elf;

	*size = 0;
	if (cw_elf_open(&elf, fd, "", NULL))
		return 0;
	elf_end(elf);
	if (fstat(fd, &st) || st.st_size <= 0)
		return 0;
	*size = im.size = all.size = (uint64_t)st.st_size;
	if (im.size > MAX_WHOLE)
		*size = im.size > room ? im.size : room + 1;
	return *size > room ? 0 : write_parts(w, module_id, kind, &im);
}

int cw_embed_whole(struct cw_writer *w, uint32_t module_id, int fd, uint64_t room, uint64_t *size)
{
	return embed_file(w, module_id, CW_BLOB_ELF, fd, room, size);
}

int cw_embed_debug(struct cw_writer *w, uint32_t module_id, int fd, uint64_t room, uint64_t *size)
{
	return embed_file(w, module_id, CW_BLOB_DEBUG, fd, room, size);
}

/* ---- the vdso ---------------------------------------------------------------------------------
 */

/* Its size: the section headers come last; NULL when there is none. */
static const Elf64_Ehdr *find_vdso(size_t *size)
{
	const Elf64_Ehdr *e = (const Elf64_Ehdr *)getauxval(AT_SYSINFO_EHDR);
	size_t page = (size_t)sysconf(_SC_PAGESIZE);

	if (!e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 || e->e_ident[EI_CLASS] != ELFCLASS64)
		return NULL;
	*size = e->e_shoff + (size_t)e->e_shnum * e->e_shentsize;
	*size = (*size + page - 1) / page * page;
	return e;
}

int cw_embed_vdso(struct cw_writer *w, uint32_t module_id)
{
	size_t size;
	const Elf64_Ehdr *e = find_vdso(&size);

	return e ? cw_writer_blob(w, module_id, CW_BLOB_VDSO, e, size) : 0;
}

uint32_t cw_vdso_build_id(uint8_t id[24])
{
	size_t size, i;
	const Elf64_Ehdr *e = find_vdso(&size);
	const Elf64_Phdr *p;

	if (!e)
		return 0;
	p = (const Elf64_Phdr *)((const char *)e + e->e_phoff);
	for (i = 0; i < e->e_phnum; i++) {
		const char *at = (const char *)e + p[i].p_offset, *end = at + p[i].p_filesz;

		while (p[i].p_type == PT_NOTE && end - at >= (ptrdiff_t)sizeof(Elf64_Nhdr)) {
			const Elf64_Nhdr *n = (const Elf64_Nhdr *)at;
			const char *name = at + sizeof(*n),
				   *desc = name + ((n->n_namesz + 3) & ~3u);

			if (n->n_type == NT_GNU_BUILD_ID && n->n_namesz == 4 &&
			    !memcmp(name, "GNU", 4) && n->n_descsz <= 24) {
				memcpy(id, desc, n->n_descsz);
				return n->n_descsz;
			}
			at = desc + ((n->n_descsz + 3) & ~3u);
		}
	}
	return 0;
}
