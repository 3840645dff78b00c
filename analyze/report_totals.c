/* SPDX-License-Identifier: GPL-2.0-only */
/* Counts what a summary says, from a whole capture. Knows nothing of formats. */
#include "ranks.h"
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

int cw_report_totals(struct cw_report *r)
{
	int err = cw_exec(r->db, CW_TALLY_SCHEMA);

	if (!err)
		err = cw_exec(r->db, tally);
	if (!err)
		err = cw_ranks(r->db, "items", cw_report_samples);
	if (!err)
		err = cw_exec(r->db, "INSERT INTO temp.latency SELECT id, part, n, avg, p50, p95,"
				     " p99, max FROM temp.rank WHERE of = 'items'");
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
