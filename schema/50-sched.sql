-- SPDX-License-Identifier: GPL-2.0-only
-- Off-CPU episodes: one row from switch-out to switch-in of a traced thread; thread_state, wakeup
-- and futex_wait are views over it.

CREATE TABLE offcpu(
	offcpu_id INTEGER PRIMARY KEY,
	utid INTEGER NOT NULL,
	-- Switch-out.
	ts INTEGER NOT NULL,
	-- When it was woken; NULL when it stayed runnable or no waking was seen.
	waking_ts INTEGER,
	-- When it was put on a run queue; NULL unknown.
	wakeup_ts INTEGER,
	-- Switch-in; NULL when it was off CPU to the end.
	end_ts INTEGER,
	-- Task state bits at switch-out; 0 still runnable.
	state INTEGER NOT NULL,
	-- 1 when it was preempted.
	preempted INTEGER NOT NULL,
	-- Parts of end_ts - ts; they add up to it.
	blocked_ns INTEGER, runq_ns INTEGER, preempted_ns INTEGER, unknown_ns INTEGER,
	-- CPU it left.
	cpu INTEGER,
	-- CPU it came back on.
	end_cpu INTEGER,
	-- System call it slept in; NULL none.
	syscall INTEGER,
	arg1 INTEGER, arg2 INTEGER, arg3 INTEGER, arg4 INTEGER, arg5 INTEGER, arg6 INTEGER,
	-- Stacks at switch-out.
	user_stack_id INTEGER, kernel_stack_id INTEGER,
	-- File or socket it blocked on (file.file_id).
	file_id INTEGER,
	-- Thread that woke it; NULL unknown or in an interrupt.
	waker_utid INTEGER,
	-- 1 when it was woken from an interrupt (timer, device).
	waker_irq INTEGER,
	-- System call the waker was in.
	waker_syscall INTEGER,
	waker_arg1 INTEGER, waker_arg2 INTEGER, waker_arg3 INTEGER, waker_arg5 INTEGER,
	waker_stack_id INTEGER
);

-- Who had the CPU while a traced thread waited in its run queue.
CREATE TABLE ran_instead(
	offcpu_id INTEGER NOT NULL,
	-- When it got the CPU, or when the wait began.
	ts INTEGER NOT NULL,
	dur INTEGER NOT NULL,
	-- Thread that ran; NULL idle.
	utid INTEGER
);

-- Files and sockets that threads blocked on.
CREATE TABLE file(
	file_id INTEGER PRIMARY KEY,
	-- Path, or the socket's ends.
	path TEXT,
	-- st_mode bits.
	mode INTEGER,
	dev INTEGER,
	ino INTEGER
);
