-- SPDX-License-Identifier: GPL-2.0-only
-- Three chains: a plain one, a slow one with an observed waker, one in doubt; and a lone target.
INSERT INTO slice(slice_id, ts, dur, utid, probe_id, depth, stack_id, ret, no_return, oncpu_ns,
	blocked_ns, runq_ns, preempted_ns, unknown_ns, touched_by_loss, arg1, arg2) VALUES
	(1, 1000100000, NULL, 1, 0, 0, 2, NULL, 'not probed', NULL, NULL, NULL, NULL, NULL, 0, 1, -16),
	(2, 1000300000, 900000, 2, 1, 0, 2, 1, NULL, 200000, 600000, 60000, 40000, 0, 0, -16, 2),
	(3, 1001000000, NULL, 2, 2, 1, 1, NULL, 'not probed', NULL, NULL, NULL, NULL, NULL, 0, 1, 32),
	(4, 1001500000, 8742, 3, 3, 0, 2, 1193046, NULL, 8742, 0, 0, 0, 0, 0, 32, 2),
	(5, 1100100000, NULL, 1, 0, 0, NULL, NULL, 'not probed', NULL, NULL, NULL, NULL, NULL, 0, 1, 48),
	(6, 1100300000, 900000, 2, 1, 0, 2, 1, NULL, 200000, 600000, 60000, 40000, 0, 0, 48, 2),
	(7, 1101000000, NULL, 2, 2, 1, 1, NULL, 'not probed', NULL, NULL, NULL, NULL, NULL, 0, 1, 64),
	(8, 1131000000, 250000000, 3, 3, 0, 1, -1, NULL, 50000, 248000000, 1900000, 50000, 0, 0, 64, 2),
	(9, 1990000000, NULL, 2, 2, 0, 1, NULL, 'not probed', NULL, NULL, NULL, NULL, NULL, 0, 1, 80),
	(10, 2000000000, NULL, 3, 3, 0, 1, NULL, 'lost', NULL, NULL, NULL, NULL, NULL, 1, 80, 2),
	(11, 2500000000, 1000, 3, 3, 0, 1, 0, NULL, 1000, 0, 0, 0, 0, 0, 96, 2);
INSERT INTO edge(edge_id, kind, plan_hop, key, target_arg, src_utid, src_ts, src_slice, dst_utid,
	dst_ts, dst_slice, match, candidates, evidence) VALUES
	(1, 'async', 0, -16, 1, 1, 1000100000, 1, 2, 1000300000, 2, 'newest', 1, 'exact'),
	(2, 'async', 1, 32, 1, 2, 1001000000, 3, 3, 1001500000, 4, 'newest', 1, 'exact'),
	(3, 'async', 0, 48, 1, 1, 1100100000, 5, 2, 1100300000, 6, 'newest', 1, 'exact'),
	(4, 'async', 1, 64, 1, 2, 1101000000, 7, 3, 1131000000, 8, 'newest', 2, 'ambiguous'),
	(5, 'async', 1, 80, 1, 2, 1990000000, 9, 3, 2000000000, 10, 'newest', 1, 'loss');
INSERT INTO path VALUES
	(1, 1000100000, 1001508742, 700000, 708742, 500000, 700000, 2, 1, '', 4),
	(2, 1100100000, 1381000000, 30200000, 250700000, 30000000, 250000000, 2, 1, 'ambiguous', 8),
	(3, 1990000000, 2000000000, 10000000, NULL, 10000000, NULL, 1, 0, 'loss+missing hop+no return', 10);
INSERT INTO path_hop VALUES
	(1, 0, 1, 1001000000, 200000, 400000, 60000, 40000, 0), (1, 1, 2, 1001508742, 8742, 0, 0, 0, 0),
	(2, 0, 3, 1101000000, 100000, 500000, 60000, 40000, 0),
	(2, 1, 4, 1381000000, 50000, 248000000, 1900000, 50000, 0),
	(3, 0, 5, NULL, NULL, NULL, NULL, NULL, NULL);
INSERT INTO hop_count VALUES
	(0, 'submit_compute', 'process', 2, 2, 0, 0, 0, 0, 0, 0, 0),
	(1, 'submit_storage', 'write_result', 4, 3, 1, 1, 1, 0, 0, 0, 0);
INSERT INTO unmatched VALUES(1, 11, 'no submission');
INSERT INTO unconsumed VALUES(1, 64, 2, 1100900000, NULL, 'superseded');
INSERT INTO sleep(sleep_id, syscall, arg1, arg2) VALUES (1, 202, 4096, 128), (2, 202, 8192, 128);
INSERT INTO waker(waker_id, utid, in_interrupt, syscall, arg1, arg2, stack_id) VALUES
	(1, 1, 0, 1, 9, 9, 2), (2, 1, 0, 202, 8192, 129, 2);
INSERT INTO episode(offcpu_id, utid, ts, waking_ts, end_ts, state, preempted, blocked_ns, runq_ns,
	preempted_ns, unknown_ns, sleep_id, waker_id) VALUES
	(1, 2, 1000400000, 1000800000, 1000860000, 1, 0, 400000, 60000, 0, 0, 1, 1),
	(2, 3, 1131100000, 1379100000, 1381000000, 1, 0, 248000000, 1900000, 0, 0, 2, 2);
INSERT INTO loss VALUES(1995000000, 2010000000, 'probe_return', 1, 'ring full', 12);
