-- SPDX-License-Identifier: GPL-2.0-only
-- What the filters chose, from temp.item: chains, calls, handoffs, and stretches of time in which threads
-- are shown. Without filters that is everything.

CREATE TEMP VIEW origin AS SELECT start_ts AS t0, end_ts, wall_offset_ns FROM report_clock;

CREATE TEMP TABLE chosen_chain AS SELECT chain_id FROM item WHERE chain_id IS NOT NULL ORDER BY chain_id;
CREATE UNIQUE INDEX temp.chosen_chain_by_id ON chosen_chain(chain_id);

-- Each handoff once: chains share them.
CREATE TEMP TABLE chosen_edge(edge_id INTEGER PRIMARY KEY, chain_id INTEGER, end_ts INTEGER, oncpu_ns INTEGER);
INSERT INTO chosen_edge
SELECT h.edge_id, min(h.chain_id), max(h.end_ts), max(h.oncpu_ns)
FROM chosen_chain c JOIN path_hop h USING(chain_id) GROUP BY h.edge_id;

-- Where calls and chains were at work: the target of a hop from its entry to its next handoff or return.
CREATE TEMP TABLE at_work(utid INTEGER, lo INTEGER, hi INTEGER);
INSERT INTO at_work
SELECT e.dst_utid, e.dst_ts, coalesce(c.end_ts, e.dst_ts) FROM chosen_edge c JOIN edge e USING(edge_id)
UNION ALL
SELECT s.utid, s.ts, s.ts + coalesce(s.dur, 0) FROM item i JOIN slice s USING(slice_id);

-- The same with the way of a task from its submission to its end, without overlaps; everything without filters.
CREATE TEMP TABLE stretch(utid INTEGER, lo INTEGER, hi INTEGER, PRIMARY KEY(utid, lo)) WITHOUT ROWID;
INSERT INTO stretch
WITH wanted AS (
	SELECT utid, lo, hi FROM at_work
	UNION ALL SELECT e.dst_utid, e.src_ts, e.dst_ts FROM chosen_edge c JOIN edge e USING(edge_id)
	UNION ALL SELECT e.src_utid, e.src_ts, e.dst_ts FROM chosen_edge c JOIN edge e USING(edge_id))
SELECT utid, min(lo), max(hi) FROM (
	SELECT utid, lo, hi, sum(fresh) OVER (PARTITION BY utid ORDER BY lo, hi) AS island FROM (
		SELECT utid, lo, hi, coalesce(lo > max(hi) OVER (PARTITION BY utid ORDER BY lo, hi
			ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS fresh FROM wanted))
WHERE :filtered GROUP BY utid, island;
INSERT INTO stretch SELECT utid, -9223372036854775807, 9223372036854775807 FROM thread WHERE NOT :filtered;

-- Calls that are shown.
CREATE TEMP TABLE chosen_call(slice_id INTEGER PRIMARY KEY);
INSERT INTO chosen_call
SELECT s.slice_id FROM slice s
WHERE (SELECT w.hi FROM stretch w WHERE w.utid = s.utid AND w.lo <= s.ts + coalesce(s.dur, 0)
	ORDER BY w.lo DESC LIMIT 1) >= s.ts;
