/* SPDX-License-Identifier: GPL-2.0-only */
/* The separate debug file of a stripped one, for its symbols. */
#ifndef CW_DEBUGFILE_H
#define CW_DEBUGFILE_H

#include <stdint.h>
#include <gelf.h>

struct cw_debug_file {
	Elf *elf; /* NULL: there is none, or none is needed */
	int fd;
};

/*
 * When elf, which was opened from fd and is known as path, has no .symtab, find its debug file: by
 * build-id under /usr/lib/debug/.build-id, by .gnu_debuglink beside it, in .debug beside it, and
 * below /usr/lib/debug. It must have the same build-id, or where there is none, the checksum that
 * .gnu_debuglink gives. root: a descriptor of the folder that path and those begin at, as for a
 * container's; -1 the recorder's own. Fails quietly: out->elf is NULL then.
 */
void cw_debug_file_open(struct cw_debug_file *out, Elf *elf, int fd, const char *path, int root);
/*
 * The same as the process pid (in the recorder's namespace) would find it, in whose root path is,
 * or else as the recorder does; pid 0: as the recorder does.
 */
void cw_debug_file_open_as_process(struct cw_debug_file *out, Elf *elf, int fd, const char *path,
				   uint32_t pid);
void cw_debug_file_close(struct cw_debug_file *d);

#endif
