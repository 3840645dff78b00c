-- SPDX-License-Identifier: GPL-2.0-only
-- Stacks and names. frame and symbol are filled once for each distinct address.

-- Distinct stacks.
CREATE TABLE stack(
	-- Hash made by the recorder; one by the analyzer where other code was at its addresses later.
	stack_id INTEGER PRIMARY KEY,
	-- Process whose addresses these are; NULL for a kernel stack.
	upid INTEGER,
	-- 'user' or 'kernel'.
	kind TEXT NOT NULL,
	-- Number of frames, without inlined ones.
	frame_count INTEGER NOT NULL,
	-- 1 when it was cut at the limit of frames or where saved memory ended.
	truncated INTEGER NOT NULL,
	-- 1 when only the address and the caller are kept, for want of frame pointers.
	caller_only INTEGER NOT NULL,
	-- 1 when the recorder's walk failed.
	failed INTEGER NOT NULL,
	-- 1 when the outermost frame is where the thread began, and none in between is missing.
	complete INTEGER NOT NULL,
	-- 1 when unwind information added frames that the recorder's walk did not find, or took
	-- false ones away.
	repaired INTEGER NOT NULL,
	-- 1 when the way on from the outermost frame is not known, or a frame in between is missing or may
	-- be: code without unwind information need not keep frame pointers.
	broken INTEGER NOT NULL,
	-- 'frame pointers', 'unwind tables' or 'both'; NULL for a kernel stack or a single address.
	unwound_by TEXT,
	-- Why it is not complete; NULL when it is, or when nothing is known. A signal handler's stack with
	-- --stack dwarf ends at what it interrupted when it ran on a stack of its own (sigaltstack): saved is
	-- memory from the stack pointer on, and the rest is elsewhere. 'reports of mappings were
	-- lost': what lay at its addresses may have been another file, or is not known.
	problem TEXT
);

-- Frames of a stack.
CREATE TABLE stack_frame(
	-- Stack.
	stack_id INTEGER NOT NULL,
	-- 0 is the innermost.
	depth INTEGER NOT NULL,
	-- Frame.
	frame_id INTEGER NOT NULL,
	PRIMARY KEY(stack_id, depth)
) WITHOUT ROWID;

-- Distinct code addresses.
CREATE TABLE frame(
	-- Number of the frame in this database.
	frame_id INTEGER PRIMARY KEY,
	-- Module it lies in, -1 the kernel; NULL when no mapping covers it.
	module_id INTEGER,
	-- Offset in the file, bytes: address - mapping.start + mapping.pgoff. Symbolization turns it
	-- into the ELF file's own addresses by its program headers. For the kernel and where no
	-- mapping covers the address, the address itself.
	rel_pc INTEGER NOT NULL,
	-- Address in the process that showed it first.
	address INTEGER NOT NULL,
	-- 1 for a return address: names are looked up at rel_pc - 1.
	is_return INTEGER NOT NULL
);

-- Names of a frame: inlined functions first, inline_depth 0 the innermost.
CREATE TABLE symbol(
	-- Frame.
	frame_id INTEGER NOT NULL,
	-- 0 is the innermost inlined function; the greatest is the function itself.
	inline_depth INTEGER NOT NULL,
	-- Demangled name; NULL unknown.
	function TEXT,
	-- Bytes from the start of the function to rel_pc.
	offset INTEGER,
	-- Source file; NULL unknown.
	file TEXT,
	-- Line in it.
	line INTEGER,
	PRIMARY KEY(frame_id, inline_depth)
) WITHOUT ROWID;

-- Stacks as text, innermost frame first: one row a frame, inlined functions included. A frame of the
-- tracepoint itself is left out: kernel stacks begin with one only while others trace the same event.
CREATE VIEW callstack AS
SELECT
	-- Stack.
	sf.stack_id AS stack_id,
	-- 0 is the innermost frame.
	sf.depth AS depth,
	-- 0 is the innermost inlined function of the frame.
	coalesce(y.inline_depth, 0) AS inline_depth,
	-- Function; NULL unknown.
	y.function AS function,
	-- Name of the module; NULL when no mapping covers the address.
	m.name AS module,
	-- Source file; NULL unknown.
	y.file AS file,
	-- Line in it.
	y.line AS line,
	-- Bytes from the start of the function.
	y.offset AS offset,
	-- Address in the process, hexadecimal.
	printf('0x%016x', f.address) AS address,
	-- Offset in the file, hexadecimal; see frame.
	printf('0x%x', f.rel_pc) AS rel_pc
FROM stack_frame sf
JOIN frame f USING(frame_id)
LEFT JOIN module m USING(module_id)
LEFT JOIN symbol y USING(frame_id)
WHERE sf.depth > 0 OR f.module_id IS NOT -1 OR substr(coalesce(y.function, ''), 1, 12) <> '__traceiter_';
