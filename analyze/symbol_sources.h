/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Which files serve a module's names: finds them by build id and says what was tried. Must not
 * know what is looked up in them.
 */
#ifndef CW_SYMBOL_SOURCES_H
#define CW_SYMBOL_SOURCES_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include "symbolize_elf.h"

/* Where to look, apart from the usual places. */
struct cw_source_places {
	const char *const *debug_dirs; /* ends with NULL; may be NULL */
	const char *sysroot;           /* prefix for paths of the target; NULL none */
	bool same_boot;                /* the capture is of this machine since it was booted */
	int64_t start_wall_ns;         /* CLOCK_REALTIME when the capture began; 0 unknown */
	bool debuginfod;               /* ask the servers of DEBUGINFOD_URLS last */
	bool no_lines;                 /* lines and inlined functions are not wanted */
	bool whole; /* the program or library itself is wanted, too, where lines are apart */
	const volatile sig_atomic_t *cancel; /* stops what takes long; may be NULL */
};

/* A module as the capture describes it. */
struct cw_module_identity {
	const char *path;
	const char *build_id; /* hexadecimal; NULL or "" when it has none */
	const char *dev;      /* "MAJOR:MINOR"; NULL unknown */
	uint64_t ino;         /* 0 unknown */
};

/* Files that serve; each may be NULL. debug may be embedded or image. */
struct cw_module_files {
	/* From the capture; set by the caller beforehand, owned from then on. */
	struct cw_elf *embedded;
	struct cw_elf *embedded_debug;   /* the separate debug file; becomes debug */
	struct cw_elf *embedded_symbols; /* symbol tables of the debug file only */
	struct cw_elf *embedded_alt;     /* dwz's alternate one; becomes alt */
	const char *embedded_why; /* why there is none although the capture holds one; or NULL */

	struct cw_elf *image; /* the program or library itself */
	struct cw_elf *debug; /* the one with DWARF */
	struct cw_elf *alt;   /* what the DWARF of debug refers to */
	struct cw_elf *mini;  /* symbols that embedded or image carries compressed */
	char *looked;         /* what gave no lines, as file_state.h has it; malloc'ed, NULL none */
};

/*
 * Find a module's files: local ones only with the same build id. A module without build id is
 * served by its path only when the capture is of this very boot, device and inode agree and the
 * file has not changed since the capture began. Writes to tried what did not serve, one reason
 * after another, separated by "; ".
 */
void cw_sources_find(const struct cw_module_identity *m, const struct cw_source_places *where,
		     struct cw_module_files *files, FILE *tried);

void cw_sources_free(struct cw_module_files *files);

/* Write a reason to tried. */
void cw_sources_note(FILE *tried, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#endif
