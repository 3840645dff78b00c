-- SPDX-License-Identifier: GPL-2.0-only
-- Plain function tracing: nested calls, a lock wait, calls without return; times only for one.
UPDATE probe SET is_target = 1;
INSERT INTO slice(slice_id, ts, dur, utid, probe_id, depth, parent_id, stack_id, ret, no_return,
	oncpu_ns, blocked_ns, runq_ns, preempted_ns, unknown_ns, touched_by_loss, arg1) VALUES
	(1, 1000100000, 20112000, 2, 1, 0, NULL, 2, 0, NULL, 83421, 20011000, 17579, 0, 0, 0, 1),
	(2, 1000200000, 8742, 2, 3, 1, 1, 1, 1193046, NULL, NULL, NULL, NULL, NULL, NULL, 0, 2),
	(3, 1200000000, NULL, 3, 3, 0, NULL, 1, NULL, 'kernel limit', NULL, NULL, NULL, NULL, NULL, 0, 3),
	(4, 2999000000, NULL, 3, 3, 1, 3, NULL, NULL, 'capture end', NULL, NULL, NULL, NULL, NULL, 1, 3);
INSERT INTO sleep(sleep_id, syscall, arg1, arg2) VALUES (1, 202, 4096, 128), (2, 202, 8192, 137);
INSERT INTO waker(waker_id, utid, in_interrupt, syscall, arg1, arg2, stack_id) VALUES
	(1, 1, 0, 1, 9, 9, 2), (2, 3, 0, 202, 8192, 138, 1);
INSERT INTO episode(offcpu_id, utid, ts, waking_ts, end_ts, state, preempted, blocked_ns, runq_ns,
	preempted_ns, unknown_ns, sleep_id, waker_id) VALUES
	(1, 2, 1000300000, 1000400000, 1000410000, 1, 0, 100000, 10000, 0, 0, 1, 1),
	(2, 2, 1000500000, 1020000000, 1020007579, 1, 0, 19500000, 7579, 0, 0, 2, 2);
