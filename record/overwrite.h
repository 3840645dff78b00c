/* SPDX-License-Identifier: GPL-2.0-only */
/* Files that are written to while they have probes: those must be gone before. */
#ifndef CW_OVERWRITE_H
#define CW_OVERWRITE_H

#include "losses.h"
#include "points.h"
#include "probes.h"

/* Have every file of points watched, as far as its file system can. Before privileges are given up.
 */
void cw_overwrite_watch(const struct cw_points *p);

/*
 * Whoever opens one of them to write into it waits: detach its probes, write that into the capture,
 * tell say, a sentence a file, and let him go on. Called every few milliseconds. Negative errno
 * when the capture cannot be written.
 */
int cw_overwrite_poll(struct cw_probes *pr, struct cw_losses *l, const struct cw_points *p,
		      void (*say)(const char *text));

#endif
