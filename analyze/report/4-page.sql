-- SPDX-License-Identifier: GPL-2.0-only
-- The data of the page that is not in 2-sums.sql, over the views that 3-select.sql narrowed.

-- ---- states ---------------------------------------------------------------------------------------
CREATE TEMP TABLE shown_state AS
SELECT s.utid, s.ts, s.dur, s.state, s.cpu, s.offcpu_id FROM thread_state s
WHERE (SELECT w.hi FROM stretch w WHERE w.utid = s.utid AND w.lo < s.ts + s.dur ORDER BY w.lo DESC LIMIT 1) > s.ts;

CREATE TEMP TABLE shown_reason AS
SELECT b.offcpu_id, b.class, b.reason, b.kernel_function, b.user_stack_id, b.kernel_stack_id
FROM blocked_reason b;
CREATE UNIQUE INDEX temp.shown_reason_by_id ON shown_reason(offcpu_id);

CREATE TEMP TABLE place(place INTEGER PRIMARY KEY, class TEXT, reason TEXT, function TEXT, user INTEGER, kernel INTEGER);
INSERT INTO place(class, reason, function, user, kernel)
SELECT DISTINCT class, reason, kernel_function, user_stack_id, kernel_stack_id FROM shown_reason;
CREATE INDEX temp.place_by_all ON place(reason, class, user, kernel);

CREATE TEMP TABLE shown_off AS
SELECT e.offcpu_id, e.waker_id,
	(SELECT p.place FROM place p WHERE p.reason IS r.reason AND p.class IS r.class AND p.user IS r.user_stack_id
		AND p.kernel IS r.kernel_stack_id AND p.function IS r.kernel_function) AS place, f.waker_kind
FROM episode e LEFT JOIN shown_reason r USING(offcpu_id) LEFT JOIN futex_wait f USING(offcpu_id)
WHERE e.offcpu_id IN (SELECT offcpu_id FROM shown_state);
CREATE UNIQUE INDEX temp.shown_off_by_id ON shown_off(offcpu_id);

-- ---- stacks ---------------------------------------------------------------------------------------

CREATE TEMP TABLE top_call_stack AS
SELECT * FROM (SELECT probe_id, stack_id, count(*) AS n, coalesce(sum(dur), 0) AS ns,
		row_number() OVER (PARTITION BY probe_id ORDER BY count(*) DESC) AS place
	FROM slice WHERE stack_id IS NOT NULL GROUP BY 1, 2) WHERE place <= 1000;

CREATE TEMP TABLE used_stack(stack INTEGER PRIMARY KEY, stack_id INTEGER UNIQUE);
INSERT OR IGNORE INTO used_stack(stack_id)
SELECT user FROM place UNION SELECT kernel FROM place
UNION SELECT w.stack_id FROM shown_off o JOIN waker w USING(waker_id)
UNION SELECT stack_id FROM top_offcpu UNION SELECT kernel_stack_id FROM top_offcpu
UNION SELECT stack_id FROM top_call_stack UNION SELECT stack_id FROM top_waker UNION SELECT stack_id FROM top_thread_stack
UNION SELECT s.stack_id FROM picked_call k JOIN slice s USING(slice_id)
UNION SELECT s.stack_id FROM picked k JOIN path_hop h USING(chain_id) JOIN edge e USING(edge_id)
	JOIN slice s ON s.slice_id IN (e.src_slice, e.dst_slice);
DELETE FROM used_stack WHERE stack_id IS NULL;

CREATE TEMP TABLE used_frame(frame INTEGER PRIMARY KEY, function TEXT, module TEXT, file TEXT, line INTEGER, address TEXT);
INSERT INTO used_frame(function, module, file, line, address)
SELECT DISTINCT coalesce(c.function, c.module || '+' || c.rel_pc), c.module, c.file, c.line, c.address
FROM used_stack u JOIN callstack c USING(stack_id);
CREATE INDEX temp.used_frame_by_all ON used_frame(address, function);

CREATE TEMP VIEW page_frame AS SELECT frame, function, module, file, line, address FROM used_frame ORDER BY frame;
CREATE TEMP VIEW page_stack AS
SELECT u.stack, k.kind, k.truncated, k.caller_only, k.failed, k.problem,
	(SELECT json_group_array(frame) FROM (
		SELECT (SELECT f.frame FROM used_frame f WHERE f.address IS c.address AND f.function IS coalesce(c.function, c.module || '+' || c.rel_pc)
			AND f.module IS c.module AND f.file IS c.file AND f.line IS c.line) AS frame
		FROM callstack c WHERE c.stack_id = u.stack_id ORDER BY c.depth, c.inline_depth)) AS frames_json
FROM used_stack u LEFT JOIN stack k USING(stack_id) ORDER BY u.stack;

-- ---- the capture ----------------------------------------------------------------------------------
CREATE TEMP VIEW page_info AS SELECT key, CAST(value AS TEXT) AS value FROM capture_info
WHERE key NOT IN ('cache_key', 'passes');
CREATE TEMP VIEW page_clock AS SELECT end_ts - start_ts AS end, start_ts, wall_offset_ns, utc_offset_s,
	CAST(start_ts AS TEXT) AS start_text, (start_ts + wall_offset_ns) / 1000 AS wall_us FROM report_clock;
CREATE TEMP VIEW page_loss AS SELECT kind, reason, sum(count) AS count, min(ts) - t0 AS ts, max(end_ts) - t0 AS end,
	count(*) AS ranges FROM loss, start GROUP BY kind, reason;
CREATE TEMP VIEW page_anomaly AS SELECT what, at, count FROM anomaly;
CREATE TEMP VIEW page_module AS SELECT path, build_id, symbols_from, tried,
	(SELECT count(*) FROM frame f WHERE f.module_id = m.module_id) AS frames,
	(SELECT count(*) FROM frame f LEFT JOIN symbol y ON y.frame_id = f.frame_id AND y.function IS NOT NULL
		WHERE f.module_id = m.module_id AND y.frame_id IS NULL) AS unnamed
FROM module m;
CREATE TEMP VIEW page_probe AS SELECT probe_id, function, is_target, has_return, single_stepped, no_frame_pointers
FROM probe;
CREATE TEMP VIEW page_thread AS
SELECT t.utid, coalesce(t.rec_tid, t.tid) AS tid, coalesce(r.rec_pid, r.pid) AS pid, t.name, r.name AS process,
	r.exe, t.traced, t.start_ts - t0 AS start, t.end_ts - t0 AS end,
	x.running_ns, x.blocked_ns, x.runq_ns, x.preempted_ns, x.unknown_ns
FROM thread t LEFT JOIN process r USING(upid) LEFT JOIN thread_time x USING(utid), start ORDER BY t.utid;

CREATE TEMP VIEW page_selection AS
SELECT (SELECT count(*) FROM path) AS chains, (SELECT count(chain_id) FROM item) AS selected,
	(SELECT count(*) FROM picked) AS shown, (SELECT count(*) FROM picked WHERE how = 'slow') AS slow,
	(SELECT count(*) FROM picked WHERE how = 'sample') AS sample, (SELECT sum(states) FROM picked) AS with_states,
	(SELECT count(*) FROM item WHERE chain_id IS NULL) AS calls, (SELECT count(*) FROM picked_call) AS calls_shown,
	(SELECT count(*) FROM main.episode) AS episodes, (SELECT count(*) FROM episode) AS episodes_shown;

-- ---- states, calls and chains one by one -----------------------------------------------------------
-- gap is the time since the row before of the same thread ended, or since the start: mostly 0, so it packs well.
CREATE TEMP VIEW page_state AS
SELECT s.utid, s.ts - coalesce(lag(s.ts + s.dur) OVER (PARTITION BY s.utid ORDER BY s.ts), t0) AS gap, s.dur, CASE s.state WHEN 'running' THEN 0 WHEN 'blocked' THEN 1
	WHEN 'runnable' THEN 2 WHEN 'preempted' THEN 3 ELSE 4 END AS state, s.cpu, s.offcpu_id AS off
FROM shown_state s, start ORDER BY s.utid, s.ts;
CREATE TEMP VIEW page_off AS SELECT o.offcpu_id AS off, o.place, o.waker_id AS waker, o.waker_kind AS evidence
FROM shown_off o ORDER BY o.offcpu_id;
CREATE TEMP VIEW page_place AS
SELECT p.place, p.class, p.reason, p.function,
	(SELECT stack FROM used_stack WHERE stack_id = p.user) AS user,
	(SELECT stack FROM used_stack WHERE stack_id = p.kernel) AS kernel FROM place p;
CREATE TEMP VIEW page_waker AS
SELECT w.waker_id AS waker, w.utid, w.in_interrupt AS irq,
	coalesce(y.name, 'syscall ' || w.syscall) AS syscall,
	(SELECT stack FROM used_stack u WHERE u.stack_id = w.stack_id) AS stack
FROM waker w LEFT JOIN syscall_name y USING(syscall) WHERE w.waker_id IN (SELECT waker_id FROM shown_off);
CREATE TEMP VIEW page_ran AS SELECT r.offcpu_id AS off, r.dur, r.utid FROM ran_instead r
WHERE r.offcpu_id IN (SELECT offcpu_id FROM shown_off) ORDER BY r.offcpu_id, r.ts;
CREATE TEMP VIEW page_slice AS
SELECT s.slice_id AS slice, s.utid, s.ts - t0 AS ts, s.dur, s.probe_id AS probe, s.depth
FROM slice s, start WHERE (SELECT w.hi FROM stretch w WHERE w.utid = s.utid AND w.lo <= s.ts + coalesce(s.dur, 0)
	ORDER BY w.lo DESC LIMIT 1) >= s.ts
ORDER BY s.utid, s.ts LIMIT 60000;

CREATE TEMP VIEW page_chain AS
SELECT p.chain_id AS chain, k.how, k.rank, k.states, p.start_ts - t0 AS start, p.end_ts - t0 AS end, p.work_ns AS work,
	p.queue_ns AS queue, p.hop_count AS hops, p.complete, p.flags, s.utid, s.probe_id AS probe,
	CASE WHEN s.ret IS NOT NULL THEN printf('0x%x', s.ret) END AS ret, s.no_return
FROM picked k JOIN path p USING(chain_id) LEFT JOIN slice s ON s.slice_id = p.last_slice, start ORDER BY p.start_ts, p.chain_id;
CREATE TEMP VIEW page_hop AS
SELECT h.chain_id AS chain, h.hop_index AS i, e.plan_hop AS plan, printf('0x%x', e.key) AS key, e.target_arg AS arg,
	e.src_ts - t0 AS submit, e.dst_ts - t0 AS start, h.end_ts - t0 AS end, e.src_utid AS src, e.dst_utid AS dst,
	h.oncpu_ns AS oncpu, h.blocked_ns AS blocked, h.runq_ns AS runq, h.preempted_ns AS preempted,
	h.unknown_ns AS unknown, e.evidence, e.candidates, e.match,
	(SELECT u.stack FROM slice s JOIN used_stack u USING(stack_id) WHERE s.slice_id = e.src_slice) AS src_stack,
	(SELECT u.stack FROM slice s JOIN used_stack u USING(stack_id) WHERE s.slice_id = e.dst_slice) AS dst_stack,
	e.src_slice, e.dst_slice
FROM picked k JOIN path_hop h USING(chain_id) JOIN edge e USING(edge_id), start ORDER BY h.chain_id, h.hop_index;

CREATE TEMP VIEW page_call AS
SELECT s.slice_id AS slice, k.how, s.ts - t0 AS ts, s.dur, s.utid, s.probe_id AS probe, s.depth, s.parent_id AS parent,
	s.oncpu_ns AS oncpu, s.blocked_ns AS blocked, s.runq_ns AS runq, s.preempted_ns AS preempted,
	s.unknown_ns AS unknown, CASE WHEN s.ret IS NOT NULL THEN printf('0x%x', s.ret) END AS ret, s.no_return,
	(SELECT u.stack FROM used_stack u WHERE u.stack_id = s.stack_id) AS stack,
	iif(s.arg1 IS NULL, '-', printf('0x%x', s.arg1)) || ' ' ||
		iif(s.arg2 IS NULL, '-', printf('0x%x', s.arg2)) || ' ' ||
		iif(s.arg3 IS NULL, '-', printf('0x%x', s.arg3)) || ' ' ||
		iif(s.arg4 IS NULL, '-', printf('0x%x', s.arg4)) || ' ' ||
		iif(s.arg5 IS NULL, '-', printf('0x%x', s.arg5)) || ' ' ||
		iif(s.arg6 IS NULL, '-', printf('0x%x', s.arg6)) AS args
FROM picked_call k JOIN slice s USING(slice_id), start ORDER BY s.ts;

-- ---- sums over all chains that the filters chose -----------------------------------------------------
CREATE TEMP VIEW page_plan AS SELECT * FROM hop_count ORDER BY plan_hop;
CREATE TEMP VIEW page_latency AS SELECT * FROM latency;
-- Of the chains that ended, so that the parts add up to their average; of all when none did.
CREATE TEMP VIEW page_composition AS
SELECT e.plan_hop, count(*) AS n, sum(e.dst_ts - e.src_ts) AS queue, sum(h.end_ts - e.dst_ts) AS work, count(h.end_ts) AS ended,
	sum(h.oncpu_ns) AS oncpu, sum(h.blocked_ns) AS blocked, sum(h.runq_ns) AS runq, sum(h.preempted_ns) AS preempted,
	sum(h.unknown_ns) AS unknown, count(DISTINCT e.dst_utid) AS threads
FROM item i JOIN path p USING(chain_id) JOIN path_hop h USING(chain_id) JOIN edge e USING(edge_id)
WHERE p.work_ns IS NOT NULL OR (SELECT n FROM page_total) IS NULL GROUP BY e.plan_hop;
CREATE TEMP VIEW page_evidence AS
SELECT e.plan_hop, e.evidence, count(*) AS n FROM item i JOIN path_hop h USING(chain_id) JOIN edge e USING(edge_id)
GROUP BY 1, 2 ORDER BY 3 DESC;

CREATE TEMP TABLE page_total AS
WITH ranked AS (
	SELECT p.queue_ns + p.work_ns AS ns, row_number() OVER (ORDER BY p.queue_ns + p.work_ns) AS place,
		count(*) OVER () AS n FROM item i JOIN path p USING(chain_id) WHERE p.work_ns IS NOT NULL)
SELECT n, CAST(round(avg(ns)) AS INTEGER) AS avg, max(ns) FILTER (WHERE place = (n * 50 + 99) / 100) AS p50,
	CASE WHEN n >= 20 THEN max(ns) FILTER (WHERE place = (n * 95 + 99) / 100) END AS p95,
	CASE WHEN n >= 100 THEN max(ns) FILTER (WHERE place = (n * 99 + 99) / 100) END AS p99, max(ns) AS max, sum(ns) AS sum
FROM ranked;

CREATE TEMP VIEW page_histogram AS
SELECT id AS plan_hop, part, lo, n FROM rank_histogram
WHERE CASE of WHEN 'items' THEN id IS NOT NULL ELSE 1 END ORDER BY 1, 2, 3;

-- ---- functions, over the whole capture --------------------------------------------------------------

CREATE TEMP VIEW page_offcpu AS
SELECT o.plan_hop, o.probe_id AS probe, o.class, o.ns, o.count AS n,
	(SELECT stack FROM used_stack u WHERE u.stack_id = o.stack_id) AS stack,
	(SELECT stack FROM used_stack u WHERE u.stack_id = o.kernel_stack_id) AS kernel
FROM top_offcpu o;

CREATE TEMP VIEW page_function AS
SELECT id AS probe, rows AS calls, n, avg, sum, min, p50, p95, p99, max, sum1 AS oncpu, sum2 AS blocked, sum3 AS runq,
	sum4 AS preempted, sum5 AS unknown
FROM rank WHERE of = 'calls';
CREATE TEMP TABLE page_return AS
SELECT * FROM (SELECT probe_id AS probe, CASE WHEN ret IS NOT NULL THEN printf('0x%x', ret) END AS ret, no_return,
		count(*) AS n, max(dur) AS longest, row_number() OVER (PARTITION BY probe_id ORDER BY count(*) DESC) AS place
	FROM slice GROUP BY probe_id, ret, no_return) WHERE place <= 20;
CREATE TEMP VIEW page_waker_stack AS
SELECT t.class, t.reason, t.utid, t.ns, t.n, (SELECT stack FROM used_stack u WHERE u.stack_id = t.stack_id) AS stack
FROM top_waker t;
CREATE TEMP VIEW page_thread_block AS
SELECT t.utid, t.class, t.reason, t.ns, t.n, (SELECT stack FROM used_stack u WHERE u.stack_id = t.stack_id) AS stack
FROM top_thread_stack t;
CREATE TEMP VIEW page_call_stack AS
SELECT c.probe_id AS probe, c.n, c.ns, (SELECT stack FROM used_stack u WHERE u.stack_id = c.stack_id) AS stack
FROM top_call_stack c;
