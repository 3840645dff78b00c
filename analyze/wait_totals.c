/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns the sums of times off the CPU while they grow, the temporary tables that they end in, and
 * those that hide the views which say the same. What a place of sleep is called is said by the
 * views. Knows nothing of the order in which episodes come.
 */
#include <errno.h>
#include <stdlib.h>
#include "report.h"
#include "say.h"
#include "view_again.h"
#include "wait_totals.h"

/* A row of wait_sum. */
struct sum {
	struct cw_hnode node;
	int64_t scope, id, kind, place, other;
	int64_t ns, parts, episodes, longest;
	int64_t last; /* episode that was counted last */
};

/* A row of wait_place. */
struct place {
	struct cw_hnode node;
	int64_t sleep, unseen, place;
};

/* A row of scope_time. */
struct whole {
	struct cw_hnode node;
	int64_t scope, id, ns, count, oncpu, oncpu_count;
};

static const char tables[] =
	"CREATE TEMP TABLE wait_place(place INTEGER PRIMARY KEY, offcpu_id INTEGER);"
	"CREATE TEMP TABLE wait_sum(scope INTEGER, id INTEGER, kind INTEGER, place INTEGER,"
	" other_utid INTEGER, ns INTEGER, parts INTEGER, episodes INTEGER,"
	" longest INTEGER);"
	"CREATE TEMP TABLE scope_time(scope INTEGER, id INTEGER, ns INTEGER, count INTEGER,"
	" oncpu_ns INTEGER, oncpu_count INTEGER);"
	"CREATE TEMP TABLE thread_time(utid INTEGER PRIMARY KEY, running_ns INTEGER,"
	" blocked_ns INTEGER, runq_ns INTEGER, preempted_ns INTEGER, unknown_ns INTEGER);";

int cw_wait_unread(sqlite3 *db)
{
	return cw_fail(-EBADMSG, "cannot query the database: %s", sqlite3_errmsg(db));
}

int cw_wait_tables(sqlite3 *db)
{
	return cw_exec(db, tables);
}

int cw_wait_totals_begin(struct cw_wait_totals *t, sqlite3 *db)
{
	t->db = db;
	return cw_prepare(db, &t->put_place, "INSERT INTO temp.wait_place VALUES(?1, ?2)");
}

/* ---- what is summed up --------------------------------------------------------------------------
 */

void cw_wait_totals_add(struct cw_wait_totals *t, int64_t scope, int64_t id, int64_t kind,
			int64_t place, int64_t other, int64_t ns)
{
	uint64_t hash = cw_hash(0, (uint64_t)scope << 8 | (uint64_t)kind);
	struct sum *s;

	hash = cw_hash(cw_hash(cw_hash(hash, (uint64_t)id), (uint64_t)place), (uint64_t)other);
	for (struct cw_hnode *n = cw_htab_first(&t->sums, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		s = cw_container(n, struct sum, node);
		if (s->scope == scope && s->id == id && s->kind == kind && s->place == place &&
		    s->other == other)
			goto found;
	}
	s = cw_zalloc(sizeof(*s));
	s->scope = scope;
	s->id = id;
	s->kind = kind;
	s->place = place;
	s->other = other;
	s->last = -1;
	cw_htab_insert(&t->sums, &s->node, hash);
found:
	s->ns += ns;
	s->parts++;
	s->episodes += s->last != t->episode;
	s->last = t->episode;
	if (ns > s->longest)
		s->longest = ns;
}

int64_t cw_wait_totals_place(struct cw_wait_totals *t, int64_t sleep, bool unseen,
			     int64_t offcpu_id)
{
	uint64_t hash = cw_hash(unseen, (uint64_t)sleep);
	int64_t row[2];
	struct place *x;

	for (struct cw_hnode *n = cw_htab_first(&t->places, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		x = cw_container(n, struct place, node);
		if (x->sleep == sleep && x->unseen == unseen)
			return x->place;
	}
	x = cw_zalloc(sizeof(*x));
	x->sleep = sleep;
	x->unseen = unseen;
	x->place = (int64_t)t->places.count;
	cw_htab_insert(&t->places, &x->node, hash);
	row[0] = x->place;
	row[1] = offcpu_id;
	if (!t->err)
		t->err = cw_wait_put_row(t->put_place, row, 2);
	return x->place;
}

void cw_wait_totals_add_whole(struct cw_wait_totals *t, int64_t scope, int64_t id, int64_t ns,
			      int64_t oncpu)
{
	uint64_t hash = cw_hash((uint64_t)scope, (uint64_t)id);
	struct whole *w;

	for (struct cw_hnode *n = cw_htab_first(&t->wholes, hash); n;
	     n = cw_htab_next(n->next, hash)) {
		w = cw_container(n, struct whole, node);
		if (w->scope == scope && w->id == id)
			goto found;
	}
	w = cw_zalloc(sizeof(*w));
	w->scope = scope;
	w->id = id;
	cw_htab_insert(&t->wholes, &w->node, hash);
found:
	w->ns += ns;
	w->count++;
	w->oncpu += oncpu > 0 ? oncpu : 0;
	w->oncpu_count += oncpu > 0;
}

/* ---- writing ------------------------------------------------------------------------------------
 */

int cw_wait_put_row(sqlite3_stmt *s, const int64_t *values, int n)
{
	for (int i = 0; i < n; i++) {
		if (values[i] == CW_WAIT_NONE)
			sqlite3_bind_null(s, i + 1);
		else
			sqlite3_bind_int64(s, i + 1, values[i]);
	}
	sqlite3_step(s);
	if (sqlite3_reset(s) == SQLITE_OK)
		return 0;
	return cw_fail(-EIO, "cannot keep sums: %s", sqlite3_errmsg(sqlite3_db_handle(s)));
}

int cw_wait_totals_put(struct cw_wait_totals *t)
{
	sqlite3_stmt *s = NULL, *w = NULL;
	struct cw_hnode *n;
	size_t b;
	int err = t->err;

	if (!err)
		err = cw_prepare(
			t->db, &s,
			"INSERT INTO temp.wait_sum VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
	if (!err)
		err = cw_prepare(t->db, &w,
				 "INSERT INTO temp.scope_time VALUES(?1, ?2, ?3, ?4, ?5, ?6)");
	for (b = 0, n = NULL; !err && (n = cw_htab_each(&t->sums, n, &b));)
		err = cw_wait_put_row(s, &cw_container(n, struct sum, node)->scope, 9);
	for (b = 0, n = NULL; !err && (n = cw_htab_each(&t->wholes, n, &b));)
		err = cw_wait_put_row(w, &cw_container(n, struct whole, node)->scope, 6);
	sqlite3_finalize(s);
	sqlite3_finalize(w);
	return err;
}

static void free_nodes(struct cw_htab *tab, size_t offset)
{
	struct cw_hnode *n, *next;
	size_t b = 0;

	for (n = cw_htab_each(tab, NULL, &b); n; n = next) {
		next = cw_htab_each(tab, n, &b);
		free((char *)n - offset);
	}
	cw_htab_free(tab);
}

void cw_wait_totals_free(struct cw_wait_totals *t)
{
	sqlite3_finalize(t->put_place);
	free_nodes(&t->sums, offsetof(struct sum, node));
	free_nodes(&t->places, offsetof(struct place, node));
	free_nodes(&t->wholes, offsetof(struct whole, node));
}

/* ---- names --------------------------------------------------------------------------------------
 */

/*
 * What places of sleep are called is said by the views, over one episode of each. The sleep of an
 * episode and what of it is hidden by losses may be called the same: that is one episode.
 */
static const char name_places[] =
	"CREATE TEMP TABLE place_reason(place INTEGER PRIMARY KEY, class TEXT, reason TEXT,"
	" user_stack_id INTEGER, kernel_stack_id INTEGER);"
	"INSERT INTO temp.place_reason SELECT p.place, b.class, b.reason, b.user_stack_id,"
	" b.kernel_stack_id FROM temp.wait_place p JOIN temp.blocked_reason b USING(offcpu_id);"
	"DROP VIEW temp.blocked_reason; DROP VIEW temp.offcpu; DROP TABLE temp.episode;"
	"DROP TABLE temp.wait_place;"
	"CREATE TEMP TABLE wait_named AS SELECT s.scope, s.id,"
	" CASE WHEN s.kind = 0 THEN r.class WHEN s.kind IN (1, 3) THEN 'run queue'"
	"  WHEN s.kind IN (2, 4) THEN 'preempted' ELSE 'unknown' END AS class,"
	" CASE WHEN s.kind = 0 THEN r.reason"
	"  WHEN s.kind IN (1, 2) THEN coalesce(t.name, 'another thread') || ' ran instead'"
	"  WHEN s.kind IN (3, 4) THEN 'the CPU had to switch'"
	"  ELSE 'unknown, records were lost' END AS reason, s.other_utid, s.ns, s.parts,"
	" CASE WHEN s.kind = 5 AND r.class = 'unknown' THEN 0 ELSE s.episodes END AS episodes"
	" FROM temp.wait_sum s LEFT JOIN temp.place_reason r USING(place)"
	" LEFT JOIN main.thread t ON t.utid = s.other_utid WHERE s.scope < 3;";

/* Columns of the views of these names. */
static const char hide_views[] =
	"CREATE TEMP TABLE hop_time AS SELECT id AS plan_hop, ns, count FROM temp.scope_time"
	" WHERE scope = 1;"
	"CREATE TEMP TABLE function_time AS SELECT id AS probe_id, ns FROM temp.scope_time"
	" WHERE scope = 2;"
	"CREATE TEMP TABLE hop_wait AS SELECT id AS plan_hop, class, reason, other_utid,"
	" sum(ns) AS ns, sum(episodes) AS count FROM temp.wait_named WHERE scope = 1"
	" GROUP BY 1, 2, 3, 4;"
	"CREATE TEMP TABLE function_wait AS SELECT id AS probe_id, class, reason, other_utid,"
	" sum(ns) AS ns, sum(episodes) AS count FROM temp.wait_named WHERE scope = 2"
	" GROUP BY 1, 2, 3, 4 UNION ALL SELECT id, 'on CPU', 'on CPU', NULL, oncpu_ns,"
	" oncpu_count FROM temp.scope_time WHERE scope = 2 AND oncpu_count > 0;"
	"CREATE TEMP TABLE offcpu_stack AS SELECT CASE s.scope WHEN 1 THEN s.id END AS plan_hop,"
	" CASE s.scope WHEN 2 THEN s.id END AS probe_id, r.user_stack_id AS stack_id,"
	" r.kernel_stack_id, r.class, sum(s.ns) AS ns, sum(s.parts) AS count"
	" FROM temp.wait_sum s JOIN temp.place_reason r USING(place)"
	" WHERE s.scope < 3 AND s.kind = 0 GROUP BY 1, 2, 3, 4, 5;"
	"DROP TABLE temp.scope_time;";

int cw_wait_name(sqlite3 *db)
{
	int err = cw_exec(db, "CREATE TEMP TABLE episode AS SELECT e.* FROM temp.wait_place p"
			      " JOIN main.episode e USING(offcpu_id)");

	if (!err)
		err = cw_view_again(db, "offcpu");
	if (!err)
		err = cw_view_again(db, "blocked_reason");
	if (!err)
		err = cw_exec(db, name_places);
	return err ? err : cw_exec(db, hide_views);
}
