-- SPDX-License-Identifier: GPL-2.0-only
-- Who: processes, threads, and what is mapped into them.

-- Process incarnations: a process id used twice is two rows.
CREATE TABLE process(
	-- Number of the incarnation in this database.
	upid INTEGER PRIMARY KEY,
	-- Kernel-global process id.
	pid INTEGER NOT NULL,
	-- Process id in the process's own PID namespace.
	ns_pid INTEGER,
	-- Process id in the recorder's PID namespace, which its user sees; NULL when not known.
	rec_pid INTEGER,
	-- CLOCK_BOOTTIME of its start, ns.
	start_boottime INTEGER,
	-- Parent incarnation.
	parent_upid INTEGER,
	-- First time it is known to exist.
	start_ts INTEGER,
	-- When its last thread exited; NULL when it outlived the capture.
	end_ts INTEGER,
	-- Path of the program; the last one it executed.
	exe TEXT,
	-- Its command line.
	cmdline TEXT,
	-- Name of its main thread.
	name TEXT,
	-- Inode of its PID namespace.
	pid_ns INTEGER,
	-- Inode of its mount namespace.
	mnt_ns INTEGER,
	-- 1 when the recorder traced it, 0 when it is only named (who ran instead, wakers).
	traced INTEGER NOT NULL
);

-- Thread incarnations.
CREATE TABLE thread(
	-- Number of the incarnation in this database.
	utid INTEGER PRIMARY KEY,
	-- Process it belongs to.
	upid INTEGER NOT NULL,
	-- Kernel-global thread id.
	tid INTEGER NOT NULL,
	-- Thread id in its own PID namespace.
	ns_tid INTEGER,
	-- Thread id in the recorder's PID namespace; NULL when not known.
	rec_tid INTEGER,
	-- CLOCK_BOOTTIME of its start, ns.
	start_boottime INTEGER,
	-- Its name (comm); the last one seen.
	name TEXT,
	-- First time it is known to exist.
	start_ts INTEGER,
	-- When it exited; NULL when it outlived the capture.
	end_ts INTEGER,
	-- 1 when it belongs to a traced process.
	traced INTEGER NOT NULL
);

-- Files and other objects that are mapped executable.
CREATE TABLE module(
	-- Number in the capture; -1 is the kernel.
	module_id INTEGER PRIMARY KEY,
	-- Path as the first process that mapped it saw it, or [vdso], [kernel].
	path TEXT NOT NULL,
	-- Last component of path.
	name TEXT NOT NULL,
	-- GNU build id, hexadecimal; NULL when it has none.
	build_id TEXT,
	-- Device of the file as MAJOR:MINOR.
	dev TEXT,
	-- Inode of the file.
	ino INTEGER,
	-- Bytes of the file; NULL unknown.
	file_size INTEGER,
	-- Which file served the names: 'capture', a path, or NULL; set by symbolization.
	symbols_from TEXT,
	-- Which file served source lines and inlined functions, in the same way.
	lines_from TEXT,
	-- What was tried and why it did not serve; set by symbolization.
	tried TEXT
);

-- Where unwind information of modules came from: one row a module that gave some or was searched for it.
CREATE TABLE module_unwind(
	-- Module.
	module_id INTEGER PRIMARY KEY,
	-- Which file served: 'capture', a path, or NULL.
	unwind_from TEXT,
	-- What was tried and why it did not serve.
	tried TEXT
);

-- Executable mappings.
CREATE TABLE mapping(
	-- Process.
	upid INTEGER NOT NULL,
	-- When it came to be.
	ts INTEGER NOT NULL,
	-- First address.
	start INTEGER NOT NULL,
	-- First address after it.
	end INTEGER NOT NULL,
	-- Offset in the file, bytes.
	pgoff INTEGER NOT NULL,
	-- What is mapped.
	module_id INTEGER NOT NULL,
	-- 1 when it is other memory that the process moved the file's text to, as for huge pages.
	moved INTEGER NOT NULL DEFAULT 0
);

-- Payloads that the recorder embedded or command archive added: symbol tables, unwind sections, files.
CREATE TABLE module_blob(
	-- Module they belong to.
	module_id INTEGER NOT NULL,
	-- 'symbols' (an ELF file with symbol and unwind sections only), 'elf' (the whole file), 'debug' (the
	-- separate debug file), 'debug symbols' (symbol tables of that), 'alternate' (what dwz moved out of it), 'vdso',
	-- 'perf map'.
	kind TEXT NOT NULL,
	-- The bytes.
	data BLOB NOT NULL,
	PRIMARY KEY(module_id, kind)
);

-- Kernel symbols of the addresses that kernel stacks show.
CREATE TABLE kernel_symbol(
	-- First address.
	start INTEGER PRIMARY KEY,
	-- First address after it.
	end INTEGER NOT NULL,
	-- Name as in /proc/kallsyms.
	name TEXT NOT NULL
);
