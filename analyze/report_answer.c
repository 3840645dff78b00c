/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The text report's first lines: what took the time of what is shown, and why, in sentences made of
 * facts. Must not know how anything else is printed.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "blocked.h"
#include "report.h"

/*
 * Sums of the hops of the shown chains that ended, so that the parts add up to their average; of
 * all when none did. The page's are the same: page_composition in report/4-page.sql.
 */
static const char composition[] =
	"CREATE TEMP TABLE composition AS"
	" SELECT e.plan_hop, count(*) AS n, count(h.end_ts) AS ended, sum(e.dst_ts - e.src_ts) AS "
	"queue,"
	"  sum(h.end_ts - e.dst_ts) AS work, sum(oncpu_ns) AS oncpu, sum(blocked_ns) AS blocked,"
	"  sum(runq_ns) AS runq, sum(preempted_ns) AS preempted"
	" FROM temp.item i JOIN path p USING(chain_id) JOIN path_hop h USING(chain_id)"
	"  JOIN edge e USING(edge_id)"
	" WHERE p.work_ns IS NOT NULL OR NOT EXISTS (SELECT 1 FROM temp.item JOIN path "
	"USING(chain_id)"
	"  WHERE work_ns IS NOT NULL)"
	" GROUP BY e.plan_hop";

/* Shares of all their time, the largest first. */
static const char parts[] =
	"WITH total AS (SELECT sum(queue + coalesce(work, 0)) AS ns FROM temp.composition),"
	" part AS (SELECT plan_hop, n, 'queue' AS class, queue AS ns FROM temp.composition"
	"  UNION ALL SELECT plan_hop, ended, 'on CPU', oncpu FROM temp.composition"
	"  UNION ALL SELECT plan_hop, ended, 'blocked', blocked FROM temp.composition"
	"  UNION ALL SELECT plan_hop, ended, 'run queue', runq FROM temp.composition"
	"  UNION ALL SELECT plan_hop, ended, 'preempted', preempted FROM temp.composition"
	"  UNION ALL SELECT plan_hop, ended, 'work', work FROM temp.composition WHERE oncpu IS "
	"NULL)"
	" SELECT h.plan_hop, h.source, h.target, class, part.ns, n, 1.0 * part.ns / total.ns AS "
	"share"
	" FROM part JOIN hop_count h USING(plan_hop), total WHERE part.ns > 0 ORDER BY part.ns "
	"DESC";

/* How many chains are shown and how many of them ended, and how long those took. */
static const char totals[] =
	"WITH c AS (SELECT p.queue_ns + p.work_ns AS ns FROM temp.item i JOIN path p "
	"USING(chain_id)"
	"  WHERE p.work_ns IS NOT NULL),"
	" r AS (SELECT ns, row_number() OVER (ORDER BY ns) AS place, count(*) OVER () AS n FROM c)"
	" SELECT (SELECT count(chain_id) FROM temp.item), max(n), CAST(round(avg(ns)) AS INTEGER),"
	" max(ns) FILTER (WHERE place = (n * 50 + 99) / 100),"
	" CASE WHEN n >= 20 THEN max(ns) FILTER (WHERE place = (n * 95 + 99) / 100) END,"
	" CASE WHEN n >= 100 THEN max(ns) FILTER (WHERE place = (n * 99 + 99) / 100) END, max(ns)"
	" FROM r";

/* The threads that ran a target, and how much of the time between first and last they did. */
static const char workers[] =
	"SELECT count(DISTINCT e.dst_utid), sum(h.end_ts - e.dst_ts) * 1.0 /"
	" max((max(h.end_ts) - min(e.dst_ts)) * count(DISTINCT e.dst_utid), 1)"
	" FROM (SELECT edge_id, max(end_ts) AS end_ts FROM path_hop GROUP BY edge_id) h"
	" JOIN edge e USING(edge_id) WHERE e.plan_hop = ?1";

/* Work of a hop: handoffs, average, and the class that took most of it. */
static const char work[] =
	"WITH c AS (SELECT * FROM temp.composition WHERE plan_hop = ?1)"
	" SELECT ended, work / ended, class, 1.0 * ns / work FROM c JOIN ("
	"  SELECT 'on CPU' AS class, oncpu AS ns FROM c UNION ALL SELECT 'blocked', blocked FROM c"
	"  UNION ALL SELECT 'run queue', runq FROM c UNION ALL SELECT 'preempted', preempted FROM "
	"c)"
	" WHERE ended > 0 AND work > 0 AND ns IS NOT NULL ORDER BY ns DESC LIMIT 1";

static const char hop_why[] =
	"SELECT reason, share, others, (SELECT name FROM thread WHERE utid = other_utid"
	"  AND class NOT IN ('run queue', 'preempted'))"
	" FROM hop_reason WHERE plan_hop = ?1 AND class <> 'on CPU' ORDER BY ns DESC LIMIT 1";

/* The shown calls by function, the one that took the longest in all first. */
static const char functions[] =
	"SELECT p.function, count(*), count(s.dur), avg(s.dur), max(s.dur),"
	" sum(s.oncpu_ns) * 1.0 / sum(s.dur), p.probe_id"
	" FROM temp.item i JOIN slice s USING(slice_id) JOIN probe p USING(probe_id)"
	" WHERE i.chain_id IS NULL GROUP BY p.probe_id ORDER BY sum(s.dur) DESC LIMIT 1";

static const char call_why[] =
	"SELECT reason, share, others, (SELECT name FROM thread WHERE utid = other_utid"
	"  AND class NOT IN ('run queue', 'preempted'))"
	" FROM function_reason WHERE probe_id = ?1 AND class <> 'on CPU' ORDER BY ns DESC LIMIT 1";

/* Words of a sentence, so that the line wraps between them. */
static void say(struct cw_text *t, enum cw_style style, const char *fmt, ...)
{
	char *text = NULL, *rest;
	va_list ap;

	va_start(ap, fmt);
	if (vasprintf(&text, fmt, ap) < 0)
		text = NULL;
	va_end(ap);
	rest = text;
	for (char *word; rest && (word = strsep(&rest, " "));)
		cw_word_field(t, style, word);
	free(text);
}

static void line(struct cw_text *t, bool *first)
{
	cw_line_begin(t, 0, *first ? CW_BOLD : CW_PLAIN, "%-9s", *first ? "answer" : "");
	*first = false;
}

static const char *percent(char buf[CW_DURATION_SIZE], double share)
{
	snprintf(buf, CW_DURATION_SIZE, share >= 0.1 || share <= 0 ? "%.0f %%" : "%.1f %%",
		 100 * share);
	return buf;
}

static const char *column(sqlite3_stmt *s, int i)
{
	return (const char *)sqlite3_column_text(s, i) ?: "?";
}

/* What a thread does in a part of its work. */
static const char *doing(const char *class)
{
	return !strcmp(class, "on CPU")      ? "on CPU"
	       : !strcmp(class, "run queue") ? "in the run queue"
	       : !strcmp(class, "work")      ? "working"
					     : class;
}

/* "mostly in REASON, ended by THREAD" after a share of waiting. */
static void say_reason(struct cw_text *t, sqlite3_stmt *s)
{
	int64_t others = sqlite3_column_int64(s, 2);
	char buf[CW_DURATION_SIZE];

	say(t, CW_PLAIN, "(%s: %s of the time", column(s, 0),
	    percent(buf, sqlite3_column_double(s, 1)));
	if (sqlite3_column_type(s, 3) != SQLITE_NULL && others > 1)
		say(t, CW_PLAIN, ", woken by %" PRId64 " threads, mostly by %s", others,
		    column(s, 3));
	else if (sqlite3_column_type(s, 3) != SQLITE_NULL)
		say(t, CW_PLAIN, ", woken by %s", column(s, 3));
	say(t, CW_PLAIN, ")");
}

static int bound(sqlite3 *db, sqlite3_stmt **s, const char *sql, int64_t id)
{
	int err = cw_prepare(db, s, sql);

	if (err)
		return err;
	sqlite3_bind_int64(*s, 1, id);
	return 0;
}

/* "5 chains", "1 chain". */
static const char *chains(char buf[CW_DURATION_SIZE], int64_t n)
{
	char number[CW_DURATION_SIZE];

	snprintf(buf, CW_DURATION_SIZE, "%s chain%s", cw_number(number, n), n == 1 ? "" : "s");
	return buf;
}

static void say_totals(struct cw_text *t, sqlite3_stmt *s, bool *first)
{
	static const char *const names[] = {"P50", "P95", "P99", "max"};
	int64_t all = sqlite3_column_int64(s, 0), ended = sqlite3_column_int64(s, 1);
	char n[CW_DURATION_SIZE], d[CW_DURATION_SIZE];

	line(t, first);
	if (!ended) {
		say(t, CW_BOLD, "%s, none with a recorded end", chains(n, all));
		cw_line_end(t);
		return;
	}
	say(t, CW_BOLD, "%s, from submission to end: average %s", chains(n, ended),
	    cw_duration(d, sqlite3_column_int64(s, 2)));
	for (int i = 0; i < 4; i++)
		if (sqlite3_column_type(s, 3 + i) != SQLITE_NULL)
			cw_field(t, CW_PLAIN, "%s=%s", names[i],
				 cw_duration(d, sqlite3_column_int64(s, 3 + i)));
	if (all > ended)
		say(t, CW_PLAIN, "(%s more %s no recorded end)", cw_number(n, all - ended),
		    all - ended == 1 ? "has" : "have");
	cw_line_end(t);
}

static int answer_totals(struct cw_report *r, struct cw_text *t, bool *first)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(r->db, &s, totals);

	if (err)
		return err;
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int64(s, 0))
		say_totals(t, s, first);
	sqlite3_finalize(s);
	return 0;
}

static int answer_workers(struct cw_report *r, struct cw_text *t, int64_t hop, const char *target)
{
	char p[CW_DURATION_SIZE];
	sqlite3_stmt *s = NULL;
	int err = bound(r->db, &s, workers, hop);

	if (err)
		return err;
	if (sqlite3_step(s) == SQLITE_ROW && sqlite3_column_type(s, 1) != SQLITE_NULL) {
		int64_t n = sqlite3_column_int64(s, 0);

		if (n == 1)
			say(t, CW_PLAIN, "the one thread that runs %s was working %s of the time;",
			    target, percent(p, sqlite3_column_double(s, 1)));
		else
			say(t, CW_PLAIN,
			    "the %" PRId64 " threads that run %s were working %s of the time;", n,
			    target, percent(p, sqlite3_column_double(s, 1)));
	}
	sqlite3_finalize(s);
	return 0;
}

/* Why one work of the hop takes as long as it does. */
static int answer_work(struct cw_report *r, struct cw_text *t, int64_t hop, const char *target)
{
	char d[CW_DURATION_SIZE], p[CW_DURATION_SIZE];
	sqlite3_stmt *s = NULL, *why = NULL;
	bool waits = false;
	int err = bound(r->db, &s, work, hop);

	if (err)
		return err;
	if (sqlite3_step(s) == SQLITE_ROW) {
		waits = strcmp(column(s, 2), "on CPU") != 0;
		say(t, CW_PLAIN, "one %s takes %s on average, %s of it %s", target,
		    cw_duration(d, sqlite3_column_int64(s, 1)),
		    percent(p, sqlite3_column_double(s, 3)), doing(column(s, 2)));
	}
	sqlite3_finalize(s);
	if (waits)
		err = cw_blocked_sums(r->db);
	if (waits && !err)
		err = bound(r->db, &why, hop_why, hop);
	if (why && sqlite3_step(why) == SQLITE_ROW)
		say_reason(t, why);
	sqlite3_finalize(why);
	return err;
}

static void say_part(struct cw_text *t, sqlite3_stmt *s, enum cw_style style)
{
	char p[CW_DURATION_SIZE];

	percent(p, sqlite3_column_double(s, 6));
	if (!strcmp(column(s, 3), "queue"))
		say(t, style, "%s queued between %s and %s", p, column(s, 1), column(s, 2));
	else
		say(t, style, "%s %s %s", p, column(s, 2), doing(column(s, 3)));
}

static int answer_chains(struct cw_report *r, struct cw_text *t, bool *first)
{
	char d[CW_DURATION_SIZE];
	sqlite3_stmt *s = NULL;
	int err = answer_totals(r, t, first);

	if (!err)
		err = cw_exec(r->db, composition);
	if (!err)
		err = cw_prepare(r->db, &s, parts);
	if (!err && sqlite3_step(s) == SQLITE_ROW) {
		int64_t hop = sqlite3_column_int64(s, 0);
		char *target = strdup(column(s, 2));
		bool queue = !strcmp(column(s, 3), "queue");

		line(t, first);
		say(t, CW_BOLD, "of all their time:");
		say_part(t, s, CW_BOLD);
		say(t, CW_PLAIN, ", %s on average;",
		    cw_duration(d, sqlite3_column_int64(s, 4) / sqlite3_column_int64(s, 5)));
		sqlite3_reset(s); /* no table can be dropped while it reads */
		if (queue && target)
			err = answer_workers(r, t, hop, target);
		if (!err && target)
			err = answer_work(r, t, hop, target);
		cw_line_end(t);
		free(target);
		if (!err)
			sqlite3_step(s); /* said already */
	}
	for (int i = 0; !err && i < 2 && sqlite3_step(s) == SQLITE_ROW; i++) {
		if (sqlite3_column_double(s, 6) < 0.1)
			break;
		if (!i)
			line(t, first);
		say(t, CW_PLAIN, i ? ";" : "then");
		say_part(t, s, CW_PLAIN);
	}
	if (t->column)
		cw_line_end(t);
	sqlite3_finalize(s);
	return err;
}

/* "f was called 5 times and took ...". */
static void say_calls(struct cw_text *t, sqlite3_stmt *s)
{
	char n[CW_DURATION_SIZE], avg[CW_DURATION_SIZE], max[CW_DURATION_SIZE];
	int64_t calls = sqlite3_column_int64(s, 1);

	cw_duration(avg, sqlite3_column_int64(s, 3));
	if (calls == 1)
		say(t, CW_BOLD, "%s was called once and took %s", column(s, 0), avg);
	else
		say(t, CW_BOLD, "%s was called %s times and took %s on average, %s at most",
		    column(s, 0), cw_number(n, calls), avg,
		    cw_duration(max, sqlite3_column_int64(s, 4)));
}

static int answer_calls(struct cw_report *r, struct cw_text *t, bool *first)
{
	const double mostly = 0.9; /* on CPU: nothing else is worth a word */
	char p[CW_DURATION_SIZE];
	sqlite3_stmt *s = NULL, *why = NULL;
	int err = cw_prepare(r->db, &s, functions);

	if (!err && sqlite3_step(s) == SQLITE_ROW && sqlite3_column_int64(s, 2)) {
		bool known = sqlite3_column_type(s, 5) != SQLITE_NULL;
		double oncpu = sqlite3_column_double(s, 5);
		int64_t probe = sqlite3_column_int64(s, 6);
		line(t, first);
		say_calls(t, s);
		if (known)
			say(t, CW_PLAIN, "; %s of that on CPU", percent(p, oncpu));
		sqlite3_reset(s); /* no table can be dropped while it reads */
		if (known && oncpu < mostly)
			err = cw_blocked_sums(r->db);
		if (!err && known && oncpu < mostly)
			err = bound(r->db, &why, call_why, probe);
		if (why && sqlite3_step(why) == SQLITE_ROW)
			say_reason(t, why);
		cw_line_end(t);
	}
	sqlite3_finalize(why);
	sqlite3_finalize(s);
	return err;
}

int cw_report_answer(struct cw_report *r, struct cw_text *t)
{
	bool first = true;
	int err = r->async ? answer_chains(r, t, &first) : answer_calls(r, t, &first);

	if (!first)
		fputc('\n', t->out);
	return err;
}
