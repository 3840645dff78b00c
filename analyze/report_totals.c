/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts what a summary says, from a whole capture. Knows nothing of formats. */
#include "report.h"

const char cw_report_samples[] =
	"SELECT e.plan_hop AS plan_hop, 'queue' AS part, e.dst_ts - e.src_ts AS ns"
	" FROM temp.item i JOIN path_hop h USING(chain_id) JOIN edge e USING(edge_id)"
	" UNION ALL SELECT e.plan_hop, 'work', h.end_ts - e.dst_ts"
	" FROM temp.item i JOIN path_hop h USING(chain_id) JOIN edge e USING(edge_id)"
	" WHERE h.end_ts IS NOT NULL"
	" UNION ALL SELECT NULL, p.function, s.dur"
	" FROM temp.item i JOIN slice s USING(slice_id) JOIN probe p USING(probe_id)"
	" WHERE i.chain_id IS NULL AND s.dur IS NOT NULL";

static const char tally[] =
	"INSERT INTO temp.tally SELECT 'chains', count(*) FROM path"
	" UNION ALL SELECT 'complete_chains', count(*) FROM path WHERE complete"
	" UNION ALL SELECT 'flagged_chains', count(*) FROM path WHERE flags <> ''"
	" UNION ALL SELECT 'calls', count(*) FROM slice"
	" UNION ALL SELECT 'shown_chains', count(chain_id) FROM temp.item"
	" UNION ALL SELECT 'shown_incomplete', count(*) FROM temp.item JOIN path USING(chain_id)"
	"  WHERE NOT complete"
	" UNION ALL SELECT 'shown_flagged', count(*) FROM temp.item JOIN path USING(chain_id)"
	"  WHERE flags <> ''"
	" UNION ALL SELECT 'shown_calls', count(*) FROM temp.item WHERE chain_id IS NULL;"
	"INSERT INTO temp.no_return SELECT no_return, count(*) FROM slice"
	" WHERE no_return IS NOT NULL GROUP BY no_return";

/* Nearest rank: the p-th percentile is the value at place ceil(p * n / 100). */
static const char latency_head[] = "INSERT INTO temp.latency WITH sample AS (";
static const char latency_tail[] =
	"), ranked AS (SELECT plan_hop, part, ns,"
	"  row_number() OVER (PARTITION BY plan_hop, part ORDER BY ns) AS place,"
	"  count(*) OVER (PARTITION BY plan_hop, part) AS n FROM sample)"
	"SELECT plan_hop, part, n, CAST(round(avg(ns)) AS INTEGER) AS avg,"
	" max(ns) FILTER (WHERE place = (n * 50 + 99) / 100) AS p50,"
	" CASE WHEN n >= 20 THEN max(ns) FILTER (WHERE place = (n * 95 + 99) / 100) END AS p95,"
	" CASE WHEN n >= 100 THEN max(ns) FILTER (WHERE place = (n * 99 + 99) / 100) END AS p99,"
	" max(ns) AS max FROM ranked GROUP BY plan_hop, part";

int cw_report_totals(struct cw_report *r)
{
	char *sql;
	int err = cw_exec(r->db, CW_TALLY_SCHEMA);

	if (!err)
		err = cw_exec(r->db, tally);
	sql = sqlite3_mprintf("%s%s%s", latency_head, cw_report_samples, latency_tail);
	if (!err)
		err = cw_exec(r->db, sql);
	sqlite3_free(sql);
	return err;
}

int64_t cw_tally(sqlite3 *db, const char *name)
{
	sqlite3_stmt *s = NULL;
	int64_t n = 0;

	if (cw_prepare(db, &s, "SELECT n FROM temp.tally WHERE name = ?1"))
		return 0;
	sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW)
		n = sqlite3_column_int64(s, 0);
	sqlite3_finalize(s);
	return n;
}
