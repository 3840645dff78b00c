-- SPDX-License-Identifier: GPL-2.0-only
-- Stacks with a weight, for the formats that show those: temp.sample(utid, ts, place, ns), and the frames of
-- each place, the outermost first.

-- A stack is a user stack, on it a kernel stack, on it a frame of our own.
CREATE TEMP TABLE weighed(utid INTEGER, ts INTEGER, user INTEGER, kernel INTEGER, leaf TEXT, ns INTEGER);

-- blocked: the stack that slept, for as long as it was asleep.
INSERT INTO weighed
SELECT o.utid, o.ts, o.user_stack_id, o.kernel_stack_id, NULL, o.blocked_ns
FROM offcpu o JOIN thread t USING(utid) WHERE :weight = 'blocked' AND o.blocked_ns > 0 AND t.traced AND NOT :filtered;
INSERT INTO weighed
SELECT o.utid, o.ts, o.user_stack_id, o.kernel_stack_id, NULL, o.blocked_ns
FROM (SELECT offcpu_id FROM at_work w JOIN episode e ON e.utid = w.utid AND e.ts >= w.lo AND e.ts < w.hi
	WHERE :weight = 'blocked' AND :filtered GROUP BY offcpu_id) x
JOIN offcpu o USING(offcpu_id) WHERE o.blocked_ns > 0;

-- oncpu: the stack that entered a call, for the time of the call on a CPU without that of recorded calls in it.
CREATE TEMP TABLE entered(slice_id INTEGER PRIMARY KEY, parent_id INTEGER, ns INTEGER);
INSERT INTO entered SELECT s.slice_id, s.parent_id, s.oncpu_ns FROM chosen_call c JOIN slice s USING(slice_id)
WHERE :weight = 'oncpu' AND s.oncpu_ns IS NOT NULL;
-- The target of a hop that did not return, for its work up to the handoff.
INSERT OR IGNORE INTO entered
SELECT e.dst_slice, NULL, max(c.oncpu_ns - coalesce((SELECT sum(n.ns) FROM (SELECT s.slice_id FROM slice s
	WHERE s.slice_id > e.dst_slice AND s.parent_id = e.dst_slice AND s.ts < c.end_ts) k
	JOIN entered n USING(slice_id)), 0), 0)
FROM chosen_edge c JOIN edge e USING(edge_id) JOIN slice t ON t.slice_id = e.dst_slice
WHERE :weight = 'oncpu' AND c.oncpu_ns IS NOT NULL AND t.oncpu_ns IS NULL GROUP BY e.dst_slice;
INSERT INTO weighed
SELECT s.utid, s.ts, s.stack_id, NULL, NULL, e.ns - coalesce(i.ns, 0)
FROM entered e JOIN slice s USING(slice_id)
LEFT JOIN (SELECT parent_id, sum(ns) AS ns FROM entered WHERE parent_id IS NOT NULL GROUP BY parent_id) i
	ON i.parent_id = e.slice_id
WHERE e.ns > coalesce(i.ns, 0);
DROP TABLE entered;

-- queue: the stack that submitted, for as long as the task waited to be taken.
INSERT INTO weighed
SELECT e.src_utid, e.src_ts, s.stack_id, NULL, '[waits for ' || h.target || ']', e.dst_ts - e.src_ts
FROM chosen_edge c JOIN edge e USING(edge_id) LEFT JOIN slice s ON s.slice_id = e.src_slice
LEFT JOIN hop_count h USING(plan_hop) WHERE :weight = 'queue' AND e.dst_ts > e.src_ts;

CREATE TEMP TABLE place(place INTEGER PRIMARY KEY, user INTEGER, kernel INTEGER, leaf TEXT);
INSERT INTO place(user, kernel, leaf) SELECT DISTINCT user, kernel, leaf FROM weighed;
CREATE INDEX temp.place_by_all ON place(user, kernel, leaf);
CREATE TEMP TABLE sample(utid INTEGER, ts INTEGER, place INTEGER, ns INTEGER);
INSERT INTO sample
SELECT w.utid, w.ts, p.place, w.ns FROM weighed w JOIN place p ON p.user IS w.user AND p.kernel IS w.kernel AND p.leaf IS w.leaf
ORDER BY w.utid, w.ts;
CREATE INDEX temp.sample_by_thread ON sample(utid, ts);
DROP TABLE weighed;

-- Frames as they are named: the same name, file and line is the same frame. Kernel functions end in _[k].
CREATE TEMP TABLE named_frame(frame INTEGER PRIMARY KEY, name TEXT, module TEXT, file TEXT, line INTEGER);
CREATE TEMP TABLE used(stack_id INTEGER PRIMARY KEY, kernel INTEGER);
INSERT OR IGNORE INTO used SELECT user, 0 FROM place WHERE user IS NOT NULL;
INSERT OR IGNORE INTO used SELECT kernel, 1 FROM place WHERE kernel IS NOT NULL;
CREATE TEMP VIEW stack_name AS
SELECT c.stack_id, u.kernel, c.depth, c.inline_depth,
	coalesce(c.function, c.module || '+' || c.rel_pc, c.address) || CASE WHEN u.kernel THEN '_[k]' ELSE '' END AS name,
	c.module, c.file, c.line
FROM used u CROSS JOIN callstack c USING(stack_id);
INSERT INTO named_frame(name, module, file, line) SELECT DISTINCT name, module, file, line FROM stack_name
UNION ALL SELECT DISTINCT leaf, NULL, NULL, NULL FROM place WHERE leaf IS NOT NULL
UNION ALL SELECT '[no stack]', NULL, NULL, NULL FROM place WHERE user IS NULL LIMIT -1;
CREATE INDEX temp.named_frame_by_all ON named_frame(name, file, line, module);

-- Frames of a place, 0 the outermost.
CREATE TEMP TABLE place_frame(place INTEGER, pos INTEGER, frame INTEGER, PRIMARY KEY(place, pos)) WITHOUT ROWID;
CREATE TEMP TABLE stack_pos(stack_id INTEGER, pos INTEGER, frame INTEGER, PRIMARY KEY(stack_id, pos)) WITHOUT ROWID;
INSERT INTO stack_pos
SELECT s.stack_id, row_number() OVER (PARTITION BY s.stack_id ORDER BY s.depth DESC, s.inline_depth DESC) - 1,
	(SELECT min(f.frame) FROM named_frame f WHERE f.name IS s.name AND f.file IS s.file AND f.line IS s.line AND f.module IS s.module)
FROM stack_name s;
INSERT INTO place_frame
SELECT place, row_number() OVER (PARTITION BY place ORDER BY part, pos) - 1, frame FROM (
	SELECT p.place, 0 AS part, s.pos, s.frame FROM place p JOIN stack_pos s ON s.stack_id = p.user
	UNION ALL
	SELECT p.place, 0, 0, (SELECT min(frame) FROM named_frame WHERE name = '[no stack]') FROM place p
	WHERE NOT EXISTS (SELECT 1 FROM stack_pos s WHERE s.stack_id = p.user)
	UNION ALL
	SELECT p.place, 1, s.pos, s.frame FROM place p JOIN stack_pos s ON s.stack_id = p.kernel
	UNION ALL
	SELECT p.place, 2, 0, (SELECT min(f.frame) FROM named_frame f WHERE f.name = p.leaf AND f.file IS NULL) FROM place p
	WHERE p.leaf IS NOT NULL);
DROP TABLE stack_pos;
