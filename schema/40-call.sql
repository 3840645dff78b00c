-- SPDX-License-Identifier: GPL-2.0-only
-- Calls of probed functions.

-- Probed functions.
CREATE TABLE probe(
	probe_id INTEGER PRIMARY KEY,
	-- Name of the function.
	function TEXT NOT NULL,
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
	is_target INTEGER NOT NULL
);

-- One row a call; view call shows it with names.
CREATE TABLE slice(
	slice_id INTEGER PRIMARY KEY,
	-- Entry.
	ts INTEGER NOT NULL,
	-- Entry to return; NULL when no return was seen (see no_return).
	dur INTEGER,
	utid INTEGER NOT NULL,
	probe_id INTEGER NOT NULL,
	-- Calls of probed functions it is nested in.
	depth INTEGER NOT NULL,
	-- The innermost of them.
	parent_id INTEGER,
	-- User stack at entry.
	stack_id INTEGER,
	-- Return register.
	ret INTEGER,
	-- Why there is no return: 'not probed', 'kernel limit', 'longjmp', 'exit', 'lost', 'capture end'.
	no_return TEXT,
	-- Parts of dur; they add up to it. NULL without return or without scheduler facts.
	oncpu_ns INTEGER, blocked_ns INTEGER, runq_ns INTEGER, preempted_ns INTEGER, unknown_ns INTEGER,
	-- 1 when a loss of records or an edge of the capture touches the call.
	touched_by_loss INTEGER NOT NULL,
	-- Argument words.
	arg1 INTEGER, arg2 INTEGER, arg3 INTEGER, arg4 INTEGER,
	arg5 INTEGER, arg6 INTEGER, arg7 INTEGER, arg8 INTEGER
);
