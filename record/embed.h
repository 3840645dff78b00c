/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Payloads that make a capture readable elsewhere: of an ELF file what symbolizing and unwinding
 * need, of the vdso its image. Knows nothing of processes.
 */
#ifndef CW_EMBED_H
#define CW_EMBED_H

#include <stdint.h>
#include "capture.h"

/*
 * Write symbol tables and unwind sections of the ELF file fd as a CW_BLOB_SYMBOLS payload: an ELF
 * file in which every other section is empty. A file that is not ELF or damaged is left out, and so
 * is one with more than room bytes or 64 MiB of them, which are no errors. *size: the bytes that
 * were written, or more than room when they would have been. Returns the writer's error.
 */
int cw_embed_elf(struct cw_writer *w, uint32_t module_id, int fd, uint64_t room, uint64_t *size);

/* The same for the whole file, as CW_BLOB_ELF. */
int cw_embed_whole(struct cw_writer *w, uint32_t module_id, int fd, uint64_t room, uint64_t *size);

/* The same for the separate debug file fd of a module: its symbols, or all of it as it is. */
int cw_embed_debug_symbols(struct cw_writer *w, uint32_t module_id, int fd, uint64_t room,
			   uint64_t *size);
int cw_embed_debug(struct cw_writer *w, uint32_t module_id, int fd, uint64_t room, uint64_t *size);

/* Write the image of the vdso that the kernel gave this process; every process has the same. */
int cw_embed_vdso(struct cw_writer *w, uint32_t module_id);

/* Its build-id; returns the size, 0 when it has none. */
uint32_t cw_vdso_build_id(uint8_t id[24]);

#endif
