/* SPDX-License-Identifier: GPL-2.0-only */
/* What /proc says of a process, as records. Knows nothing of mappings. */
#ifndef CW_PROCINFO_H
#define CW_PROCINFO_H

#include "capture.h"
#include "proctab.h"
#include "snapshot.h"

/*
 * Write process, process_args and thread records of p, those that say something new since the last
 * time. info is p's; ts, a moment at which it had its number, is theirs. -ESRCH when p is gone
 * meanwhile, or the writer's error.
 */
int cw_describe(struct cw_writer *w, struct cw_proctab *procs, struct cw_proc *p,
		const struct cw_proc_info *info, uint64_t ts);

#endif
