-- SPDX-License-Identifier: GPL-2.0-only
-- CSV against the views; see chrome.sql. It has no field with a comma here but flags and names of threads.
CREATE TEMP TABLE line AS
WITH RECURSIVE l(n, text, rest) AS (
	SELECT -1, NULL, file FROM arg
	UNION ALL SELECT n + 1, substr(rest, 1, instr(rest, char(10)) - 1), substr(rest, instr(rest, char(10)) + 1) FROM l WHERE rest <> '')
SELECT n, text FROM l WHERE text IS NOT NULL;
SELECT '# rows', count(*) - 1 FROM line;
SELECT 'number of rows', count(*) - 1 FROM line HAVING count(*) - 1 <>
	(SELECT CASE WHEN EXISTS (SELECT 1 FROM hop_count) THEN (SELECT count(*) FROM hop) ELSE (SELECT count(*) FROM call) END);
SELECT 'hop', h.chain_id, h.hop_index FROM hop h WHERE NOT EXISTS (SELECT 1 FROM line WHERE text GLOB h.chain_id || ',' || h.hop_index || ',*'
	|| h.submit_ts || ',' || h.start_ts || ',' || coalesce(h.end_ts, '') || ',' || h.queue_ns || ',' || coalesce(h.work_ns, '') || ',*');
SELECT 'call', c.slice_id FROM call c WHERE NOT EXISTS (SELECT 1 FROM hop_count) AND NOT EXISTS (SELECT 1 FROM line
	WHERE text GLOB c.slice_id || ',' || c.ts || ',' || coalesce(c.dur, '') || ',*');
