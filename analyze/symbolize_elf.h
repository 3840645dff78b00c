/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * One ELF file that serves names, from disk or from the capture. Every offset and size in it is
 * taken for hostile. Must not know where a file was found or whether it is the right one.
 */
#ifndef CW_SYMBOLIZE_ELF_H
#define CW_SYMBOLIZE_ELF_H

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_elf;
struct cw_plain_debug;
struct cw_symtab;

/*
 * Open a file. On failure NULL, and *why is a constant text: the errno's, or "not an ELF file".
 * A handle belongs to one thread at a time.
 */
struct cw_elf *cw_elf_open(const char *path, const char **why);

/* Open an image in memory, which is copied. */
struct cw_elf *cw_elf_open_memory(const void *data, size_t size, const char **why);

void cw_elf_free(struct cw_elf *elf);

/* Path it was opened by; NULL for an image in memory. */
const char *cw_elf_path(const struct cw_elf *elf);

/* Descriptor it is read by, owned by elf; -1 for an image in memory. */
int cw_elf_fd(const struct cw_elf *elf);

/* GNU build id in hexadecimal; "" when it has none. */
const char *cw_elf_build_id(const struct cw_elf *elf);

/* Device and inode of the opened file; -ENOENT for an image in memory. */
int cw_elf_identity(const struct cw_elf *elf, uint64_t *dev, uint64_t *ino, int64_t *ctime_ns);

/* Whether it has loadable executable segments whose bytes are in the file, so that offsets say
 * something. */
bool cw_elf_has_layout(const struct cw_elf *elf);

/* Address of a file offset by the loadable segments; false when none holds it. */
bool cw_elf_address(const struct cw_elf *elf, uint64_t offset, uint64_t *address);

/* Add function symbols (and PLT entries as NAME@plt) to a table. Names stay owned by elf. */
int cw_elf_add_symbols(struct cw_elf *elf, struct cw_symtab *table);

/* Whether the bytes of its code are in it, so that it is the program or library itself. */
bool cw_elf_has_code(const struct cw_elf *elf);

/* Whether it has the full table of symbols. */
bool cw_elf_has_symtab(const struct cw_elf *elf);

/* The first section of this name; NULL when there is none. */
Elf_Scn *cw_elf_find_section(struct cw_elf *elf, const char *name, GElf_Shdr *sh);

/* libelf's own handle, owned by elf. */
Elf *cw_elf_handle(const struct cw_elf *elf);

/* Whether it has line or function information in DWARF. */
bool cw_elf_has_dwarf(struct cw_elf *elf);

/* Its DWARF, opened on first use and owned by elf; NULL when there is none or it is damaged. */
Dwarf *cw_elf_dwarf(struct cw_elf *elf);

/* What is missing in that, or why there is none: a constant text; NULL nothing. */
const char *cw_elf_dwarf_why(const struct cw_elf *elf);

/* Before that: decompress it in common with other handles for the file. plain outlives elf. */
void cw_elf_share_plain(struct cw_elf *elf, struct cw_plain_debug *plain);

#endif
