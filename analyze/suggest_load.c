/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the calls that suggestions are made from, read from the database. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "hash.h"
#include "report.h"
#include "say.h"
#include "suggest_pairs.h"

#define MAX_THREADS (1 << 22)

static const char probe_query[] =
	"SELECT p.probe_id, p.function, count(s.slice_id), count(DISTINCT s.utid),"
	" coalesce(avg(s.oncpu_ns), avg(s.dur), -1),"
	" CASE WHEN m.path NOT IN (SELECT exe FROM process WHERE exe IS NOT NULL) THEN m.name END,"
	" p.parameters"
	" FROM probe p LEFT JOIN module m USING(module_id) JOIN (SELECT * FROM slice"
	" ORDER BY slice_id LIMIT ?1) s USING(probe_id) GROUP BY p.probe_id ORDER BY p.probe_id";

static const char call_query[] =
	"SELECT s.slice_id, s.ts, s.probe_id, s.utid, t.upid, s.parent_id, s.arg1, s.arg2, s.arg3,"
	" s.arg4, s.arg5, s.arg6, s.arg7, s.arg8, s.ts + s.dur FROM slice s JOIN thread t "
	"USING(utid)"
	" ORDER BY s.slice_id LIMIT ?1";

/* Nothing was under way in a process whose threads, but for the main one, all began later. */
static const char fresh_query[] =
	"SELECT p.upid FROM process p JOIN thread t USING(upid) WHERE t.tid <> p.pid AND p.traced"
	" GROUP BY 1 HAVING min(t.start_boottime) - coalesce((SELECT CAST(value AS INTEGER)"
	" FROM capture_info WHERE key = 'boottime_offset_ns'), 0) > min(p.start_ts)";

static const char waking_query[] =
	"SELECT e.waking_ts, e.utid, k.utid FROM episode e JOIN waker k USING(waker_id)"
	" WHERE e.waking_ts IS NOT NULL AND k.utid IS NOT NULL AND NOT k.in_interrupt"
	" ORDER BY e.waking_ts";

static int read_rows(sqlite3 *db, const char *sql, int (*row)(struct cw_sg_data *, sqlite3_stmt *),
		     struct cw_sg_data *d)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s, sql), rc = SQLITE_DONE;

	if (err)
		return err;
	sqlite3_bind_int64(s, 1, CW_SG_CALLS); /* where there is a ?1 */
	while (!err && (rc = sqlite3_step(s)) == SQLITE_ROW)
		err = row(d, s);
	sqlite3_finalize(s);
	if (!err && rc != SQLITE_DONE)
		err = cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(db));
	return err;
}

/* Arrays grow at powers of two. */
#define ADD(array, n) \
	do { \
		if (!((n) & ((n)-1))) \
			(array) = cw_grow((array), (n) ? 2 * (n) : 1, sizeof(*(array))); \
		memset(&(array)[n], 0, sizeof(*(array))); \
	} while (0)

static enum cw_sg_kind kind_of(const char *name)
{
	static const char *const sync[] = {"pthread_mutex_",
					   "pthread_cond_",
					   "pthread_rwlock_",
					   "pthread_spin_",
					   "pthread_barrier_",
					   "sem_",
					   "new_sem_",
					   "mtx_",
					   "cnd_"};
	static const char *const dead[] = {"free",  "cfree", "realloc",        "g_free",
					   "ZdlPv", "ZdaPv", "operator delete"};

	name += strspn(name, "_");
	for (size_t i = 0; i < sizeof(sync) / sizeof(*sync); i++)
		if (!strncmp(name, sync[i], strlen(sync[i])))
			return CW_SG_SYNC;
	for (size_t i = 0; i < sizeof(dead) / sizeof(*dead); i++) {
		size_t n = strlen(dead[i]);

		if (!strcmp(name, dead[i]) || (i >= 4 && !strncmp(name, dead[i], n)))
			return CW_SG_FREE;
	}
	return CW_SG_PLAIN;
}

/* Is one of the words of a name such as cache_free that of giving something up? */
static bool is_end(const char *name)
{
	static const char *const words[] = {"free",    "release", "destroy", "delete",
					    "dispose", "recycle", "unref",   "drop"};

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		size_t n = strlen(words[i]);

		for (const char *at = strstr(name, words[i]); at; at = strstr(at + 1, words[i]))
			if ((at == name || at[-1] == '_') && (!at[n] || at[n] == '_'))
				return true;
	}
	return false;
}

static int probe_row(struct cw_sg_data *d, sqlite3_stmt *s)
{
	const char *name = (const char *)sqlite3_column_text(s, 1) ?: "?";
	struct cw_sg_probe *p;

	ADD(d->probes, d->nprobes);
	p = &d->probes[d->nprobes++];
	p->probe_id = sqlite3_column_int64(s, 0);
	p->function = cw_strndup(name, strlen(name));
	p->kind = kind_of(name);
	p->ends = is_end(name);
	p->calls = (uint64_t)sqlite3_column_int64(s, 2);
	p->threads = (uint64_t)sqlite3_column_int64(s, 3);
	p->cost_ns = sqlite3_column_double(s, 4);
	/* What the registers of further ones hold was left there by something else. */
	p->nargs = CW_NARGS;
	if (sqlite3_column_type(s, 6) != SQLITE_NULL && sqlite3_column_int(s, 6) < CW_NARGS)
		p->nargs = (unsigned)sqlite3_column_int(s, 6);
	if (sqlite3_column_text(s, 5))
		p->module = cw_strndup((const char *)sqlite3_column_text(s, 5),
				       (size_t)sqlite3_column_bytes(s, 5));
	return 0;
}

static uint32_t probe_index(const struct cw_sg_data *d, int64_t probe_id)
{
	size_t low = 0, high = d->nprobes;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (d->probes[mid].probe_id < probe_id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < d->nprobes && d->probes[low].probe_id == probe_id ? (uint32_t)low : UINT32_MAX;
}

/* Index + 1 of the call numbered slice_id, which is before the last one; 0 when it is not there. */
static uint32_t call_number(const struct cw_sg_data *d, const int64_t *ids, int64_t slice_id)
{
	size_t low = 0, high = d->ncalls;

	while (low < high) {
		size_t mid = (low + high) / 2;

		if (ids[mid] < slice_id)
			low = mid + 1;
		else
			high = mid;
	}
	return low < d->ncalls && ids[low] == slice_id ? (uint32_t)low + 1 : 0;
}

static int call_row(struct cw_sg_data *d, sqlite3_stmt *s)
{
	uint32_t probe = probe_index(d, sqlite3_column_int64(s, 2));
	int64_t utid = sqlite3_column_int64(s, 3);
	struct cw_sg_call *c;

	/* Threads are numbered from 1; a database that says otherwise was not made by import. */
	if (probe == UINT32_MAX || utid < 0 || utid > MAX_THREADS)
		return 0;
	ADD(d->calls, d->ncalls);
	ADD(d->ids, d->ncalls);
	c = &d->calls[d->ncalls];
	c->ts = sqlite3_column_int64(s, 1);
	c->probe = probe;
	c->utid = (uint32_t)utid;
	c->upid = (uint32_t)sqlite3_column_int64(s, 4);
	if (sqlite3_column_type(s, 5) != SQLITE_NULL)
		c->parent = call_number(d, d->ids, sqlite3_column_int64(s, 5));
	for (int i = 0; i < (int)d->probes[probe].nargs; i++)
		c->args[i] = (uint64_t)sqlite3_column_int64(s, 6 + i);
	c->end_ts = sqlite3_column_int64(s, 6 + CW_NARGS); /* NULL is 0 */
	d->ids[d->ncalls++] = sqlite3_column_int64(s, 0);
	return 0;
}

static int waking_row(struct cw_sg_data *d, sqlite3_stmt *s)
{
	ADD(d->wakings, d->nwakings);
	d->wakings[d->nwakings++] = (struct cw_sg_waking){
		.ts = sqlite3_column_int64(s, 0),
		.utid = (uint32_t)sqlite3_column_int64(s, 1),
		.waker = (uint32_t)sqlite3_column_int64(s, 2),
	};
	return 0;
}

static int fresh_row(struct cw_sg_data *d, sqlite3_stmt *s)
{
	ADD(d->fresh, d->nfresh);
	d->fresh[d->nfresh++] = (uint32_t)sqlite3_column_int64(s, 0);
	return 0;
}

int cw_sg_load(struct cw_sg_data *d, sqlite3 *db)
{
	int err;

	memset(d, 0, sizeof(*d));
	err = read_rows(db, probe_query, probe_row, d);
	if (!err)
		err = read_rows(db, call_query, call_row, d);
	if (!err)
		err = read_rows(db, waking_query, waking_row, d);
	if (!err)
		err = read_rows(db, fresh_query, fresh_row, d);
	d->cut = cw_query_int(db, "SELECT count(*) FROM slice", 0) > CW_SG_CALLS;
	return err;
}

void cw_sg_data_free(struct cw_sg_data *d)
{
	for (size_t i = 0; i < d->nprobes; i++) {
		free(d->probes[i].function);
		free(d->probes[i].module);
	}
	free(d->probes);
	free(d->calls);
	free(d->ids);
	free(d->wakings);
	free(d->fresh);
	memset(d, 0, sizeof(*d));
}

bool cw_sg_nested(const struct cw_sg_data *d, uint32_t i, uint32_t k)
{
	uint32_t outer = i < k ? i : k, inner = i < k ? k : i;

	while (inner > outer && d->calls[inner].parent)
		inner = d->calls[inner].parent - 1;
	return inner == outer;
}

bool cw_sg_within(const struct cw_sg_data *d, uint32_t i, uint32_t probe)
{
	for (unsigned depth = 0; depth < 64; depth++) {
		if (d->calls[i].probe == probe)
			return true;
		if (!d->calls[i].parent)
			return false;
		i = d->calls[i].parent - 1;
	}
	return false;
}
