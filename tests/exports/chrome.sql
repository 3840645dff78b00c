-- SPDX-License-Identifier: GPL-2.0-only
-- A Chrome trace against the views: whatever is printed, but for lines that begin with #, is a difference.
-- ns of a number of us is floor(us * 1000), as Perfetto reads it.
CREATE TEMP TABLE ev AS
SELECT j.key AS n, j.value ->> 'ph' AS ph, j.value ->> 'cat' AS cat, j.value ->> 'name' AS name,
	j.value ->> 'pid' AS pid, j.value ->> 'tid' AS tid, CAST((j.value ->> 'ts') * 1000 AS INTEGER) AS ts,
	CAST((j.value ->> 'dur') * 1000 AS INTEGER) AS dur, j.value ->> 'id' AS id,
	j.value ->> '$.id2.local' AS local, j.value -> 'args' AS args
FROM arg, json_each(arg.file, '$.traceEvents') j;
CREATE INDEX temp.ev_by_kind ON ev(cat, ph, id);
CREATE TEMP TABLE lane AS
SELECT t.utid, m.pid, m.tid, m.states FROM (
	SELECT pid, tid, 0 AS states FROM ev WHERE ph = 'M' AND name = 'thread_name' AND args ->> 'name' NOT LIKE '% states'
	UNION ALL SELECT pid, tid, 1 FROM ev WHERE ph = 'M' AND name = 'thread_name' AND args ->> 'name' LIKE '% states') m
JOIN thread t ON coalesce(t.rec_tid, t.tid) = m.tid - 4200000 * m.states;

-- Calls: every one once, with its thread, begin and duration.
SELECT '# calls', count(*) FROM call;
CREATE TEMP TABLE ev_call AS SELECT args ->> 'call_id' AS call_id, * FROM ev WHERE cat = 'call' AND ph = 'X';
CREATE INDEX temp.ev_call_by_id ON ev_call(call_id);
CREATE TEMP TABLE work_end AS SELECT target_slice, max(end_ts) AS end_ts FROM hop GROUP BY 1;
SELECT 'call', c.slice_id, c.ts, c.dur, e.ts, e.dur FROM call c LEFT JOIN ev_call e ON e.call_id = c.slice_id, report_clock k
WHERE e.ts IS NOT c.ts - k.start_ts OR e.name IS NOT c.function OR e.pid IS NOT c.pid OR e.tid IS NOT c.tid
	OR (c.dur IS NOT NULL AND e.dur IS NOT c.dur)
	OR (c.dur IS NULL AND e.dur <> 0 AND e.ts + e.dur IS NOT (SELECT h.end_ts - k.start_ts FROM work_end h WHERE h.target_slice = c.slice_id));
SELECT 'calls that are no calls', count(*) FROM ev WHERE cat = 'call' HAVING count(*) <> (SELECT count(*) FROM call);
-- On a track each event lies inside those that are open when it begins, or after them.
SELECT 'overlap', * FROM (
	SELECT tid, n, ts, max(ts + dur) OVER (PARTITION BY tid ORDER BY n ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS open_end
	FROM ev WHERE ph = 'X' AND cat = 'state') WHERE open_end > ts;
CREATE TEMP TABLE drawn AS SELECT args ->> 'call_id' AS call_id, tid, ts, ts + dur AS end FROM ev WHERE cat = 'call' AND ph = 'X';
CREATE UNIQUE INDEX temp.drawn_by_id ON drawn(call_id);
SELECT 'call outlasts the one it is in', d.*, p.* FROM drawn d JOIN slice s ON s.slice_id = d.call_id
JOIN drawn p ON p.call_id = s.parent_id JOIN slice q ON q.slice_id = s.parent_id WHERE q.dur IS NOT NULL AND d.end > p.end;
SELECT 'call before the last one ended', * FROM (SELECT d.*, lag(d.end) OVER (PARTITION BY d.tid, s.parent_id ORDER BY d.call_id) AS before
	FROM drawn d JOIN slice s ON s.slice_id = d.call_id) WHERE before > ts;

-- States: those of thread_state, all of them.
SELECT '# states', count(*) FROM thread_state;
SELECT 'state', * FROM (
	SELECT l.tid, s.ts - k.start_ts AS ts, s.dur, s.state FROM thread_state s JOIN lane l ON l.utid = s.utid AND l.states, report_clock k
	EXCEPT SELECT tid, ts, dur, args ->> 'state' FROM ev WHERE cat = 'state' AND ph = 'X');
SELECT 'number of states', count(*) FROM ev WHERE cat = 'state' AND ph = 'X' HAVING count(*) <>
	(SELECT count(*) FROM thread_state JOIN thread USING(utid) WHERE traced);

-- Chains: begins and ends of an asynchronous track are balanced and in order, and give the views' times.
CREATE TEMP TABLE nest AS
SELECT *, sum(CASE ph WHEN 'b' THEN 1 ELSE -1 END) OVER (PARTITION BY pid, local ORDER BY n) + (ph = 'e') AS depth
FROM ev WHERE cat = 'chain';
SELECT 'chain goes back', * FROM (SELECT n, ts, lag(ts) OVER (PARTITION BY pid, local ORDER BY n) AS before FROM nest) WHERE ts < before;
SELECT 'begin without its end', a.n FROM (SELECT n, name, ph, lead(name) OVER w AS next, lead(ph) OVER w AS next_ph
	FROM nest WINDOW w AS (PARTITION BY pid, local, depth ORDER BY n)) a WHERE ph = 'b' AND (next IS NOT name OR next_ph IS NOT 'e');
CREATE INDEX temp.nest_by_local ON nest(local);
CREATE TEMP TABLE span AS
SELECT local, depth, name, ts, args, lead(ts) OVER w AS end,
	sum(depth = 2 AND ph = 'b') OVER (PARTITION BY local ORDER BY n) - 1 AS hop, ph
FROM nest WINDOW w AS (PARTITION BY pid, local, depth ORDER BY n);
DELETE FROM span WHERE ph = 'e';
CREATE INDEX temp.span_by_local ON span(local, depth);
SELECT '# chains', count(*) FROM chain;
SELECT 'chain', c.chain_id, c.start_ts, c.end_ts, s.ts, s.end FROM chain c LEFT JOIN (
	SELECT *, args ->> 'chain_id' AS chain_id FROM span WHERE depth = 1) s USING(chain_id), report_clock k
WHERE s.ts IS NOT c.start_ts - k.start_ts OR s.end IS NOT c.end_ts - k.start_ts;
SELECT '# hops', count(*) FROM hop;
SELECT 'hop', h.chain_id, h.hop_index, s.* FROM hop h LEFT JOIN (
	SELECT a.ts AS submit, b.end AS taken, w.ts AS start, w.end AS done, a.end AS end, a.args, a.hop, c.args ->> 'chain_id' AS chain_id
	FROM span c JOIN span a ON a.local = c.local AND a.depth = 2
	JOIN span b ON b.local = c.local AND b.hop = a.hop AND b.depth = 3 AND b.name = 'queue'
	JOIN span w ON w.local = c.local AND w.hop = a.hop AND w.depth = 3 AND w.name = 'work' WHERE c.depth = 1) s
	ON s.chain_id = h.chain_id AND s.hop = h.hop_index, report_clock k
WHERE s.submit IS NOT h.submit_ts - k.start_ts OR s.taken - s.submit IS NOT h.queue_ns OR s.start IS NOT s.taken
	OR s.done - s.start IS NOT coalesce(h.work_ns, 0) OR s.end IS NOT s.done OR s.args ->> 'key' IS NOT h.key
	OR s.args ->> 'oncpu_ns' IS NOT h.oncpu_ns OR s.args ->> 'blocked_ns' IS NOT h.blocked_ns;

-- Arrows: a start and an end for each handoff of a chain and each waking by a traced thread, at their times and
-- threads, and each at an event that is there.
SELECT '# handoffs', count(DISTINCT edge_id) FROM hop;
SELECT 'handoff', e.* FROM (SELECT DISTINCT e.edge_id, e.src_ts, e.dst_ts, e.src_utid, e.dst_utid FROM edge e JOIN path_hop USING(edge_id)) e, report_clock k
LEFT JOIN ev s ON s.cat = 'handoff' AND s.ph = 's' AND s.id = e.edge_id + 1
LEFT JOIN ev f ON f.cat = 'handoff' AND f.ph = 'f' AND f.id = e.edge_id + 1
LEFT JOIN lane a ON a.utid = e.src_utid AND NOT a.states LEFT JOIN lane b ON b.utid = e.dst_utid AND NOT b.states
WHERE s.ts IS NOT e.src_ts - k.start_ts OR f.ts IS NOT e.dst_ts - k.start_ts OR s.tid IS NOT a.tid OR f.tid IS NOT b.tid;
SELECT '# wakings', count(*) FROM ev WHERE cat = 'waking' AND ph = 's';
SELECT 'waking', w.offcpu_id FROM wakeup w JOIN lane a ON a.utid = w.waker_utid AND a.states JOIN lane b ON b.utid = w.utid AND b.states, report_clock k
LEFT JOIN ev s ON s.cat = 'waking' AND s.ph = 's' AND s.id = w.offcpu_id + 1
LEFT JOIN ev f ON f.cat = 'waking' AND f.ph = 'f' AND f.id = w.offcpu_id + 1
WHERE NOT w.in_interrupt AND w.ts <= coalesce((SELECT t.end_ts FROM thread t WHERE t.utid = w.waker_utid), k.end_ts)
	AND w.ts >= (SELECT min(e.ts) FROM episode e WHERE e.utid = w.waker_utid) AND (s.ts IS NOT w.ts - k.start_ts OR f.ts IS NOT w.ts - k.start_ts OR s.tid IS NOT a.tid OR f.tid IS NOT b.tid);
SELECT 'arrow without the other end', cat, id FROM ev WHERE ph IN ('s', 'f') GROUP BY cat, id HAVING sum(ph = 's') <> 1 OR sum(ph = 'f') <> 1;
CREATE INDEX temp.ev_by_time ON ev(ph, tid, ts);
SELECT 'arrow at nothing', e.n, e.cat, e.ph FROM ev e WHERE e.ph IN ('s', 'f') AND coalesce((SELECT max(x.ts + x.dur) FROM (
	SELECT x.ts, x.dur FROM ev x WHERE x.ph = 'X' AND x.tid = e.tid AND x.ts <= e.ts ORDER BY x.ts DESC LIMIT 20) x), 0) < e.ts;
SELECT 'arrow after its end', e.id FROM ev e JOIN ev f ON f.cat = e.cat AND f.id = e.id AND f.ph = 'f' WHERE e.ph = 's' AND f.ts < e.ts;
