-- SPDX-License-Identifier: GPL-2.0-only
-- Folded stacks: a line a stack of a process, the thread's name first, then frames from the outermost, then the
-- weight in ns. What would part frames or lines is replaced in names.

SELECT replace(coalesce(t.name, '?'), ';', ':') || coalesce((SELECT group_concat(';' || replace(n, ';', ':'), '') FROM (
		SELECT f.name AS n FROM place_frame x JOIN named_frame f USING(frame) WHERE x.place = s.place ORDER BY x.pos)), '')
	|| ' ' || sum(s.ns) AS line
FROM sample s JOIN thread t USING(utid) GROUP BY t.name, s.place ORDER BY 1;
