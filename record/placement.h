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
	uint32_t flags; /* CW_PROBE_SINGLE_STEPPED, CW_PROBE_MOVED, CW_PROBE_NO_FP, CW_PROBE_NO_ARG1
			 */
};

/* What a probe is wanted for. */
struct cw_placement_wish {
	bool at_entry;    /* nowhere else */
	bool with_return; /* a return probe shares the breakpoint: the stack pointer is the entry's
			   */
	uint8_t keep; /* arguments that must be there even if the function ignores them: bit 0 the
			 first */
};

/*
 * Decide from the function's code. Never fails: the function's entry is always right. What cannot
 * be seen is a direct jump from an unrelated function into the middle of this one.
 */
void cw_place_probe(int fd, const struct cw_func *fn, const struct cw_placement_wish *wish,
		    struct cw_placement *out);

/* At this file offset in the function and nowhere else; only the flags are found out. */
void cw_place_literally(int fd, const struct cw_func *fn, uint64_t offset,
			struct cw_placement *out);

/*
 * cw_place_probe for code in memory, all of the function, without what lies around it; for tests.
 * addr stands for the file offset. Says nothing of frame pointers.
 */
void cw_place_code(const uint8_t *code, uint64_t size, uint64_t addr,
		   const struct cw_placement_wish *wish, struct cw_placement *out);

#endif
