-- SPDX-License-Identifier: GPL-2.0-only
-- A capture that is made up: :n tasks through two stages of one worker each, :seed, the second stage :slow times as
-- slow. Waits follow from arrivals and work, so they depend on each other as in a real queue. After people.sql.
UPDATE capture_info SET value = 900000000000 WHERE key = 'end_ts';
INSERT INTO hop_count VALUES(0, 'submit_compute', 'process', 0, 0, 0, 0, 0, 0, 0, 0, 0),
	(1, 'submit_storage', 'write_result', 0, 0, 0, 0, 0, 0, 0, 0, 0);
CREATE TEMP TABLE chance(k INTEGER PRIMARY KEY, u REAL);
INSERT INTO chance
WITH RECURSIVE r(k, s) AS (SELECT -20, :seed * 7919 + 17 UNION ALL SELECT k + 1, (s * 1103515245 + 12345) & 2147483647 FROM r WHERE k < 3 * :n)
SELECT k, s / 2147483648.0 FROM r WHERE k >= 0;
CREATE TEMP TABLE given AS SELECT a.k / 3 AS c, 80000000 * a.u AS pause, 20000000 * (0.9 + 0.2 * b.u) AS work1,
	25000000 * :slow * (0.9 + 0.2 * d.u) AS work2, CAST(d.u * 90000 AS INTEGER) AS cpu
FROM chance a JOIN chance b ON b.k = a.k + 1 JOIN chance d ON d.k = a.k + 2 WHERE a.k % 3 = 0;
CREATE UNIQUE INDEX temp.given_by_number ON given(c);
CREATE TEMP TABLE task AS
WITH RECURSIVE t(c, arrival, start1, end1, start2, end2) AS (
	SELECT -1, 1000000000, 0, 1000000000, 0, 1000000000
	UNION ALL
	SELECT t.c + 1, arrival + pause, max(arrival + pause, end1), max(arrival + pause, end1) + work1,
		max(end2, max(arrival + pause, end1) + work1), max(end2, max(arrival + pause, end1) + work1) + work2
	FROM t JOIN given g ON g.c = t.c + 1 WHERE t.c < :n - 1)
SELECT c, CAST(arrival AS INTEGER) AS a, CAST(start1 AS INTEGER) AS s1, CAST(work1 AS INTEGER) AS w1,
	CAST(start2 AS INTEGER) + 2 AS s2, CAST(work2 AS INTEGER) AS w2, cpu FROM t JOIN given USING(c);
INSERT INTO slice(slice_id, ts, dur, utid, probe_id, depth, touched_by_loss, oncpu_ns, blocked_ns, runq_ns, preempted_ns, unknown_ns)
SELECT 4 * c + 1, a, NULL, 1, 0, 0, 0, NULL, NULL, NULL, NULL, NULL FROM task
UNION ALL SELECT 4 * c + 2, s1, w1, 2, 1, 0, 0, 900000 + cpu, w1 - 900000 - 2 * cpu, cpu, 0, 0 FROM task
UNION ALL SELECT 4 * c + 3, s1 + w1, NULL, 2, 2, 0, 0, NULL, NULL, NULL, NULL, NULL FROM task
UNION ALL SELECT 4 * c + 4, s2, w2, 3, 3, 0, 0, 900000 + cpu, w2 - 900000 - 2 * cpu, cpu, 0, 0 FROM task;
INSERT INTO edge(edge_id, kind, plan_hop, key, target_arg, src_utid, src_ts, src_slice, dst_utid, dst_ts, dst_slice, match, candidates, evidence)
SELECT 2 * c, 'async', 0, c, 1, 1, a, 4 * c + 1, 2, s1, 4 * c + 2, 'newest', 1, 'exact' FROM task
UNION ALL SELECT 2 * c + 1, 'async', 1, c, 1, 2, s1 + w1, 4 * c + 3, 3, s2, 4 * c + 4, 'newest', 1, 'exact' FROM task;
INSERT INTO path SELECT c, a, s2 + w2, s1 - a + s2 - s1 - w1, w1 + w2, max(s1 - a, s2 - s1 - w1), max(w1, w2), 2, 1, '', 4 * c + 4 FROM task;
INSERT INTO path_hop SELECT c, 0, 2 * c, s1 + w1, 900000 + cpu, w1 - 900000 - 2 * cpu, cpu, 0, 0 FROM task
UNION ALL SELECT c, 1, 2 * c + 1, s2 + w2, 900000 + cpu, w2 - 900000 - 2 * cpu, cpu, 0, 0 FROM task;
