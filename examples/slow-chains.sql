/* The slowest requests, with the part of each hop that dominates it. */
SELECT c.chain_id, round(c.total_ns / 1e6, 3) AS total_ms,
	group_concat(h.target || ' ' || h.dominant, ', ') AS hops,
	round(max(h.queue_ns) / 1e6, 3) AS longest_queue_ms, c.flags
FROM chain c
JOIN hop h USING(chain_id)
GROUP BY c.chain_id
ORDER BY c.total_ns DESC
LIMIT 5
