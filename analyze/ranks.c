/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns sorted durations by group. Must not know what they are of. */
#include <errno.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "ranks.h"
#include "report.h"
#include "say.h"

#define SUMS   5
#define BOUNDS 256 /* more than there are */

struct group {
	int64_t id;
	bool no_id;
	char *part;
	int64_t *ns, rows;
	size_t n, cap;
	int64_t sums[SUMS];
	bool known[SUMS];
};

struct ranks {
	sqlite3 *db;
	struct group *groups;
	size_t n, cap, last; /* last: where the row before belonged */
};

static const char tables[] =
	"CREATE TEMP TABLE IF NOT EXISTS rank(of TEXT, id INTEGER, part TEXT, rows INTEGER,"
	" n INTEGER, avg INTEGER, p50 INTEGER, p95 INTEGER, p99 INTEGER, max INTEGER,"
	" min INTEGER, sum INTEGER, sum1 INTEGER, sum2 INTEGER, sum3 INTEGER, sum4 INTEGER,"
	" sum5 INTEGER);"
	"CREATE TEMP TABLE IF NOT EXISTS rank_histogram(of TEXT, id INTEGER, part TEXT,"
	" lo INTEGER, n INTEGER);";

/* ---- reading ------------------------------------------------------------------------------------
 */

static bool is_of(const struct group *g, const struct group *key)
{
	return g->id == key->id && g->no_id == key->no_id && !strcmp(g->part, key->part);
}

/* There are few groups, and rows of one mostly come together or in turns. */
static struct group *group_of(struct ranks *r, const struct group *key)
{
	for (size_t i = 0; i < r->n; i++) {
		size_t at = (r->last + i) % r->n;

		if (is_of(&r->groups[at], key)) {
			r->last = at;
			return &r->groups[at];
		}
	}
	cw_reserve(r->groups, r->n, r->cap);
	r->last = r->n++;
	r->groups[r->last] = *key;
	r->groups[r->last].part = cw_strndup(key->part, strlen(key->part));
	return &r->groups[r->last];
}

static void add_row(struct ranks *r, sqlite3_stmt *s, int columns)
{
	struct group key = {
		.id = sqlite3_column_int64(s, 0),
		.no_id = sqlite3_column_type(s, 0) == SQLITE_NULL,
		.part = (char *)(uintptr_t)sqlite3_column_text(s, 1) ?: "",
	};
	struct group *g = group_of(r, &key);

	g->rows++;
	if (sqlite3_column_type(s, 2) != SQLITE_NULL) {
		cw_reserve(g->ns, g->n, g->cap);
		g->ns[g->n++] = sqlite3_column_int64(s, 2);
	}
	for (int i = 0; i < SUMS && i + 3 < columns; i++)
		if (sqlite3_column_type(s, i + 3) != SQLITE_NULL) {
			g->sums[i] += sqlite3_column_int64(s, i + 3);
			g->known[i] = true;
		}
}

static int read_rows(struct ranks *r, const char *query)
{
	sqlite3_stmt *s = NULL;
	int rc = SQLITE_DONE, err = cw_prepare(r->db, &s, query);
	int columns = err ? 0 : sqlite3_column_count(s);

	while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW)
		add_row(r, s, columns);
	if (!err && rc != SQLITE_DONE)
		err = cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(r->db));
	sqlite3_finalize(s);
	return err;
}

/* ---- ranking ------------------------------------------------------------------------------------
 */

static int by_number(const void *a, const void *b)
{
	int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

	return x < y ? -1 : x > y;
}

static int by_name(const void *a, const void *b)
{
	const struct group *x = a, *y = b;

	if (x->no_id != y->no_id)
		return x->no_id ? -1 : 1;
	if (x->id != y->id)
		return x->id < y->id ? -1 : 1;
	return strcmp(x->part, y->part);
}

static void bind_rank(sqlite3_stmt *s, int column, const struct group *g, size_t percent,
		      size_t needed)
{
	if (g->n && g->n >= needed)
		sqlite3_bind_int64(s, column, g->ns[(g->n * percent + 99) / 100 - 1]);
	else
		sqlite3_bind_null(s, column);
}

static int put(struct ranks *r, sqlite3_stmt *s)
{
	sqlite3_step(s);
	if (sqlite3_reset(s) == SQLITE_OK)
		return 0;
	return cw_fail(-EIO, "cannot keep sums: %s", sqlite3_errmsg(r->db));
}

static void bind_group(sqlite3_stmt *s, const char *of, const struct group *g)
{
	sqlite3_clear_bindings(s);
	sqlite3_bind_text(s, 1, of, -1, SQLITE_STATIC);
	if (!g->no_id)
		sqlite3_bind_int64(s, 2, g->id);
	sqlite3_bind_text(s, 3, g->part, -1, SQLITE_STATIC);
}

static int put_rank(struct ranks *r, sqlite3_stmt *s, const char *of, const struct group *g)
{
	double average = 0; /* summed up as SQLite does */
	int64_t sum = 0;

	bind_group(s, of, g);
	for (size_t i = 0; i < g->n; i++) {
		average += (double)g->ns[i];
		sum += g->ns[i];
	}
	sqlite3_bind_int64(s, 4, g->rows);
	sqlite3_bind_int64(s, 5, (int64_t)g->n);
	if (g->n) {
		sqlite3_bind_int64(s, 6, (int64_t)round(average / (double)g->n));
		sqlite3_bind_int64(s, 11, g->ns[0]);
		sqlite3_bind_int64(s, 12, sum);
	}
	bind_rank(s, 7, g, 50, 1);
	bind_rank(s, 8, g, 95, 20);
	bind_rank(s, 9, g, 99, 100);
	bind_rank(s, 10, g, 100, 1);
	for (int i = 0; i < SUMS; i++)
		if (g->known[i])
			sqlite3_bind_int64(s, 13 + i, g->sums[i]);
	return put(r, s);
}

static size_t make_bounds(int64_t bounds[BOUNDS])
{
	int64_t last = 0;
	size_t n = 0;

	for (double x = 1; n < BOUNDS; x *= 1.18920711500272) {
		int64_t bound = (int64_t)round(x);

		if (bound != last)
			bounds[n++] = last = bound;
		if (x >= 1e14)
			break;
	}
	return n;
}

static int put_histogram(struct ranks *r, sqlite3_stmt *s, const char *of, const struct group *g)
{
	int64_t bounds[BOUNDS];
	size_t n = make_bounds(bounds), at = 0; /* at: bounds that are not above ns */
	int err = 0;

	for (size_t i = 0, from = 0; !err && i < g->n; from = i) {
		while (at < n && bounds[at] <= g->ns[i])
			at++;
		while (i < g->n && (at == n || g->ns[i] < bounds[at]))
			i++;
		bind_group(s, of, g);
		sqlite3_bind_int64(s, 4, at ? bounds[at - 1] : 0);
		sqlite3_bind_int64(s, 5, (int64_t)(i - from));
		err = put(r, s);
	}
	return err;
}

static int put_groups(struct ranks *r, const char *of)
{
	sqlite3_stmt *rank = NULL, *histogram = NULL;
	int err = cw_exec(r->db, tables);

	if (!err)
		err = cw_prepare(r->db, &rank,
				 "INSERT INTO temp.rank VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9,"
				 " ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17)");
	if (!err)
		err = cw_prepare(r->db, &histogram,
				 "INSERT INTO temp.rank_histogram VALUES(?1, ?2, ?3, ?4, ?5)");
	if (r->n)
		qsort(r->groups, r->n, sizeof(*r->groups), by_name);
	for (size_t i = 0; !err && i < r->n; i++) {
		struct group *g = &r->groups[i];

		if (g->n)
			qsort(g->ns, g->n, sizeof(*g->ns), by_number);
		err = put_rank(r, rank, of, g);
		if (!err)
			err = put_histogram(r, histogram, of, g);
	}
	sqlite3_finalize(rank);
	sqlite3_finalize(histogram);
	return err;
}

int cw_ranks(sqlite3 *db, const char *of, const char *query)
{
	struct ranks r = {.db = db};
	int err = read_rows(&r, query);

	if (!err)
		err = put_groups(&r, of);
	for (size_t i = 0; i < r.n; i++) {
		free(r.groups[i].part);
		free(r.groups[i].ns);
	}
	free(r.groups);
	return err;
}
