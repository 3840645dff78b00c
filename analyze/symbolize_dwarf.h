/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Source lines and inlined functions of many addresses of one file at once: each compilation unit
 * is walked once, for all of its addresses. Must not know about frames, modules or the database.
 */
#ifndef CW_SYMBOLIZE_DWARF_H
#define CW_SYMBOLIZE_DWARF_H

#include <elfutils/libdw.h>
#include <obstack.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A function, or an inlined copy of one, that covers an address. */
struct cw_scope {
	const struct cw_scope *outer; /* what it is inlined into; NULL for a real function */
	const char *name;             /* linkage name, else the plain one; NULL unknown */
	const char *call_file;        /* where it was inlined; NULL unknown or a real function */
	int call_line;                /* 0 unknown */
	bool inlined;
	uint64_t start; /* lowest address of a real function; 0 of an inlined one */
	Dwarf_Die die;  /* what says so */
};

/* One address, and what was found. Zero all but pc. */
struct cw_dwarf_pc {
	uint64_t pc;
	const struct cw_scope *scope; /* innermost; NULL unknown */
	const char *file;             /* NULL unknown */
	int line;                     /* 0 unknown */
	const char *apart; /* the file (.dwo) that its functions are in, not found; else NULL */
	bool claimed;      /* a compilation unit covers it */
	unsigned part;     /* whose it is: that of its unit, 0 when none covers it */
};

/*
 * Fill pcs[0..count), sorted by pc, whose units belong to part: unit n is of part n % parts, so
 * that parts can be done side by side, each with a Dwarf of its own. Strings belong to dwarf or to
 * mem. *done, if not NULL, is raised by one for each address that is done. Stops early, with what
 * there is, when *cancel is set. What is damaged is left unknown.
 */
void cw_dwarf_lookup(Dwarf *dwarf, struct cw_dwarf_pc *pcs, size_t count, unsigned part,
		     unsigned parts, struct obstack *mem, atomic_size_t *done,
		     const volatile sig_atomic_t *cancel);

/*
 * Registers and words on the stack that the arguments of a real function take at most; -1 when that
 * cannot be told: no prototype, a variable number, or whole structures among them.
 */
int cw_dwarf_parameters(const struct cw_scope *function);

#endif
