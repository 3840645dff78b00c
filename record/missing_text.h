/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Where the files that a process has mapped should have their text, and have it not: what lies
 * there may be that text, moved to other pages. Knows nothing of modules' numbers or records.
 */
#ifndef CW_MISSING_TEXT_H
#define CW_MISSING_TEXT_H

#include <stdbool.h>
#include <stdint.h>
#include "modopen.h"

struct cw_missing_text;

/*
 * Read it for a process (pid in the recorder's namespace; start_boottime as for cw_snapshot_maps).
 * NULL: no memory, or no such process any more.
 */
struct cw_missing_text *cw_missing_text_new(struct cw_modopen *opener, uint32_t pid,
					    uint64_t start_boottime);
void cw_missing_text_free(struct cw_missing_text *t);

/* The text of a file that should begin at or before an address. */
struct cw_text_place {
	struct cw_mapped_file of; /* by another part of it that is mapped; its strings are t's */
	uint64_t offset;          /* in the file, of what should be at the address */
	uint64_t end;             /* address where the text of this segment ends */
};

/* The nth place that holds the address, from 0. Opens the files around it, some 20 us each, once.
   false: no more. */
bool cw_missing_text_find(struct cw_missing_text *t, uint64_t address, unsigned nth,
			  struct cw_text_place *out);

#endif
