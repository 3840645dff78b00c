/* How many requests were waiting or being worked on, ten times over the capture: the queue's depth
   and the workers' load as time goes by. */
WITH RECURSIVE span AS (SELECT min(submit_ts) AS first, max(coalesce(end_ts, start_ts)) AS last FROM hop),
tick(n, ts) AS (
	SELECT 0, first + (last - first) / 20 FROM span
	UNION ALL
	SELECT n + 1, ts + (last - first) / 10 FROM tick, span WHERE n < 9)
SELECT c.source, c.target, n AS tenth, round((ts - first) / 1e6, 1) AS at_ms,
	(SELECT count(*) FROM hop h WHERE h.plan_hop = c.plan_hop AND ts >= submit_ts AND ts < start_ts) AS waiting,
	(SELECT count(*) FROM hop h WHERE h.plan_hop = c.plan_hop AND ts >= start_ts AND ts < end_ts) AS in_work
FROM hop_count c, tick, span
ORDER BY c.plan_hop, n
