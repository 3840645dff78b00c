/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Whole stacks: what frame pointers found, put together with what unwind information says where
 * registers and memory were saved. Knows nothing of records' order or of the database.
 */
#ifndef CW_UNWIND_STACK_H
#define CW_UNWIND_STACK_H

#include "unwind.h"

#define CW_MAX_UNWOUND 1024 /* frames of one stack */

/* What is known about the code at an address. */
enum cw_code_info {
	CW_CODE_RULES,    /* *row is set */
	CW_CODE_NO_RULES, /* its module has no unwind information for it */
	CW_CODE_FRAMES,   /* the same, but all of the module's functions keep frame pointers */
	CW_CODE_BEGINS,   /* a stack begins with this function, whatever lies above it */
	CW_CODE_SWITCHES, /* it was called on another stack */
	CW_CODE_NONE,     /* no code is mapped there */
	CW_CODE_LATER     /* its mapping or its module's unwind information may still come */
};

struct cw_unwind_source {
	/* The row for the instruction at pc. */
	enum cw_code_info (*find)(void *arg, uint64_t pc, const struct cw_rules **row);
	void *arg;
	const struct cw_machine *machine;
};

struct cw_unwound {
	uint64_t pc[CW_MAX_UNWOUND];
	bool exact[CW_MAX_UNWOUND]; /* no return address: the innermost, and what a signal
				       interrupted */
	unsigned n;
	bool complete;  /* the outermost frame is where the thread began */
	bool repaired;  /* frames are there that frame pointers did not show, or false ones are not
			 */
	bool truncated; /* cut at the limit of frames, or where saved memory ended */
	bool broken;    /* the way on, or a frame in between, is not or may not be known */
	bool by_rules, by_fp; /* how frames were found */
	const char *problem;  /* why it is not complete; NULL none. Constant text */
};

/*
 * Unwind a user stack. begin and end are its stack_regs records for frame 0 and for the last
 * frames; each may be NULL. False: something may still come, and *out is what is known so far.
 */
bool cw_unwind_stack(const struct cw_unwind_source *src, const struct cw_stack *s,
		     const struct cw_stack_regs *begin, const struct cw_stack_regs *end,
		     struct cw_unwound *out);

#endif
