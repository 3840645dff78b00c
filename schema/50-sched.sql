-- SPDX-License-Identifier: GPL-2.0-only
-- Off-CPU episodes: one row from switch-out to switch-in of a traced thread; offcpu, thread_state,
-- wakeup and futex_wait are views over it.

-- Off-CPU episodes of traced threads; view offcpu has them with all that is known.
CREATE TABLE episode(
	-- Number of the episode, in the order of beginnings.
	offcpu_id INTEGER PRIMARY KEY,
	-- Thread.
	utid INTEGER NOT NULL,
	-- Switch-out.
	ts INTEGER NOT NULL,
	-- When it was woken; NULL when it stayed runnable or no waking was seen.
	waking_ts INTEGER,
	-- When it was put on a run queue; NULL unknown.
	wakeup_ts INTEGER,
	-- Switch-in; NULL when it was off CPU to the end.
	end_ts INTEGER,
	-- Task state bits at switch-out; 0 still runnable, 2048 newly created, -1 not seen: the episode
	-- begins at the waking, stands for on-CPU time that a loss makes unknown, or, 0 ns long,
	-- marks where the thread was first seen on a CPU.
	state INTEGER NOT NULL,
	-- 1 when it was preempted.
	preempted INTEGER NOT NULL,
	-- Part of end_ts - ts asleep: switch-out to waking. The four parts add up to end_ts - ts.
	blocked_ns INTEGER,
	-- Part from waking to switch-in.
	runq_ns INTEGER,
	-- Part in which it was runnable without having been asleep.
	preempted_ns INTEGER,
	-- Part that losses hide.
	unknown_ns INTEGER,
	-- Begin of the part that losses hide; NULL none.
	unknown_ts INTEGER,
	-- CPU it left.
	cpu INTEGER,
	-- CPU it came back on.
	end_cpu INTEGER,
	-- Where and in what it slept; NULL when it did not.
	sleep_id INTEGER,
	-- Who woke it, and from where; NULL unknown.
	waker_id INTEGER,
	-- First thread that had the CPU while this one waited in its run queue; NULL none, idle or unknown.
	ran_utid INTEGER,
	-- How long it had it, from the begin of the wait, ns.
	ran_ns INTEGER
);

-- Distinct places of sleep: many episodes share one.
CREATE TABLE sleep(
	-- Number of the place.
	sleep_id INTEGER PRIMARY KEY,
	-- System call; NULL none (page fault, exit).
	syscall INTEGER,
	-- First argument of the system call.
	arg1 INTEGER,
	-- Second argument of the system call.
	arg2 INTEGER,
	-- Third argument of the system call.
	arg3 INTEGER,
	-- Fourth argument of the system call.
	arg4 INTEGER,
	-- Fifth argument of the system call.
	arg5 INTEGER,
	-- Sixth argument of the system call.
	arg6 INTEGER,
	-- User stack at switch-out.
	user_stack_id INTEGER,
	-- Kernel stack at switch-out.
	kernel_stack_id INTEGER,
	-- File or socket (file.file_id).
	file_id INTEGER
);

-- Distinct wakers: who, in which system call, with which stack.
CREATE TABLE waker(
	-- Number of the waker.
	waker_id INTEGER PRIMARY KEY,
	-- Thread; NULL unknown or in an interrupt.
	utid INTEGER,
	-- 1 when the waking came from an interrupt (timer, device).
	in_interrupt INTEGER NOT NULL,
	-- System call it was in; NULL none.
	syscall INTEGER,
	-- First argument of the system call.
	arg1 INTEGER,
	-- Second argument of the system call.
	arg2 INTEGER,
	-- Fifth argument of the system call.
	arg5 INTEGER,
	-- User stack.
	stack_id INTEGER
);

-- Who had the CPU after the first (episode.ran_utid) while a traced thread waited in its run queue; noted of
-- at most 16 threads a CPU at a time.
CREATE TABLE ran_later(
	-- Episode in which the thread waited.
	offcpu_id INTEGER NOT NULL,
	-- When it got the CPU.
	ts INTEGER NOT NULL,
	-- How long it had the CPU, ns.
	dur INTEGER NOT NULL,
	-- Thread that ran.
	utid INTEGER
);

-- Files and sockets that threads blocked on.
CREATE TABLE file(
	-- Hash made by the recorder.
	file_id INTEGER PRIMARY KEY,
	-- Path, or the socket's ends.
	path TEXT,
	-- st_mode bits.
	mode INTEGER,
	-- Device as the kernel's dev_t.
	dev INTEGER,
	-- Inode.
	ino INTEGER
);

-- Names of the system calls that threads block in or wake others from, on the recorded architecture.
CREATE TABLE syscall_name(
	-- Number.
	syscall INTEGER PRIMARY KEY,
	-- Name.
	name TEXT NOT NULL
);

-- Off-CPU episodes of traced threads: when, why, and who ended them.
CREATE VIEW offcpu AS
SELECT
	-- Number of the episode.
	e.offcpu_id AS offcpu_id,
	-- Thread.
	e.utid AS utid,
	-- Switch-out.
	e.ts AS ts,
	-- When it was woken; NULL when it stayed runnable or no waking was seen.
	e.waking_ts AS waking_ts,
	-- When it was put on a run queue; NULL unknown.
	e.wakeup_ts AS wakeup_ts,
	-- Switch-in; NULL when it was off CPU to the end.
	e.end_ts AS end_ts,
	-- Task state bits at switch-out; see episode.
	e.state AS state,
	-- 1 when it was preempted.
	e.preempted AS preempted,
	-- Part of end_ts - ts asleep: switch-out to waking. The four parts add up to end_ts - ts.
	e.blocked_ns AS blocked_ns,
	-- Part from waking to switch-in.
	e.runq_ns AS runq_ns,
	-- Part in which it was runnable without having been asleep.
	e.preempted_ns AS preempted_ns,
	-- Part that losses hide.
	e.unknown_ns AS unknown_ns,
	-- Begin of the part that losses hide; NULL none.
	e.unknown_ts AS unknown_ts,
	-- CPU it left.
	e.cpu AS cpu,
	-- CPU it came back on.
	e.end_cpu AS end_cpu,
	-- System call it slept in; NULL none.
	s.syscall AS syscall,
	-- First argument of the system call.
	s.arg1 AS arg1,
	-- Second argument of the system call.
	s.arg2 AS arg2,
	-- Third argument of the system call.
	s.arg3 AS arg3,
	-- Fourth argument of the system call.
	s.arg4 AS arg4,
	-- Fifth argument of the system call.
	s.arg5 AS arg5,
	-- Sixth argument of the system call.
	s.arg6 AS arg6,
	-- User stack at switch-out; see callstack.
	s.user_stack_id AS user_stack_id,
	-- Kernel stack at switch-out; see callstack.
	s.kernel_stack_id AS kernel_stack_id,
	-- File or socket it blocked on (file.file_id).
	s.file_id AS file_id,
	-- Thread that woke it; NULL unknown or in an interrupt.
	w.utid AS waker_utid,
	-- 1 when it was woken from an interrupt (timer, device).
	w.in_interrupt AS waker_irq,
	-- System call the waker was in; NULL none.
	w.syscall AS waker_syscall,
	-- First argument of the waker's system call.
	w.arg1 AS waker_arg1,
	-- Second argument of the waker's system call.
	w.arg2 AS waker_arg2,
	-- Fifth argument of the waker's system call.
	w.arg5 AS waker_arg5,
	-- User stack of the waker; see callstack.
	w.stack_id AS waker_stack_id
FROM episode e
LEFT JOIN sleep s USING(sleep_id)
LEFT JOIN waker w USING(waker_id);

-- What threads were doing, without gaps from where they were first seen: one row an interval.
CREATE VIEW thread_state AS
SELECT
	-- Thread.
	o.utid AS utid,
	-- Begin of the interval.
	o.ts AS ts,
	-- Its length, ns.
	o.blocked_ns AS dur,
	-- 'running', 'blocked', 'runnable' (woken, waits for a CPU), 'preempted' (runnable all along),
	-- 'unknown' (records were lost).
	'blocked' AS state,
	-- CPU it ran on; for the others the CPU it left.
	o.cpu AS cpu,
	-- System call it is blocked in, and for 'runnable' the one it was blocked in; NULL none.
	coalesce(y.name, 'syscall ' || o.syscall) AS reason,
	-- Thread that ended the blocked interval; NULL unknown or an interrupt.
	o.waker_utid AS waker_utid,
	-- Episode the interval belongs to; NULL for 'running'.
	o.offcpu_id AS offcpu_id
FROM offcpu o LEFT JOIN syscall_name y USING(syscall)
WHERE o.blocked_ns > 0 AND o.unknown_ts IS NULL
UNION ALL
SELECT o.utid, o.ts, min(o.unknown_ts, o.ts + o.blocked_ns) - o.ts, 'blocked', o.cpu,
	coalesce(y.name, 'syscall ' || o.syscall), NULL, o.offcpu_id
FROM offcpu o LEFT JOIN syscall_name y USING(syscall)
WHERE o.blocked_ns > 0 AND o.unknown_ts > o.ts
UNION ALL
SELECT o.utid, o.unknown_ts + o.unknown_ns, o.ts + o.blocked_ns - o.unknown_ts, 'blocked', o.cpu,
	coalesce(y.name, 'syscall ' || o.syscall), o.waker_utid, o.offcpu_id
FROM offcpu o LEFT JOIN syscall_name y USING(syscall)
WHERE o.blocked_ns > 0 AND o.ts + o.blocked_ns > o.unknown_ts
UNION ALL
SELECT o.utid, o.unknown_ts, o.unknown_ns, 'unknown', o.cpu, NULL, NULL, o.offcpu_id
FROM episode o
WHERE o.unknown_ns > 0
UNION ALL
SELECT o.utid, o.end_ts - o.runq_ns, o.runq_ns, 'runnable', o.cpu,
	coalesce(y.name, 'syscall ' || o.syscall), o.waker_utid, o.offcpu_id
FROM offcpu o LEFT JOIN syscall_name y USING(syscall)
WHERE o.runq_ns > 0 AND (o.unknown_ts IS NULL OR o.unknown_ts + o.unknown_ns <= o.end_ts - o.runq_ns)
UNION ALL
SELECT o.utid, o.end_ts - o.unknown_ns - o.runq_ns,
	o.unknown_ts - (o.end_ts - o.unknown_ns - o.runq_ns), 'runnable', o.cpu,
	coalesce(y.name, 'syscall ' || o.syscall), o.waker_utid, o.offcpu_id
FROM offcpu o LEFT JOIN syscall_name y USING(syscall)
WHERE o.runq_ns > 0 AND o.unknown_ts + o.unknown_ns > o.end_ts - o.runq_ns
	AND o.unknown_ts > o.end_ts - o.unknown_ns - o.runq_ns
UNION ALL
SELECT o.utid, o.unknown_ts + o.unknown_ns, o.end_ts - o.unknown_ts - o.unknown_ns, 'runnable', o.cpu,
	coalesce(y.name, 'syscall ' || o.syscall), o.waker_utid, o.offcpu_id
FROM offcpu o LEFT JOIN syscall_name y USING(syscall)
WHERE o.runq_ns > 0 AND o.unknown_ts + o.unknown_ns > o.end_ts - o.runq_ns
	AND o.end_ts > o.unknown_ts + o.unknown_ns
UNION ALL
SELECT o.utid, o.ts, coalesce(o.unknown_ts, o.end_ts) - o.ts, 'preempted', o.cpu, NULL, NULL, o.offcpu_id
FROM episode o
WHERE o.preempted_ns > 0 AND coalesce(o.unknown_ts, o.end_ts) > o.ts
UNION ALL
SELECT o.utid, o.unknown_ts + o.unknown_ns, o.end_ts - o.unknown_ts - o.unknown_ns, 'preempted', o.cpu,
	NULL, NULL, o.offcpu_id
FROM episode o
WHERE o.preempted_ns > 0 AND o.end_ts > o.unknown_ts + o.unknown_ns
UNION ALL
SELECT o.utid, o.ts, (SELECT value FROM capture_info WHERE key = 'end_ts') - o.ts,
	CASE WHEN o.state = 0 OR o.preempted THEN 'preempted'
		WHEN o.waking_ts IS NOT NULL OR o.state = 2048 THEN 'runnable' ELSE 'blocked' END,
	o.cpu, coalesce(y.name, 'syscall ' || o.syscall), NULL, o.offcpu_id
FROM offcpu o LEFT JOIN syscall_name y USING(syscall)
WHERE o.end_ts IS NULL AND o.ts < (SELECT value FROM capture_info WHERE key = 'end_ts')
UNION ALL
SELECT r.utid, r.end_ts, r.next_ts - r.end_ts, 'running', r.end_cpu, NULL, NULL, NULL
FROM (SELECT o.utid, o.end_ts, o.end_cpu,
		lead(o.ts, 1, coalesce(t.end_ts, (SELECT value FROM capture_info WHERE key = 'end_ts')))
			OVER (PARTITION BY o.utid ORDER BY o.ts, o.offcpu_id) AS next_ts
	FROM episode o JOIN thread t USING(utid)) r
WHERE r.next_ts > r.end_ts;

-- Wakings of traced threads that ended a wait, with who did it.
CREATE VIEW wakeup AS
SELECT
	-- When it was woken.
	o.waking_ts AS ts,
	-- Thread that was woken.
	o.utid AS utid,
	-- Thread that woke it; NULL unknown or in an interrupt.
	o.waker_utid AS waker_utid,
	-- Thread id of the waker; NULL as above.
	coalesce(w.rec_tid, w.tid) AS waker_tid,
	-- Name of the waker.
	w.name AS waker_name,
	-- 1 when it was woken from an interrupt (timer, device).
	o.waker_irq AS in_interrupt,
	-- System call the waker was in; NULL none.
	coalesce(y.name, 'syscall ' || o.waker_syscall) AS waker_syscall,
	-- User stack of the waker; see callstack.
	o.waker_stack_id AS waker_stack_id,
	-- When it was put on a run queue; NULL unknown.
	o.wakeup_ts AS wakeup_ts,
	-- Waking to switch-in, ns; NULL when it did not come back.
	o.end_ts - o.waking_ts AS latency_ns,
	-- CPU it came back on.
	o.end_cpu AS cpu,
	-- Episode it ended.
	o.offcpu_id AS offcpu_id
FROM offcpu o
LEFT JOIN thread w ON w.utid = o.waker_utid
LEFT JOIN syscall_name y ON y.syscall = o.waker_syscall
WHERE o.waking_ts IS NOT NULL;

-- Who had the CPU while a traced thread waited in its run queue; idle time is left out, and so are waits that
-- 16 threads shared already.
CREATE VIEW ran_instead AS
SELECT
	-- Episode in which the thread waited.
	o.offcpu_id AS offcpu_id,
	-- When it got the CPU, or when the wait began.
	CASE WHEN o.state = 0 OR o.preempted THEN o.ts ELSE o.wakeup_ts END AS ts,
	-- How long it had the CPU, ns.
	o.ran_ns AS dur,
	-- Thread that ran.
	o.ran_utid AS utid
FROM episode o
WHERE o.ran_utid IS NOT NULL
UNION ALL
SELECT offcpu_id, ts, dur, utid FROM ran_later;

-- Waits in a futex, one row a sleep: mutexes, condition variables, semaphores, joins.
CREATE VIEW futex_wait AS
SELECT
	-- Thread that waited.
	e.utid AS utid,
	-- Switch-out.
	e.ts AS ts,
	-- Switch-out to switch-in, ns; NULL when it waited to the end.
	e.end_ts - e.ts AS dur,
	-- What it asked of the futex: 'wait', 'wait_bitset', 'lock_pi', 'wait_requeue_pi', 'lock_pi2'.
	CASE WHEN y.name = 'futex' THEN CASE s.arg2 & 127 WHEN 0 THEN 'wait' WHEN 6 THEN 'lock_pi'
		WHEN 9 THEN 'wait_bitset' WHEN 11 THEN 'wait_requeue_pi' WHEN 13 THEN 'lock_pi2'
		ELSE 'operation ' || (s.arg2 & 127) END
		WHEN y.name = 'futex_waitv' THEN 'waitv' ELSE 'wait' END AS operation,
	-- Address of the futex, hexadecimal.
	printf('0x%016x', s.arg1) AS address,
	-- Thread that woke it; NULL unknown, a timeout or an interrupt.
	k.utid AS waker_utid,
	-- Thread id of the waker, as the recorder's user saw it; NULL as above.
	coalesce(t.rec_tid, t.tid) AS waker_tid,
	-- Name of the waker.
	t.name AS waker_name,
	-- 'observed': the waker was inside a wake on that address; 'candidate': it is only known to
	-- have made the thread runnable (signal, requeue); NULL: no waker is known.
	CASE WHEN k.utid IS NULL THEN NULL
		WHEN w.name = 'futex_wake' AND k.arg1 = s.arg1 THEN 'observed'
		WHEN w.name = 'futex' AND (
			(k.arg2 & 127 IN (1, 7, 10) AND k.arg1 IN (s.arg1,
				CASE WHEN s.arg2 & 127 = 11 THEN s.arg5 END))
			OR (k.arg2 & 127 IN (3, 4, 5, 12) AND s.arg1 IN (k.arg1, k.arg5)))
		THEN 'observed' ELSE 'candidate' END AS waker_kind,
	-- User stack of the waker; see callstack.
	k.stack_id AS waker_stack_id,
	-- User stack of the thread that waited.
	s.user_stack_id AS user_stack_id,
	-- Part of dur asleep, ns.
	e.blocked_ns AS blocked_ns,
	-- Part of dur from waking to switch-in, ns.
	e.runq_ns AS runq_ns,
	-- Episode.
	e.offcpu_id AS offcpu_id,
	-- Address of the futex as it is in tables.
	s.arg1 AS address_int
FROM episode e
CROSS JOIN sleep s ON s.sleep_id = e.sleep_id
CROSS JOIN syscall_name y ON y.syscall = s.syscall
	AND y.name IN ('futex', 'futex_wait', 'futex_waitv')
LEFT JOIN waker k ON k.waker_id = e.waker_id
LEFT JOIN syscall_name w ON w.syscall = k.syscall
LEFT JOIN thread t ON t.utid = k.utid;
