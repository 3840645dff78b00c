/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the stacks of a recording show, and so what of modules goes into the capture: symbol tables,
 * perf maps, kernel symbols. Pids are kernel-global.
 */
#ifndef CW_WANTED_H
#define CW_WANTED_H

#include "kallsyms.h"
#include "modtab.h"
#include "proctab.h"
#include "unplaced.h"

/* Zeroed but for the tables, which stay the caller's. */
struct cw_wanted {
	struct cw_modtab *modtab;
	struct cw_proctab *procs;
	struct cw_kallsyms *ksyms;
	bool reported; /* somebody tells of new mappings: no need to look for them */
	bool hungry;   /* mappings of stale processes should be read; the caller clears it */
	struct cw_unplaced unplaced;
};

/* A stack record went by. Cheap: it is called for each. */
void cw_wanted_stack(struct cw_wanted *w, const struct cw_stack *s);

/* Memory saved with a stack went by: words in it may be return addresses. */
void cw_wanted_saved(struct cw_wanted *w, const struct cw_stack_regs *r);

/* Look again for addresses that were in no mapping when their stack went by. */
void cw_wanted_retry(struct cw_wanted *w);

#endif
