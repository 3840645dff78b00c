/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Going on in the next file, so that each is complete by itself: everything that records refer to
 * is written again, and what was on its way while files changed goes where it belongs.
 */
#ifndef CW_ROTATE_H
#define CW_ROTATE_H

#include <stdint.h>
#include "drain.h"

struct cw_rotation {
	const struct cw_drain_setup *s;
	uint64_t cut;   /* events from then on belong to the new file */
	uint64_t until; /* when the old one is finished; 0: no file is being left */
};

/* Begin the next file. err (CW_ERR bytes) gets one sentence. */
int cw_rotate_begin(struct cw_rotation *r, char *err);
/*
 * Finish the old file when nothing is on its way to it any more, or when now is UINT64_MAX. What is
 * left in the ring may be: reached is the time of the last record out of it, UINT64_MAX when it is
 * empty.
 */
int cw_rotate_poll(struct cw_rotation *r, uint64_t now, uint64_t reached, char *err);
/* Write a record out of the ring where it belongs. */
int cw_rotate_append(struct cw_rotation *r, const struct cw_rec *rec);

#endif
