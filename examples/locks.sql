/* The locks and condition variables that threads waited for longest: address, who waited, who woke
   them, and the function of the program that waited. */
SELECT f.address, t.name AS waiter, coalesce(f.waker_name, '(none)') AS waker,
	(SELECT c.function FROM callstack c WHERE c.stack_id = f.user_stack_id
	 ORDER BY c.module LIKE 'libc.so%', c.depth, c.inline_depth LIMIT 1) AS waited_in,
	count(*) AS waits, round(sum(f.dur) / 1e6, 3) AS waited_ms, round(max(f.dur) / 1e6, 3) AS longest_ms
FROM futex_wait f
JOIN thread t USING(utid)
GROUP BY f.address_int, t.name, f.waker_name, waited_in
ORDER BY waited_ms DESC
LIMIT 10
