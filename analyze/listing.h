/* SPDX-License-Identifier: GPL-2.0-only */
/* What commands share that print rows of one capture, as text or for programs. */
#ifndef CW_LISTING_H
#define CW_LISTING_H

#include <stdio.h>
#include "options.h"
#include "print.h"

/* Zeroed before parsing: text, to standard output. */
struct cw_listing {
	struct cw_input input;
	enum cw_format format;
	const char *output; /* of the command line; NULL or "-": standard output */
};

/*
 * A child parser for argp: CAPTURE, --format, -o and the options of cw_input_argp. Its input is a
 * struct cw_listing. A command with further positional arguments takes ARGP_KEY_ARG itself.
 */
extern const struct argp cw_listing_argp;

/*
 * Open the capture and let print(arg, db, out) write; it returns 0 or a negative errno having said
 * why, and then no file is left behind. Returns the exit status; frees the input.
 */
int cw_listing_run(struct cw_listing *l, int (*print)(void *arg, sqlite3 *db, FILE *out),
		   void *arg);

#endif
