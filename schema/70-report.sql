-- SPDX-License-Identifier: GPL-2.0-only
-- What the reports print beside call, hop and chain: the longest futex wait in each, and records as
-- JSON. Filters and percentiles are queries over these.

-- Clocks of the capture: one row.
CREATE VIEW report_clock AS
SELECT
	-- First moment of the capture.
	coalesce((SELECT CAST(value AS INTEGER) FROM capture_info WHERE key = 'start_ts'),
		(SELECT CAST(value AS INTEGER) FROM capture_info WHERE key = 'start_mono_ns')) AS start_ts,
	-- Last moment of the capture.
	(SELECT CAST(value AS INTEGER) FROM capture_info WHERE key = 'end_ts') AS end_ts,
	-- Add to a ts to get ns since 1970.
	coalesce((SELECT CAST(value AS INTEGER) FROM capture_info WHERE key = 'wall_offset_ns'),
		(SELECT CAST(value AS INTEGER) FROM capture_info WHERE key = 'start_wall_ns')
		- (SELECT CAST(value AS INTEGER) FROM capture_info WHERE key = 'start_mono_ns'), 0)
		AS wall_offset_ns,
	-- Seconds that the recorded host's local time was ahead of UTC.
	coalesce((SELECT CAST(value AS INTEGER) FROM capture_info WHERE key = 'utc_offset_s'), 0)
		AS utc_offset_s;

-- The longest futex wait of each call that had one.
CREATE VIEW report_call_wait AS
SELECT
	-- Call.
	s.slice_id AS slice_id,
	-- Episode of that wait; see futex_wait.
	(SELECT f.offcpu_id FROM futex_wait f
	 WHERE f.utid = s.utid AND f.ts >= s.ts AND f.ts <= s.ts + s.dur
		AND f.ts + f.dur <= s.ts + s.dur
	 ORDER BY f.dur DESC LIMIT 1) AS offcpu_id
FROM slice s;

-- The longest futex wait in the work of each hop that had one.
CREATE VIEW report_hop_wait AS
SELECT
	-- Chain.
	h.chain_id AS chain_id,
	-- Place in the chain, from 0.
	h.hop_index AS hop_index,
	-- Episode of that wait; see futex_wait.
	(SELECT f.offcpu_id FROM futex_wait f
	 WHERE f.utid = e.dst_utid AND f.ts >= e.dst_ts AND f.ts <= h.end_ts
		AND f.ts + f.dur <= h.end_ts
	 ORDER BY f.dur DESC LIMIT 1) AS offcpu_id
FROM path_hop h JOIN edge e USING(edge_id);

-- Stacks as JSON: an array of frames, innermost first.
CREATE VIEW report_stack_json AS
SELECT
	-- Stack.
	k.stack_id AS stack_id,
	-- Array of {address, module, function, file, line}.
	(SELECT json_group_array(json_object('address', f.address, 'module', f.module,
		'function', f.function, 'file', f.file, 'line', f.line))
	 FROM (SELECT * FROM callstack c WHERE c.stack_id = k.stack_id
		ORDER BY c.depth, c.inline_depth) f) AS frames_json
FROM stack k;

-- Futex waits as JSON.
CREATE VIEW report_wait_json AS
SELECT
	-- Episode.
	f.offcpu_id AS offcpu_id,
	-- Object with the wait, its waker and the waker's stack.
	json_object('kind', 'futex', 'operation', f.operation, 'address', f.address,
		'duration_ns', f.dur, 'evidence', f.waker_kind,
		'waker_pid', coalesce(p.rec_pid, p.pid), 'waker_tid', coalesce(t.rec_tid, t.tid),
		'waker_comm', t.name, 'waker_stack', json(coalesce((SELECT frames_json
			FROM report_stack_json k WHERE k.stack_id = f.waker_stack_id), 'null')))
		AS wait_json
FROM futex_wait f
LEFT JOIN thread t ON t.utid = f.waker_utid
LEFT JOIN process p USING(upid);

-- Calls as JSON records.
CREATE VIEW report_call_json AS
SELECT
	-- Call.
	c.slice_id AS slice_id,
	-- Record of type 'call'; timestamp_ms is the entry.
	json_object('type', 'call', 'name', c.function,
		'timestamp_ms', (c.ts + w.wall_offset_ns) / 1000000, 'ts', c.ts, 'pid', c.pid,
		'tid', c.tid, 'comm', c.thread_name, 'call_id', c.slice_id, 'depth', c.depth,
		'parent_id', c.parent_id, 'duration_ns', c.dur,
		'ret', CASE WHEN c.ret IS NOT NULL THEN printf('0x%016x', c.ret) END,
		'no_return', c.no_return, 'oncpu_ns', c.oncpu_ns,
		'offcpu_ns', c.blocked_ns + c.runq_ns + c.preempted_ns + c.unknown_ns,
		'blocked_ns', c.blocked_ns, 'runqueue_ns', c.runq_ns, 'preempted_ns', c.preempted_ns,
		'unknown_ns', c.unknown_ns,
		'touched_by_loss', json(CASE c.touched_by_loss WHEN 0 THEN 'false' ELSE 'true' END),
		'args', json_array(iif(c.arg1 IS NULL, NULL, printf('0x%x', c.arg1)),
			iif(c.arg2 IS NULL, NULL, printf('0x%x', c.arg2)),
			iif(c.arg3 IS NULL, NULL, printf('0x%x', c.arg3)),
			iif(c.arg4 IS NULL, NULL, printf('0x%x', c.arg4)),
			iif(c.arg5 IS NULL, NULL, printf('0x%x', c.arg5)),
			iif(c.arg6 IS NULL, NULL, printf('0x%x', c.arg6)),
			printf('0x%x', c.arg7), printf('0x%x', c.arg8)),
		'wait', json(coalesce((SELECT wait_json FROM report_wait_json j WHERE j.offcpu_id =
			(SELECT offcpu_id FROM report_call_wait x WHERE x.slice_id = c.slice_id)), 'null')),
		'stack', json(coalesce((SELECT frames_json FROM report_stack_json k
			WHERE k.stack_id = c.stack_id), 'null'))) AS record_json
FROM call c, report_clock w;

-- Hops as JSON objects, the elements of a chain's hops.
CREATE VIEW report_hop_json AS
SELECT
	-- Chain.
	h.chain_id AS chain_id,
	-- Place in the chain, from 0.
	h.hop_index AS hop_index,
	-- The object; pid, tid and comm are those of the submitting thread.
	json_object('index', h.hop_index, 'source', h.source, 'target', h.target,
		'source_exit', json('false'), 'pid', h.pid, 'tid', h.source_tid,
		'target_pid', (SELECT coalesce(p.rec_pid, p.pid) FROM thread t JOIN process p USING(upid)
			WHERE t.utid = h.target_utid),
		'target_tid', h.target_tid, 'target_arg', h.target_arg, 'comm', h.source_thread,
		'target_comm', h.target_thread, 'key', h.key, 'submit_ts', h.submit_ts,
		'start_ts', h.start_ts, 'end_ts', h.end_ts, 'queue_ns', h.queue_ns, 'handoff_kind', 0,
		'handoff_flags', 0, 'publish_ns', 0, 'notify_ns', 0, 'loop_ns', 0, 'poll_ns', 0,
		'dispatch_ns', 0, 'work_ns', h.work_ns, 'oncpu_ns', h.oncpu_ns,
		'offcpu_ns', h.blocked_ns + h.runq_ns + h.preempted_ns + h.unknown_ns,
		'blocked_ns', h.blocked_ns, 'runqueue_ns', h.runq_ns, 'preempted_ns', h.preempted_ns,
		'unknown_ns', h.unknown_ns, 'dominant', h.dominant, 'evidence', h.evidence,
		'candidates', h.candidates, 'work_kind', 0,
		'wait', json(coalesce((SELECT wait_json FROM report_wait_json j WHERE j.offcpu_id =
			(SELECT offcpu_id FROM report_hop_wait x
			 WHERE x.chain_id = h.chain_id AND x.hop_index = h.hop_index)), 'null')),
		'stack', json(coalesce((SELECT frames_json FROM report_stack_json k
			WHERE k.stack_id = h.source_stack_id), 'null'))) AS hop_json
FROM hop h;

-- Chains as JSON records.
CREATE VIEW report_chain_json AS
SELECT
	-- Chain.
	p.chain_id AS chain_id,
	-- Record of type 'chain'; timestamp_ms is its end. duration_ns, offcpu_ns, blocked_ns,
	-- runqueue_ns, oncpu_ns, preempted_ns and unknown_ns are those of the last target's call.
	json_object('type', 'chain', 'kind', 'async', 'name', p.function,
		'timestamp_ms', (p.end_ts + w.wall_offset_ns) / 1000000, 'pid', p.pid, 'tid', p.tid,
		'comm', p.thread_name, 'duration_ns', c.dur,
		'offcpu_ns', c.blocked_ns + c.runq_ns + c.preempted_ns + c.unknown_ns,
		'blocked_ns', c.blocked_ns, 'runqueue_ns', c.runq_ns, 'truncated', 0,
		'hops', (SELECT json_group_array(json(x.hop_json)) FROM (SELECT hop_json
			FROM report_hop_json h WHERE h.chain_id = p.chain_id ORDER BY h.hop_index) x),
		'chain_id', p.chain_id, 'start_ts', p.start_ts, 'end_ts', p.end_ts,
		'total_ns', p.total_ns, 'queue_ns', p.queue_ns, 'work_ns', p.work_ns,
		'hop_count', p.hop_count,
		'complete', json(CASE p.complete WHEN 0 THEN 'false' ELSE 'true' END),
		'flags', p.flags,
		'ret', CASE WHEN c.ret IS NOT NULL THEN printf('0x%016x', c.ret) END,
		'no_return', c.no_return, 'oncpu_ns', c.oncpu_ns, 'preempted_ns', c.preempted_ns,
		'unknown_ns', c.unknown_ns,
		'stack', json(coalesce((SELECT frames_json FROM report_stack_json k
			WHERE k.stack_id = c.stack_id), 'null'))) AS record_json
FROM chain p
JOIN call c ON c.slice_id = p.last_slice, report_clock w;
