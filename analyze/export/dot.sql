-- SPDX-License-Identifier: GPL-2.0-only
-- The graph of hops for Graphviz. Functions are nodes; a solid edge is a handoff, a dashed one a recorded call
-- inside another, which is how the hops of a chain follow each other. Medians are of the nearest rank; all numbers
-- are attributes, too. Edges are as thick as their part of all time in queues.

CREATE TEMP TABLE measured(kind TEXT, a TEXT, b TEXT, ns INTEGER);
INSERT INTO measured
SELECT 'queue', h.source, h.target, e.dst_ts - e.src_ts FROM chosen_edge c JOIN edge e USING(edge_id) JOIN hop_count h USING(plan_hop)
UNION ALL
SELECT 'work', h.source, h.target, c.end_ts - e.dst_ts FROM chosen_edge c JOIN edge e USING(edge_id) JOIN hop_count h USING(plan_hop)
UNION ALL
SELECT 'call', p.function, NULL, s.dur FROM chosen_call c JOIN slice s USING(slice_id) JOIN probe p USING(probe_id)
UNION ALL
SELECT 'nested', p.function, q.function, s.dur FROM chosen_call c JOIN slice s USING(slice_id) JOIN probe q USING(probe_id)
JOIN slice o ON o.slice_id = s.parent_id JOIN probe p ON p.probe_id = o.probe_id;
CREATE TEMP TABLE summed AS
SELECT kind, a, b, count(*) AS n, sum(ns) AS total, max(ns) FILTER (WHERE place = (known * 50 + 99) / 100) AS p50
FROM (SELECT *, row_number() OVER (PARTITION BY kind, a, b ORDER BY ns IS NULL, ns) AS place,
	count(ns) OVER (PARTITION BY kind, a, b) AS known FROM measured)
GROUP BY kind, a, b;
-- What may not stand in a quoted string, and numbers with units.
CREATE TEMP VIEW drawn AS
SELECT kind, replace(replace(a, '\', '\\'), '"', '\"') AS a, replace(replace(b, '\', '\\'), '"', '\"') AS b, n, total, p50,
	CASE WHEN p50 IS NULL THEN '?' WHEN p50 < 1000 THEN p50 || ' ns' WHEN p50 < 1000000 THEN printf('%.3f us', p50 / 1e3)
		WHEN p50 < 1000000000 THEN printf('%.3f ms', p50 / 1e6) ELSE printf('%.3f s', p50 / 1e9) END AS median
FROM summed;

SELECT 'digraph callweave {' AS line;
SELECT '  rankdir=LR; node [shape=box, fontname="sans-serif"]; edge [fontname="sans-serif", fontsize=10];' AS line;
SELECT '  "' || a || '" [label="' || a || '\n' || n || ' calls' || CASE WHEN p50 IS NULL THEN '' ELSE ', median ' || median END
	|| '", count=' || n || coalesce(', median_ns=' || p50, '') || '];' AS line
FROM drawn WHERE kind = 'call' ORDER BY a;
SELECT '  "' || q.a || '" -> "' || q.b || '" [label="' || q.n || '\nqueue ' || q.median || '\nwork ' || coalesce(w.median, '?') || '", count='
	|| q.n || ', queue_median_ns=' || q.p50 || coalesce(', work_median_ns=' || w.p50, '')
	|| printf(', penwidth=%.2f', 1 + 4.0 * q.total / max(1, (SELECT sum(total) FROM summed WHERE kind = 'queue'))) || '];' AS line
FROM drawn q LEFT JOIN drawn w ON w.kind = 'work' AND w.a = q.a AND w.b = q.b WHERE q.kind = 'queue' ORDER BY q.a, q.b;
SELECT '  "' || a || '" -> "' || b || '" [style=dashed, label="calls ' || n || '", count=' || n || '];' AS line
FROM drawn WHERE kind = 'nested' ORDER BY a, b;
SELECT '}' AS line;
