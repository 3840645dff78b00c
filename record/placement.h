/* SPDX-License-Identifier: GPL-2.0-only */
/* Where to put a breakpoint so that a hit is cheap and still tells the truth (design.md, section
 * 3). */
#ifndef CW_PLACEMENT_H
#define CW_PLACEMENT_H

#include <stdbool.h>
#include <stdint.h>
#include "resolve.h"

struct cw_placement {
	uint64_t placed;   /* file offset of the breakpoint */
	int32_t sp_adjust; /* add to the stack pointer there to get the entry's */
	uint32_t flags;    /* CW_PROBE_SINGLE_STEPPED, CW_PROBE_MOVED, CW_PROBE_NO_FP */
};

/*
 * Decide from the function's code. Never fails: the function's entry is always right. What cannot
 * be seen is a direct jump from an unrelated function into the middle of this one. want_return: a
 * return probe shares the breakpoint, so the stack pointer there is the entry's.
 */
void cw_place_probe(int fd, const struct cw_func *fn, bool want_return, struct cw_placement *out);

/*
 * The same for code in memory, all of the function, without what lies around it; for tests. addr
 * stands for the file offset. Says nothing of frame pointers.
 */
void cw_place_code(const uint8_t *code, uint64_t size, uint64_t addr, bool want_return,
		   struct cw_placement *out);

#endif
