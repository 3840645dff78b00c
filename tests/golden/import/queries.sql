-- SPDX-License-Identifier: GPL-2.0-only
-- What a capture of a three-thread pipeline is known to say.
.headers on
.mode list
SELECT count(*) AS chains, sum(complete) AS complete, count(DISTINCT flags) AS kinds, sum(total_ns) AS total_ns,
	sum(queue_ns) AS queue_ns, sum(work_ns) AS work_ns, sum(hop_count) AS hops, max(max_queue_ns) AS max_queue_ns
FROM chain;
SELECT hop_index, source, target, target_arg, count(*) AS n, sum(queue_ns) AS queue_ns, sum(work_ns) AS work_ns,
	sum(oncpu_ns) AS oncpu_ns, sum(blocked_ns) AS blocked_ns, sum(runq_ns) AS runq_ns,
	sum(preempted_ns) AS preempted_ns, sum(unknown_ns) AS unknown_ns, group_concat(DISTINCT evidence) AS evidence
FROM hop GROUP BY hop_index, source, target, target_arg;
SELECT * FROM hop_count;
SELECT h.chain_id, h.hop_index, h.key, h.submit_ts - c.start_ts AS submitted, h.queue_ns, h.work_ns, h.dominant,
	h.source_thread, h.target_thread
FROM hop h JOIN chain c USING(chain_id) WHERE h.chain_id <= 3 ORDER BY 1, 2;
SELECT function, count(*) AS calls, count(dur) AS returns, sum(dur) AS dur, sum(oncpu_ns) AS oncpu_ns,
	sum(blocked_ns) AS blocked_ns, group_concat(DISTINCT no_return) AS no_return, sum(touched_by_loss) AS touched
FROM call GROUP BY function;
SELECT t.tid - (SELECT min(tid) FROM thread WHERE traced) AS thread, s.state, count(*) AS n, sum(s.dur) AS ns
FROM thread_state s JOIN thread t USING(utid) WHERE t.traced GROUP BY 1, 2;
SELECT operation, waker_kind, count(*) AS n, sum(dur) AS ns FROM futex_wait GROUP BY 1, 2;
SELECT in_interrupt, waker_syscall, count(*) AS n FROM wakeup GROUP BY 1, 2;
SELECT kind, count(*) AS stacks, sum(frame_count) AS frames FROM stack GROUP BY kind;
SELECT count(*) AS frames, count(module_id) AS in_modules FROM frame;
SELECT * FROM anomaly;
-- What must hold whatever the capture says: every sum is exact, no interval is missing.
SELECT count(*) AS inexact FROM slice WHERE oncpu_ns + blocked_ns + runq_ns + preempted_ns + unknown_ns <> dur;
SELECT count(*) AS inexact FROM hop WHERE oncpu_ns + blocked_ns + runq_ns + preempted_ns + unknown_ns <> work_ns;
SELECT count(*) AS inexact FROM offcpu WHERE blocked_ns + runq_ns + preempted_ns + unknown_ns <> end_ts - ts;
SELECT count(*) AS gaps FROM (SELECT ts + dur AS ends, dur, lead(ts) OVER (PARTITION BY utid ORDER BY ts) AS next
	FROM thread_state) WHERE dur <= 0 OR next <> ends;
