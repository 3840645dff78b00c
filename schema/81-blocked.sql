-- SPDX-License-Identifier: GPL-2.0-only
-- Why threads were not running: what each blocked interval waited for, who ran while a thread waited
-- for a CPU, and the sums of both for each function and each hop.

-- What kernel stacks of blocked threads say.
CREATE VIEW kernel_wait AS
SELECT
	-- Kernel stack.
	k.stack_id AS stack_id,
	-- Innermost function that is not the scheduler's own.
	(SELECT c.function FROM callstack c WHERE c.stack_id = k.stack_id AND c.function IS NOT NULL
		AND c.function NOT LIKE '\_\_traceiter\_%' ESCAPE '\' AND c.function NOT LIKE '\_\_bpf\_%' ESCAPE '\'
		AND c.function NOT LIKE 'bpf\_trace\_%' ESCAPE '\' AND c.function NOT IN ('__schedule', 'schedule',
			'schedule_timeout', 'io_schedule', 'io_schedule_timeout', 'schedule_preempt_disabled',
			'schedule_hrtimeout_range_clock', 'schedule_hrtimeout_range', 'preempt_schedule_common',
			'preempt_schedule', '__cond_resched', 'schedule_timeout_uninterruptible',
			'wait_for_completion', 'wait_for_common', '__wait_for_common')
		ORDER BY c.depth, c.inline_depth LIMIT 1) AS function,
	-- 1 when it handles a page fault.
	coalesce(max(c.function IN ('exc_page_fault', 'asm_exc_page_fault', 'do_user_addr_fault', 'do_page_fault',
		'do_mem_abort', 'handle_mm_fault', 'faultin_page')), 0) AS page_fault,
	-- 1 when it waits for a disk or another block device.
	coalesce(max(c.function IN ('io_schedule', 'io_schedule_timeout', 'submit_bio_wait', 'blk_mq_get_tag',
		'balance_dirty_pages', 'folio_wait_writeback', 'jbd2_log_wait_commit')), 0) AS disk,
	-- 1 when it waits for a page that is swapped out.
	coalesce(max(c.function IN ('do_swap_page', 'swap_readpage', 'swap_read_folio')), 0) AS swap,
	-- 1 when it waits for a lock inside the kernel.
	coalesce(max(c.function LIKE 'rwsem\_down\_%' ESCAPE '\' OR c.function LIKE '\_\_mutex\_lock%' ESCAPE '\'
		OR c.function IN ('down_read', 'down_write', 'down_read_killable', 'down_write_killable',
			'mmap_read_lock', 'mmap_write_lock', 'percpu_rwsem_wait')), 0) AS kernel_lock
FROM stack k LEFT JOIN callstack c USING(stack_id)
WHERE k.kind = 'kernel' GROUP BY k.stack_id;

-- Why each blocked interval was: one row an episode in which a thread slept.
CREATE VIEW blocked_reason AS
WITH k AS MATERIALIZED (SELECT * FROM kernel_wait),
named AS (
	SELECT o.*, y.name, coalesce(y.name, 'syscall ' || o.syscall) AS call_name, f.path AS file_path, f.ino,
		f.mode & 61440 AS kind, k.function, coalesce(k.page_fault, 0) AS page_fault, k.disk, k.swap, k.kernel_lock
	FROM offcpu o
	LEFT JOIN syscall_name y USING(syscall)
	LEFT JOIN file f USING(file_id)
	LEFT JOIN k ON k.stack_id = o.kernel_stack_id
	WHERE o.state NOT IN (0, 2048) AND o.preempted = 0 AND (o.state > 0 OR o.blocked_ns > 0)),
classed AS (
	SELECT n.*, CASE
		WHEN n.page_fault THEN 'page fault'
		WHEN n.syscall IS NULL AND n.state < 0 THEN 'unknown'
		WHEN n.syscall IS NULL THEN CASE WHEN n.disk THEN 'disk' ELSE 'kernel' END
		WHEN n.name IN ('nanosleep', 'clock_nanosleep') THEN 'sleep'
		WHEN n.name IN ('futex', 'futex_wait', 'futex_waitv') THEN 'futex'
		WHEN n.name IN ('poll', 'ppoll', 'select', 'pselect6', 'epoll_wait', 'epoll_pwait', 'epoll_pwait2')
			THEN 'poll'
		WHEN n.name IN ('wait4', 'waitid', 'vfork') THEN 'child'
		WHEN n.name IN ('accept', 'accept4', 'connect', 'recvfrom', 'recvmsg', 'recvmmsg', 'sendto', 'sendmsg',
			'sendmmsg', 'shutdown') THEN 'socket'
		WHEN n.name IN ('io_uring_enter', 'io_getevents', 'io_submit') THEN 'asynchronous I/O'
		WHEN n.name IN ('pause', 'rt_sigsuspend', 'rt_sigtimedwait') THEN 'signal'
		WHEN n.name IN ('semop', 'semtimedop', 'msgsnd', 'msgrcv', 'mq_timedsend', 'mq_timedreceive') THEN 'message'
		WHEN n.name IN ('flock', 'fcntl') THEN 'file lock'
		WHEN n.name IN ('fsync', 'fdatasync', 'sync', 'syncfs', 'msync', 'sync_file_range', 'fallocate', 'truncate',
			'ftruncate', 'rename', 'renameat', 'renameat2', 'unlink', 'unlinkat', 'mkdir', 'mkdirat', 'getdents',
			'getdents64', 'statx', 'copy_file_range', 'creat') OR (n.name IN ('open', 'openat', 'openat2', 'close',
			'execve', 'execveat') AND n.disk) THEN 'disk'
		WHEN n.kind = 4096 THEN 'pipe'
		WHEN n.kind = 49152 THEN 'socket'
		WHEN n.kind IN (16384, 24576, 32768) THEN 'disk'
		WHEN n.kind = 8192 THEN 'device'
		WHEN n.name IN ('mmap', 'munmap', 'mprotect', 'brk', 'madvise') THEN 'memory'
		WHEN n.disk THEN 'disk'
		ELSE 'system call' END AS class,
		CASE WHEN n.file_path IS NOT NULL AND n.file_path <> '' THEN n.file_path
			WHEN n.kind = 4096 THEN 'pipe:[' || n.ino || ']'
			WHEN n.kind = 49152 THEN 'socket:[' || n.ino || ']'
			WHEN n.ino > 0 THEN 'inode ' || n.ino END AS object,
		CASE WHEN n.file_id IS NULL THEN NULL WHEN n.name IN ('poll', 'ppoll') THEN NULL
			WHEN n.name = 'sendfile' THEN n.arg2 ELSE n.arg1 END AS fd
	FROM named n)
SELECT
	-- Episode.
	c.offcpu_id AS offcpu_id,
	-- Thread.
	c.utid AS utid,
	-- Switch-out.
	c.ts AS ts,
	-- How long it was blocked, ns; NULL when it was to the end of the capture.
	c.blocked_ns AS dur,
	-- 'sleep', 'futex', 'poll' (also select and epoll), 'pipe', 'socket', 'disk', 'device', 'file lock',
	-- 'child', 'signal', 'message', 'asynchronous I/O', 'memory', 'page fault', 'system call' (another
	-- one), 'kernel' (none), 'unknown' (records were lost).
	c.class AS class,
	-- The same in words: the system call and what it was about.
	CASE c.class
		WHEN 'page fault' THEN CASE WHEN c.swap THEN 'page fault, from swap'
			WHEN c.kernel_lock THEN 'page fault, for a lock of the memory map'
			WHEN c.disk THEN 'page fault, from disk'
			ELSE 'page fault' || coalesce(', in ' || c.function, '') END
			|| CASE WHEN c.syscall IS NULL THEN '' ELSE ' in ' || c.call_name END
		WHEN 'futex' THEN 'futex ' || CASE WHEN c.name <> 'futex' THEN substr(c.name, 7)
			ELSE CASE c.arg2 & 127 WHEN 0 THEN 'wait' WHEN 6 THEN 'lock_pi' WHEN 9 THEN 'wait_bitset'
				WHEN 11 THEN 'wait_requeue_pi' WHEN 13 THEN 'lock_pi2'
				ELSE 'operation ' || (c.arg2 & 127) END END || printf(' 0x%016x', c.arg1)
		WHEN 'poll' THEN c.call_name || CASE WHEN c.name IN ('poll', 'ppoll')
			THEN coalesce(' ' || c.object, '') || CASE WHEN c.arg2 > 1 THEN ' and ' || (c.arg2 - 1) || ' more' ELSE '' END
			ELSE coalesce(' fd ' || c.fd, '') END
		WHEN 'kernel' THEN 'in the kernel' || coalesce(', ' || c.function, '')
		WHEN 'unknown' THEN 'unknown, records were lost'
		ELSE coalesce(c.call_name, c.function, 'in the kernel') || coalesce(' fd ' || c.fd, '')
			|| coalesce(' ' || c.object, '') END AS reason,
	-- System call; NULL none.
	CASE WHEN c.syscall IS NOT NULL THEN c.call_name END AS syscall,
	-- Address of the futex, hexadecimal; NULL when it waited for none.
	CASE WHEN c.class = 'futex' THEN printf('0x%016x', c.arg1) END AS address,
	-- File descriptor; NULL none.
	c.fd AS fd,
	-- Path of the file, or the socket's ends, at that moment; of poll the first of those polled.
	c.object AS path,
	-- Thread that woke it; NULL unknown or in an interrupt.
	c.waker_utid AS waker_utid,
	-- 1 when it was woken from an interrupt (timer, device).
	c.waker_irq AS waker_irq,
	-- Innermost kernel function that is not the scheduler's own.
	c.function AS kernel_function,
	-- User stack; see callstack.
	c.user_stack_id AS user_stack_id,
	-- Kernel stack; see callstack.
	c.kernel_stack_id AS kernel_stack_id
FROM classed c;

-- All time off the CPU with its reason: blocked intervals, and the waits for a CPU with who had it.
CREATE VIEW wait_part AS
SELECT
	-- Episode.
	b.offcpu_id AS offcpu_id,
	-- Thread that waited.
	b.utid AS utid,
	-- Switch-out.
	b.ts AS ts,
	-- As in blocked_reason, or 'run queue' (woken, waited for a CPU), 'preempted' (runnable all along).
	b.class AS class,
	-- As in blocked_reason, or who ran.
	b.reason AS reason,
	-- Thread that ended the wait; for waits for a CPU the one that ran. NULL unknown or none.
	b.waker_utid AS other_utid,
	-- Length of this part, ns.
	b.dur AS ns
FROM blocked_reason b WHERE b.dur > 0
UNION ALL
SELECT r.offcpu_id, o.utid, o.ts, CASE WHEN o.preempted_ns > 0 THEN 'preempted' ELSE 'run queue' END,
	coalesce(t.name, 'another thread') || ' ran instead', r.utid, r.dur
FROM ran_instead r JOIN episode o USING(offcpu_id) LEFT JOIN thread t ON t.utid = r.utid
WHERE o.runq_ns + o.preempted_ns > 0
UNION ALL
SELECT o.offcpu_id, o.utid, o.ts, CASE WHEN o.preempted_ns > 0 THEN 'preempted' ELSE 'run queue' END,
	'the CPU had to switch', NULL, o.runq_ns + o.preempted_ns - coalesce(sum(r.dur), 0)
FROM episode o LEFT JOIN ran_instead r USING(offcpu_id)
WHERE o.runq_ns + o.preempted_ns > 0 GROUP BY o.offcpu_id
HAVING o.runq_ns + o.preempted_ns <> coalesce(sum(r.dur), 0)
UNION ALL
SELECT o.offcpu_id, o.utid, o.ts, 'unknown', 'unknown, records were lost', NULL, o.unknown_ns
FROM episode o WHERE o.unknown_ns > 0;

-- Durations of the calls of each function that returned and have scheduler facts.
CREATE VIEW function_time AS
SELECT
	-- Probe of the function.
	s.probe_id AS probe_id,
	-- Sum of their durations, ns.
	sum(s.dur) AS ns
FROM slice s WHERE s.oncpu_ns IS NOT NULL GROUP BY s.probe_id;

-- What function_reason sums up: where the time of functions went by reason and other thread.
CREATE VIEW function_wait AS
WITH inside AS MATERIALIZED (
	SELECT s.probe_id, o.offcpu_id FROM slice s
	CROSS JOIN episode o ON o.utid = s.utid AND o.ts >= s.ts AND o.ts < s.ts + s.dur
	WHERE s.oncpu_ns IS NOT NULL)
SELECT
	-- Probe of the function.
	i.probe_id AS probe_id,
	-- 'on CPU', or as in wait_part.
	w.class AS class,
	-- The same in words.
	w.reason AS reason,
	-- Thread that ended the wait, or ran instead; NULL unknown or none.
	w.other_utid AS other_utid,
	-- How long in all, ns.
	sum(w.ns) AS ns,
	-- How often.
	count(DISTINCT w.offcpu_id) AS count
FROM inside i JOIN wait_part w USING(offcpu_id) GROUP BY 1, 2, 3, 4
UNION ALL
SELECT probe_id, 'on CPU', 'on CPU', NULL, sum(oncpu_ns), count(*) FROM slice WHERE oncpu_ns > 0 GROUP BY 1;

-- Where the time of functions went: sums of their calls by reason. The rows of a function add up to
-- the durations of its calls; time in a nested call of a probed function counts for both.
CREATE VIEW function_reason AS
WITH part AS MATERIALIZED (SELECT * FROM function_wait),
top AS MATERIALIZED (
	SELECT probe_id, class, reason, sum(ns) AS ns, sum(count) AS n, count(DISTINCT other_utid) AS others,
		max(coalesce(ns, 0) * (other_utid IS NOT NULL)) AS most
	FROM part GROUP BY 1, 2, 3)
SELECT
	-- Function.
	p.function AS function,
	-- Probe of the function.
	t.probe_id AS probe_id,
	-- 'on CPU', or as in wait_part.
	t.class AS class,
	-- The same in words.
	t.reason AS reason,
	-- How often.
	t.n AS count,
	-- How long in all, ns.
	t.ns AS ns,
	-- Part of the durations of all calls of the function, from 0 to 1.
	1.0 * t.ns / max(w.ns, 1) AS share,
	-- Thread that ended these waits, for the most time; NULL unknown.
	(SELECT x.other_utid FROM part x WHERE x.probe_id = t.probe_id AND x.class = t.class AND x.reason = t.reason
		AND x.ns = t.most AND x.other_utid IS NOT NULL ORDER BY x.other_utid LIMIT 1) AS other_utid,
	-- How many threads ended them.
	t.others AS others
FROM top t JOIN function_time w USING(probe_id) JOIN probe p USING(probe_id);

-- Work of each hop.
CREATE VIEW hop_time AS
SELECT
	-- Hop of the plan.
	q.plan_hop AS plan_hop,
	-- Work of its handoffs, ns.
	sum(q.work_ns) AS ns,
	-- How many handoffs that is.
	count(*) AS count
FROM queue_task q WHERE q.work_ns > 0 GROUP BY q.plan_hop;

-- What hop_reason sums up: where the work of hops went by reason and other thread, without time on a CPU.
CREATE VIEW hop_wait AS
WITH task AS MATERIALIZED (
	SELECT plan_hop, dst_utid, start_ts, end_ts FROM queue_task WHERE work_ns > 0),
inside AS MATERIALIZED (
	SELECT k.plan_hop, o.offcpu_id FROM task k
	CROSS JOIN episode o ON o.utid = k.dst_utid AND o.ts >= k.start_ts AND o.ts < k.end_ts)
SELECT
	-- Hop of the plan.
	i.plan_hop AS plan_hop,
	-- As in wait_part.
	w.class AS class,
	-- The same in words.
	w.reason AS reason,
	-- Thread that ended the wait, or ran instead; NULL unknown or none.
	w.other_utid AS other_utid,
	-- How long in all, ns.
	sum(w.ns) AS ns,
	-- How often.
	count(DISTINCT w.offcpu_id) AS count
FROM inside i JOIN wait_part w USING(offcpu_id) GROUP BY 1, 2, 3, 4;

-- Where the work of hops went: sums of the work of all handoffs by reason. The rows of a hop add up to
-- its work.
CREATE VIEW hop_reason AS
WITH part AS MATERIALIZED (SELECT * FROM hop_wait),
whole AS MATERIALIZED (SELECT * FROM hop_time),
top AS MATERIALIZED (
	SELECT plan_hop, class, reason, sum(ns) AS ns, sum(count) AS n, count(DISTINCT other_utid) AS others,
		max(coalesce(ns, 0) * (other_utid IS NOT NULL)) AS most
	FROM part GROUP BY 1, 2, 3
	UNION ALL
	SELECT plan_hop, 'on CPU', 'on CPU', w.ns - coalesce((SELECT sum(p.ns) FROM part p
		WHERE p.plan_hop = w.plan_hop), 0), w.count, 0, NULL FROM whole w
	WHERE EXISTS (SELECT 1 FROM episode))
SELECT
	-- Hop of the plan.
	t.plan_hop AS plan_hop,
	-- Function that hands off.
	h.source AS source,
	-- Function that takes it.
	h.target AS target,
	-- 'on CPU', or as in wait_part.
	t.class AS class,
	-- The same in words.
	t.reason AS reason,
	-- How often.
	t.n AS count,
	-- How long in all, ns.
	t.ns AS ns,
	-- Part of the work of all handoffs, from 0 to 1.
	1.0 * t.ns / max(w.ns, 1) AS share,
	-- Thread that ended these waits, for the most time; NULL unknown.
	(SELECT x.other_utid FROM part x WHERE x.plan_hop = t.plan_hop AND x.class = t.class AND x.reason = t.reason
		AND x.ns = t.most AND x.other_utid IS NOT NULL ORDER BY x.other_utid LIMIT 1) AS other_utid,
	-- How many threads ended them.
	t.others AS others
FROM top t JOIN whole w USING(plan_hop) JOIN hop_count h USING(plan_hop);

-- The waking that led to each call: the latest one of its thread since the call of the same function
-- before it.
CREATE VIEW call_waking AS
WITH c AS (
	SELECT s.slice_id, s.probe_id, s.utid, s.ts, coalesce(lag(s.ts + coalesce(s.dur, 0)) OVER (
		PARTITION BY s.probe_id, s.utid ORDER BY s.ts), 0) AS since FROM slice s),
w AS (
	SELECT c.*, (SELECT e.offcpu_id FROM episode e WHERE e.utid = c.utid AND e.ts >= c.since AND e.ts <= c.ts
		AND e.waking_ts IS NOT NULL ORDER BY e.ts DESC LIMIT 1) AS offcpu_id FROM c)
SELECT
	-- Call.
	w.slice_id AS slice_id,
	-- Probe of the function.
	w.probe_id AS probe_id,
	-- Thread that called.
	w.utid AS utid,
	-- Episode that the waking ended; NULL when the thread did not sleep in between.
	w.offcpu_id AS offcpu_id,
	-- When it was woken.
	e.waking_ts AS waking_ts,
	-- Waking to entry, ns.
	w.ts - e.waking_ts AS wake_to_entry_ns,
	-- 'thread' (of the same process), 'other process', 'interrupt' (timer, device), 'did not sleep'.
	CASE WHEN w.offcpu_id IS NULL THEN 'did not sleep'
		WHEN k.in_interrupt OR k.utid IS NULL THEN 'interrupt'
		WHEN a.upid IS b.upid THEN 'thread' ELSE 'other process' END AS woken_by,
	-- Thread that woke it; NULL none or unknown.
	k.utid AS waker_utid,
	-- User stack of the waker; see callstack.
	k.stack_id AS waker_stack_id
FROM w
LEFT JOIN episode e USING(offcpu_id)
LEFT JOIN waker k USING(waker_id)
LEFT JOIN thread a ON a.utid = w.utid
LEFT JOIN thread b ON b.utid = k.utid;

-- Functions of stacks in which a program's own code may have handed off work: without those of the C
-- and C++ libraries and of threads' beginnings, and without inlined ones, which cannot be probed.
CREATE VIEW stack_function AS
SELECT
	-- Stack.
	f.stack_id AS stack_id,
	-- Place in the stack, 0 the innermost of them.
	row_number() OVER (PARTITION BY f.stack_id ORDER BY f.depth) - 1 AS place,
	-- Place of its frame; see callstack.
	f.depth AS depth,
	-- Function.
	f.function AS function,
	-- Name of the module.
	f.module AS module
FROM (SELECT c.stack_id, c.depth, max(c.inline_depth), c.function, c.module FROM callstack c
	GROUP BY c.stack_id, c.depth) f
WHERE f.function IS NOT NULL
	AND f.module NOT GLOB 'libc.so*' AND f.module NOT GLOB 'libc-2*' AND f.module NOT GLOB 'libpthread*'
	AND f.module NOT GLOB 'ld-linux*' AND f.module NOT GLOB 'ld-musl*' AND f.module NOT GLOB 'libstdc++*'
	AND f.module NOT GLOB 'libc++*' AND f.module NOT GLOB 'libgcc_s*' AND f.module <> '[vdso]'
	AND f.function NOT GLOB 'pthread_*' AND f.function NOT GLOB '__pthread_*' AND f.function NOT GLOB 'std::*'
	AND f.function NOT GLOB 'futex_*' AND f.function NOT GLOB '__lll_*' AND f.function NOT GLOB 'sem_post*'
	AND f.function NOT GLOB '__libc_*' AND f.function NOT IN ('start_thread', 'clone', 'clone3', '__clone3',
		'__clone', 'syscall', '_start', '_dl_start_user', 'write', '__write', '__new_sem_post');
