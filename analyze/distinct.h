/* SPDX-License-Identifier: GPL-2.0-only */
/* Numbers for distinct tuples of words, so that a row is stored once for the many that refer to it.
 */
#ifndef CW_DISTINCT_H
#define CW_DISTINCT_H

#include <stdbool.h>
#include "hash.h"

struct cw_tuple;

struct cw_distinct {
	unsigned nwords;
	struct cw_htab tab;
	struct cw_tuple *all;
	uint64_t ids; /* numbers given out */
};

/*
 * The number of the tuple of d->nwords words; *fresh when it was not seen lately: then its row must
 * be written. Only so many are remembered; one that comes again after that gets another number.
 */
uint64_t cw_distinct_id(struct cw_distinct *d, const uint64_t *words, bool *fresh);
void cw_distinct_free(struct cw_distinct *d);

#endif
