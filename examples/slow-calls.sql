/* The slowest calls, also of functions in no hop: the parts of their time, what each was asleep for
   the longest, and who woke it from that. */
WITH slow AS (
	SELECT * FROM call WHERE dur IS NOT NULL ORDER BY dur DESC LIMIT 10),
why AS (
	SELECT s.slice_id, b.reason, coalesce(w.name || ' ' || coalesce(w.rec_tid, w.tid),
		CASE WHEN b.waker_irq THEN '(interrupt)' END, '-') AS woken_by, sum(b.dur) AS ns, count(*) AS times,
		row_number() OVER (PARTITION BY s.slice_id ORDER BY sum(b.dur) DESC) AS place
	FROM slow s
	JOIN blocked_reason b ON b.utid = s.utid AND b.ts BETWEEN s.ts AND s.ts + s.dur
	LEFT JOIN thread w ON w.utid = b.waker_utid
	GROUP BY s.slice_id, b.reason, woken_by)
SELECT s.function, s.tid, round(s.dur / 1e6, 3) AS ms, round(s.oncpu_ns / 1e6, 3) AS oncpu,
	round(s.blocked_ns / 1e6, 3) AS blocked, round(s.runq_ns / 1e6, 3) AS runq,
	round(s.preempted_ns / 1e6, 3) AS preempted, y.reason AS asleep_for, y.times,
	round(y.ns / 1e6, 3) AS asleep_ms, y.woken_by
FROM slow s
LEFT JOIN why y ON y.slice_id = s.slice_id AND y.place = 1
ORDER BY s.dur DESC
