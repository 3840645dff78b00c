/* Who had the CPU while requests were ready to run and waited for one. */
SELECT h.target, coalesce(t.name, '(unknown)') AS ran, p.exe AS program, count(*) AS times,
	round(sum(r.dur) / 1e6, 3) AS ran_ms
FROM hop h
JOIN offcpu o ON o.utid = h.target_utid AND o.ts BETWEEN h.start_ts AND h.end_ts
JOIN ran_instead r USING(offcpu_id)
LEFT JOIN thread t ON t.utid = r.utid
LEFT JOIN process p USING(upid)
GROUP BY h.target, ran, program
ORDER BY ran_ms DESC
LIMIT 10
