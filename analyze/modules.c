/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns command modules: the printing of view module_source. What is in it, the schema decides. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "commands.h"
#include "listing.h"
#include "print.h"
#include "report.h"
#include "say.h"
#include "text.h"

#define MODULES_ORDER " ORDER BY frames DESC, path, module_id"

static const char rows_query[] =
	"SELECT 'module' AS type, module_id, path, name, kind, build_id, frames, named, lined, "
	"inlined,"
	" names_from, lines_from, unwind_from, embedded, embedded_bytes, moved, tried, unwind_tried"
	" FROM module_source WHERE frames > 0 OR ?1" MODULES_ORDER;

static const char text_query[] = "SELECT path, kind, build_id, frames, named, lined, inlined, "
				 "names_from, lines_from, unwind_from,"
				 " embedded, embedded_bytes, moved, tried, unwind_tried"
				 " FROM module_source WHERE frames > 0 OR ?1" MODULES_ORDER;

enum column {
	PATH,
	KIND,
	BUILD_ID,
	FRAMES,
	NAMED,
	LINED,
	INLINED,
	NAMES_FROM,
	LINES_FROM,
	UNWIND_FROM,
	EMBEDDED,
	EMBEDDED_BYTES,
	MOVED,
	TRIED,
	UNWIND_TRIED
};

static const char *text_of(sqlite3_stmt *s, int column)
{
	return (const char *)sqlite3_column_text(s, column);
}

/* "  names      capture"; left out when there is nothing to say. */
static void fact(struct cw_text *t, enum cw_style style, const char *name, const char *value)
{
	if (!value)
		return;
	cw_line_begin(t, 2, style, "%-9s", name);
	cw_field(t, style, "%s", value);
	cw_line_end(t);
}

/* What was tried is a list: a line each reads better than one long one. */
static void tried(struct cw_text *t, const char *name, const char *list)
{
	while (list && *list) {
		size_t len = strcspn(list, ";");
		char *one = strndup(list, len);

		fact(t, CW_DIM, name, one);
		free(one);
		list += len + (list[len] == ';');
		list += strspn(list, " ");
		name = "";
	}
}

static void print_module(struct cw_text *t, sqlite3_stmt *s)
{
	const char *kind = text_of(s, KIND);
	char n[CW_DURATION_SIZE];

	cw_line_begin(t, 0, CW_BOLD, "%s", text_of(s, PATH));
	if (strcmp(kind, "file") != 0 && !strstr(text_of(s, PATH), kind))
		cw_field(t, CW_PLAIN, "[%s]", kind);
	if (sqlite3_column_int64(s, MOVED))
		cw_field(t, CW_PLAIN, "[moved to other pages]");
	cw_field(t, CW_PLAIN, "%s addresses,", cw_number(n, sqlite3_column_int64(s, FRAMES)));
	cw_field(t, CW_PLAIN, "%s named,", cw_number(n, sqlite3_column_int64(s, NAMED)));
	cw_field(t, CW_PLAIN, "%s with lines%s", cw_number(n, sqlite3_column_int64(s, LINED)),
		 sqlite3_column_int64(s, INLINED) ? "," : "");
	if (sqlite3_column_int64(s, INLINED))
		cw_field(t, CW_PLAIN, "%s with inlined functions",
			 cw_number(n, sqlite3_column_int64(s, INLINED)));
	cw_line_end(t);
	fact(t, CW_PLAIN, "build id", text_of(s, BUILD_ID) ?: "none");
	fact(t, CW_PLAIN, "names", text_of(s, NAMES_FROM) ?: "none");
	fact(t, CW_PLAIN, "lines", text_of(s, LINES_FROM) ?: "none");
	fact(t, CW_PLAIN, "unwind", text_of(s, UNWIND_FROM) ?: "none");
	if (text_of(s, EMBEDDED)) {
		cw_line_begin(t, 2, CW_PLAIN, "%-9s", "embedded");
		cw_field(t, CW_PLAIN, "%s,", text_of(s, EMBEDDED));
		cw_field(t, CW_PLAIN, "%s bytes",
			 cw_number(n, sqlite3_column_int64(s, EMBEDDED_BYTES)));
		cw_line_end(t);
	}
	tried(t, "tried", text_of(s, TRIED));
	tried(t, "unwinding", text_of(s, UNWIND_TRIED));
}

static int print_text(sqlite3 *db, bool all, FILE *out)
{
	sqlite3_stmt *s = NULL;
	struct cw_text t;
	int err = cw_prepare(db, &s, text_query), n = 0;

	cw_text_init(&t, out, CW_COLOR_AUTO);
	if (!err)
		sqlite3_bind_int(s, 1, all);
	while (!err && sqlite3_step(s) == SQLITE_ROW) {
		if (n++)
			fputc('\n', out);
		print_module(&t, s);
	}
	if (!err && !n)
		fputs("No stack shows any module.\n", out);
	if (sqlite3_finalize(s) && !err)
		err = cw_fail(-EBADMSG, "cannot read the modules: %s", sqlite3_errmsg(db));
	return err;
}

static int print_rows(sqlite3 *db, bool all, enum cw_format format, FILE *out)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s, rows_query);
	long n;

	if (err)
		return err;
	sqlite3_bind_int(s, 1, all);
	n = cw_print_rows(db, s, format, out);
	if (n == -EBADMSG)
		cw_say("cannot read the modules: %s", sqlite3_errmsg(db));
	sqlite3_finalize(s);
	return n < 0 ? (int)n : 0;
}

/* ---- the command --------------------------------------------------------------------------------
 */

enum { OPT_ALL = 0x100 };

static const struct argp_option options[] = {
	{"all", OPT_ALL, NULL, 0, "Also modules that no stack shows", 0},
	{0},
};

static const char doc[] =
	"Show for each module that stacks show how much of it has names and source lines, which "
	"file served names, lines and unwind information, and what was tried and why it did not "
	"serve. A file with another build id than the one that ran is never used."
	"\vExamples:\n"
	"  callweave-analyze modules trace.cwc\n"
	"  callweave-analyze modules trace.cwc --debug-dir /srv/debug --sysroot /srv/image\n"
	"  callweave-analyze modules trace.cwc --debuginfod=https://debuginfod.debian.net\n"
	"  callweave-analyze sql trace.cwc 'SELECT path, tried FROM module_source WHERE named < "
	"frames'\n";

struct args {
	struct cw_listing listing;
	bool all;
};

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct args *a = state->input;

	(void)arg;
	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &a->listing;
		return 0;
	case OPT_ALL:
		a->all = true;
		return 0;
	}
	return ARGP_ERR_UNKNOWN;
}

static const struct argp_child children[] = {{&cw_listing_argp, 0, NULL, 0}, {0}};
static const struct argp argp = {options, parse, "CAPTURE", doc, children, NULL, NULL};

/* cw_listing_run's. */
static int print(void *arg, sqlite3 *db, FILE *out)
{
	const struct args *a = arg;

	return a->listing.format == CW_FORMAT_TEXT ? print_text(db, a->all, out)
						   : print_rows(db, a->all, a->listing.format, out);
}

int cw_cmd_modules(int argc, char **argv)
{
	struct args a = {0};

	return argp_parse(&argp, argc, argv, 0, NULL, &a) ? 2
							  : cw_listing_run(&a.listing, print, &a);
}
