/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * An output file that is there whole or not at all: written beside its place under another name,
 * and renamed once everything is in it. A signal that ends the program removes it. What is not
 * a regular file is written as it is. One at a time.
 */
#ifndef CW_OUTFILE_H
#define CW_OUTFILE_H

#include <stdio.h>

struct cw_outfile {
	FILE *f;
	const char *name; /* as the user calls it; of the caller */
	char *path, *temp;
};

/*
 * Open path for writing; NULL or "-" is standard output. 0, or a negative errno having said why.
 * What was at path before stays there until cw_outfile_finish.
 */
int cw_outfile_open(struct cw_outfile *o, const char *path);

/*
 * Put the file in its place, or, when err (0 or a negative errno) or writing says that it is not
 * whole, remove what was written. Returns the exit status, having said what went wrong in writing.
 */
int cw_outfile_finish(struct cw_outfile *o, int err);

#endif
