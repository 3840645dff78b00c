/* Which threads got no CPU when they wanted one: ready to run, but in the run queue or preempted, as
   a share of the time in which they were ready, and the longest such wait. */
SELECT t.name AS thread, coalesce(t.rec_tid, t.tid) AS tid,
	round(100.0 * (x.runq_ns + x.preempted_ns) / max(x.running_ns + x.runq_ns + x.preempted_ns, 1), 1) AS starved_percent,
	round(x.running_ns / 1e6, 3) AS running_ms, round(x.runq_ns / 1e6, 3) AS runq_ms,
	round(x.preempted_ns / 1e6, 3) AS preempted_ms,
	(SELECT round(max(max(e.runq_ns, e.preempted_ns)) / 1e6, 3) FROM episode e WHERE e.utid = x.utid) AS longest_ms
FROM thread_time x
JOIN thread t USING(utid)
WHERE t.traced
ORDER BY x.runq_ns + x.preempted_ns DESC
LIMIT 10
