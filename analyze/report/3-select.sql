-- SPDX-License-Identifier: GPL-2.0-only
-- What of a capture the page holds one by one. Small captures whole; of big ones the slowest chains and
-- calls, a uniform sample of the others, and the thread states around them. Whatever the page says of all
-- chains is summed over all: see 4-page.sql. Starts from temp.item, which the filters of report made.

-- Chains that are in the page: every one, or the slowest 500 and a sample of 1,500.
CREATE TEMP TABLE picked(chain_id INTEGER PRIMARY KEY, how TEXT NOT NULL, rank INTEGER NOT NULL, states INTEGER);
INSERT INTO picked(chain_id, how, rank)
WITH chosen AS (SELECT i.chain_id, p.queue_ns + coalesce(p.work_ns, 0) AS ns, count(*) OVER () AS n,
		row_number() OVER (ORDER BY p.queue_ns + coalesce(p.work_ns, 0) DESC, i.chain_id) AS rank,
		row_number() OVER (ORDER BY (i.chain_id * 2654435761) % 4294967296) AS lot
	FROM item i JOIN path p USING(chain_id))
SELECT chain_id, CASE WHEN n <= 2000 THEN 'all' WHEN rank <= 500 THEN 'slow' ELSE 'sample' END, rank
FROM chosen WHERE n <= 2000 OR rank <= 500 OR lot <= 1500;

-- Calls that belong to no chain, in the same way.
CREATE TEMP TABLE picked_call(slice_id INTEGER PRIMARY KEY, how TEXT NOT NULL, rank INTEGER NOT NULL);
INSERT INTO picked_call
WITH chosen AS (SELECT i.slice_id, count(*) OVER () AS n,
		row_number() OVER (ORDER BY s.dur DESC, i.slice_id) AS rank,
		row_number() OVER (ORDER BY (i.slice_id * 2654435761) % 4294967296) AS lot
	FROM item i JOIN slice s USING(slice_id) WHERE i.chain_id IS NULL)
SELECT slice_id, CASE WHEN n <= 2000 THEN 'all' WHEN rank <= 500 THEN 'slow' ELSE 'sample' END, rank
FROM chosen WHERE n <= 2000 OR rank <= 500 OR lot <= 1500;

-- Stretches of threads whose states are wanted: in the queue, at work, and where the source ran.
CREATE TEMP TABLE wanted(chain_id INTEGER, utid INTEGER, lo INTEGER, hi INTEGER);
INSERT INTO wanted
SELECT h.chain_id, e.dst_utid, e.src_ts, coalesce(h.end_ts, e.dst_ts) FROM picked k JOIN path_hop h USING(chain_id)
	JOIN edge e USING(edge_id)
UNION ALL
SELECT h.chain_id, e.src_utid, e.src_ts, e.dst_ts FROM picked k JOIN path_hop h USING(chain_id)
	JOIN edge e USING(edge_id);
INSERT INTO wanted SELECT NULL, s.utid, s.ts, s.ts + coalesce(s.dur, 0) FROM picked_call k JOIN slice s USING(slice_id);

-- At most 150,000 episodes: the chains that come after those have no states in the page.
-- CROSS JOIN: the stretches are few, so each asks the index of episodes, whatever statistics say.
UPDATE picked SET states = c.states
FROM (SELECT w.chain_id, count(*) AS states FROM wanted w CROSS JOIN main.episode e ON e.utid = w.utid
	AND e.ts BETWEEN w.lo AND w.hi GROUP BY w.chain_id) c
WHERE c.chain_id = picked.chain_id AND (SELECT count(*) FROM main.episode) > 60000;
CREATE TEMP TABLE affordable AS
SELECT chain_id FROM (SELECT chain_id, sum(states) OVER (ORDER BY how = 'sample', rank) AS total FROM picked)
WHERE coalesce(total, 0) <= 150000;
UPDATE picked SET states = chain_id IN (SELECT chain_id FROM affordable);
DELETE FROM wanted WHERE chain_id IN (SELECT chain_id FROM picked WHERE NOT states);
INSERT INTO wanted SELECT NULL, t.utid, c.start_ts, c.end_ts FROM thread t, report_clock c
WHERE t.traced AND (SELECT count(*) FROM main.episode) <= 60000;

-- The same without overlaps.
CREATE TEMP TABLE stretch(utid INTEGER, lo INTEGER, hi INTEGER, PRIMARY KEY(utid, lo)) WITHOUT ROWID;
INSERT INTO stretch
SELECT utid, min(lo), max(hi) FROM (
	SELECT utid, lo, hi, sum(fresh) OVER (PARTITION BY utid ORDER BY lo, hi) AS island FROM (
		SELECT utid, lo, hi, coalesce(lo > max(hi) OVER (PARTITION BY utid ORDER BY lo, hi
			ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 1) AS fresh FROM wanted))
GROUP BY utid, island;

-- Episodes in them, with the one before and the one after each, so that what lies between is known.
CREATE TEMP TABLE episode AS
SELECT * FROM main.episode WHERE offcpu_id IN (
	SELECT e.offcpu_id FROM stretch w CROSS JOIN main.episode e ON e.utid = w.utid AND e.ts BETWEEN w.lo AND w.hi
	UNION SELECT (SELECT e.offcpu_id FROM main.episode e WHERE e.utid = w.utid AND e.ts < w.lo
		ORDER BY e.ts DESC LIMIT 1) FROM stretch w
	UNION SELECT (SELECT e.offcpu_id FROM main.episode e WHERE e.utid = w.utid AND e.ts > w.hi
		ORDER BY e.ts LIMIT 1) FROM stretch w);
CREATE UNIQUE INDEX temp.kept_by_id ON episode(offcpu_id);
CREATE INDEX temp.kept_by_thread ON episode(utid, ts);

-- The same views over these episodes, which hide the table of all: the same rules, fewer rows.
INSERT INTO remade VALUES('offcpu'), ('thread_state'), ('blocked_reason'), ('ran_instead'), ('futex_wait');
