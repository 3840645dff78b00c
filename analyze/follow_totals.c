/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns what is counted over a whole followed run, in memory that does not grow with it. Must not
 * know how it is printed.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "follow.h"
#include "hash.h"
#include "say.h"

/* ---- histograms ---------------------------------------------------------------------------------
 * 256 buckets for each power of two: a value is known to 1/256 of itself, its middle to 1/512.
 */
#define SUB_BITS 8u
#define SUB      (1u << SUB_BITS)
#define OCTAVES  (64u - SUB_BITS + 1)

struct histogram {
	uint64_t n, sum, max;
	uint64_t *octave[OCTAVES]; /* NULL: all zero */
};

static void histogram_add(struct histogram *h, uint64_t v)
{
	unsigned top = v ? 63u - (unsigned)__builtin_clzll(v) : 0;
	unsigned octave = top < SUB_BITS ? 0 : top - SUB_BITS + 1;
	unsigned sub = (octave ? v >> (octave - 1) : v) & (SUB - 1);

	if (!h->octave[octave])
		h->octave[octave] = cw_zalloc(SUB * sizeof(*h->octave[octave]));
	h->octave[octave][sub]++;
	h->n++;
	h->sum += v;
	h->max = v > h->max ? v : h->max;
}

/* The value at place ceil(percent * n / 100). */
static uint64_t histogram_at(const struct histogram *h, unsigned percent)
{
	uint64_t place = (h->n * percent + 99) / 100, seen = 0;

	for (unsigned o = 0; o < OCTAVES; o++)
		for (unsigned i = 0; h->octave[o] && i < SUB; i++) {
			uint64_t v;

			seen += h->octave[o][i];
			if (seen < place)
				continue;
			v = o ? ((uint64_t)(SUB + i) << (o - 1)) + ((1ull << (o - 1)) / 2) : i;
			return v < h->max ? v : h->max;
		}
	return h->max;
}

/* ---- what is counted ----------------------------------------------------------------------------
 */

struct series {
	int64_t plan_hop; /* -1: calls alone */
	char *part;
	struct histogram h;
};

struct ended {
	uint32_t probe_id;
	const char *reason; /* NULL: returned */
	uint64_t n;
};

enum { NEW_PATHS, NEW_UNMATCHED, NEW_LOSSES, SAMPLES, SHOWN, NSTATEMENTS };

struct cw_sums {
	sqlite3 *db;
	sqlite3_stmt *stmt[NSTATEMENTS];
	struct series *series;
	size_t nseries, series_cap;
	struct ended *ended;
	size_t nended, ended_cap;
	uint64_t calls;
	int64_t last_chain, last_unmatched, last_loss;
	uint64_t shown_chains, shown_calls, shown_incomplete, shown_flagged;
};

static const char schema[] = CW_TALLY_SCHEMA
	"CREATE TEMP TABLE sum_path(flags TEXT, complete INTEGER, n INTEGER,"
	" PRIMARY KEY(flags, complete)) WITHOUT ROWID;"
	"CREATE TEMP TABLE sum_unmatched(plan_hop INTEGER, reason TEXT, n INTEGER,"
	" PRIMARY KEY(plan_hop, reason)) WITHOUT ROWID;"
	"CREATE TEMP TABLE sum_return(probe_id INTEGER, reason TEXT, n INTEGER);"
	"CREATE TEMP TABLE sum_loss(kind TEXT, known_cpu INTEGER, reason TEXT, cpu INTEGER,"
	" count INTEGER, ts INTEGER, end_ts INTEGER, PRIMARY KEY(kind, known_cpu, reason))"
	" WITHOUT ROWID;";

static const char *const statements[NSTATEMENTS] = {
	[NEW_PATHS] = "INSERT INTO temp.sum_path SELECT flags, complete, count(*) FROM path"
		      " WHERE chain_id > ?1 GROUP BY 1, 2"
		      " ON CONFLICT DO UPDATE SET n = n + excluded.n",
	[NEW_UNMATCHED] = "INSERT INTO temp.sum_unmatched SELECT plan_hop, reason, count(*)"
			  " FROM unmatched WHERE rowid > ?1 GROUP BY 1, 2"
			  " ON CONFLICT DO UPDATE SET n = n + excluded.n",
	[NEW_LOSSES] = "INSERT INTO temp.sum_loss SELECT kind, coalesce(cpu, -1), reason, cpu,"
		       " sum(count), min(ts), max(end_ts) FROM loss WHERE rowid > ?1"
		       " GROUP BY 1, 2, 3 ON CONFLICT DO UPDATE SET count ="
		       " coalesce(count + excluded.count, count, excluded.count),"
		       " ts = min(ts, excluded.ts), end_ts = max(end_ts, excluded.end_ts)",
	[SHOWN] = "SELECT count(p.chain_id), count(*) - count(p.chain_id), sum(p.complete = 0),"
		  " sum(p.flags <> '') FROM temp.item i LEFT JOIN path p USING(chain_id)",
};

int cw_sums_new(struct cw_sums **out, sqlite3 *db)
{
	struct cw_sums *s = cw_zalloc(sizeof(*s));
	int err = cw_exec(db, schema);

	*out = s;
	s->db = db;
	for (int i = 0; !err && i < NSTATEMENTS; i++)
		err = cw_prepare(db, &s->stmt[i], i == SAMPLES ? cw_report_samples : statements[i]);
	return err;
}

void cw_sums_free(struct cw_sums *s)
{
	if (!s)
		return;
	for (int i = 0; i < NSTATEMENTS; i++)
		sqlite3_finalize(s->stmt[i]);
	for (size_t i = 0; i < s->nseries; i++) {
		for (unsigned o = 0; o < OCTAVES; o++)
			free(s->series[i].h.octave[o]);
		free(s->series[i].part);
	}
	free(s->series);
	free(s->ended);
	free(s);
}

void cw_sums_call(struct cw_sums *s, uint32_t probe_id, const char *reason)
{
	struct ended *e;

	s->calls++;
	for (size_t i = 0; i < s->nended; i++) {
		e = &s->ended[i];
		if (e->probe_id == probe_id && e->reason == reason) {
			e->n++;
			return;
		}
	}
	cw_reserve(s->ended, s->nended, s->ended_cap);
	s->ended[s->nended++] = (struct ended){probe_id, reason, 1};
}

static int fail(struct cw_sums *s)
{
	return cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(s->db));
}

/* Count what came after *last, which moves on. */
static int count_new(struct cw_sums *s, int which, int64_t *last, const char *greatest)
{
	int64_t now = cw_query_int(s->db, greatest, *last);

	if (now == *last)
		return 0;
	sqlite3_bind_int64(s->stmt[which], 1, *last);
	*last = now;
	sqlite3_step(s->stmt[which]);
	return sqlite3_reset(s->stmt[which]) == SQLITE_OK ? 0 : fail(s);
}

int cw_sums_rows(struct cw_sums *s)
{
	int err = count_new(s, NEW_PATHS, &s->last_chain, "SELECT max(chain_id) FROM path");

	if (!err)
		err = count_new(s, NEW_UNMATCHED, &s->last_unmatched,
				"SELECT max(rowid) FROM unmatched");
	if (!err)
		err = count_new(s, NEW_LOSSES, &s->last_loss, "SELECT max(rowid) FROM loss");
	return err;
}

static struct series *series_of(struct cw_sums *s, int64_t plan_hop, const char *part)
{
	struct series *x;

	for (size_t i = 0; i < s->nseries; i++)
		if (s->series[i].plan_hop == plan_hop && !strcmp(s->series[i].part, part))
			return &s->series[i];
	cw_reserve(s->series, s->nseries, s->series_cap);
	x = &s->series[s->nseries++];
	memset(x, 0, sizeof(*x));
	x->plan_hop = plan_hop;
	x->part = cw_strndup(part, strlen(part));
	return x;
}

int cw_sums_items(struct cw_sums *s)
{
	sqlite3_stmt *q = s->stmt[SHOWN];

	if (sqlite3_step(q) == SQLITE_ROW) {
		s->shown_chains += (uint64_t)sqlite3_column_int64(q, 0);
		s->shown_calls += (uint64_t)sqlite3_column_int64(q, 1);
		s->shown_incomplete += (uint64_t)sqlite3_column_int64(q, 2);
		s->shown_flagged += (uint64_t)sqlite3_column_int64(q, 3);
	}
	if (sqlite3_reset(q) != SQLITE_OK)
		return fail(s);
	q = s->stmt[SAMPLES];
	while (sqlite3_step(q) == SQLITE_ROW) {
		bool call = sqlite3_column_type(q, 0) == SQLITE_NULL;
		const char *part = (const char *)sqlite3_column_text(q, 1);

		histogram_add(&series_of(s, call ? -1 : sqlite3_column_int64(q, 0), part ?: "")->h,
			      (uint64_t)sqlite3_column_int64(q, 2));
	}
	return sqlite3_reset(q) == SQLITE_OK ? 0 : fail(s);
}

/* ---- the end ------------------------------------------------------------------------------------
 */

static int insert(struct cw_sums *s, sqlite3_stmt *q)
{
	sqlite3_step(q);
	return sqlite3_reset(q) == SQLITE_OK ? 0 : fail(s);
}

static int write_tally(struct cw_sums *s)
{
	const struct {
		const char *name;
		uint64_t n;
	} counts[] = {
		{"calls", s->calls},
		{"shown_chains", s->shown_chains},
		{"shown_calls", s->shown_calls},
		{"shown_incomplete", s->shown_incomplete},
		{"shown_flagged", s->shown_flagged},
	};
	sqlite3_stmt *q = NULL;
	int err = cw_prepare(s->db, &q, "INSERT INTO temp.tally VALUES(?1, ?2)");

	for (size_t i = 0; !err && i < sizeof(counts) / sizeof(*counts); i++) {
		sqlite3_bind_text(q, 1, counts[i].name, -1, SQLITE_STATIC);
		sqlite3_bind_int64(q, 2, (int64_t)counts[i].n);
		err = insert(s, q);
	}
	sqlite3_finalize(q);
	return err;
}

static int write_returns(struct cw_sums *s)
{
	sqlite3_stmt *q = NULL;
	int err = cw_prepare(s->db, &q, "INSERT INTO temp.sum_return VALUES(?1, ?2, ?3)");

	for (size_t i = 0; !err && i < s->nended; i++) {
		if (!s->ended[i].reason)
			continue;
		sqlite3_bind_int64(q, 1, s->ended[i].probe_id);
		sqlite3_bind_text(q, 2, s->ended[i].reason, -1, SQLITE_STATIC);
		sqlite3_bind_int64(q, 3, (int64_t)s->ended[i].n);
		err = insert(s, q);
	}
	sqlite3_finalize(q);
	return err;
}

/* A percentile, when there are enough samples to tell. */
static void bind_percentile(sqlite3_stmt *q, int column, const struct histogram *h,
			    unsigned percent, uint64_t least)
{
	if (h->n >= least)
		sqlite3_bind_int64(q, column, (int64_t)histogram_at(h, percent));
	else
		sqlite3_bind_null(q, column);
}

static int write_latency(struct cw_sums *s)
{
	sqlite3_stmt *q = NULL;
	int err = cw_prepare(s->db, &q,
			     "INSERT INTO temp.latency VALUES(nullif(?1, -1), ?2, ?3, ?4, ?5, ?6,"
			     " ?7, ?8)");

	for (size_t i = 0; !err && i < s->nseries; i++) {
		const struct histogram *h = &s->series[i].h;

		sqlite3_bind_int64(q, 1, s->series[i].plan_hop);
		sqlite3_bind_text(q, 2, s->series[i].part, -1, SQLITE_STATIC);
		sqlite3_bind_int64(q, 3, (int64_t)h->n);
		sqlite3_bind_int64(q, 4, (int64_t)((h->sum + h->n / 2) / h->n));
		bind_percentile(q, 5, h, 50, 1);
		bind_percentile(q, 6, h, 95, 20);
		bind_percentile(q, 7, h, 99, 100);
		sqlite3_bind_int64(q, 8, (int64_t)h->max);
		err = insert(s, q);
	}
	sqlite3_finalize(q);
	return err;
}

/*
 * What view anomaly says of rows that are gone by now comes from the sums; the rest of it counts
 * nothing but what was kept.
 */
static const char doubts[] =
	"INSERT INTO temp.tally SELECT 'chains', coalesce(sum(n), 0) FROM temp.sum_path"
	" UNION ALL SELECT 'complete_chains', coalesce(sum(n), 0) FROM temp.sum_path WHERE complete"
	" UNION ALL SELECT 'flagged_chains', coalesce(sum(n), 0) FROM temp.sum_path"
	"  WHERE flags <> '';"
	"INSERT INTO temp.no_return SELECT reason, sum(n) FROM temp.sum_return GROUP BY reason;"
	"DELETE FROM main.path; DELETE FROM main.slice; DELETE FROM main.unmatched;"
	"DELETE FROM main.loss;"
	"CREATE TEMP TABLE loss AS SELECT ts, end_ts, kind, cpu, reason, count FROM temp.sum_loss;"
	"CREATE TEMP TABLE anomaly AS SELECT * FROM main.anomaly WHERE at <> '';"
	"INSERT INTO temp.anomaly"
	" SELECT 'targets without a submission: ' || u.reason, c.source || ' -> ' || c.target, n"
	" FROM temp.sum_unmatched u JOIN hop_count c USING(plan_hop)"
	" UNION ALL SELECT 'chains in doubt: ' || flags, '', sum(n) FROM temp.sum_path"
	"  WHERE flags <> '' GROUP BY flags"
	" UNION ALL SELECT 'calls without a return: ' || reason, p.function, sum(n)"
	"  FROM temp.sum_return JOIN probe p USING(probe_id) WHERE reason <> 'not probed'"
	"  GROUP BY reason, probe_id"
	" UNION ALL SELECT 'lost records: ' || reason, kind, sum(count) FROM temp.sum_loss"
	"  GROUP BY reason, kind;"
	"INSERT INTO temp.anomaly SELECT * FROM main.anomaly WHERE at = ''";

int cw_sums_write(struct cw_sums *s)
{
	int err = write_tally(s);

	if (!err)
		err = write_returns(s);
	if (!err)
		err = write_latency(s);
	return err ? err : cw_exec(s->db, doubts);
}
