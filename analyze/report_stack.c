/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Stacks of the text report. Captures have few distinct stacks and many places that show them, so
 * each is rendered once for each way of showing it. Knows frames, not whose they are.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "report.h"
#include "say.h"

/* clang-format off */
enum { DEPTH, ADDRESS, MODULE, FUNCTION, FILE_NAME, LINE, INLINED };

static const char query[] =
	"SELECT depth, address, module, coalesce(function, module || '+' || rel_pc), file, line,"
	" inline_depth <"
	" (SELECT max(inline_depth) FROM callstack d WHERE d.stack_id = c.stack_id"
	"  AND d.depth = c.depth)"
	" FROM callstack c WHERE stack_id = ?1 ORDER BY depth, inline_depth";
static const char problem_query[] =
	"SELECT problem FROM stack WHERE stack_id = ?1 AND problem IS NOT NULL";
/* clang-format on */

static const char *const prefixes[CW_STACK_KINDS] = {NULL, "async", "waker"};

/* A rendered stack; text is owned. */
struct rendered {
	int64_t stack_id;
	char *text; /* NULL: a free place */
};

struct cw_stacks {
	struct cw_text *t;
	sqlite3_stmt *stmt, *problem;
	struct rendered *table[CW_STACK_KINDS]; /* open addressing */
	size_t size[CW_STACK_KINDS], used[CW_STACK_KINDS];
};

int cw_stacks_new(struct cw_stacks **out, sqlite3 *db, struct cw_text *t)
{
	struct cw_stacks *s = calloc(1, sizeof(*s));

	*out = s;
	if (!s)
		return -ENOMEM;
	s->t = t;
	return cw_prepare(db, &s->stmt, query) ?: cw_prepare(db, &s->problem, problem_query);
}

void cw_stacks_free(struct cw_stacks *s)
{
	if (!s)
		return;
	for (int k = 0; k < CW_STACK_KINDS; k++) {
		for (size_t i = 0; i < s->size[k]; i++)
			free(s->table[k][i].text);
		free(s->table[k]);
	}
	sqlite3_finalize(s->stmt);
	sqlite3_finalize(s->problem);
	free(s);
}

static const char *text_at(sqlite3_stmt *s, int col, const char *missing)
{
	return (const char *)sqlite3_column_text(s, col) ?: missing;
}

/* A source path that does not fit is cut to its last directory and name, or to the name. */
static const char *short_path(const struct cw_text *t, const char *path, int columns)
{
	int whole = cw_print_columns(path);
	const char *cut = path + strlen(path);
	const char *name = path, *tail = path;

	if (!t->width || columns + whole <= t->width)
		return path;
	for (int slashes = 0; cut > path && slashes < 2;) {
		if (*--cut != '/')
			continue;
		name = slashes++ ? name : cut + 1;
		tail = cut + 1;
	}
	return columns + cw_print_columns(tail) <= t->width ? tail : name;
}

static void print_frame(struct cw_text *t, const char *prefix, sqlite3_stmt *s)
{
	const char *file = text_at(s, FILE_NAME, NULL);
	const char *function = text_at(s, FUNCTION, "??");
	char line[16];
	bool inlined;
	int columns;

	if (prefix)
		cw_line_begin(t, 2, CW_PLAIN, "%s #%-3d %-20s", prefix,
			      sqlite3_column_int(s, DEPTH), text_at(s, MODULE, "??"));
	else
		cw_line_begin(t, 2, CW_PLAIN, "#%-3d %s %-20s", sqlite3_column_int(s, DEPTH),
			      text_at(s, ADDRESS, ""), text_at(s, MODULE, "??"));
	inlined = sqlite3_column_int(s, INLINED);
	columns = t->column + 1 + cw_print_columns(function) + (inlined ? 10 : 0);
	fputc(' ', t->out);
	cw_styled(t, CW_BOLD, function);
	if (inlined)
		fputs(" (inlined)", t->out);
	if (file) {
		fputs(" at ", t->out);
		columns += 4 + snprintf(line, sizeof(line), ":%d", sqlite3_column_int(s, LINE));
		cw_styled(t, CW_PLAIN, short_path(t, file, columns));
		if (sqlite3_column_type(s, LINE) != SQLITE_NULL)
			fputs(line, t->out);
	}
	cw_line_end(t);
}

/* What is missing must not look as if it were not there. */
static void print_problem(struct cw_stacks *s, const char *prefix, int64_t stack_id)
{
	sqlite3_reset(s->problem);
	sqlite3_bind_int64(s->problem, 1, stack_id);
	if (sqlite3_step(s->problem) == SQLITE_ROW) {
		cw_line_begin(s->t, 2, CW_PLAIN, "%s%s     (not whole: %s)", prefix ?: "",
			      prefix ? " " : "", text_at(s->problem, 0, ""));
		cw_line_end(s->t);
	}
	sqlite3_reset(s->problem);
}

/* The stack as lines, malloc'ed; NULL when it cannot be read. */
static char *render(struct cw_stacks *s, int64_t stack_id, enum cw_stack_kind kind)
{
	FILE *out = s->t->out;
	char *text = NULL;
	size_t size = 0;
	int rc;

	s->t->out = open_memstream(&text, &size);
	if (!s->t->out) {
		s->t->out = out;
		return NULL;
	}
	sqlite3_reset(s->stmt);
	sqlite3_bind_int64(s->stmt, 1, stack_id);
	while ((rc = sqlite3_step(s->stmt)) == SQLITE_ROW)
		print_frame(s->t, prefixes[kind], s->stmt);
	sqlite3_reset(s->stmt);
	print_problem(s, prefixes[kind], stack_id);
	if (fclose(s->t->out) || rc != SQLITE_DONE) {
		free(text);
		text = NULL;
	}
	s->t->out = out;
	return text;
}

/* Where stack_id is or belongs; size is a power of two and never full. */
static struct rendered *place(struct rendered *table, size_t size, int64_t stack_id)
{
	size_t i = (uint64_t)stack_id * 0x9e3779b97f4a7c15ull >> 20 & (size - 1);

	while (table[i].text && table[i].stack_id != stack_id)
		i = (i + 1) & (size - 1);
	return &table[i];
}

static int grow(struct cw_stacks *s, enum cw_stack_kind kind)
{
	size_t size = s->size[kind] ? s->size[kind] * 2 : 256;
	struct rendered *table = calloc(size, sizeof(*table));

	if (!table)
		return -ENOMEM;
	for (size_t i = 0; i < s->size[kind]; i++)
		if (s->table[kind][i].text)
			*place(table, size, s->table[kind][i].stack_id) = s->table[kind][i];
	free(s->table[kind]);
	s->table[kind] = table;
	s->size[kind] = size;
	return 0;
}

int cw_stack_print(struct cw_stacks *s, int64_t stack_id, enum cw_stack_kind kind)
{
	struct rendered *r;

	if (s->used[kind] * 2 >= s->size[kind] && grow(s, kind))
		return -ENOMEM;
	r = place(s->table[kind], s->size[kind], stack_id);
	if (!r->text) {
		r->text = render(s, stack_id, kind);
		if (!r->text)
			return -EBADMSG;
		r->stack_id = stack_id;
		s->used[kind]++;
	}
	fputs(r->text, s->t->out);
	return 0;
}
