/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The few questions the recorder asks of an ELF file, over libelf. Knows nothing of probes,
 * processes or captures.
 */
#ifndef CW_ELFFILE_H
#define CW_ELFFILE_H

#include <stdbool.h>
#include <stdint.h>
#include <gelf.h>

#define CW_ERR 512 /* size of every err buffer: one sentence for the user */

/* How a file that may be one is opened: a FIFO or a device must not keep the recorder waiting. */
#define CW_OPEN_ELF (O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)

/*
 * Open fd, which stays the caller's and must outlive the result, as a 64-bit ELF file of this
 * machine's byte order. Ends with elf_end. On failure returns a negative errno (-ENOEXEC: not such
 * a file) and, when err is not NULL, writes one sentence of at most CW_ERR bytes.
 */
int cw_elf_open(Elf **out, int fd, const char *path, char *err);

/* The first section of this type (SHT_*) or, when name is not NULL, of this name; NULL if none. */
Elf_Scn *cw_elf_section(Elf *elf, uint32_t type, const char *name, GElf_Shdr *shdr);

/* One symbol of a table; index is its number there. Return true to go on. */
typedef bool (*cw_elf_sym_fn)(void *arg, const char *name, const GElf_Sym *sym, size_t index);

/* Call fn for every defined function (STT_FUNC and STT_GNU_IFUNC) of the SHT_SYMTAB or SHT_DYNSYM.
 */
void cw_elf_each_func(Elf *elf, uint32_t table, cw_elf_sym_fn fn, void *arg);

/*
 * The same for what unwinders know of, in the order of addresses: .eh_frame_hdr's table is there
 * when symbols were stripped. It has no names (NULL) nor numbers (index 0), and no end of the last
 * function, which is left out; a size reaches to the next function. Nothing is called where there
 * is no such table, or one of a form that linkers do not write.
 */
void cw_elf_each_unwound(Elf *elf, cw_elf_sym_fn fn, void *arg);

/*
 * Program header i, counted from 0; false from their end on. A file may claim to have more of them
 * than it has bytes.
 */
bool cw_elf_segment(Elf *elf, size_t i, GElf_Phdr *ph);

/*
 * Between addresses and file offsets, by the segments that are loaded; false outside of them. exec
 * asks for executable segments only.
 */
bool cw_elf_addr_to_offset(Elf *elf, uint64_t addr, bool exec, uint64_t *offset);
bool cw_elf_offset_to_addr(Elf *elf, uint64_t offset, bool exec, uint64_t *addr);

/* GNU build id of an ELF file; returns its size, 0 when there is none, or a negative errno. */
int cw_elf_build_id(int fd, uint8_t id[24]);

#endif
