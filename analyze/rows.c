/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the rows on their way: one batch a table, handed to a thread that inserts it. A statement of
 * its own for each row costs more than the row, so a batch is shown to SQLite as a virtual table
 * and copied by one INSERT ... SELECT. Rows of a batch go in by their first column, the row id of
 * most tables: appending is cheaper than seeking. Must not know what rows mean.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "rows.h"

#define BATCH_WORDS (16u << 10)
#define MAX_WAITING 32u /* batches that may wait for the inserting thread */
#define MAX_COLUMNS 40u

/* clang-format off */
#define CW_X_SPEC(NAME, columns, sql) {#NAME, columns, sql},
/* clang-format on */
static const struct {
	const char *name;
	const char *columns;
	const char *sql;
} specs[CW_NROWS] = {CW_ROW_TABLES(CW_X_SPEC)};
#undef CW_X_SPEC

/* Rows of stride words: which columns are NULL, then one word a column, two for a blob. */
struct batch {
	struct batch *next;
	unsigned table;
	size_t rows;
	uint64_t words[BATCH_WORDS];
};

struct table {
	struct cw_rows *owner;
	sqlite3_stmt *stmt;
	unsigned ncolumns, stride, max_rows;
	uint8_t word_of[MAX_COLUMNS]; /* where in the row a column stands */
	struct batch *filling;
};

struct cw_rows {
	sqlite3 *db;
	struct table tables[CW_NROWS];
	uint64_t count;
	const struct batch *inserting; /* what the virtual tables show */
	uint32_t order[BATCH_WORDS];   /* of its rows */
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t more, less;
	struct batch *first, **last; /* waiting to be inserted */
	struct batch *spare;
	unsigned waiting;
	bool busy;
	bool closing;
	int err; /* the first one; rows after it are dropped */
};

/* ---- a batch as a virtual table -----------------------------------------------------------------
 */

struct vtab {
	sqlite3_vtab base;
	struct table *table;
};

struct cursor {
	sqlite3_vtab_cursor base;
	const struct cw_rows *rows;
	const struct table *table;
	const char *columns;
	size_t i, n;
	const uint64_t *row;
};

static int connect_batch(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **err)
{
	struct table *t = aux;
	struct vtab *v = sqlite3_malloc(sizeof(*v));
	char sql[512];
	int n = snprintf(sql, sizeof(sql), "CREATE TABLE x(");

	(void)argc;
	(void)argv;
	(void)err;
	if (!v)
		return SQLITE_NOMEM;
	memset(v, 0, sizeof(*v));
	v->table = t;
	*out = &v->base;
	for (unsigned i = 0; i < t->ncolumns; i++)
		n += snprintf(sql + n, sizeof(sql) - (size_t)n, "%sc%u", i ? "," : "", i);
	snprintf(sql + n, sizeof(sql) - (size_t)n, ")");
	return sqlite3_declare_vtab(db, sql);
}

static int disconnect_batch(sqlite3_vtab *v)
{
	sqlite3_free(v);
	return SQLITE_OK;
}

static int best_index(sqlite3_vtab *v, sqlite3_index_info *info)
{
	(void)v;
	info->estimatedCost = 1000;
	return SQLITE_OK;
}

static int open_batch(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct table *t = ((struct vtab *)base)->table;
	struct cursor *c = sqlite3_malloc(sizeof(*c));

	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof(*c));
	c->table = t;
	c->rows = t->owner;
	c->columns = specs[t - t->owner->tables].columns;
	*out = &c->base;
	return SQLITE_OK;
}

static int close_batch(sqlite3_vtab_cursor *base)
{
	sqlite3_free(base);
	return SQLITE_OK;
}

static void show(struct cursor *c)
{
	if (c->i < c->n)
		c->row = &c->rows->inserting->words[c->rows->order[c->i] * c->table->stride];
}

static int filter(sqlite3_vtab_cursor *base, int n, const char *s, int argc, sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;

	(void)n;
	(void)s;
	(void)argc;
	(void)argv;
	c->i = 0;
	c->n = c->rows->inserting ? c->rows->inserting->rows : 0;
	show(c);
	return SQLITE_OK;
}

static int next_row(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	c->i++;
	show(c);
	return SQLITE_OK;
}

static int at_end(sqlite3_vtab_cursor *base)
{
	const struct cursor *c = (const struct cursor *)base;

	return c->i >= c->n;
}

static int column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int i)
{
	const struct cursor *c = (const struct cursor *)base;
	const uint64_t *w = &c->row[c->table->word_of[i]];

	if (c->row[0] & 1ull << i)
		return SQLITE_OK;
	if (c->columns[i] == 'i')
		sqlite3_result_int64(ctx, (int64_t)*w);
	else if (c->columns[i] == 'b')
		sqlite3_result_blob64(ctx, (const void *)(uintptr_t)w[0], w[1], SQLITE_STATIC);
	else
		sqlite3_result_text(ctx, (const char *)(uintptr_t)*w, -1, SQLITE_STATIC);
	return SQLITE_OK;
}

static int rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	*out = (sqlite3_int64)((const struct cursor *)base)->i;
	return SQLITE_OK;
}

static const sqlite3_module batch_module = {
	.xConnect = connect_batch,
	.xDisconnect = disconnect_batch,
	.xBestIndex = best_index,
	.xOpen = open_batch,
	.xClose = close_batch,
	.xFilter = filter,
	.xNext = next_row,
	.xEof = at_end,
	.xColumn = column,
	.xRowid = rowid,
};

/* ---- the inserting thread -----------------------------------------------------------------------
 */

static uint64_t key_of(const struct batch *b, const struct table *t, uint32_t row)
{
	return b->words[row * t->stride + 1];
}

/* By the first column, when it is a number; the rows are nearly in its order already. */
static void order_rows(struct cw_rows *r, const struct batch *b, const struct table *t)
{
	bool number = specs[b->table].columns[0] == 'i';

	for (uint32_t i = 0; i < b->rows; i++) {
		uint64_t key = key_of(b, t, i);
		uint32_t k = i, moved = 0;

		while (number && k && key_of(b, t, r->order[k - 1]) > key && moved++ < 64) {
			r->order[k] = r->order[k - 1];
			k--;
		}
		r->order[k] = i;
	}
}

/* Free what the rows own. */
static void drop_rows(struct batch *b, const struct table *t, const char *columns)
{
	for (unsigned i = 0; i < t->ncolumns; i++) {
		if (columns[i] != 't' && columns[i] != 'b')
			continue;
		for (size_t k = 0; k < b->rows; k++) {
			uint64_t *row = &b->words[k * t->stride];

			if (!(row[0] & 1ull << i))
				free((void *)(uintptr_t)row[t->word_of[i]]);
		}
	}
	b->rows = 0;
}

static void insert_batch(struct cw_rows *r, struct batch *b)
{
	struct table *t = &r->tables[b->table];
	const char *columns = specs[b->table].columns;

	if (!r->err) {
		order_rows(r, b, t);
		r->inserting = b;
		sqlite3_step(t->stmt);
		if (sqlite3_reset(t->stmt) != SQLITE_OK)
			r->err = sqlite3_errcode(r->db) == SQLITE_FULL ? -ENOSPC : -EIO;
		r->inserting = NULL;
	}
	drop_rows(b, t, columns);
}

static void *insert_thread(void *arg)
{
	struct cw_rows *r = arg;

	pthread_mutex_lock(&r->lock);
	for (;;) {
		struct batch *b = r->first;

		if (!b && r->closing)
			break;
		if (!b) {
			pthread_cond_wait(&r->more, &r->lock);
			continue;
		}
		r->first = b->next;
		if (!r->first)
			r->last = &r->first;
		r->waiting--;
		r->busy = true;
		pthread_cond_signal(&r->less);
		pthread_mutex_unlock(&r->lock);
		insert_batch(r, b);
		pthread_mutex_lock(&r->lock);
		r->busy = false;
		if (!r->first)
			pthread_cond_signal(&r->less);
		b->next = r->spare;
		r->spare = b;
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* ---- putting rows -------------------------------------------------------------------------------
 */

/* Hand the table's batch over. */
static void hand_over(struct cw_rows *r, struct table *t)
{
	struct batch *b = t->filling;

	if (!b)
		return;
	t->filling = NULL;
	b->next = NULL;
	pthread_mutex_lock(&r->lock);
	while (r->waiting >= MAX_WAITING)
		pthread_cond_wait(&r->less, &r->lock);
	*r->last = b;
	r->last = &b->next;
	r->waiting++;
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
}

static void take_batch(struct cw_rows *r, struct table *t)
{
	struct batch *b;

	pthread_mutex_lock(&r->lock);
	b = r->spare;
	if (b)
		r->spare = b->next;
	pthread_mutex_unlock(&r->lock);
	if (!b)
		b = cw_grow(NULL, 1, sizeof(*b));
	b->rows = 0;
	b->table = (unsigned)(t - r->tables);
	t->filling = b;
}

uint64_t *cw_rows_put(struct cw_rows *r, enum cw_row table, uint64_t nulls)
{
	struct table *t = &r->tables[table];
	uint64_t *w;

	if (t->filling && t->filling->rows == t->max_rows)
		hand_over(r, t);
	if (!t->filling)
		take_batch(r, t);
	w = &t->filling->words[t->filling->rows++ * t->stride];
	w[0] = nulls;
	r->count++;
	return w + 1;
}

void cw_rows_info(struct cw_rows *r, const char *key, int64_t value)
{
	uint64_t *w = cw_rows_put(r, CW_ROW_INFO, 0);

	w[0] = cw_word_dup(key);
	w[1] = (uint64_t)value;
}

void cw_rows_info_text(struct cw_rows *r, const char *key, const char *value)
{
	uint64_t *w = cw_rows_put(r, CW_ROW_INFO_TEXT, value ? 0 : 2);

	w[0] = cw_word_dup(key);
	w[1] = cw_word_dup(value);
}

int cw_rows_sync(struct cw_rows *r)
{
	for (unsigned i = 0; i < CW_NROWS; i++)
		hand_over(r, &r->tables[i]);
	pthread_mutex_lock(&r->lock);
	while (r->first || r->busy)
		pthread_cond_wait(&r->less, &r->lock);
	pthread_mutex_unlock(&r->lock);
	return r->err;
}

uint64_t cw_rows_count(const struct cw_rows *r)
{
	return r->count;
}

/* ---- beginning and end --------------------------------------------------------------------------
 */

static void module_name(unsigned table, char *buf, size_t size)
{
	snprintf(buf, size, "batch_%s", specs[table].name);
}

static int prepare(struct cw_rows *r)
{
	for (unsigned i = 0; i < CW_NROWS; i++) {
		struct table *t = &r->tables[i];
		const char *c = specs[i].columns;
		char name[64], sql[1024];

		t->owner = r;
		t->stride = 1;
		for (t->ncolumns = 0; c[t->ncolumns] && t->ncolumns < MAX_COLUMNS; t->ncolumns++) {
			t->word_of[t->ncolumns] = (uint8_t)t->stride;
			t->stride += c[t->ncolumns] == 'b' ? 2 : 1;
		}
		t->max_rows = BATCH_WORDS / t->stride;
		module_name(i, name, sizeof(name));
		snprintf(sql, sizeof(sql), "%s SELECT * FROM %s", specs[i].sql, name);
		if (sqlite3_create_module(r->db, name, &batch_module, t) != SQLITE_OK ||
		    sqlite3_prepare_v3(r->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &t->stmt, NULL) !=
			    SQLITE_OK)
			return -EIO;
	}
	return 0;
}

/* Leave nothing of ours in db. */
static void unprepare(struct cw_rows *r)
{
	char name[64];

	for (unsigned i = 0; i < CW_NROWS; i++) {
		if (!r->tables[i].owner)
			continue;
		sqlite3_finalize(r->tables[i].stmt);
		module_name(i, name, sizeof(name));
		sqlite3_create_module(r->db, name, NULL, NULL);
		r->tables[i].stmt = NULL;
		r->tables[i].owner = NULL;
	}
}

int cw_rows_new(struct cw_rows **out, sqlite3 *db)
{
	struct cw_rows *r = cw_zalloc(sizeof(*r));
	int err;

	r->db = db;
	r->last = &r->first;
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->more, NULL);
	pthread_cond_init(&r->less, NULL);
	err = prepare(r);
	if (!err)
		err = -pthread_create(&r->thread, NULL, insert_thread, r);
	if (err) {
		cw_rows_free(r);
		return err;
	}
	r->running = true;
	*out = r;
	return 0;
}

int cw_rows_finish(struct cw_rows *r)
{
	if (!r->running)
		return r->err;
	for (unsigned i = 0; i < CW_NROWS; i++)
		hand_over(r, &r->tables[i]);
	pthread_mutex_lock(&r->lock);
	r->closing = true;
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	r->running = false;
	unprepare(r);
	return r->err;
}

void cw_rows_free(struct cw_rows *r)
{
	if (!r)
		return;
	cw_rows_finish(r);
	unprepare(r);
	for (struct batch *b = r->spare, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	pthread_cond_destroy(&r->more);
	pthread_cond_destroy(&r->less);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
