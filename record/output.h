/* SPDX-License-Identifier: GPL-2.0-only */
/* The capture file as a file: opened early, owned by whoever called sudo. */
#ifndef CW_OUTPUT_H
#define CW_OUTPUT_H

#include <stdbool.h>

struct cw_output {
	int fd;
	const char *path; /* "-" is standard output */
	bool created;     /* a file was made or emptied: removed again when nothing comes of it */
	bool replaces;    /* a file that was there, until recording begins */
};

/* err gets one sentence. */
int cw_output_open(struct cw_output *o, const char *path, char *err);
/* Empty a file that was there. Call it when nothing but writing can fail any more. */
int cw_output_begin(struct cw_output *o);
/* Close; discard removes a regular file in which nothing was recorded. Returns a negative errno. */
int cw_output_close(struct cw_output *o, bool discard);
/* The end of a sentence: what a failure to write means. */
const char *cw_output_reason(int error);

#endif
