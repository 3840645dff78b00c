/* SPDX-License-Identifier: GPL-2.0-only */
/* What the user may have meant: the names nearest to one that does not exist. Pure. */
#ifndef CW_NEAREST_H
#define CW_NEAREST_H

#include <stddef.h>

#define CW_NEAREST 3

struct cw_nearest {
	const char *wanted;
	size_t wanted_len;
	size_t n;
	struct {
		unsigned int distance;
		char name[96];
	} best[CW_NEAREST]; /* nearest first */
};

void cw_nearest_init(struct cw_nearest *nr, const char *wanted);

/* Offer a name; kept (copied) when it is near enough. Names of 96 bytes or more are not. */
void cw_nearest_offer(struct cw_nearest *nr, const char *name);

/* Offer a name that is known to be distance away. */
void cw_nearest_offer_at(struct cw_nearest *nr, const char *name, unsigned int distance);

#endif
