/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Names for the addresses of one module, from the files that serve it. Knows nothing of the
 * database, so that modules can be done side by side: one belongs to one thread.
 */
#ifndef CW_SYMBOLIZE_MODULE_H
#define CW_SYMBOLIZE_MODULE_H

#include <obstack.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "plain_debug.h"
#include "symbol_sources.h"

/* What a row of table symbol says. */
struct cw_symbol {
	const char *function; /* NULL unknown */
	const char *file;     /* NULL unknown */
	int line;             /* 0 unknown */
	int64_t offset;       /* from the function's start; -1 unknown or inlined */
};

/* One code address. */
struct cw_code {
	int64_t frame_id;
	uint64_t file_offset;
	uint64_t address; /* in the process; for code made at run time */
	bool is_return;   /* look up one byte before */

	/* Set by cw_module_symbolize. */
	bool known; /* a loadable segment holds it */

	uint64_t pc;                     /* address looked up */
	const struct cw_symbol *symbols; /* innermost first */
	unsigned count;
	int parameters; /* of a function that begins here; -1 unknown */
};

struct cw_module_work {
	int64_t module_id;
	unsigned part, parts; /* units of DWARF are shared out over parts; 0, 1 when undivided */
	struct cw_module_identity identity;
	struct cw_module_files files; /* .embedded is set by the caller */
	char *perf_map;               /* text of /tmp/perf-PID.map; NULL none */
	size_t perf_map_size;
	struct cw_code *codes;
	size_t code_count;
	struct cw_plain_debug *plain; /* shared by the parts; NULL when undivided */
	bool mangled;                 /* leave names as the linker has them */
	atomic_size_t *done;          /* raised for each address that is done; may be NULL */
	struct obstack mem;           /* owns what codes point to; initialized by the caller */
	struct cw_shown_name *shown;  /* names demangled so far; private */

	/* Set by cw_module_symbolize. */
	char *tried;              /* to be freed */
	const char *symbols_from; /* "capture", a path or NULL */
	const char *lines_from;   /* the same of lines and inlined functions */
};

/* Longest chain of inlined functions that is kept. */
#define CW_MAX_INLINED 128

/*
 * Find files and names. Codes are reordered. Strings stay valid until the files and mem are freed.
 * Stops with what there is when *cancel is set. -ENOMEM only.
 */
int cw_module_symbolize(struct cw_module_work *w, const struct cw_source_places *where,
			const volatile sig_atomic_t *cancel);

#endif
