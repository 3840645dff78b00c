/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the statements that fill the tables and the thread that runs them. A batch is an array of
 * words: table, nulls, then one word a column (two for a blob). Must not know what rows mean.
 */
#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include "rows.h"

#define BATCH_WORDS (32u << 10)
#define ROW_WORDS   64u
#define MAX_WAITING 16u /* batches that may wait for the inserting thread */

struct batch {
	struct batch *next;
	size_t n;
	uint64_t words[BATCH_WORDS];
};

#define CW_X_SPEC(NAME, columns, sql) {columns, sql},
static const struct {
	const char *columns;
	const char *sql;
} specs[CW_NROWS] = {CW_ROW_TABLES(CW_X_SPEC)};
#undef CW_X_SPEC

/* A statement and what it is bound to: equal values are not bound again. */
struct target {
	sqlite3_stmt *stmt;
	unsigned ncolumns, nwords;
	bool plain; /* integers only */
	bool bound;
	uint64_t nulls;
	uint64_t values[ROW_WORDS];
};

struct cw_rows {
	sqlite3 *db;
	struct target targets[CW_NROWS];
	struct batch *filling;
	uint64_t count;
	pthread_t thread;
	bool running;
	pthread_mutex_t lock;
	pthread_cond_t more, less;
	struct batch *first, **last; /* waiting to be inserted */
	struct batch *spare;
	unsigned waiting;
	bool closing;
	int err; /* the first one; rows after it are dropped */
};

static void bind_integers(struct target *t, uint64_t nulls, const uint64_t *v)
{
	for (unsigned i = 0; i < t->ncolumns; i++) {
		uint64_t bit = 1ull << i;

		if (nulls & bit) {
			if (!(t->nulls & bit) || !t->bound)
				sqlite3_bind_null(t->stmt, (int)i + 1);
		} else if (!t->bound || (t->nulls & bit) || t->values[i] != v[i]) {
			sqlite3_bind_int64(t->stmt, (int)i + 1, (int64_t)v[i]);
			t->values[i] = v[i];
		}
	}
	t->nulls = nulls;
	t->bound = true;
}

static void bind_mixed(struct target *t, const char *columns, uint64_t nulls, const uint64_t *v)
{
	for (int i = 0; columns[i]; i++) {
		const char *text = (const char *)(uintptr_t)*v;

		if (columns[i] == 'b') {
			sqlite3_bind_blob64(t->stmt, i + 1, text, v[1], free);
			v += 2;
			continue;
		}
		if (nulls & 1ull << i)
			sqlite3_bind_null(t->stmt, i + 1);
		else if (columns[i] == 'i')
			sqlite3_bind_int64(t->stmt, i + 1, (int64_t)*v);
		else
			sqlite3_bind_text(t->stmt, i + 1, text, -1,
					  columns[i] == 't' ? free : SQLITE_STATIC);
		v++;
	}
}

/* Free what a row owns that is not inserted any more. */
static void drop_row(const char *columns, uint64_t nulls, const uint64_t *v)
{
	for (int i = 0; columns[i]; i++) {
		if ((columns[i] == 't' && !(nulls & 1ull << i)) || columns[i] == 'b')
			free((void *)(uintptr_t)*v);
		v += columns[i] == 'b' ? 2 : 1;
	}
}

static void insert_batch(struct cw_rows *r, struct batch *b)
{
	for (size_t i = 0; i < b->n;) {
		unsigned table = (unsigned)b->words[i];
		struct target *t = &r->targets[table];
		uint64_t nulls = b->words[i + 1];
		const uint64_t *v = &b->words[i + 2];

		i += 2 + t->nwords;
		if (r->err) {
			drop_row(specs[table].columns, nulls, v);
			continue;
		}
		if (t->plain)
			bind_integers(t, nulls, v);
		else
			bind_mixed(t, specs[table].columns, nulls, v);
		sqlite3_step(t->stmt);
		if (sqlite3_reset(t->stmt) != SQLITE_OK)
			r->err = sqlite3_errcode(r->db) == SQLITE_FULL ? -ENOSPC : -EIO;
	}
	b->n = 0;
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
		pthread_cond_signal(&r->less);
		pthread_mutex_unlock(&r->lock);
		insert_batch(r, b);
		pthread_mutex_lock(&r->lock);
		b->next = r->spare;
		r->spare = b;
	}
	pthread_mutex_unlock(&r->lock);
	return NULL;
}

/* Hand the batch over and take an empty one. */
static void next_batch(struct cw_rows *r)
{
	struct batch *b = r->filling;

	pthread_mutex_lock(&r->lock);
	if (b) {
		while (r->waiting >= MAX_WAITING)
			pthread_cond_wait(&r->less, &r->lock);
		b->next = NULL;
		*r->last = b;
		r->last = &b->next;
		r->waiting++;
		pthread_cond_signal(&r->more);
	}
	b = r->spare;
	if (b)
		r->spare = b->next;
	pthread_mutex_unlock(&r->lock);
	if (!b)
		b = cw_grow(NULL, 1, sizeof(*b));
	b->n = 0;
	r->filling = b;
}

uint64_t *cw_rows_put(struct cw_rows *r, enum cw_row table, uint64_t nulls)
{
	struct batch *b = r->filling;
	uint64_t *w;

	if (b->n + ROW_WORDS > BATCH_WORDS) {
		next_batch(r);
		b = r->filling;
	}
	w = &b->words[b->n];
	b->n += 2 + r->targets[table].nwords;
	w[0] = table;
	w[1] = nulls;
	r->count++;
	return w + 2;
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

uint64_t cw_rows_count(const struct cw_rows *r)
{
	return r->count;
}

static int prepare(struct cw_rows *r)
{
	for (unsigned i = 0; i < CW_NROWS; i++) {
		struct target *t = &r->targets[i];
		const char *c = specs[i].columns;
		char sql[1024];
		size_t n;

		t->ncolumns = (unsigned)strlen(c);
		t->nwords = t->ncolumns + (strchr(c, 'b') != NULL);
		t->plain = strspn(c, "i") == t->ncolumns;
		n = (size_t)snprintf(sql, sizeof(sql), "%s VALUES(", specs[i].sql);
		for (unsigned k = 0; k < t->ncolumns && n + 4 < sizeof(sql); k++)
			n += (size_t)snprintf(sql + n, sizeof(sql) - n, k ? ",?" : "?");
		snprintf(sql + n, sizeof(sql) - n, ")");
		if (sqlite3_prepare_v3(r->db, sql, -1, SQLITE_PREPARE_PERSISTENT, &t->stmt, NULL) !=
		    SQLITE_OK)
			return -EIO;
	}
	return 0;
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
	if (!err) {
		next_batch(r);
		err = -pthread_create(&r->thread, NULL, insert_thread, r);
	}
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
	next_batch(r);
	pthread_mutex_lock(&r->lock);
	r->closing = true;
	pthread_cond_signal(&r->more);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	r->running = false;
	for (unsigned i = 0; i < CW_NROWS; i++) {
		sqlite3_finalize(r->targets[i].stmt);
		r->targets[i].stmt = NULL;
	}
	return r->err;
}

void cw_rows_free(struct cw_rows *r)
{
	if (!r)
		return;
	cw_rows_finish(r);
	for (unsigned i = 0; i < CW_NROWS; i++)
		sqlite3_finalize(r->targets[i].stmt);
	free(r->filling);
	for (struct batch *b = r->spare, *next; b; b = next) {
		next = b->next;
		free(b);
	}
	pthread_cond_destroy(&r->more);
	pthread_cond_destroy(&r->less);
	pthread_mutex_destroy(&r->lock);
	free(r);
}
