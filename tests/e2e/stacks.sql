-- SPDX-License-Identifier: GPL-2.0-only
-- Stacks of stack_test beside what it knows about them: one row a path. Needs the truth as t.
-- The program's own frames, the probed function and the start code left out.
CREATE TEMP TABLE own AS
SELECT c.stack_id, c.depth, c.function, c.address
FROM callstack c JOIN stack_frame sf USING(stack_id, depth) JOIN frame f USING(frame_id) JOIN module m USING(module_id)
WHERE m.name LIKE 'stack_test%' AND c.function NOT IN ('stack_leaf', '_start')
ORDER BY c.stack_id, c.depth;

-- Addresses that a function of the program returns to; those the C library returns to are not known to it.
CREATE TEMP TABLE named AS
SELECT stack_id, group_concat(function, ' ') AS functions,
	coalesce(group_concat(iif(own_callee, address, NULL), ' '), '') AS "returns"
FROM (SELECT stack_id, function, address,
	lag(depth) OVER (PARTITION BY stack_id ORDER BY depth) = depth - 1 AS own_callee FROM own)
GROUP BY stack_id;

CREATE TEMP TABLE met AS
SELECT 'entry' AS kind, th.tid, s.ts, s.stack_id FROM slice s JOIN thread th USING(utid)
UNION ALL
SELECT 'block', th.tid, o.ts, o.user_stack_id FROM offcpu o JOIN thread th USING(utid)
WHERE o.state = 'blocked' OR o.blocked_ns > 0;

CREATE TEMP VIEW compared AS
SELECT DISTINCT t.path, t.kind, s.stack_id, s.complete, s.truncated, s.broken, s.repaired, s.problem, s.unwound_by,
	n.functions, n."returns", t.functions AS true_functions, t."returns" AS true_returns,
	n.functions = t.functions AND n."returns" = t."returns" AS right,
	substr(t.functions || ' ', 1, length(n.functions) + 1) = n.functions || ' '
		AND substr(t."returns" || ' ', 1, length(n."returns") + 1) IN (n."returns" || ' ', ' ') AS begins_right
FROM t.stack t LEFT JOIN met m ON m.tid = t.tid AND m.kind = t.kind AND m.ts BETWEEN t.begin_ns AND t.end_ns
LEFT JOIN stack s USING(stack_id) LEFT JOIN named n USING(stack_id);
