/* Who woke whom: a queue shows itself as the producers that wake its consumers. */
SELECT coalesce(w.waker_name, CASE WHEN w.in_interrupt THEN '(interrupt)' ELSE '(unknown)' END) AS waker,
	(SELECT c.function FROM callstack c WHERE c.stack_id = w.waker_stack_id AND c.module <> 'libc.so.6'
	 ORDER BY c.depth, c.inline_depth LIMIT 1) AS waker_function,
	t.name AS woken, count(*) AS wakeups, round(avg(w.latency_ns) / 1e3, 1) AS to_cpu_us
FROM wakeup w
JOIN thread t USING(utid)
WHERE t.traced
GROUP BY 1, 2, 3
ORDER BY wakeups DESC
LIMIT 10
