/* How the work of each hop is spread over the threads that take it: calls, share of the whole work,
   and how long one took on average. */
SELECT target, target_tid AS tid, target_thread AS thread, count(*) AS taken,
	round(100.0 * sum(work_ns) / sum(sum(work_ns)) OVER (PARTITION BY plan_hop), 1) AS share_percent,
	round(avg(work_ns) / 1e6, 3) AS work_avg_ms, round(max(work_ns) / 1e6, 3) AS work_max_ms
FROM hop
GROUP BY plan_hop, target_utid
ORDER BY plan_hop, taken DESC
