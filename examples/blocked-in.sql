/* What the targets' threads slept in while they worked on a request: system call and the innermost
   function of the program that asked for it. */
SELECT h.target, s.reason AS system_call,
	(SELECT c.function FROM callstack c WHERE c.stack_id = o.user_stack_id AND c.module <> 'libc.so.6'
	 ORDER BY c.depth, c.inline_depth LIMIT 1) AS called_from,
	count(*) AS sleeps, round(sum(s.dur) / 1e6, 3) AS blocked_ms
FROM hop h
JOIN offcpu o ON o.utid = h.target_utid AND o.ts BETWEEN h.start_ts AND h.end_ts
JOIN thread_state s ON s.offcpu_id = o.offcpu_id AND s.state = 'blocked'
GROUP BY 1, 2, 3
ORDER BY blocked_ms DESC
