-- SPDX-License-Identifier: GPL-2.0-only
-- Speedscope's file format: frames that all profiles share, and a sampled profile a thread.

SELECT '{"$schema":"https://www.speedscope.app/file-format-schema.json",' || '"exporter":"callweave","activeProfileIndex":0,'
	|| '"name":' || json_quote(coalesce((SELECT value FROM capture_info WHERE key = 'cmdline'), '') || ' (' || :weight || ')')
	|| ',"shared":{"frames":[' AS text;
-- An object must not hold null where the schema wants a string or a number.
SELECT json_patch('{}', json_object('name', name, 'file', file, 'line', line)) AS item FROM named_frame ORDER BY frame;
SELECT ']},"profiles":[' AS text;

-- For each thread a head, its samples, and their weights.
SELECT CASE part WHEN 0 THEN CASE WHEN row_number() OVER (ORDER BY busy DESC, utid, part) > 1 THEN ',' ELSE '' END
		|| '{"type":"sampled","unit":"nanoseconds","startValue":0,"endValue":' || total || ',"name":'
		|| json_quote(name) || ',"samples":['
	WHEN 2 THEN '],"weights":[' WHEN 4 THEN ']}' END AS text,
	CASE part WHEN 1 THEN (SELECT json_group_array(frame) FROM (
			SELECT x.frame - 1 AS frame FROM place_frame x WHERE x.place = y.place ORDER BY x.pos))
		WHEN 3 THEN ns END AS item
FROM (SELECT t.utid, w.part, s.ts, s.place, s.ns, h.total, h.total AS busy,
		coalesce(t.name, '?') || ' ' || coalesce(t.rec_tid, t.tid) AS name
	FROM (SELECT utid, sum(ns) AS total FROM sample GROUP BY utid) h JOIN thread t USING(utid)
	CROSS JOIN (SELECT 0 AS part UNION ALL SELECT 1 UNION ALL SELECT 2 UNION ALL SELECT 3 UNION ALL SELECT 4) w
	LEFT JOIN sample s ON s.utid = t.utid AND w.part IN (1, 3)) y
ORDER BY busy DESC, utid, part, ts, place;
SELECT ']}' AS text;
