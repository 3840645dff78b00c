-- SPDX-License-Identifier: GPL-2.0-only
-- The graph against the views; see chrome.sql. Medians are of the nearest rank.
CREATE TEMP TABLE line AS
WITH RECURSIVE l(text, rest) AS (
	SELECT NULL, file FROM arg
	UNION ALL SELECT substr(rest, 1, instr(rest, char(10)) - 1), substr(rest, instr(rest, char(10)) + 1) FROM l WHERE rest <> '')
SELECT text FROM l WHERE text IS NOT NULL;
CREATE TEMP TABLE edge_want AS
SELECT source, target, n, max(queue_ns) FILTER (WHERE place = (n * 50 + 99) / 100) AS queue
FROM (SELECT *, row_number() OVER (PARTITION BY source, target ORDER BY queue_ns) AS place, count(*) OVER (PARTITION BY source, target) AS n
	FROM (SELECT DISTINCT edge_id, source, target, queue_ns FROM hop)) GROUP BY source, target;
SELECT '# edges', count(*) FROM edge_want;
SELECT 'edge', w.* FROM edge_want w WHERE NOT EXISTS (SELECT 1 FROM line
	WHERE text GLOB '  "' || w.source || '" -> "' || w.target || '" *, count=' || w.n || ', queue_median_ns=' || w.queue || ',*');
SELECT 'number of edges', count(*) FROM line WHERE text LIKE '%queue_median_ns=%' HAVING count(*) <> (SELECT count(*) FROM edge_want);
SELECT '# nodes', count(*) FROM (SELECT DISTINCT function FROM call);
SELECT 'node', c.* FROM (SELECT function, count(*) AS n FROM call GROUP BY 1) c WHERE NOT EXISTS (SELECT 1 FROM line
	WHERE text GLOB '  "' || c.function || '" ?label=*, count=' || c.n || '[],]*');
SELECT 'nested', c.* FROM (SELECT p.function AS a, c.function AS b, count(*) AS n FROM call c JOIN call p ON p.slice_id = c.parent_id GROUP BY 1, 2) c
WHERE NOT EXISTS (SELECT 1 FROM line WHERE text GLOB '  "' || c.a || '" -> "' || c.b || '" ?style=dashed*, count=' || c.n || '];');
