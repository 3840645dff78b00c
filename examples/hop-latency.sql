/* Where requests spend their time, hop by hop: counts, averages and percentiles in ms. */
WITH ranked AS (
	SELECT plan_hop, source, target, queue_ns, work_ns, oncpu_ns, blocked_ns, runq_ns,
		percent_rank() OVER (PARTITION BY plan_hop ORDER BY queue_ns) AS queue_rank,
		percent_rank() OVER (PARTITION BY plan_hop ORDER BY work_ns) AS work_rank
	FROM hop)
SELECT source, target, count(*) AS hops,
	round(avg(queue_ns) / 1e6, 3) AS queue_avg,
	round(min(queue_ns) FILTER (WHERE queue_rank >= 0.95) / 1e6, 3) AS queue_p95,
	round(avg(work_ns) / 1e6, 3) AS work_avg,
	round(min(work_ns) FILTER (WHERE work_rank >= 0.95) / 1e6, 3) AS work_p95,
	round(avg(oncpu_ns) / 1e6, 3) AS oncpu_avg,
	round(avg(blocked_ns) / 1e6, 3) AS blocked_avg,
	round(avg(runq_ns) / 1e6, 3) AS runq_avg
FROM ranked
GROUP BY plan_hop
ORDER BY plan_hop
