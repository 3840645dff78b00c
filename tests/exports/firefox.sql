-- SPDX-License-Identifier: GPL-2.0-only
-- A Firefox profile against the views; see chrome.sql and weights.sql. Times are ms with six decimals: ns.
CREATE TEMP TABLE text_of AS SELECT j.key AS n, j.value AS text FROM arg, json_each(arg.file, '$.shared.stringArray') j;
CREATE UNIQUE INDEX temp.text_of_by_number ON text_of(n);
CREATE TEMP TABLE th AS SELECT j.key AS n, j.value ->> 'tid' AS tid, j.value ->> 'pid' AS pid, j.value ->> 'name' AS name, j.value AS v
FROM arg, json_each(arg.file, '$.threads') j;
CREATE TEMP TABLE node AS
SELECT th.n, f.key AS node, p.value AS prefix, (SELECT text FROM text_of x WHERE x.n = json_extract(th.v, '$.funcTable.name[' ||
	json_extract(th.v, '$.frameTable.func[' || f.value || ']') || ']')) AS name
FROM th, json_each(th.v, '$.stackTable.frame') f JOIN json_each(th.v, '$.stackTable.prefix') p ON p.key = f.key;
CREATE UNIQUE INDEX temp.node_by_number ON node(n, node);
CREATE TEMP TABLE node_text AS
WITH RECURSIVE t(n, node, text) AS (
	SELECT n, node, name FROM node WHERE prefix IS NULL
	UNION ALL SELECT d.n, d.node, t.text || char(10) || d.name FROM t JOIN node d ON d.n = t.n AND d.prefix = t.node AND d.node > t.node)
SELECT * FROM t;
CREATE UNIQUE INDEX temp.node_text_by_number ON node_text(n, node);
CREATE TEMP TABLE got AS
SELECT th.name || ' ' || th.tid AS who, (SELECT text FROM node_text x WHERE x.n = th.n AND x.node = s.value) AS stack,
	CAST(round(w.value * 1e6) AS INTEGER) AS ns
FROM th, json_each(th.v, '$.samples.stack') s JOIN json_each(th.v, '$.samples.weight') w ON w.key = s.key;
SELECT '# threads', count(*) FROM th;
SELECT '# samples', count(*) FROM got;
SELECT 'weight', who, stack, sum(got), sum(wanted) FROM (
	SELECT who, stack, ns AS got, 0 AS wanted FROM got
	UNION ALL SELECT coalesce(t.name, '?') || ' ' || coalesce(t.rec_tid, t.tid), w.stack, 0, w.ns FROM want w JOIN thread t USING(utid))
GROUP BY who, stack HAVING sum(got) <> sum(wanted);
CREATE TEMP TABLE mark AS
SELECT th.tid, (SELECT text FROM text_of x WHERE x.n = m.value) AS name, d.value ->> 'type' AS type, d.value AS data,
	CAST(round(a.value * 1e6) AS INTEGER) AS begin, CAST(round(b.value * 1e6) AS INTEGER) AS end
FROM th, json_each(th.v, '$.markers.name') m JOIN json_each(th.v, '$.markers.data') d ON d.key = m.key
JOIN json_each(th.v, '$.markers.startTime') a ON a.key = m.key JOIN json_each(th.v, '$.markers.endTime') b ON b.key = m.key;
SELECT '# markers', count(*) FROM mark;
SELECT 'call', * FROM (SELECT c.tid, c.function, c.ts - k.start_ts, c.ts - k.start_ts + coalesce(c.dur, 0) FROM call c, report_clock k
	EXCEPT SELECT tid, name, begin, end FROM mark WHERE type = 'call');
SELECT 'hop', * FROM (SELECT h.target_tid, h.source || ' → ' || h.target, h.submit_ts - k.start_ts, coalesce(h.end_ts, h.start_ts) - k.start_ts, h.chain_id
	FROM hop h, report_clock k EXCEPT SELECT tid, name, begin, end, data ->> 'chain' FROM mark WHERE type = 'hop');
SELECT 'state', * FROM (SELECT coalesce(t.rec_tid, t.tid), s.state, s.ts - k.start_ts, s.ts - k.start_ts + s.dur
	FROM thread_state s JOIN thread t USING(utid), report_clock k WHERE t.traced EXCEPT SELECT tid, name, begin, end FROM mark WHERE type = 'state');
SELECT 'number of ' || type, n FROM (SELECT type, count(*) AS n FROM mark GROUP BY 1)
WHERE n <> CASE type WHEN 'call' THEN (SELECT count(*) FROM call) WHEN 'hop' THEN (SELECT count(*) FROM hop)
	WHEN 'state' THEN (SELECT count(*) FROM thread_state JOIN thread USING(utid) WHERE traced) END;
SELECT 'lengths', th.n, t.key FROM th, json_each(th.v) t, json_each(t.value) c
WHERE t.type = 'object' AND c.type = 'array' AND json_array_length(c.value) <> t.value ->> 'length';
