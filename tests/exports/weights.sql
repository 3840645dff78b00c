-- SPDX-License-Identifier: GPL-2.0-only
-- What stacks must weigh, by thread and stack, worked out from the views: temp.want(utid, stack, ns), where stack
-- is its functions from the outermost, joined by newlines.
CREATE TEMP TABLE stack_text AS
SELECT stack_id, group_concat(name, char(10)) AS text FROM (
	SELECT c.stack_id, coalesce(c.function, c.module || '+' || c.rel_pc, c.address) || CASE k.kind WHEN 'kernel' THEN '_[k]' ELSE '' END AS name
	FROM callstack c JOIN stack k USING(stack_id) ORDER BY c.stack_id, c.depth DESC, c.inline_depth DESC) GROUP BY stack_id;
CREATE UNIQUE INDEX temp.stack_text_by_id ON stack_text(stack_id);
CREATE TEMP TABLE want AS
SELECT o.utid, coalesce(u.text, '[no stack]') || coalesce(char(10) || k.text, '') AS stack, o.blocked_ns AS ns
FROM offcpu o JOIN thread t USING(utid) LEFT JOIN stack_text u ON u.stack_id = o.user_stack_id
LEFT JOIN stack_text k ON k.stack_id = o.kernel_stack_id, arg WHERE arg.weight = 'blocked' AND t.traced AND o.blocked_ns > 0
UNION ALL
SELECT c.utid, coalesce(u.text, '[no stack]'), c.oncpu_ns - coalesce((SELECT sum(i.oncpu_ns) FROM slice i WHERE i.parent_id = c.slice_id), 0)
FROM call c LEFT JOIN stack_text u USING(stack_id), arg WHERE arg.weight = 'oncpu' AND c.oncpu_ns > 0
UNION ALL
SELECT h.target_utid, coalesce(u.text, '[no stack]'), max(h.oncpu_ns)
FROM hop h JOIN slice s ON s.slice_id = h.target_slice LEFT JOIN stack_text u ON u.stack_id = h.target_stack_id, arg
WHERE arg.weight = 'oncpu' AND s.oncpu_ns IS NULL AND h.oncpu_ns > 0 GROUP BY h.target_slice
UNION ALL
SELECT source_utid, stack, ns FROM (
	SELECT DISTINCT h.edge_id, h.source_utid, coalesce(u.text, '[no stack]') || char(10) || '[waits for ' || h.target || ']' AS stack, h.queue_ns AS ns
	FROM hop h LEFT JOIN stack_text u ON u.stack_id = h.source_stack_id, arg WHERE arg.weight = 'queue' AND h.queue_ns > 0);
DELETE FROM want WHERE ns <= 0;
