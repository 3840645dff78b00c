-- SPDX-License-Identifier: GPL-2.0-only
-- Folded stacks: a line a stack, the thread's name first, then frames from the outermost, then the weight in ns.
-- What would part frames or lines is replaced in names.

CREATE TEMP TABLE place_text AS
SELECT p.place, coalesce((SELECT group_concat(';' || replace(n, ';', ':'), '') FROM (
	SELECT f.name AS n FROM place_frame x JOIN named_frame f USING(frame) WHERE x.place = p.place ORDER BY x.pos)), '') AS text
FROM place p;
CREATE UNIQUE INDEX temp.place_text_by_place ON place_text(place);
SELECT name || ' ' || sum(ns) AS line
FROM (SELECT replace(coalesce(t.name, '?'), ';', ':') || p.text AS name, s.ns
	FROM sample s JOIN thread t USING(utid) JOIN place_text p USING(place))
GROUP BY name ORDER BY name;
