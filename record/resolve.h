/* SPDX-License-Identifier: GPL-2.0-only */
/* Finding functions in ELF files. Knows nothing of BPF or processes. */
#ifndef CW_RESOLVE_H
#define CW_RESOLVE_H

#include <stdbool.h>
#include <stdint.h>
#include "elffile.h"

struct cw_func {
	uint64_t value;  /* st_value */
	uint64_t offset; /* file offset, what uprobes take */
	uint64_t size;   /* st_size; 0 unknown */
	bool ifunc;
};

/*
 * Find a defined function by exact name in .symtab or .dynsym (a version suffix is ignored).
 * pid: of a process (as the recorder sees it) that path is meant in, and whose debug files are
 * looked for first; 0 none. path is for messages. -ENOENT: err offers the nearest names; -ENOEXEC:
 * not an ELF file.
 */
int cw_resolve_symbol(int fd, const char *path, uint32_t pid, const char *symbol,
		      struct cw_func *out, char *err);

/*
 * Call fn for every function of this name: overloads of a C++ name, all versions of a versioned
 * one, but no clones. name is the symbol's own, with an old version behind an @; offset is 0 where
 * the file does not hold the code. err as above, also for -ENOENT.
 */
int cw_resolve_each(int fd, const char *path, uint32_t pid, const char *symbol,
		    void (*fn)(void *arg, const char *name, const struct cw_func *func), void *arg,
		    char *err);

/* Whether this is the name of a part or a special version of a function that the compiler made. */
bool cw_resolve_is_clone(const char *name);

/* The function that contains a file offset (its size and value), for probes given by offset. */
int cw_resolve_offset(int fd, const char *path, uint32_t pid, uint64_t offset, struct cw_func *out,
		      char *err);

#endif
