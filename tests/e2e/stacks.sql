-- SPDX-License-Identifier: GPL-2.0-only
-- Stacks beside what programs with tests/workloads/known.h know of their own: one row a path and stack.
-- Needs the truth as t. Places are module + 0xoffset in its file, lists are JSON arrays, innermost first.
CREATE TEMP TABLE known AS SELECT DISTINCT s.program, f.value AS function FROM t.stack s, json_each(s.functions) f;

CREATE TEMP TABLE place AS
SELECT sf.stack_id, sf.depth, coalesce(m.name || printf('+0x%x', f.rel_pc), printf('0x%x', f.address)) AS place,
	m.name AS module, (SELECT function FROM symbol y WHERE y.frame_id = f.frame_id ORDER BY inline_depth DESC LIMIT 1) AS function
FROM stack_frame sf JOIN frame f USING(frame_id) LEFT JOIN module m USING(module_id)
WHERE f.module_id IS NOT -1;
CREATE UNIQUE INDEX place_at ON place(stack_id, depth);

-- The functions that note themselves, and where each of them returns to.
CREATE TEMP TABLE own AS
SELECT stack_id, json_group_array(function) AS functions, json_group_array(ret) AS "returns"
FROM (SELECT stack_id, module, function, lead(place) OVER (PARTITION BY stack_id ORDER BY depth) AS ret FROM place
	ORDER BY stack_id, depth)
WHERE (module, function) IN (SELECT program, function FROM known) GROUP BY stack_id;
CREATE UNIQUE INDEX own_at ON own(stack_id);

CREATE TEMP TABLE met AS
SELECT 'entry' AS kind, th.tid, s.ts, s.stack_id FROM slice s JOIN thread th USING(utid)
UNION ALL
SELECT 'block', th.tid, o.ts, o.user_stack_id FROM offcpu o JOIN thread th USING(utid)
WHERE o.state = 'blocked' OR o.blocked_ns > 0 OR o.user_stack_id IS NOT NULL -- its wake-up may be hidden
UNION ALL
SELECT 'wake', th.tid, w.ts, w.waker_stack_id FROM wakeup w JOIN thread th ON th.utid = w.waker_utid
WHERE NOT in_interrupt;

-- Which stacks were met on which path, and where in them the caller of the function that asked is.
CREATE TEMP TABLE pair AS
SELECT DISTINCT t.rowid AS truth, t.program, t.path, t.kind, t.functions, t."returns", t.unwound, m.stack_id,
	json_array_length(t.unwound) AS n, s.frame_count,
	(SELECT min(depth) FROM place p WHERE p.stack_id = m.stack_id AND p.place = t.unwound ->> 0) AS caller
FROM t.stack t LEFT JOIN met m ON m.tid = t.tid AND m.kind = t.kind AND m.ts BETWEEN t.begin_ns AND t.end_ns
LEFT JOIN stack s USING(stack_id);

CREATE TEMP TABLE compared AS
SELECT t.truth, t.program, t.path, t.kind, t.stack_id, s.complete, s.truncated, s.broken, s.repaired, s.problem, s.unwound_by,
	o.functions, t.functions AS true_functions,
	o.functions IS t.functions AND o."returns" IS t."returns" AS named_right,
	t.frame_count = t.caller + n AND (t.kind <> 'entry' OR caller = 2) AND t.unwound = (SELECT json_group_array(place) FROM
		(SELECT place FROM place p WHERE p.stack_id = t.stack_id AND depth >= t.caller ORDER BY depth)) AS placed_right,
	t.unwound LIKE rtrim((SELECT json_group_array(place) FROM (SELECT place FROM place p
		WHERE p.stack_id = t.stack_id AND depth >= t.caller ORDER BY depth)), ']') || '%' AS begins_right
FROM pair t LEFT JOIN stack s USING(stack_id) LEFT JOIN own o USING(stack_id);
CREATE TEMP VIEW "right" AS SELECT *, named_right AND placed_right AS right FROM compared;
