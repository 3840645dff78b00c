/* SPDX-License-Identifier: GPL-2.0-only */
/* Command import: a database that the user keeps. */
#include <stdlib.h>
#include <unistd.h>
#include "commands.h"
#include "options.h"
#include "say.h"

static const struct argp_option options[] = {
	{"output", 'o', "DB", 0, "Database to write; replaced when it is one of callweave's", 0},
	{0},
};

static const char doc[] =
	"Turn a capture into an SQLite database: tables and views are described in SCHEMA.md."
	"\vExamples:\n"
	"  callweave-analyze import trace.cwc -o trace.db\n"
	"  sqlite3 trace.db 'SELECT total_ns, hop_count FROM chain ORDER BY 1'\n"
	"  callweave-analyze report trace.db --min-total-ms 100\n";

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cw_input *in = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = in;
		return 0;
	case 'o':
		in->open.database = arg;
		return 0;
	case ARGP_KEY_END:
		cw_input_argument(in, key, arg, state);
		if (!in->open.database)
			argp_error(state, "give the database to write: -o DB");
		return 0;
	}
	return cw_input_argument(in, key, arg, state);
}

static const struct argp_child children[] = {{&cw_input_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, "CAPTURE -o DB", doc, children, NULL, NULL};

int cw_cmd_import(int argc, char **argv)
{
	struct cw_input in = {0};
	sqlite3 *db = NULL;
	int err;

	if (argp_parse(&argp, argc, argv, 0, NULL, &in))
		return 2;
	in.open.progress = isatty(STDERR_FILENO);
	err = cw_database_open(&db, &in.open);
	sqlite3_close(db);
	cw_input_free(&in);
	return err ? 1 : 0;
}
