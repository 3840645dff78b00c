-- SPDX-License-Identifier: GPL-2.0-only
-- Causality. An edge is the stored fact; hop and chain are views of edges along paths.

-- Causality from one call to another.
CREATE TABLE edge(
	edge_id INTEGER PRIMARY KEY,
	-- 'async' for a planned hop; other modes add their own.
	kind TEXT NOT NULL,
	-- Hop of the plan, from 0.
	plan_hop INTEGER,
	key INTEGER,
	-- Argument of the target that carried the key, 1-8.
	target_arg INTEGER,
	src_utid INTEGER NOT NULL,
	src_ts INTEGER NOT NULL,
	src_slice INTEGER,
	dst_utid INTEGER NOT NULL,
	dst_ts INTEGER NOT NULL,
	dst_slice INTEGER,
	-- 'newest', 'oldest' or 'all'.
	match TEXT NOT NULL,
	-- Submissions of this key that were open when the target came, this one included.
	candidates INTEGER NOT NULL,
	-- 'exact', or the reasons for doubt, joined by '+': 'ambiguous' (more than one candidate),
	-- 'auto' (found by scanning arguments), 'loss' (records lost in between), 'capture edge'.
	evidence TEXT NOT NULL
);

-- Submissions that no target took.
CREATE TABLE unconsumed(
	plan_hop INTEGER NOT NULL,
	key INTEGER NOT NULL,
	utid INTEGER NOT NULL,
	ts INTEGER NOT NULL,
	slice_id INTEGER,
	-- 'superseded', 'expired', 'open at end'.
	reason TEXT NOT NULL
);

-- Calls of hop targets that no submission matched.
CREATE TABLE unmatched(
	plan_hop INTEGER NOT NULL,
	slice_id INTEGER NOT NULL,
	-- 'no submission', 'ambiguous auto', 'before capture' (no source was seen before it).
	reason TEXT NOT NULL
);

-- Root-to-last-target paths.
CREATE TABLE path(
	chain_id INTEGER PRIMARY KEY,
	start_ts INTEGER NOT NULL,
	-- Return of the last target; its entry when returns were not recorded.
	end_ts INTEGER NOT NULL,
	-- Sums over the hops.
	queue_ns INTEGER NOT NULL,
	work_ns INTEGER,
	hop_count INTEGER NOT NULL,
	-- 1 when every planned hop is there and nothing cut it.
	complete INTEGER NOT NULL,
	-- '' or the reasons for doubt, joined by '+', over all its edges and calls.
	flags TEXT NOT NULL,
	-- Call of the last target.
	last_slice INTEGER NOT NULL
);

-- Hops of a path.
CREATE TABLE path_hop(
	chain_id INTEGER NOT NULL,
	hop_index INTEGER NOT NULL,
	edge_id INTEGER NOT NULL,
	-- End of the target's work for this path: its next handoff, or its return. NULL unknown.
	end_ts INTEGER,
	-- Parts of the work; they add up to it.
	oncpu_ns INTEGER, blocked_ns INTEGER, runq_ns INTEGER, preempted_ns INTEGER, unknown_ns INTEGER,
	PRIMARY KEY(chain_id, hop_index)
) WITHOUT ROWID;

-- Anomalies counted while stitching, for each hop of the plan.
CREATE TABLE hop_count(
	plan_hop INTEGER PRIMARY KEY,
	source TEXT NOT NULL,
	target TEXT NOT NULL,
	submitted INTEGER NOT NULL,
	matched INTEGER NOT NULL,
	unmatched INTEGER NOT NULL,
	-- Submissions whose key was already open.
	duplicate_keys INTEGER NOT NULL,
	superseded INTEGER NOT NULL,
	expired INTEGER NOT NULL,
	ambiguous INTEGER NOT NULL,
	-- Targets that returned without handing off the next hop.
	no_handoff INTEGER NOT NULL,
	open_at_end INTEGER NOT NULL
);
