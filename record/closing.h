/* SPDX-License-Identifier: GPL-2.0-only */
/* The closing line: what was recorded and what was lost. */
#ifndef CW_CLOSING_H
#define CW_CLOSING_H

#include "capture.h"
#include "losses.h"
#include "modules.h"
#include "points.h"

/* Which stacks are not whole, and what to do about it; nothing when there is nothing to say. */
void cw_closing_stacks(const struct cw_modules *m);

void cw_closing_line(const char *path, const struct cw_losses *l, const struct cw_modules *m,
		     const struct cw_writer_stats *st);

/*
 * Functions that were never called, and files that no traced process had mapped, so that their
 * functions cannot have been; nothing when there is nothing to say.
 */
void cw_closing_uncalled(const struct cw_points *p, const struct cw_modules *m);

/* Name the modules whose symbols did not fit into --embed-max bytes. */
void cw_closing_left_out(const struct cw_modules *m, uint64_t max_bytes);

#endif
