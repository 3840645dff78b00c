-- SPDX-License-Identifier: GPL-2.0-only
-- What is known of the code that stacks show, and from where.

-- Modules with what served them: one row a module, also of those that no stack shows.
CREATE VIEW module_source AS
WITH named AS (
	SELECT frame_id, max(function IS NOT NULL) AS function, max(line IS NOT NULL) AS line, count(*) AS n
	FROM symbol GROUP BY frame_id),
seen AS (
	SELECT f.module_id, count(*) AS frames, coalesce(sum(n.function), 0) AS named, coalesce(sum(n.line), 0) AS lined,
		coalesce(sum(n.n > 1), 0) AS inlined
	FROM frame f LEFT JOIN named n USING(frame_id) WHERE f.module_id IS NOT NULL GROUP BY f.module_id),
held AS (
	SELECT module_id, sum(length(data)) AS bytes, group_concat(kind, ', ') AS kinds, max(kind = 'perf map') AS jit
	FROM (SELECT module_id, kind, data FROM module_blob ORDER BY module_id, kind) GROUP BY module_id)
SELECT
	-- Module.
	m.module_id AS module_id,
	-- Path as the target saw it, or [vdso], [anon], [kernel].
	m.path AS path,
	-- Last component of path.
	m.name AS name,
	-- 'file', 'kernel', 'vdso', 'vsyscall', 'jit' (code made at run time, with a perf map), 'anonymous' (such code
	-- without), 'memfd' (a file in memory only), 'huge pages' (of a file system for those), 'shared memory'.
	CASE WHEN m.module_id = -1 THEN 'kernel'
		WHEN m.path = '[vdso]' THEN 'vdso' WHEN m.path = '[vsyscall]' THEN 'vsyscall'
		WHEN h.jit THEN 'jit'
		WHEN m.path LIKE '/memfd:%' THEN 'memfd'
		WHEN m.path LIKE '/anon_hugepage%' OR m.path LIKE '/dev/hugepages/%' THEN 'huge pages'
		WHEN m.path LIKE '/dev/shm/%' OR m.path LIKE '/SYSV%' OR m.path LIKE '/dev/zero%' THEN 'shared memory'
		WHEN m.path LIKE '/%' THEN 'file' ELSE 'anonymous' END AS kind,
	-- GNU build id, hexadecimal; NULL when it has none.
	m.build_id AS build_id,
	-- Distinct code addresses of it that stacks show.
	coalesce(s.frames, 0) AS frames,
	-- Those that have a function's name,
	coalesce(s.named, 0) AS named,
	-- a source line,
	coalesce(s.lined, 0) AS lined,
	-- and inlined functions.
	coalesce(s.inlined, 0) AS inlined,
	-- Which file served names: 'capture', a path, or NULL.
	m.symbols_from AS names_from,
	-- Which file served lines and inlined functions.
	m.lines_from AS lines_from,
	-- Which file served unwind information; NULL also when none was wanted.
	u.unwind_from AS unwind_from,
	-- Payloads in the capture, by kind as in module_blob; NULL none.
	h.kinds AS embedded,
	-- Bytes of those.
	coalesce(h.bytes, 0) AS embedded_bytes,
	-- Processes that have its text in other memory than the file's pages, as for huge pages.
	(SELECT count(DISTINCT p.upid) FROM mapping p WHERE p.module_id = m.module_id AND p.moved) AS moved,
	-- What was tried for names and lines, and why it did not serve.
	m.tried AS tried,
	-- The same for unwind information.
	u.tried AS unwind_tried
FROM module m LEFT JOIN seen s USING(module_id) LEFT JOIN held h USING(module_id)
LEFT JOIN module_unwind u USING(module_id);
