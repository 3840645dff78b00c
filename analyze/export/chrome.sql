-- SPDX-License-Identifier: GPL-2.0-only
-- Trace event JSON: a track a thread with its calls, beside it one with the thread's states, an asynchronous
-- track a chain with its hops, and flow arrows for handoffs and wakings. Times are us after the capture's
-- start; a tenth of a ns is added, since readers cut after the ns, and a decimal fraction in binary may lie below
-- its ns.

SELECT '{"displayTimeUnit":"ns","otherData":' || json_object('producer', 'callweave',
	'capture_id', (SELECT value FROM capture_info WHERE key = 'capture_id'),
	'host', (SELECT value FROM capture_info WHERE key = 'host'),
	'cmdline', (SELECT value FROM capture_info WHERE key = 'cmdline'),
	'start_unix_ns', CAST(t0 + wall_offset_ns AS TEXT)) || ',"traceEvents":[' AS text
FROM origin;

-- Threads that appear. The states of one are a thread of their own, whose id no thread of Linux has.
CREATE TEMP TABLE lane(utid INTEGER PRIMARY KEY, pid INTEGER, tid INTEGER, state_tid INTEGER, place INTEGER,
	name TEXT, process TEXT);
INSERT INTO lane
SELECT t.utid, p.pid, t.tid + 10000000 * (t.place - 1), 4200000 + t.tid + 10000000 * (t.place - 1),
	row_number() OVER (PARTITION BY t.upid ORDER BY t.tid, t.utid), t.name, p.name
FROM (SELECT *, row_number() OVER (PARTITION BY tid ORDER BY utid) AS place
	FROM (SELECT utid, upid, coalesce(rec_tid, tid) AS tid, name FROM thread
		WHERE utid IN (SELECT utid FROM stretch) AND (traced OR utid IN (SELECT utid FROM slice)))) t
LEFT JOIN (SELECT upid, pid + 10000000 * (place - 1) AS pid, name FROM (SELECT upid, coalesce(rec_pid, pid) AS pid, name,
	row_number() OVER (PARTITION BY coalesce(rec_pid, pid) ORDER BY upid) AS place FROM process)) p USING(upid);

SELECT json_object('ph', 'M', 'name', 'process_name', 'pid', pid, 'args', json_object('name', coalesce(process, '?')))
	AS item FROM lane GROUP BY pid;
SELECT json_object('ph', 'M', 'name', 'thread_name', 'pid', pid, 'tid', tid, 'args', json_object('name', coalesce(name, '?'))) AS item,
	json_object('ph', 'M', 'name', 'thread_sort_index', 'pid', pid, 'tid', tid,
		'args', json_object('sort_index', 2 * place)) AS item,
	json_object('ph', 'M', 'name', 'thread_name', 'pid', pid, 'tid', state_tid,
		'args', json_object('name', coalesce(name, '?') || ' states')) AS item,
	json_object('ph', 'M', 'name', 'thread_sort_index', 'pid', pid, 'tid', state_tid,
		'args', json_object('sort_index', 2 * place + 1)) AS item
FROM lane ORDER BY utid;

-- A target without a return is drawn to its last handoff when no other call lies between the two, else as a moment.
CREATE TEMP TABLE target_end(slice_id INTEGER PRIMARY KEY, end_ts INTEGER);
INSERT INTO target_end
SELECT s.slice_id, max(h.end_ts) FROM chosen_chain c JOIN path_hop h USING(chain_id) JOIN edge e USING(edge_id)
JOIN slice s ON s.slice_id = e.dst_slice AND s.dur IS NULL AND s.parent_id IS NULL
JOIN path_hop n ON n.chain_id = h.chain_id AND n.hop_index = h.hop_index + 1 JOIN edge f ON f.edge_id = n.edge_id
JOIN slice o ON o.slice_id = f.src_slice AND o.parent_id = s.slice_id GROUP BY s.slice_id;

-- Calls, in the order of entries.
SELECT json_object('ph', 'X', 'cat', 'call', 'name', p.function, 'pid', l.pid, 'tid', l.tid,
	'ts', json(printf('%.4f', (s.ts - t0 + 0.1) / 1000)),
	'dur', json(printf('%.4f', (coalesce(s.dur, h.end_ts - s.ts, 0) + 0.1) / 1000)),
	'args', json_object('call_id', s.slice_id, 'ret', CASE WHEN s.ret IS NOT NULL THEN printf('0x%016x', s.ret) END,
		'no_return', s.no_return, 'oncpu_ns', s.oncpu_ns, 'blocked_ns', s.blocked_ns, 'runq_ns', s.runq_ns,
		'preempted_ns', s.preempted_ns, 'unknown_ns', s.unknown_ns,
		'arg1', iif(s.arg1 IS NULL, NULL, printf('0x%x', s.arg1)),
		'arg2', iif(s.arg2 IS NULL, NULL, printf('0x%x', s.arg2)))) AS item
FROM chosen_call c JOIN slice s USING(slice_id) JOIN probe p USING(probe_id) JOIN lane l USING(utid)
LEFT JOIN target_end h USING(slice_id), origin
ORDER BY s.slice_id;

-- States. They follow each other without a gap and do not overlap.
SELECT json_object('ph', 'X', 'cat', 'state', 'name', CASE s.state WHEN 'blocked' THEN 'blocked'
		|| coalesce(': ' || s.reason, '') ELSE s.state END, 'pid', l.pid, 'tid', l.state_tid,
	'ts', json(printf('%.4f', (s.ts - t0 + 0.1) / 1000)), 'dur', json(printf('%.4f', (s.dur + 0.1) / 1000)),
	'cname', CASE s.state WHEN 'running' THEN 'thread_state_running' WHEN 'blocked' THEN 'thread_state_sleeping'
		WHEN 'unknown' THEN 'thread_state_unknown' ELSE 'thread_state_runnable' END,
	'args', json_object('state', s.state, 'cpu', s.cpu, 'reason', s.reason, 'waker', w.name,
		'waker_tid', coalesce(w.rec_tid, w.tid))) AS item
FROM thread_state s JOIN lane l USING(utid) LEFT JOIN thread w ON w.utid = s.waker_utid, origin
WHERE (SELECT x.hi FROM stretch x WHERE x.utid = s.utid AND x.lo < s.ts + s.dur ORDER BY x.lo DESC LIMIT 1) > s.ts
ORDER BY s.utid, s.ts;

-- Chains: the chain, in it its hops, in each the queue and the work. All begins and ends of a chain are in
-- time order, and in the order in which they nest.
CREATE TEMP VIEW chain_track AS
SELECT h.*, 'chain ' || h.chain_id AS chain_name, h.source || ' → ' || h.target AS hop_name, p.hop_count, p.flags,
	p.complete, l.pid AS lane, json_object('local', printf('0x%x', h.chain_id + 1)) AS id,
	json(printf('%.4f', (p.start_ts - t0 + 0.1) / 1000)) AS chain_begin,
	json(printf('%.4f', (h.submit_ts - t0 + 0.1) / 1000)) AS submit,
	json(printf('%.4f', (h.start_ts - t0 + 0.1) / 1000)) AS begin,
	json(printf('%.4f', (coalesce(h.end_ts, h.start_ts) - t0 + 0.1) / 1000)) AS end
FROM chosen_chain c JOIN path p USING(chain_id) JOIN hop h USING(chain_id)
LEFT JOIN slice s ON s.slice_id = p.last_slice LEFT JOIN lane l ON l.utid = s.utid, origin;
SELECT CASE WHEN hop_index = 0 THEN json_object('ph', 'b', 'cat', 'chain', 'name', chain_name, 'pid', lane, 'tid', lane,
		'id2', json(id), 'ts', json(chain_begin),
		'args', json_object('chain_id', chain_id, 'hops', hop_count, 'complete', complete, 'flags', flags)) END AS item,
	json_object('ph', 'b', 'cat', 'chain', 'name', hop_name, 'pid', lane, 'tid', lane, 'id2', json(id), 'ts', json(submit),
		'args', json_object('hop', hop_index, 'key', key, 'evidence', evidence, 'dominant', dominant,
			'queue_ns', queue_ns, 'work_ns', work_ns, 'oncpu_ns', oncpu_ns, 'blocked_ns', blocked_ns,
			'runq_ns', runq_ns, 'preempted_ns', preempted_ns, 'unknown_ns', unknown_ns)) AS item,
	json_object('ph', 'b', 'cat', 'chain', 'name', 'queue', 'pid', lane, 'tid', lane, 'id2', json(id), 'ts', json(submit),
		'args', json_object('thread', source_thread, 'tid', source_tid)) AS item,
	json_object('ph', 'e', 'cat', 'chain', 'name', 'queue', 'pid', lane, 'tid', lane, 'id2', json(id), 'ts', json(begin))
		AS item,
	json_object('ph', 'b', 'cat', 'chain', 'name', 'work', 'pid', lane, 'tid', lane, 'id2', json(id), 'ts', json(begin),
		'args', json_object('thread', target_thread, 'tid', target_tid)) AS item,
	json_object('ph', 'e', 'cat', 'chain', 'name', 'work', 'pid', lane, 'tid', lane, 'id2', json(id), 'ts', json(end))
		AS item,
	json_object('ph', 'e', 'cat', 'chain', 'name', hop_name, 'pid', lane, 'tid', lane, 'id2', json(id), 'ts', json(end))
		AS item,
	CASE WHEN hop_index = hop_count - 1 THEN json_object('ph', 'e', 'cat', 'chain', 'name', chain_name, 'pid', lane,
		'tid', lane, 'id2', json(id), 'ts', json(end)) END AS item
FROM chain_track ORDER BY chain_id, hop_index;

-- Arrows: from the call that hands off to the one that takes, and from the waker to what it woke, while both have states.
SELECT json_object('ph', 's', 'cat', 'handoff', 'name', 'handoff', 'id', e.edge_id + 1, 'pid', a.pid, 'tid', a.tid,
		'ts', json(printf('%.4f', (e.src_ts - t0 + 0.1) / 1000)), 'args', json_object('key', printf('0x%016x', e.key))) AS item,
	json_object('ph', 'f', 'bp', 'e', 'cat', 'handoff', 'name', 'handoff', 'id', e.edge_id + 1,
		'pid', b.pid, 'tid', b.tid, 'ts', json(printf('%.4f', (e.dst_ts - t0 + 0.1) / 1000))) AS item
FROM chosen_edge c JOIN edge e USING(edge_id) JOIN lane a ON a.utid = e.src_utid JOIN lane b ON b.utid = e.dst_utid, origin
ORDER BY e.edge_id;
SELECT json_object('ph', 's', 'cat', 'waking', 'name', 'waking', 'id', w.offcpu_id + 1, 'pid', a.pid, 'tid', a.state_tid,
		'ts', json(printf('%.4f', (w.ts - t0 + 0.1) / 1000))) AS item,
	json_object('ph', 'f', 'bp', 'e', 'cat', 'waking', 'name', 'waking', 'id', w.offcpu_id + 1,
		'pid', b.pid, 'tid', b.state_tid, 'ts', json(printf('%.4f', (w.ts - t0 + 0.1) / 1000))) AS item
FROM wakeup w JOIN lane a ON a.utid = w.waker_utid JOIN lane b ON b.utid = w.utid JOIN thread k ON k.utid = w.waker_utid, origin
WHERE NOT w.in_interrupt AND w.ts BETWEEN (SELECT e.ts FROM episode e WHERE e.utid = k.utid ORDER BY e.ts LIMIT 1)
		AND coalesce(k.end_ts, origin.end_ts)
	AND (SELECT x.hi FROM stretch x WHERE x.utid = w.utid AND x.lo <= w.ts ORDER BY x.lo DESC LIMIT 1) >= w.ts
	AND (SELECT x.hi FROM stretch x WHERE x.utid = w.waker_utid AND x.lo <= w.ts ORDER BY x.lo DESC LIMIT 1) >= w.ts
ORDER BY w.offcpu_id;

SELECT ']}' AS text;
