-- SPDX-License-Identifier: GPL-2.0-only
-- Queues and thread pools: what waited, what was worked on and by whom, for each hop of the plan.
-- Everything is worked out from edge, unconsumed, unmatched, slice and offcpu.

-- Submissions and what became of them: one row a handoff or a submission that nobody took.
CREATE VIEW queue_task AS
WITH RECURSIVE
stage(plan_hop, stage) AS MATERIALIZED (
	SELECT plan_hop, sum(fresh) OVER (ORDER BY plan_hop)
	FROM (SELECT plan_hop, target IS NOT lag(target) OVER (ORDER BY plan_hop) AS fresh FROM hop_count)),
taken(slice_id, stage) AS MATERIALIZED (
	SELECT e.dst_slice, max(g.stage) FROM edge e JOIN stage g USING(plan_hop)
	WHERE e.kind = 'async' AND g.stage < (SELECT max(stage) FROM stage) GROUP BY e.dst_slice),
submission(stage, slice_id, ts) AS (
	SELECT g.stage, e.src_slice, e.src_ts FROM edge e JOIN stage g USING(plan_hop)
	WHERE e.kind = 'async' AND g.stage > 1
	UNION ALL
	SELECT g.stage, u.slice_id, u.ts FROM unconsumed u JOIN stage g USING(plan_hop) WHERE g.stage > 1),
within(stage, ts, slice_id) AS (
	SELECT x.stage, x.ts, s.parent_id FROM submission x JOIN slice s USING(slice_id)
	WHERE s.parent_id IS NOT NULL
	UNION ALL
	SELECT w.stage, w.ts, s.parent_id FROM within w
	JOIN slice s ON s.slice_id = w.slice_id
	LEFT JOIN taken k ON k.slice_id = w.slice_id AND k.stage < w.stage
	WHERE k.slice_id IS NULL AND s.parent_id IS NOT NULL),
handed(slice_id, ts) AS MATERIALIZED (
	SELECT w.slice_id, min(w.ts) FROM within w
	JOIN taken k ON k.slice_id = w.slice_id AND k.stage < w.stage GROUP BY w.slice_id),
superseded(rowid, ts) AS MATERIALIZED (
	SELECT u.rowid, min(e.dst_ts) FROM unconsumed u
	JOIN edge e ON e.plan_hop = u.plan_hop AND e.key = u.key AND e.src_ts > u.ts
	JOIN thread a ON a.utid = u.utid JOIN thread b ON b.utid = e.src_utid AND b.upid = a.upid
	WHERE u.reason = 'superseded' GROUP BY u.rowid),
-- The age at which submissions expire is no greater than what was left of the capture for each of them.
expiry(age) AS MATERIALIZED (
	SELECT min(30000000000, (SELECT min(c.end_ts - u.ts) FROM unconsumed u, report_clock c
		WHERE u.reason = 'expired'))),
task AS (
	SELECT e.plan_hop, g.stage, e.key, e.src_utid, e.src_ts, e.src_slice, 'taken' AS fate,
		CASE WHEN e.match <> 'all' THEN 1
			ELSE row_number() OVER (PARTITION BY e.plan_hop, e.src_slice ORDER BY e.edge_id) = 1
			END AS first_taken,
		e.dst_ts AS leave_ts, e.dst_utid, e.dst_ts, e.dst_slice, e.edge_id
	FROM edge e JOIN stage g USING(plan_hop) WHERE e.kind = 'async'
	UNION ALL
	SELECT u.plan_hop, g.stage, u.key, u.utid, u.ts, u.slice_id, u.reason, 1,
		CASE u.reason WHEN 'superseded' THEN coalesce(x.ts, u.ts)
			WHEN 'expired' THEN u.ts + coalesce((SELECT CAST(value AS INTEGER)
				FROM capture_info WHERE key = 'async_max_age_ns'), (SELECT age FROM expiry)) END,
		NULL, NULL, NULL, NULL
	FROM unconsumed u JOIN stage g USING(plan_hop) LEFT JOIN superseded x ON x.rowid = u.rowid),
timed AS (
	SELECT t.*, h.ts AS handoff_ts, s.ts + s.dur AS return_ts,
		CASE WHEN s.no_return = 'capture end' THEN NULL ELSE coalesce(s.ts + s.dur, s.ts) END AS free_ts,
		CASE WHEN t.stage = (SELECT max(stage) FROM stage) THEN s.ts + s.dur
			ELSE coalesce(h.ts, s.ts + s.dur) END AS end_ts
	FROM task t LEFT JOIN slice s ON s.slice_id = t.dst_slice
	LEFT JOIN handed h ON h.slice_id = t.dst_slice)
SELECT
	-- Hop of the plan.
	t.plan_hop AS plan_hop,
	-- Its place in a chain, from 1; ways into the same target share one.
	t.stage AS stage,
	-- Key.
	t.key AS key,
	-- What became of the submission: 'taken', or the reason in unconsumed.
	t.fate AS fate,
	-- 1, or 0 when this is a further taking of a submission that others took, too (match 'all').
	t.first_taken AS first_taken,
	-- Submission: entry of the source.
	t.src_ts AS submit_ts,
	-- Thread that submitted.
	t.src_utid AS src_utid,
	-- When it was no longer pending: taken, superseded or expired; NULL when it was open at the end.
	t.leave_ts AS leave_ts,
	-- Entry of the target; NULL when none took it.
	t.dst_ts AS start_ts,
	-- Thread that took it.
	t.dst_utid AS dst_utid,
	-- Call of the target.
	t.dst_slice AS dst_slice,
	-- First handoff of the next hop in the target; NULL none.
	t.handoff_ts AS handoff_ts,
	-- End of the work: handoff_ts, else the target's return; NULL unknown.
	t.end_ts AS end_ts,
	-- When its thread left the target; its start where that is not known, NULL when it was in it to the end.
	t.free_ts AS free_ts,
	-- Submission to start, ns.
	t.dst_ts - t.src_ts AS queue_ns,
	-- Start to end of the work, ns.
	t.end_ts - t.dst_ts AS work_ns,
	-- Futex waits inside the work.
	(SELECT count(*) FROM offcpu o WHERE o.utid = t.dst_utid AND o.ts > t.dst_ts AND o.ts < t.end_ts
		AND o.syscall IN (SELECT syscall FROM syscall_name WHERE name IN ('futex', 'futex_wait', 'futex_waitv')))
		AS futex_waits,
	-- Time in them, from switch-out to switch-in, ns.
	(SELECT coalesce(sum(o.end_ts - o.ts), 0) FROM offcpu o
		WHERE o.utid = t.dst_utid AND o.ts > t.dst_ts AND o.ts < t.end_ts
		AND o.syscall IN (SELECT syscall FROM syscall_name WHERE name IN ('futex', 'futex_wait', 'futex_waitv')))
		AS futex_wait_ns,
	-- 1 when another submission of its key was open.
	t.first_taken AND coalesce(t.src_ts < max(coalesce(t.leave_ts, 9223372036854775807)) OVER (
		PARTITION BY t.plan_hop, t.key, r.upid ORDER BY t.src_ts
		ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS duplicate,
	-- 1 when the work is over, the plan has a next hop, and it was not submitted.
	t.stage < (SELECT max(stage) FROM stage) AND t.handoff_ts IS NULL AND t.dst_ts IS NOT NULL
		AND t.free_ts IS NOT NULL AS no_handoff
FROM timed t LEFT JOIN thread r ON r.utid = t.src_utid;

-- What happened to queues and pools, as steps: running sums over ts give what is pending and active.
CREATE VIEW queue_event AS
SELECT
	-- Hop of the plan.
	t.plan_hop AS plan_hop,
	-- When.
	CASE w.what WHEN 'submit' THEN t.submit_ts WHEN 'done' THEN coalesce(t.end_ts, t.free_ts)
		WHEN 'free' THEN t.free_ts ELSE t.leave_ts END AS ts,
	-- 'submit', 'start', 'done' (end of the work), 'free' (the thread left the target), 'drop'
	-- (superseded or expired).
	w.what AS what,
	-- Change of the number of tasks that wait.
	CASE w.what WHEN 'submit' THEN 1 WHEN 'start' THEN -t.first_taken WHEN 'drop' THEN -1 ELSE 0 END
		AS d_pending,
	-- Change of the number of tasks that are worked on.
	CASE w.what WHEN 'start' THEN 1 WHEN 'done' THEN -1 ELSE 0 END AS d_active,
	-- Change of the number of threads inside the target.
	CASE w.what WHEN 'start' THEN 1 WHEN 'free' THEN -1 ELSE 0 END AS d_occupied,
	-- Thread that took it; NULL for a submission.
	CASE WHEN w.what <> 'submit' THEN t.dst_utid END AS utid,
	-- Submission to start, ns.
	t.queue_ns AS queue_ns,
	-- Start to end of the work, ns; NULL unknown.
	t.work_ns AS work_ns,
	-- Futex waits inside the work.
	t.futex_waits AS futex_waits,
	-- Time in them, ns.
	t.futex_wait_ns AS futex_wait_ns,
	-- What became of the submission; see queue_task.
	t.fate AS fate,
	-- 1 when another submission of its key was open.
	t.duplicate AS duplicate,
	-- 1 when the next hop was not submitted.
	t.no_handoff AS no_handoff
FROM queue_task t
CROSS JOIN (SELECT 'submit' AS what UNION ALL SELECT 'start' UNION ALL SELECT 'done'
	UNION ALL SELECT 'free' UNION ALL SELECT 'drop') w
WHERE CASE w.what WHEN 'submit' THEN t.first_taken WHEN 'start' THEN t.start_ts IS NOT NULL
	WHEN 'drop' THEN t.start_ts IS NULL AND t.leave_ts IS NOT NULL
	WHEN 'done' THEN coalesce(t.end_ts, t.free_ts) IS NOT NULL ELSE t.free_ts IS NOT NULL END;

-- What is counted for queue_diagnostics, which judges it: one row a hop for the whole capture and one for each
-- second of it, or for longer intervals where those would be more than 100,000. The 100,000th second is the
-- last one, and goes on to the end.
CREATE VIEW queue_sum AS
WITH RECURSIVE
setting AS (SELECT 1000000000 AS interval_ns),
span AS MATERIALIZED (
	SELECT start_ts, end_ts, interval_ns, (end_ts - start_ts) / interval_ns AS last FROM (
		SELECT start_ts, max(end_ts, start_ts + 1) AS end_ts,
			interval_ns * (1 + (end_ts - start_ts) / interval_ns / 100000) AS interval_ns
		FROM report_clock, setting)),
number(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM number, span WHERE i < last),
-- Ticks close the intervals.
step AS (
	SELECT e.plan_hop, max(min((e.ts - s.start_ts) / s.interval_ns, s.last), 0) AS part, e.ts, e.what,
		d_pending, d_active, d_occupied, queue_ns, work_ns, futex_waits, futex_wait_ns, fate, duplicate, no_handoff, utid
	FROM span s CROSS JOIN queue_event e
	WHERE e.ts <= s.end_ts
	UNION ALL
	SELECT h.plan_hop, n.i, CASE n.i WHEN s.last THEN s.end_ts
		ELSE s.start_ts + (n.i + 1) * s.interval_ns - 1 END, 'tick', 0, 0, 0,
		0, 0, 0, 0, '', 0, 0, NULL
	FROM hop_count h, span s, number n),
run AS MATERIALIZED (
	SELECT plan_hop, part, ts, what, queue_ns, work_ns, futex_waits, futex_wait_ns, fate, duplicate,
		no_handoff, utid, lead(ts) OVER w - ts AS lasts, sum(d_pending) OVER w AS pending,
		sum(d_active) OVER w AS active, sum(d_occupied) OVER w AS occupied,
		sum(what = 'submit') OVER w AS submission
	FROM step
	WINDOW w AS (PARTITION BY plan_hop ORDER BY ts, what = 'tick' ROWS UNBOUNDED PRECEDING)),
-- From here on part -1 is the whole capture.
worker AS MATERIALIZED (
	SELECT plan_hop, part, utid, count(*) AS started, sum(work_ns) AS work_ns, count(work_ns) AS known
	FROM run WHERE what = 'start' GROUP BY plan_hop, part, utid),
each_worker AS MATERIALIZED (
	SELECT plan_hop, part, utid, started, work_ns / nullif(known, 0) AS work_ns FROM worker
	UNION ALL
	SELECT plan_hop, -1, utid, sum(started), sum(work_ns) / nullif(sum(known), 0) FROM worker
	GROUP BY plan_hop, utid),
pool AS MATERIALIZED (
	SELECT plan_hop, part, count(*) AS workers FROM each_worker GROUP BY plan_hop, part),
busiest AS MATERIALIZED (
	SELECT plan_hop, part, utid, started, work_ns FROM (
		SELECT w.plan_hop, w.part, w.utid, w.started, w.work_ns,
			row_number() OVER (PARTITION BY w.plan_hop, w.part
				ORDER BY w.started DESC, t.tid) AS place
		FROM each_worker w LEFT JOIN thread t USING(utid)) WHERE place = 1),
part_sums AS MATERIALIZED (
	SELECT r.plan_hop, r.part,
		sum(what = 'submit') AS submitted, sum(what = 'start') AS started,
		sum(what = 'done' AND work_ns IS NOT NULL) AS completed,
		sum(CASE WHEN what = 'tick' THEN pending END) AS pending, max(pending) AS peak_pending,
		sum(CASE WHEN what = 'tick' THEN active END) AS active, max(active) AS peak_active,
		coalesce(sum(CASE WHEN what = 'start' THEN queue_ns END), 0) AS queue_total_ns,
		coalesce(sum(CASE WHEN what = 'done' THEN work_ns END), 0) AS work_total_ns,
		coalesce(sum(CASE WHEN what = 'done' THEN r.futex_waits END), 0) AS futex_waits,
		coalesce(sum(CASE WHEN what = 'done' THEN r.futex_wait_ns END), 0) AS futex_wait_ns,
		sum(what = 'submit' AND duplicate) AS duplicate_keys,
		sum(what = 'drop' AND fate = 'superseded') AS superseded,
		sum(what = 'drop' AND fate = 'expired') AS expired,
		sum(what = 'free' AND no_handoff) AS no_handoff,
		coalesce(sum(CASE WHEN r.pending > 0 AND r.occupied >= p.workers THEN r.lasts END), 0) AS saturated_ns,
		min(CASE WHEN what = 'submit' THEN submission END) AS first_submission,
		max(CASE WHEN what = 'submit' THEN submission END) AS last_submission
	FROM run r LEFT JOIN pool p ON p.plan_hop = r.plan_hop AND p.part = -1
	GROUP BY r.plan_hop, r.part),
sums AS MATERIALIZED (
	SELECT * FROM part_sums
	UNION ALL
	SELECT plan_hop, -1, sum(submitted), sum(started), sum(completed),
		sum(CASE WHEN part = s.last THEN pending END), max(peak_pending),
		sum(CASE WHEN part = s.last THEN active END), max(peak_active), sum(queue_total_ns),
		sum(work_total_ns), sum(futex_waits), sum(futex_wait_ns), sum(duplicate_keys), sum(superseded),
		sum(expired), sum(no_handoff), sum(saturated_ns), min(first_submission), max(last_submission)
	FROM part_sums, span s GROUP BY plan_hop),
-- What the first and the last third of the submissions found waiting, themselves included.
trend AS MATERIALIZED (
	SELECT s.plan_hop, s.part,
		avg(CASE WHEN 3 * (r.submission - s.first_submission) < s.submitted THEN r.pending END) AS early,
		avg(CASE WHEN 3 * (s.last_submission - r.submission) < s.submitted THEN r.pending END) AS late
	FROM run r JOIN sums s ON s.plan_hop = r.plan_hop AND s.part IN (-1, r.part)
	WHERE r.what = 'submit' AND s.submitted >= 6 GROUP BY s.plan_hop, s.part),
lone AS MATERIALIZED (
	SELECT u.plan_hop, -1 AS part, count(*) AS targets FROM unmatched u GROUP BY 1
	UNION ALL
	SELECT u.plan_hop, max(min((c.ts - s.start_ts) / s.interval_ns, s.last), 0), count(*)
	FROM unmatched u JOIN slice c USING(slice_id), span s GROUP BY 1, 2)
SELECT
	-- Hop of the plan.
	x.plan_hop AS plan_hop,
	-- Number of the interval, from 0; -1 for the whole capture.
	x.part AS part,
	-- Begin of the interval.
	CASE x.part WHEN -1 THEN s.start_ts ELSE s.start_ts + x.part * s.interval_ns END AS ts,
	-- End of the interval.
	CASE WHEN x.part IN (-1, s.last) THEN s.end_ts ELSE s.start_ts + (x.part + 1) * s.interval_ns END AS end_ts,
	-- Submissions.
	x.submitted AS submitted,
	-- Targets that took one.
	x.started AS started,
	-- Targets whose work ended.
	x.completed AS completed,
	-- Submissions that wait at the end.
	x.pending AS pending,
	-- The most that waited at once.
	x.peak_pending AS peak_pending,
	-- Targets that are at work at the end.
	x.active AS active,
	-- The most that were at once.
	x.peak_active AS peak_active,
	-- Sum of the queue times of what was started, ns.
	x.queue_total_ns AS queue_total_ns,
	-- Sum of the work times of what was completed, ns.
	x.work_total_ns AS work_total_ns,
	-- Futex waits inside the work that was completed.
	x.futex_waits AS futex_waits,
	-- Time in them, ns.
	x.futex_wait_ns AS futex_wait_ns,
	-- Submissions whose key was already open.
	x.duplicate_keys AS duplicate_keys,
	-- Submissions that were open when a newer one of the same key was taken.
	x.superseded AS superseded,
	-- Submissions that nobody took in time.
	x.expired AS expired,
	-- Targets without a submission.
	coalesce(u.targets, 0) AS unmatched,
	-- Targets that ended without submitting the next hop.
	x.no_handoff AS no_handoff,
	-- Time in which something waited while every thread that was ever seen working was, ns.
	x.saturated_ns AS saturated_ns,
	-- Threads that started one.
	coalesce(p.workers, 0) AS workers,
	-- The one that started most of them.
	m.utid AS busiest_utid,
	-- How many it started.
	m.started AS busiest_started,
	-- Average work of those, ns.
	m.work_ns AS busiest_work_ns,
	-- Average number waiting after each of the first third of the submissions; NULL below six.
	t.early AS early,
	-- The same of the last third.
	t.late AS late
FROM sums x JOIN span s
LEFT JOIN pool p ON p.plan_hop = x.plan_hop AND p.part = x.part
LEFT JOIN busiest m ON m.plan_hop = x.plan_hop AND m.part = x.part
LEFT JOIN trend t ON t.plan_hop = x.plan_hop AND t.part = x.part
LEFT JOIN lone u ON u.plan_hop = x.plan_hop AND u.part = x.part
WHERE x.part = -1 OR s.interval_ns < 9000000000000000000;

-- Queues and pools of each hop: one row for the whole capture and one for each second of it, or for longer
-- intervals where those would be more than 100,000.
-- `callweave-analyze diagnostics` makes it with other intervals. The 100,000th second is the last one,
-- and goes on to the end.
CREATE VIEW queue_diagnostics AS
WITH judged AS (
	SELECT b.*, h.source, h.target, coalesce(t.rec_tid, t.tid) AS busiest_tid,
		(SELECT coalesce(sum(l.count), 0) FROM loss l WHERE l.kind IN ('probe_entry', 'probe_return', '*')
			AND l.end_ts >= b.ts AND l.ts <= b.end_ts) AS dropped,
		coalesce(1.0 * b.futex_wait_ns / nullif(b.work_total_ns, 0), 0) AS futex_ratio,
		1.0 * b.saturated_ns / max(b.end_ts - b.ts, 1) AS saturated_ratio,
		coalesce(b.late > nullif(b.workers, 0) AND b.late >= 1.5 * b.early, 0) AS grows
	FROM queue_sum b JOIN hop_count h USING(plan_hop) LEFT JOIN thread t ON t.utid = b.busiest_utid)
SELECT
	-- Hop of the plan.
	j.plan_hop AS plan_hop,
	-- Function that hands off.
	j.source AS source,
	-- Function that takes it.
	j.target AS target,
	-- Number of the interval, from 0; NULL for the whole capture.
	nullif(j.part, -1) AS interval,
	-- Begin of the interval.
	j.ts AS ts,
	-- End of the interval.
	j.end_ts AS end_ts,
	-- Submissions.
	j.submitted AS submitted,
	-- Targets that took one.
	j.started AS started,
	-- Targets whose work ended, by the next handoff or by their return.
	j.completed AS completed,
	-- Submissions a second.
	1e9 * j.submitted / max(j.end_ts - j.ts, 1) AS submit_rate,
	-- Starts a second.
	1e9 * j.started / max(j.end_ts - j.ts, 1) AS start_rate,
	-- Completions a second.
	1e9 * j.completed / max(j.end_ts - j.ts, 1) AS complete_rate,
	-- Submissions that wait at the end.
	j.pending AS pending,
	-- The most that waited at once.
	j.peak_pending AS peak_pending,
	-- Targets that are at work at the end.
	j.active AS active,
	-- The most that were at once.
	j.peak_active AS peak_active,
	-- Sum of the queue times of what was started, ns.
	j.queue_total_ns AS queue_total_ns,
	-- Its average, ns; NULL when nothing was started.
	j.queue_total_ns / nullif(j.started, 0) AS queue_average_ns,
	-- Sum of the work times of what was completed, ns.
	j.work_total_ns AS work_total_ns,
	-- Its average, ns; NULL when nothing was completed.
	j.work_total_ns / nullif(j.completed, 0) AS work_average_ns,
	-- Futex waits inside the work that was completed.
	j.futex_waits AS futex_waits,
	-- Time in them, ns.
	j.futex_wait_ns AS futex_wait_ns,
	-- Their part of work_total_ns, from 0 to 1.
	j.futex_ratio AS futex_ratio,
	-- Submissions whose key was already open.
	j.duplicate_keys AS duplicate_keys,
	-- Submissions that were open when a newer one of the same key was taken.
	j.superseded AS superseded,
	-- Submissions that nobody took in time.
	j.expired AS expired,
	-- Targets without a submission.
	j.unmatched AS unmatched_targets,
	-- Records of calls, of any hop, that were lost in this time.
	j.dropped AS dropped,
	-- Targets that ended without submitting the next hop.
	j.no_handoff AS no_handoff,
	-- Threads that started one.
	j.workers AS worker_count,
	-- The one that started most of them.
	j.busiest_tid AS busiest_worker_tid,
	-- How many it started.
	j.busiest_started AS busiest_worker_started,
	-- Average work of those, ns.
	j.busiest_work_ns AS busiest_worker_average_work_ns,
	-- Time in which something waited while every thread that was ever seen working was, ns.
	j.saturated_ns AS saturated_ns,
	-- Average number waiting after each of the first third of the submissions; NULL below six.
	j.early AS early_pending,
	-- The same of the last third.
	j.late AS late_pending,
	-- 'none', or what holds of these, joined by '+': 'backlog' (what waits grows: late_pending is
	-- above worker_count and half as much again as early_pending), 'saturation' (saturated_ns is a
	-- quarter of the time or more), 'lock contention' (futex_ratio is 0.2 or more).
	coalesce(nullif(substr(CASE WHEN j.grows THEN '+backlog' ELSE '' END
		|| CASE WHEN j.saturated_ratio >= 0.25 THEN '+saturation' ELSE '' END
		|| CASE WHEN j.futex_ratio >= 0.2 THEN '+lock contention' ELSE '' END, 2), ''), 'none') AS diagnosis
FROM judged j;
