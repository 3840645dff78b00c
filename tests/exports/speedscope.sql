-- SPDX-License-Identifier: GPL-2.0-only
-- A speedscope file against the views; see chrome.sql and weights.sql.
CREATE TEMP TABLE frame_name AS SELECT j.key AS frame, j.value ->> 'name' AS name FROM arg, json_each(arg.file, '$.shared.frames') j;
CREATE UNIQUE INDEX temp.frame_name_by_number ON frame_name(frame);
CREATE TEMP TABLE profile AS SELECT j.key AS n, j.value ->> 'name' AS name, j.value -> 'samples' AS samples, j.value -> 'weights' AS weights,
	j.value ->> 'endValue' AS total, j.value ->> 'unit' AS unit FROM arg, json_each(arg.file, '$.profiles') j;
CREATE TEMP TABLE got AS
SELECT p.n, p.name, (SELECT group_concat(f.name, char(10)) FROM (SELECT value FROM json_each(s.value) ORDER BY key) x
		JOIN frame_name f ON f.frame = x.value) AS stack, w.value AS ns
FROM profile p, json_each(p.samples) s JOIN json_each(p.weights) w ON w.key = s.key;
SELECT '# profiles', count(*) FROM profile;
SELECT 'samples without weights', n FROM profile WHERE json_array_length(samples) <> json_array_length(weights) OR unit <> 'nanoseconds';
SELECT 'total', p.n, p.total FROM profile p WHERE p.total IS NOT (SELECT sum(ns) FROM got g WHERE g.n = p.n);
SELECT 'the first profile is not the greatest', max(total) FROM profile HAVING max(total) > (SELECT total FROM profile WHERE n = 0);
SELECT 'weight', name, stack, sum(got), sum(wanted) FROM (
	SELECT name, stack, ns AS got, 0 AS wanted FROM got
	UNION ALL SELECT coalesce(t.name, '?') || ' ' || coalesce(t.rec_tid, t.tid), w.stack, 0, w.ns FROM want w JOIN thread t USING(utid))
GROUP BY name, stack HAVING sum(got) <> sum(wanted);
