/* SPDX-License-Identifier: GPL-2.0-only */
/* What a capture file tells beside its records, handed to the passes and to the user. */
#ifndef CW_FEED_H
#define CW_FEED_H

#include <stddef.h>
#include "capture.h"
#include "ingest.h"

#define CW_PROBLEMS_SAID 10u /* problems put into words one by one */

/* The header's keys, as facts of the capture. */
void cw_feed_header(struct cw_ingest *in, const struct cw_reader *r);

/* Where a file stands among those of its recording. */
struct cw_feed_place {
	const char *file; /* to be named in words; NULL: it is alone */
	size_t before;    /* problems of the files before it */
	uint64_t since;   /* when this one begins; 0 when it is the first */
	uint64_t until;   /* when the next one begins; 0 when there is none */
};

/*
 * Problems of the file from number *told on: where records are missing, and the first few in words
 * (capture_info, file_problem.N). Call it before the record behind them is ingested.
 */
int cw_feed_problems(struct cw_ingest *in, const struct cw_reader *r, size_t *told);
int cw_feed_problems_at(struct cw_ingest *in, const struct cw_reader *r, size_t *told,
			const struct cw_feed_place *at);

/* Problem number n of the capture, from 0, in words. */
void cw_feed_note(struct cw_ingest *in, size_t n, const char *text);

/* Say them on stderr, from number *said on; name is the file's. */
void cw_feed_say(const struct cw_reader *r, const char *name, size_t *said);

#endif
