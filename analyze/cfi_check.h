/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns whether libdw may run the unwind information of a file that nobody vouches for: it makes
 * room for whatever register is named, and for every state that is to be remembered, so that a few
 * bytes take all memory there is. Must not know what the rules mean.
 */
#ifndef CW_CFI_CHECK_H
#define CW_CFI_CHECK_H

#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A section of unwind information, and the table that libdw searches for an address. */
struct cw_cfi_section {
	const unsigned char *ident; /* of the ELF file, which must outlive this */
	Elf_Data *data;
	bool eh;        /* .eh_frame, not .debug_frame */
	uint64_t vaddr; /* of .eh_frame */
	const uint8_t *table;
	size_t entries;      /* 0: there is no table, entry after entry is read */
	unsigned width;      /* bytes of an address in it: 4 or 8 */
	uint64_t table_base; /* addresses in it are from there */
};

/*
 * Fill *s with what dwarf_getcfi_elf would use of a file. False when there is nothing, when it is
 * built like no linker does it, or when one of its programs must not run and which one of them does
 * cannot be told beforehand.
 */
bool cw_cfi_check_eh(struct cw_cfi_section *s, Elf *elf);

/* The same of all sections that dwarf_getcfi may use; they have no table. */
bool cw_cfi_check_debug(Elf *elf);

/* Whether libdw may run what it finds in a checked section for this address. */
bool cw_cfi_check_at(const struct cw_cfi_section *s, uint64_t pc);

#endif
