/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the image of an ELF file whose debug sections are not compressed: section numbers, names and
 * types are the file's; what is not of use has no contents. Every size in the file is taken for
 * hostile. Must not know DWARF, nor who reads it.
 */
#include <libdeflate.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <zstd.h>

#include "plain_debug.h"

#define MAX_SECTIONS 100000u
#define ALIGN        16u
#define MOST_ZLIB    1032u /* bytes that one of zlib's can become */

#ifndef ELFCOMPRESS_ZSTD
#define ELFCOMPRESS_ZSTD 2
#endif

static const char *const unknown = "a debug section is compressed in no way that is known";
static const char *const damaged = "a compressed debug section is damaged";

/* The contents of one section. */
struct piece {
	GElf_Shdr *header;
	const uint8_t *from;
	uint8_t *to;
	uint64_t from_size, size, at; /* at: in the image */
	uint32_t how;                 /* ELFCOMPRESS_*, 0 as it is */
};

enum state { NEW, NOTHING, WORKING, DONE, FAILED };

struct cw_plain_debug {
	pthread_mutex_t lock;
	pthread_cond_t over;
	enum state state;
	const char *why;
	size_t file_size; /* of what the image is of */
	uint8_t *image;
	size_t size;
	GElf_Ehdr head;
	GElf_Shdr *headers; /* of sections; those lie behind all contents */
	size_t sections;
	struct piece *pieces;
	size_t count, next, left;
};

struct cw_plain_debug *cw_plain_debug_new(void)
{
	struct cw_plain_debug *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	pthread_mutex_init(&p->lock, NULL);
	pthread_cond_init(&p->over, NULL);
	return p;
}

void cw_plain_debug_free(struct cw_plain_debug *p)
{
	if (!p)
		return;
	if (p->image)
		munmap(p->image, p->size);
	free(p->headers);
	free(p->pieces);
	pthread_cond_destroy(&p->over);
	pthread_mutex_destroy(&p->lock);
	free(p);
}

/* ---- what goes where ----------------------------------------------------------------------------
 */

static bool is_of_use(const char *name)
{
	static const char *const names[] = {
		".debug_abbrev", ".debug_addr",     ".debug_frame",  ".debug_info",
		".debug_line",   ".debug_line_str", ".debug_ranges", ".debug_rnglists",
		".debug_str",    ".debug_types",    ".debug_sup",    ".debug_str_offsets",
	};

	for (size_t i = 0; name && i < sizeof(names) / sizeof(names[0]); i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

/* What a section becomes; NULL, or why that cannot be told. */
static const char *measure(Elf_Scn *scn, const GElf_Shdr *sh, struct piece *piece)
{
	Elf_Data *raw = elf_rawdata(scn, NULL);
	GElf_Chdr ch;

	if (!raw || (raw->d_size && !raw->d_buf))
		return damaged;
	*piece = (struct piece){.from = raw->d_buf, .from_size = raw->d_size, .size = raw->d_size};
	if (!(sh->sh_flags & SHF_COMPRESSED))
		return NULL;
	if (raw->d_size < sizeof(Elf64_Chdr) || !gelf_getchdr(scn, &ch))
		return damaged;
	piece->from += sizeof(Elf64_Chdr);
	piece->from_size -= sizeof(Elf64_Chdr);
	piece->size = ch.ch_size;
	piece->how = ch.ch_type;
	if (ch.ch_type == ELFCOMPRESS_ZLIB)
		return ch.ch_size / MOST_ZLIB <= piece->from_size ? NULL : damaged;
	return ch.ch_type == ELFCOMPRESS_ZSTD ? NULL : unknown;
}

static uint64_t round_up(uint64_t n)
{
	return (n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Sizes and places of all sections. Returns where the headers go; 0: those are damaged. */
static uint64_t lay_out(struct cw_plain_debug *p, Elf *elf, size_t names)
{
	uint64_t at = round_up(sizeof(Elf64_Ehdr));
	size_t i;

	for (i = 0; i < p->sections; i++) {
		Elf_Scn *scn = elf_getscn(elf, i);
		GElf_Shdr *sh = &p->headers[i];
		struct piece *piece = &p->pieces[p->count];
		const char *why = NULL;
		bool wanted;

		if (!scn || !gelf_getshdr(scn, sh))
			return 0;
		if (sh->sh_type == SHT_NULL || sh->sh_type == SHT_NOBITS)
			continue;
		wanted = i == names || is_of_use(elf_strptr(elf, names, sh->sh_name));
		if (wanted)
			why = measure(scn, sh, piece);
		if (wanted && !why && piece->size > INT64_MAX - at - ALIGN)
			why = damaged;
		sh->sh_flags &= ~(uint64_t)SHF_COMPRESSED;
		if (!wanted || why) {
			p->why = why ? why : p->why;
			sh->sh_type = SHT_NOBITS;
			continue;
		}
		piece->header = sh;
		piece->at = at;
		sh->sh_offset = at;
		sh->sh_size = piece->size;
		at = round_up(at + piece->size);
		p->count++;
	}
	return at;
}

/* Largest first: the last to be done is what all wait for. */
static int by_size(const void *pa, const void *pb)
{
	const struct piece *a = pa, *b = pb;

	return a->size > b->size ? -1 : a->size < b->size;
}

static bool get_room(struct cw_plain_debug *p)
{
	uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
	size_t i;

	p->size = p->head.e_shoff + p->sections * sizeof(Elf64_Shdr);
	if (p->size > memory / 2)
		return false;
	p->image = mmap(NULL, p->size, PROT_READ | PROT_WRITE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (p->image == MAP_FAILED) {
		p->image = NULL;
		return false;
	}
	madvise(p->image, p->size, MADV_HUGEPAGE);
	for (i = 0; i < p->count; i++)
		p->pieces[i].to = p->image + p->pieces[i].at;
	qsort(p->pieces, p->count, sizeof(*p->pieces), by_size);
	return true;
}

static bool any_compressed(Elf *elf, size_t names)
{
	Elf_Scn *scn = NULL;
	GElf_Shdr sh;

	while ((scn = elf_nextscn(elf, scn)))
		if (gelf_getshdr(scn, &sh) && (sh.sh_flags & SHF_COMPRESSED) &&
		    sh.sh_type != SHT_NOBITS && is_of_use(elf_strptr(elf, names, sh.sh_name)))
			return true;
	return false;
}

/* Numbers of sections above 0xff00 are in the first section's header, which stays as it is. */
static enum state plan(struct cw_plain_debug *p, Elf *elf)
{
	size_t names;

	if (elf_getshdrnum(elf, &p->sections) || !p->sections || p->sections > MAX_SECTIONS ||
	    elf_getshdrstrndx(elf, &names) || gelf_getclass(elf) != ELFCLASS64 ||
	    !gelf_getehdr(elf, &p->head) || !any_compressed(elf, names))
		return NOTHING;
	elf_rawfile(elf, &p->file_size);
	p->headers = calloc(p->sections, sizeof(*p->headers));
	p->pieces = calloc(p->sections, sizeof(*p->pieces));
	p->head.e_phoff = 0;
	p->head.e_phnum = 0;
	p->head.e_shoff = p->headers && p->pieces ? lay_out(p, elf, names) : 0;
	p->left = p->count;
	if (!p->head.e_shoff)
		p->why = "its section headers are damaged";
	else if (!get_room(p))
		p->why = "its debug sections would fill half of the memory";
	else
		return WORKING;
	return FAILED;
}

/* Encode what libelf has decoded, the way the file has it. */
static bool encode(const struct cw_plain_debug *p, Elf_Type type, const void *from, size_t size,
		   uint64_t at)
{
	Elf_Data in = {.d_buf = (void *)(uintptr_t)from,
		       .d_type = type,
		       .d_size = size,
		       .d_version = EV_CURRENT},
		 out = in;

	out.d_buf = p->image + at;
	return elf64_xlatetof(&out, &in, p->head.e_ident[EI_DATA]) != NULL;
}

/* When all contents are there, or known to be damaged. */
static enum state finish(struct cw_plain_debug *p)
{
	bool ok = encode(p, ELF_T_EHDR, &p->head, sizeof(p->head), 0) &&
		  encode(p, ELF_T_SHDR, p->headers, p->sections * sizeof(*p->headers),
			 p->head.e_shoff);

	return ok ? DONE : FAILED;
}

/* ---- the work -----------------------------------------------------------------------------------
 */

static bool from_zlib(const struct piece *piece)
{
	struct libdeflate_decompressor *d = libdeflate_alloc_decompressor();
	bool ok = d && libdeflate_zlib_decompress(d, piece->from, piece->from_size, piece->to,
						  piece->size, NULL) == LIBDEFLATE_SUCCESS;

	libdeflate_free_decompressor(d);
	return ok;
}

static bool make(const struct piece *piece)
{
	switch (piece->how) {
	case 0:
		if (piece->size)
			memcpy(piece->to, piece->from, piece->size);
		return true;
	case ELFCOMPRESS_ZLIB:
		return from_zlib(piece);
	default:
		return ZSTD_decompress(piece->to, piece->size, piece->from, piece->from_size) ==
		       piece->size;
	}
}

/* Called and left with the lock held. */
static void help(struct cw_plain_debug *p)
{
	while (p->next < p->count) {
		const struct piece *piece = &p->pieces[p->next++];
		bool ok;

		pthread_mutex_unlock(&p->lock);
		ok = make(piece);
		pthread_mutex_lock(&p->lock);
		if (!ok) {
			p->why = damaged;
			piece->header->sh_type = SHT_NOBITS;
		}
		if (--p->left)
			continue;
		p->state = finish(p);
		pthread_cond_broadcast(&p->over);
	}
	while (p->state == WORKING)
		pthread_cond_wait(&p->over, &p->lock);
}

Elf *cw_plain_debug_open(struct cw_plain_debug *p, Elf *elf, const char **why)
{
	Elf *plain = NULL;
	size_t size = 0;

	elf_rawfile(elf, &size);
	pthread_mutex_lock(&p->lock);
	if (p->state == NEW)
		p->state = plan(p, elf);
	if (p->state == WORKING)
		help(p);
	*why = p->why;
	/* The file may have become another meanwhile. */
	if (p->state == DONE && size == p->file_size)
		plain = elf_memory((char *)p->image, p->size);
	pthread_mutex_unlock(&p->lock);
	return plain;
}
