-- SPDX-License-Identifier: GPL-2.0-only
-- Calls of probed functions.

-- Probed functions.
CREATE TABLE probe(
	-- Number of the probe in the capture.
	probe_id INTEGER PRIMARY KEY,
	-- Name of the function.
	function TEXT NOT NULL,
	-- Module it lies in.
	module_id INTEGER,
	-- File offset of the function's entry.
	offset INTEGER,
	-- File offset of the breakpoint.
	placed INTEGER,
	-- 1 when its returns were recorded.
	has_return INTEGER NOT NULL,
	-- 1 when the instruction under the breakpoint is single-stepped (slow).
	single_stepped INTEGER NOT NULL,
	-- 1 when its stacks are the address and the caller only, for want of frame pointers.
	no_frame_pointers INTEGER NOT NULL,
	-- 1 for a function named as a target, 0 for one that only hops name.
	is_target INTEGER NOT NULL,
	-- Arguments it takes at most, by its debug information; NULL when that does not tell.
	parameters INTEGER
);

-- One row a call; view call shows it with names.
CREATE TABLE slice(
	-- Number of the call, in the order of entries.
	slice_id INTEGER PRIMARY KEY,
	-- Entry.
	ts INTEGER NOT NULL,
	-- Entry to return; NULL when no return was seen (see no_return).
	dur INTEGER,
	-- Thread that called.
	utid INTEGER NOT NULL,
	-- Probe of the function.
	probe_id INTEGER NOT NULL,
	-- Calls of probed functions it is nested in.
	depth INTEGER NOT NULL,
	-- The innermost of them.
	parent_id INTEGER,
	-- User stack at entry.
	stack_id INTEGER,
	-- Return register.
	ret INTEGER,
	-- Why there is no return: 'not probed', 'kernel limit' (the kernel keeps 64 pending returns a
	-- thread), 'longjmp' (control left it another way), 'exit', 'lost', 'capture end'.
	no_return TEXT,
	-- Part of dur on a CPU. The five parts add up to dur; NULL without return or without
	-- scheduler facts.
	oncpu_ns INTEGER,
	-- Part of dur asleep: switch-out to waking.
	blocked_ns INTEGER,
	-- Part of dur from waking to switch-in.
	runq_ns INTEGER,
	-- Part of dur off CPU though runnable all the time.
	preempted_ns INTEGER,
	-- Part of dur that losses hide.
	unknown_ns INTEGER,
	-- 1 when a loss of records or an edge of the capture touches the call.
	touched_by_loss INTEGER NOT NULL,
	-- First argument word. The first six are NULL where the function overwrites the register before
	-- it looks at it: it has no such argument, or ignores it.
	arg1 INTEGER,
	-- Second argument word.
	arg2 INTEGER,
	-- Third argument word.
	arg3 INTEGER,
	-- Fourth argument word.
	arg4 INTEGER,
	-- Fifth argument word.
	arg5 INTEGER,
	-- Sixth argument word.
	arg6 INTEGER,
	-- Seventh argument word.
	arg7 INTEGER,
	-- Eighth argument word.
	arg8 INTEGER
);

-- Calls of probed functions with names: what most queries start from.
CREATE VIEW call AS
SELECT
	-- Entry.
	s.ts AS ts,
	-- Entry to return, ns; NULL when no return was seen (see no_return).
	s.dur AS dur,
	-- Process id as the recorder's user saw it.
	coalesce(r.rec_pid, r.pid) AS pid,
	-- Thread id as the recorder's user saw it.
	coalesce(t.rec_tid, t.tid) AS tid,
	-- Name of the function.
	p.function AS function,
	-- Return register; NULL without a return.
	s.ret AS ret,
	-- Name of the thread.
	t.name AS thread_name,
	-- Name of the process: of its main thread.
	r.name AS process_name,
	-- Part of dur on a CPU; the five parts add up to dur.
	s.oncpu_ns AS oncpu_ns,
	-- Part of dur asleep: switch-out to waking.
	s.blocked_ns AS blocked_ns,
	-- Part of dur from waking to switch-in.
	s.runq_ns AS runq_ns,
	-- Part of dur off CPU though runnable all the time.
	s.preempted_ns AS preempted_ns,
	-- Part of dur that losses hide; 0 unless touched_by_loss.
	s.unknown_ns AS unknown_ns,
	-- Why there is no return; NULL when there is one.
	s.no_return AS no_return,
	-- 1 when a loss of records or an edge of the capture touches the call.
	s.touched_by_loss AS touched_by_loss,
	-- Calls of probed functions it is nested in.
	s.depth AS depth,
	-- The innermost of them (slice_id).
	s.parent_id AS parent_id,
	-- Number of the call.
	s.slice_id AS slice_id,
	-- User stack at entry; see callstack.
	s.stack_id AS stack_id,
	-- Thread incarnation.
	s.utid AS utid,
	-- Process incarnation.
	t.upid AS upid,
	-- Probe of the function.
	s.probe_id AS probe_id,
	-- 1 for a function named as a target, 0 for one that only hops name.
	p.is_target AS is_target,
	-- First argument word.
	s.arg1 AS arg1,
	-- Second argument word.
	s.arg2 AS arg2,
	-- Third argument word.
	s.arg3 AS arg3,
	-- Fourth argument word.
	s.arg4 AS arg4,
	-- Fifth argument word.
	s.arg5 AS arg5,
	-- Sixth argument word.
	s.arg6 AS arg6,
	-- Seventh argument word.
	s.arg7 AS arg7,
	-- Eighth argument word.
	s.arg8 AS arg8
FROM slice s
LEFT JOIN probe p USING(probe_id)
LEFT JOIN thread t USING(utid)
LEFT JOIN process r USING(upid);
