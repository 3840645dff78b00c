-- SPDX-License-Identifier: GPL-2.0-only
-- Causality. An edge is the stored fact; hop and chain are views of edges along paths.

-- Causality from one call to another.
CREATE TABLE edge(
	-- Number of the edge, in the order of arrivals.
	edge_id INTEGER PRIMARY KEY,
	-- 'async' for a planned hop; other modes add their own.
	kind TEXT NOT NULL,
	-- Hop of the plan, from 0.
	plan_hop INTEGER,
	-- Value that both calls had: a pointer or a number.
	key INTEGER,
	-- Argument of the target that carried the key, 1-8.
	target_arg INTEGER,
	-- Thread that submitted.
	src_utid INTEGER NOT NULL,
	-- Entry of the source.
	src_ts INTEGER NOT NULL,
	-- Call of the source.
	src_slice INTEGER,
	-- Thread that took it.
	dst_utid INTEGER NOT NULL,
	-- Entry of the target.
	dst_ts INTEGER NOT NULL,
	-- Call of the target.
	dst_slice INTEGER,
	-- 'newest', 'oldest' or 'all'.
	match TEXT NOT NULL,
	-- 'exact', or the reasons for doubt, joined by '+': 'ambiguous' (more than one candidate),
	-- 'auto' (found by scanning arguments), 'loss' (records lost in between), 'capture edge'.
	evidence TEXT NOT NULL,
	-- Submissions of this key that were open when the target came, this one included. Left out are
	-- those that a loss of records explains: their targets may be what was lost.
	candidates INTEGER NOT NULL
);

-- Submissions that no target took.
CREATE TABLE unconsumed(
	-- Hop of the plan.
	plan_hop INTEGER NOT NULL,
	-- Its key.
	key INTEGER NOT NULL,
	-- Thread that submitted.
	utid INTEGER NOT NULL,
	-- Entry of the source.
	ts INTEGER NOT NULL,
	-- Call of the source.
	slice_id INTEGER,
	-- 'superseded' (a newer one of the same key was taken), 'expired', 'open at end'.
	reason TEXT NOT NULL
);

-- Calls of hop targets that no submission matched.
CREATE TABLE unmatched(
	-- Hop of the plan; the first one when the function is the target of several.
	plan_hop INTEGER NOT NULL,
	-- Call of the target.
	slice_id INTEGER NOT NULL,
	-- 'no submission', 'ambiguous auto' (several arguments matched), 'before capture' (the key was
	-- not seen before, and may have been submitted before the capture began), 'loss' (the
	-- submission may be among lost records).
	reason TEXT NOT NULL
);

-- Root-to-last-target paths; at a join the latest-arriving edge is followed.
CREATE TABLE path(
	-- Number of the chain, in the order in which they ended.
	chain_id INTEGER PRIMARY KEY,
	-- Entry of the first source.
	start_ts INTEGER NOT NULL,
	-- Return of the last target; its entry when no return is known.
	end_ts INTEGER NOT NULL,
	-- Sum over the hops, ns.
	queue_ns INTEGER NOT NULL,
	-- Sum over the hops, ns; NULL when the end of the last target is unknown.
	work_ns INTEGER,
	-- Longest queue of one hop, ns.
	max_queue_ns INTEGER NOT NULL,
	-- Longest work of one hop, ns.
	max_work_ns INTEGER,
	-- Number of hops.
	hop_count INTEGER NOT NULL,
	-- 1 when every planned hop is there and nothing cut it.
	complete INTEGER NOT NULL,
	-- '' or the reasons for doubt, joined by '+', over all its edges and calls: those of
	-- edge.evidence, 'missing hop' (it begins behind the first planned hop, or leaves one out),
	-- 'unmatched' (its first target had no submission), 'no return' (the last target did not return).
	flags TEXT NOT NULL,
	-- Call of the last target.
	last_slice INTEGER NOT NULL
);

-- Hops of a path.
CREATE TABLE path_hop(
	-- Chain.
	chain_id INTEGER NOT NULL,
	-- Place in the chain, from 0.
	hop_index INTEGER NOT NULL,
	-- Handoff.
	edge_id INTEGER NOT NULL,
	-- End of the target's work for this path: its next handoff, or its return. NULL unknown.
	end_ts INTEGER,
	-- Part of the work on a CPU. The parts add up to it; NULL without scheduler facts.
	oncpu_ns INTEGER,
	-- Part of the work asleep.
	blocked_ns INTEGER,
	-- Part of the work from waking to switch-in.
	runq_ns INTEGER,
	-- Part of the work off CPU though runnable all the time.
	preempted_ns INTEGER,
	-- Part of the work that losses hide.
	unknown_ns INTEGER,
	PRIMARY KEY(chain_id, hop_index)
) WITHOUT ROWID;

-- What was counted while stitching, for each hop of the plan. submitted = matched + superseded +
-- expired + open_at_end (with match 'all', matched counts submissions that were taken).
CREATE TABLE hop_count(
	-- Hop of the plan, from 0.
	plan_hop INTEGER PRIMARY KEY,
	-- Function that hands off.
	source TEXT NOT NULL,
	-- Function that takes it.
	target TEXT NOT NULL,
	-- Submissions.
	submitted INTEGER NOT NULL,
	-- Submissions that a target took.
	matched INTEGER NOT NULL,
	-- Targets without a submission.
	unmatched INTEGER NOT NULL,
	-- Submissions whose key was already open.
	duplicate_keys INTEGER NOT NULL,
	-- Submissions that were open when a newer one of the same key was taken.
	superseded INTEGER NOT NULL,
	-- Submissions that no target took in time.
	expired INTEGER NOT NULL,
	-- Targets of which several arguments matched.
	ambiguous INTEGER NOT NULL,
	-- Targets that ended without handing off the next hop.
	no_handoff INTEGER NOT NULL,
	-- Submissions that were open when the capture ended.
	open_at_end INTEGER NOT NULL
);

-- Handoffs of chains: one row a hop of a chain. Work is per path, so edges that paths share repeat;
-- aggregates over handoffs use edge.
CREATE VIEW hop AS
SELECT
	-- Chain.
	h.chain_id AS chain_id,
	-- Place in the chain, from 0.
	h.hop_index AS hop_index,
	-- Function that handed off.
	c.source AS source,
	-- Function that took it.
	c.target AS target,
	-- Key, hexadecimal.
	printf('0x%016x', e.key) AS key,
	-- Argument of the target that carried it, 1-8.
	e.target_arg AS target_arg,
	-- Entry of the source.
	e.src_ts AS submit_ts,
	-- Entry of the target.
	e.dst_ts AS start_ts,
	-- End of the target's work for this chain: its next handoff, or its return. NULL unknown.
	h.end_ts AS end_ts,
	-- Thread that submitted, as the recorder's user saw it.
	coalesce(st.rec_tid, st.tid) AS source_tid,
	-- Thread that took it, as the recorder's user saw it.
	coalesce(dt.rec_tid, dt.tid) AS target_tid,
	-- Entry of the source to entry of the target, ns.
	e.dst_ts - e.src_ts AS queue_ns,
	-- Entry of the target to end_ts, ns.
	h.end_ts - e.dst_ts AS work_ns,
	-- Part of the work on a CPU; the five parts add up to it.
	h.oncpu_ns AS oncpu_ns,
	-- Part of the work asleep: switch-out to waking.
	h.blocked_ns AS blocked_ns,
	-- Part of the work from waking to switch-in.
	h.runq_ns AS runq_ns,
	-- Part of the work off CPU though runnable all the time.
	h.preempted_ns AS preempted_ns,
	-- Part of the work that losses hide.
	h.unknown_ns AS unknown_ns,
	-- Largest part: 'oncpu', 'blocked', 'runq' or 'preempt/unknown'; NULL when unknown.
	CASE WHEN h.oncpu_ns IS NULL THEN NULL
		WHEN h.oncpu_ns >= max(h.blocked_ns, h.runq_ns, h.preempted_ns + h.unknown_ns) THEN 'oncpu'
		WHEN h.blocked_ns >= max(h.runq_ns, h.preempted_ns + h.unknown_ns) THEN 'blocked'
		WHEN h.runq_ns >= h.preempted_ns + h.unknown_ns THEN 'runq'
		ELSE 'preempt/unknown' END AS dominant,
	-- How sure the handoff is: 'exact' or the reasons for doubt; see edge.
	e.evidence AS evidence,
	-- Submissions of this key that were open.
	e.candidates AS candidates,
	-- Process of the submitting thread, as the recorder's user saw it.
	coalesce(sp.rec_pid, sp.pid) AS pid,
	-- Name of the submitting thread.
	st.name AS source_thread,
	-- Name of the thread that took it.
	dt.name AS target_thread,
	-- User stack of the submission; see callstack.
	ss.stack_id AS source_stack_id,
	-- User stack at the target's entry; see callstack.
	ds.stack_id AS target_stack_id,
	-- Hop of the plan.
	e.plan_hop AS plan_hop,
	-- Edge.
	h.edge_id AS edge_id,
	-- Call of the source.
	e.src_slice AS source_slice,
	-- Call of the target.
	e.dst_slice AS target_slice,
	-- Thread incarnation that submitted.
	e.src_utid AS source_utid,
	-- Thread incarnation that took it.
	e.dst_utid AS target_utid,
	-- Key as it is in tables.
	e.key AS key_int
FROM path_hop h
JOIN edge e USING(edge_id)
LEFT JOIN hop_count c USING(plan_hop)
LEFT JOIN thread st ON st.utid = e.src_utid
LEFT JOIN process sp ON sp.upid = st.upid
LEFT JOIN thread dt ON dt.utid = e.dst_utid
LEFT JOIN slice ss ON ss.slice_id = e.src_slice
LEFT JOIN slice ds ON ds.slice_id = e.dst_slice;

-- Chains: paths from the first handoff to the end of the last target.
CREATE VIEW chain AS
SELECT
	-- Number of the chain.
	p.chain_id AS chain_id,
	-- Entry of the first source.
	p.start_ts AS start_ts,
	-- Return of the last target; its entry when no return is known.
	p.end_ts AS end_ts,
	-- Queue and work together, ns: end_ts - start_ts; NULL when the end is unknown.
	p.queue_ns + p.work_ns AS total_ns,
	-- Sum of the hops' queue times, ns.
	p.queue_ns AS queue_ns,
	-- Sum of the hops' work times, ns; NULL when the end is unknown.
	p.work_ns AS work_ns,
	-- Number of hops.
	p.hop_count AS hop_count,
	-- 1 when every planned hop is there and nothing cut it.
	p.complete AS complete,
	-- '' or the reasons for doubt, joined by '+'; see path.
	p.flags AS flags,
	-- Longest queue time of one hop, ns.
	p.max_queue_ns AS max_queue_ns,
	-- Longest work time of one hop, ns.
	p.max_work_ns AS max_work_ns,
	-- Process of the last target, as the recorder's user saw it.
	coalesce(r.rec_pid, r.pid) AS pid,
	-- Thread of the last target, as the recorder's user saw it.
	coalesce(t.rec_tid, t.tid) AS tid,
	-- Its name.
	t.name AS thread_name,
	-- Last target.
	b.function AS function,
	-- Call of the last target.
	p.last_slice AS last_slice
FROM path p
LEFT JOIN slice s ON s.slice_id = p.last_slice
LEFT JOIN probe b USING(probe_id)
LEFT JOIN thread t USING(utid)
LEFT JOIN process r USING(upid);

-- What went wrong or stays in doubt, counted: one row a kind, none when all is well.
CREATE VIEW anomaly AS
SELECT
	-- What was counted.
	'submissions whose key was already open' AS what,
	-- Where: the hop or the record type.
	source || ' -> ' || target AS at,
	-- How many.
	duplicate_keys AS count
FROM hop_count WHERE duplicate_keys > 0
UNION ALL SELECT 'superseded submissions', source || ' -> ' || target, superseded
FROM hop_count WHERE superseded > 0
UNION ALL SELECT 'expired submissions', source || ' -> ' || target, expired
FROM hop_count WHERE expired > 0
UNION ALL SELECT 'submissions open at the end', source || ' -> ' || target, open_at_end
FROM hop_count WHERE open_at_end > 0
UNION ALL SELECT 'targets that did not hand off the next hop', source || ' -> ' || target, no_handoff
FROM hop_count WHERE no_handoff > 0
UNION ALL SELECT 'targets without a submission: ' || u.reason, c.source || ' -> ' || c.target, count(*)
FROM unmatched u JOIN hop_count c USING(plan_hop) GROUP BY u.plan_hop, u.reason
UNION ALL SELECT 'chains in doubt: ' || flags, '', count(*)
FROM path WHERE flags <> '' GROUP BY flags
UNION ALL SELECT 'calls without a return: ' || no_return, p.function, count(*)
FROM slice s JOIN probe p USING(probe_id)
WHERE no_return IS NOT NULL AND no_return <> 'not probed' GROUP BY no_return, probe_id
UNION ALL SELECT 'lost records: ' || reason, kind, sum(count)
FROM loss GROUP BY reason, kind
UNION ALL SELECT what, '', value
FROM (SELECT CASE key WHEN 'late_records' THEN 'records that came too late to be put in order'
		WHEN 'unknown_records' THEN 'records of unknown types'
		WHEN 'unmatched_returns' THEN 'returns without an entry'
		WHEN 'bad_records' THEN 'records that make no sense' END AS what, value
	FROM capture_info) WHERE what IS NOT NULL AND value > 0;
