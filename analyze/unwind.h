/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * From one frame to its caller: rules applied to registers and saved memory. Knows nothing of
 * modules, processes or where rules come from.
 */
#ifndef CW_UNWIND_H
#define CW_UNWIND_H

#include <stddef.h>
#include "unwind_cfi.h"

/* A piece of a stack as it was saved. */
struct cw_saved {
	const uint8_t *data; /* NULL none */
	uint64_t address;
	size_t size;
	size_t wanted; /* bytes asked for: beyond them lies what was not saved */
	bool all;      /* beyond them lies nothing: the stack begins there */
};

/* A frame: registers as its function has them. */
struct cw_regs {
	uint64_t r[CW_NREGS]; /* by DWARF number */
	uint64_t known;       /* bit n: r[n] is known */
	uint64_t pc;
	bool exact; /* pc is the instruction itself, not a return address */
};

enum cw_unwind_result {
	CW_UNWIND_CALLER,     /* regs are the caller's now */
	CW_UNWIND_END,        /* there is no caller: the thread began here */
	CW_UNWIND_NO_MEMORY,  /* what the rules need was not saved */
	CW_UNWIND_UNREADABLE, /* the recorder could not read it either */
	CW_UNWIND_BAD /* the rules make no sense here, or need a register that is not known */
};

/* Apply rules to regs. On anything but CW_UNWIND_CALLER regs are unchanged. */
enum cw_unwind_result cw_unwind_step(const struct cw_machine *m, const struct cw_rules *row,
				     const struct cw_saved *mem, struct cw_regs *regs);

/* The same by the frame pointer, for code without rules: it must point up the stack. */
enum cw_unwind_result cw_unwind_fp_step(const struct cw_machine *m, const struct cw_saved *mem,
					struct cw_regs *regs);

/*
 * The same for code without rules that a signal handler returns to, known by what the kernel put on
 * the stack behind it: regs are those of what was interrupted then. CW_UNWIND_BAD: it is not there.
 */
enum cw_unwind_result cw_unwind_signal_step(const struct cw_machine *m, const struct cw_saved *mem,
					    struct cw_regs *regs);

/* Read a word of saved memory. */
bool cw_saved_word(const struct cw_saved *mem, uint64_t address, uint64_t *word);

#endif
