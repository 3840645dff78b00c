-- SPDX-License-Identifier: GPL-2.0-only
-- Makes a long capture's database of a short one's: :copies of all that happened, one after the other, of
-- the same threads. What the target did is real, only how often it did it is not.
PRAGMA synchronous = off;
PRAGMA journal_mode = off;
PRAGMA cache_size = -200000;
CREATE TEMP TABLE shift AS
SELECT n, n * (c.end_ts - c.start_ts + 1000000) AS ns,
	n * (SELECT max(slice_id) + 1 FROM slice) AS slices, n * (SELECT max(edge_id) + 1 FROM edge) AS edges,
	n * (SELECT max(chain_id) + 1 FROM path) AS paths, n * (SELECT max(offcpu_id) + 1 FROM episode) AS episodes
FROM report_clock c, (WITH RECURSIVE number(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM number WHERE n < :copies - 1)
	SELECT n FROM number);
-- Copies are counted from tables of the first, as rows are added to what is read.
CREATE TEMP TABLE first_slice AS SELECT * FROM slice;
CREATE TEMP TABLE first_edge AS SELECT * FROM edge;
CREATE TEMP TABLE first_path AS SELECT * FROM path;
CREATE TEMP TABLE first_hop AS SELECT * FROM path_hop;
CREATE TEMP TABLE first_episode AS SELECT * FROM episode;
DROP INDEX episode_by_thread;
INSERT INTO slice SELECT slice_id + x.slices, ts + x.ns, dur, utid, probe_id, depth, parent_id + x.slices, stack_id, ret,
	no_return, oncpu_ns, blocked_ns, runq_ns, preempted_ns, unknown_ns, touched_by_loss, arg1, arg2, arg3, arg4, arg5,
	arg6, arg7, arg8 FROM shift x CROSS JOIN first_slice;
INSERT INTO edge SELECT edge_id + x.edges, kind, plan_hop, key, target_arg, src_utid, src_ts + x.ns, src_slice + x.slices,
	dst_utid, dst_ts + x.ns, dst_slice + x.slices, match, evidence, candidates FROM shift x CROSS JOIN first_edge;
INSERT INTO path SELECT chain_id + x.paths, start_ts + x.ns, end_ts + x.ns, queue_ns, work_ns, max_queue_ns, max_work_ns,
	hop_count, complete, flags, last_slice + x.slices FROM shift x CROSS JOIN first_path;
INSERT INTO path_hop SELECT chain_id + x.paths, hop_index, edge_id + x.edges, end_ts + x.ns, oncpu_ns, blocked_ns, runq_ns,
	preempted_ns, unknown_ns FROM shift x CROSS JOIN first_hop ORDER BY x.n;
INSERT INTO episode SELECT offcpu_id + x.episodes, utid, ts + x.ns, waking_ts + x.ns, wakeup_ts + x.ns, end_ts + x.ns, state,
	preempted, blocked_ns, runq_ns, preempted_ns, unknown_ns, unknown_ts + x.ns, cpu, end_cpu, sleep_id, waker_id,
	ran_utid, ran_ns FROM shift x CROSS JOIN first_episode;
-- Who ran later while a thread waited is left out: recorded on a busy machine that is more than all the rest.
CREATE INDEX episode_by_thread ON episode(utid, ts);
UPDATE hop_count SET submitted = submitted * :copies, matched = matched * :copies, unmatched = unmatched * :copies;
UPDATE thread SET end_ts = end_ts + (SELECT max(ns) FROM shift);
UPDATE capture_info SET value = CAST(value AS INTEGER) + (SELECT max(ns) FROM shift) WHERE key = 'end_ts';
