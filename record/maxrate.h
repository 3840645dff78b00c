/* SPDX-License-Identifier: GPL-2.0-only */
/* --max-rate: what becomes of probes that are hit too often. */
#ifndef CW_MAXRATE_H
#define CW_MAXRATE_H

#include "losses.h"
#include "points.h"
#include "probes.h"

/*
 * Detach probes that had more than max_rate hits a second, write that into the capture, and tell
 * say of each, a sentence. Called every few milliseconds; costs nothing while there is none.
 * Negative errno when the capture cannot be written.
 */
int cw_maxrate_poll(struct cw_probes *pr, struct cw_losses *l, const struct cw_points *p,
		    uint64_t max_rate, void (*say)(const char *text));

#endif
