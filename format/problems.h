/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What is wrong with a capture, in the order met, and which time it affects. For the reader only.
 * The list is bounded: beyond MAX_PROBLEMS the last one stands for all the rest.
 */
#ifndef CW_PROBLEMS_H
#define CW_PROBLEMS_H

#include "capture.h"

struct cw_problems {
	struct cw_problem *list;
	size_t n, room;
	uint64_t more; /* that the last entry stands for */
	size_t open;   /* from here on, lost data whose end is not known yet */
};

/* Add one; the text is copied. Returns it, or NULL without memory. */
struct cw_problem *cw_problems_add(struct cw_problems *ps, uint64_t offset, bool lost_data,
				   const char *text);

/* What is missing and still open lasts until ts at most. */
void cw_problems_close(struct cw_problems *ps, uint64_t ts);
bool cw_problems_any_open(const struct cw_problems *ps);

/* Nothing was missing there after all. */
void cw_problems_absolve(struct cw_problems *ps);
void cw_problems_free(struct cw_problems *ps);

#endif
