/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The files that a recording goes into: one, or with --rotate several after one another. While it
 * goes on in the next file, the one before is still open for what belongs there. Knows nothing of
 * what the records mean.
 */
#ifndef CW_SEGMENTS_H
#define CW_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "capture.h"
#include "flight.h"
#include "options.h"
#include "output.h"

struct cw_segments {
	const struct cw_options *o;
	int argc;
	char **argv;
	char capture_id[33];
	uint32_t number; /* of the present file, from 1; 0 when there is but one, --output itself */
	struct cw_output out, old_out;
	struct cw_writer *w, *old; /* old is NULL but while files change */
	char *path, *first_path;   /* malloc'ed */
	struct cw_flight *flight;  /* keeps finished files in memory; NULL: they are written */
	uint64_t began, old_began; /* when the present and the old file were, CLOCK_MONOTONIC ns */
	struct cw_writer_stats before; /* of the files that are finished */
};

/* Open the first file. err (CW_ERR bytes) gets one sentence, here and below. */
int cw_segments_open(struct cw_segments *s, const struct cw_options *o, int argc, char **argv,
		     char *err);
/* Begin the capture in it. */
int cw_segments_begin(struct cw_segments *s, char *err);

/*
 * The present file has its size, as far as can be said before everything is written. coming is what
 * still goes there when another file is begun now, uncompressed.
 */
bool cw_segments_full(const struct cw_segments *s, uint64_t coming);
/* Whether there may be another file. */
bool cw_segments_more(const struct cw_segments *s);
/* Go on in the next file; the present one becomes the old one. */
int cw_segments_next(struct cw_segments *s, char *err);
/* Finish the old file, or the present one, for this reason (enum cw_end_reason). */
int cw_segments_finish_old(struct cw_segments *s, char *err);
int cw_segments_finish(struct cw_segments *s, int reason, char *err);

/*
 * Write the files that --flight keeps and that were not written yet. Returns their number or a
 * negative errno.
 */
int cw_segments_write_kept(struct cw_segments *s, char *err);

/* What the recording is called: the file, or the first and the last; buf or a string of s. */
const char *cw_segments_name(const struct cw_segments *s, char *buf, size_t size);
/* Of all files. */
struct cw_writer_stats cw_segments_stats(const struct cw_segments *s);
/* Free everything; discard removes the first file, in which nothing was recorded. */
void cw_segments_close(struct cw_segments *s, bool discard);

#endif
