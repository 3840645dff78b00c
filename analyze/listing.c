/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the way from a command line to a printed listing. Must not know what any command prints.
 */
#include <unistd.h>
#include "listing.h"
#include "outfile.h"

enum { OPT_FORMAT = 0x400 };

static const struct argp_option options[] = {
	{"format", OPT_FORMAT, "FORMAT", 0, "text (default), jsonl (also json), or csv", 0},
	{"output", 'o', "FILE", 0, "Write to FILE instead of standard output", 0},
	{0},
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cw_listing *l = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &l->input;
		return 0;
	case OPT_FORMAT:
		if (cw_format_parse(arg, &l->format))
			argp_error(state, "--format %s: give text, jsonl or csv", arg);
		return 0;
	case 'o':
		l->output = arg;
		return 0;
	}
	return cw_input_argument(&l->input, key, arg, state);
}

static const struct argp_child children[] = {{&cw_input_argp, 0, NULL, 0}, {0}};
const struct argp cw_listing_argp = {options, parse, NULL, NULL, children, NULL, NULL};

static int print_to(const char *output, sqlite3 *db,
		    int (*print)(void *arg, sqlite3 *db, FILE *out), void *arg)
{
	struct cw_outfile out;

	if (cw_outfile_open(&out, output))
		return 1;
	return cw_outfile_finish(&out, print(arg, db, out.f));
}

int cw_listing_run(struct cw_listing *l, int (*print)(void *arg, sqlite3 *db, FILE *out), void *arg)
{
	sqlite3 *db = NULL;
	int status = 1;

	l->input.open.progress = isatty(STDERR_FILENO);
	if (!cw_database_open(&db, &l->input.open))
		status = print_to(l->output, db, print, arg);
	sqlite3_close(db);
	cw_input_free(&l->input);
	return status;
}
