-- SPDX-License-Identifier: GPL-2.0-only
-- Firefox Profiler's processed profile, version 56: a thread a thread, with weighed stacks as samples and with calls,
-- hops and states as markers. Tables of a thread are lists, one a column; each refers to the others by place.

-- Strings of all threads.
CREATE TEMP TABLE text_of(id INTEGER PRIMARY KEY, text TEXT UNIQUE);
INSERT INTO text_of(text)
SELECT * FROM (SELECT name AS text FROM named_frame UNION SELECT file FROM named_frame UNION SELECT module FROM named_frame
UNION SELECT function FROM probe UNION SELECT source || ' → ' || target FROM hop_count UNION SELECT DISTINCT state FROM thread_state
UNION SELECT 'chain') WHERE text IS NOT NULL;

-- Threads, and what each shows. Stacks of a thread are numbered frame by frame, as are their frames.
CREATE TEMP TABLE shown_thread(n INTEGER PRIMARY KEY, utid INTEGER UNIQUE);
INSERT INTO shown_thread(utid) SELECT utid FROM thread
WHERE (traced AND utid IN (SELECT utid FROM stretch)) OR utid IN (SELECT utid FROM sample) ORDER BY upid, utid;
CREATE TEMP TABLE node(utid INTEGER, place INTEGER, pos INTEGER, n INTEGER, frame INTEGER, prefix INTEGER, PRIMARY KEY(utid, n)) WITHOUT ROWID;
INSERT INTO node
SELECT utid, place, pos, row_number() OVER w - 1, dense_rank() OVER (PARTITION BY utid ORDER BY frame) - 1,
	CASE WHEN pos > 0 THEN row_number() OVER w - 2 END
FROM (SELECT DISTINCT utid, place FROM sample) u JOIN place_frame f USING(place)
WINDOW w AS (PARTITION BY utid ORDER BY place, pos);
CREATE INDEX temp.node_by_place ON node(utid, place, pos);
CREATE TEMP TABLE frame_of(utid INTEGER, n INTEGER, frame INTEGER, lib INTEGER, PRIMARY KEY(utid, n)) WITHOUT ROWID;
INSERT INTO frame_of(utid, n, frame)
SELECT utid, row_number() OVER (PARTITION BY utid ORDER BY frame) - 1, frame
FROM (SELECT DISTINCT u.utid, f.frame FROM (SELECT DISTINCT utid, place FROM sample) u JOIN place_frame f USING(place));

-- Markers: name, begin and end, and their data.
CREATE TEMP VIEW marker AS
SELECT s.utid, s.ts, s.ts + coalesce(s.dur, 0) AS end, p.function AS name, 1 AS category,
	json_object('type', 'call', 'call_id', s.slice_id, 'blocked', s.blocked_ns / 1e6, 'oncpu', s.oncpu_ns / 1e6, 'runq', s.runq_ns / 1e6) AS data
FROM chosen_call c JOIN slice s USING(slice_id) JOIN probe p USING(probe_id)
UNION ALL
SELECT h.target_utid, h.submit_ts, coalesce(h.end_ts, h.start_ts), h.source || ' → ' || h.target, 2,
	json_object('type', 'hop', 'chain', h.chain_id, 'hop', h.hop_index, 'queue', h.queue_ns / 1e6, 'work', h.work_ns / 1e6,
		'dominant', h.dominant, 'key', h.key, 'source', h.source_thread || ' ' || h.source_tid)
FROM chosen_chain c JOIN hop h USING(chain_id)
UNION ALL
SELECT s.utid, s.ts, s.ts + s.dur, s.state, 3, json_object('type', 'state', 'reason', s.reason, 'cpu', s.cpu)
FROM thread_state s WHERE (SELECT x.hi FROM stretch x WHERE x.utid = s.utid AND x.lo < s.ts + s.dur ORDER BY x.lo DESC LIMIT 1) > s.ts;
CREATE TEMP TABLE shown_marker(utid INTEGER, ts INTEGER, end INTEGER, name TEXT, category INTEGER, data TEXT);
INSERT INTO shown_marker SELECT * FROM marker ORDER BY utid, ts, category;
CREATE INDEX temp.shown_marker_by_thread ON shown_marker(utid);

SELECT '{"meta":' || json_object('interval', 1, 'startTime', (t0 + wall_offset_ns) / 1e6, 'processType', 0, 'product', 'callweave',
	'stackwalk', 1, 'debug', json('false'), 'version', 29, 'preprocessedProfileVersion', 56, 'symbolicated', json('true'),
	'importedFrom', 'callweave', 'arguments', (SELECT value FROM capture_info WHERE key = 'cmdline'),
	'categories', json('[{"name":"Other","color":"grey","subcategories":["Other"]},{"name":"Call","color":"blue","subcategories":["Other"]},{"name":"Hop","color":"purple","subcategories":["Other"]},{"name":"State","color":"green","subcategories":["Other"]}]'),
	'markerSchema', json_array(
		json_object('name', 'call', 'display', json('["marker-chart","marker-table"]'), 'chartLabel', '{marker.name}', 'fields', json('[
			{"key":"call_id","label":"Call","format":"integer"},{"key":"oncpu","label":"On CPU","format":"milliseconds"},
			{"key":"blocked","label":"Blocked","format":"milliseconds"},{"key":"runq","label":"Run queue","format":"milliseconds"}]')),
		json_object('name', 'hop', 'display', json('["marker-chart","marker-table"]'), 'chartLabel', '{marker.name}', 'fields', json('[
			{"key":"chain","label":"Chain","format":"integer"},{"key":"hop","label":"Hop","format":"integer"},
			{"key":"queue","label":"Queue","format":"milliseconds"},{"key":"work","label":"Work","format":"milliseconds"},
			{"key":"dominant","label":"Dominant","format":"string"},{"key":"key","label":"Key","format":"string"},
			{"key":"source","label":"Submitted by","format":"string"}]')),
		json_object('name', 'state', 'display', json('["marker-chart","marker-table"]'), 'chartLabel', '{marker.name}', 'fields', json('[
			{"key":"reason","label":"Reason","format":"string"},{"key":"cpu","label":"CPU","format":"integer"}]'))))
	|| ',"libs":[],"pages":[],"shared":{"stringArray":[' AS text
FROM origin;
SELECT json_quote(text) AS item FROM text_of ORDER BY id;
SELECT ']},"threads":[' AS text;

-- Each thread in steps: what is between two lists, and the list's elements.
CREATE TEMP TABLE step(n INTEGER PRIMARY KEY, before TEXT, list TEXT);
INSERT INTO step(before, list) VALUES
	('"samples":{"stack":[', 'sample stack'), ('],"time":[', 'sample time'), ('],"weight":[', 'sample weight'),
	('],"weightType":"tracing-ms","length":#sample},"markers":{"name":[', 'marker name'), ('],"startTime":[', 'marker start'),
	('],"endTime":[', 'marker end'), ('],"phase":[', 'marker phase'), ('],"category":[', 'marker category'), ('],"data":[', 'marker data'),
	('],"length":#marker},"stackTable":{"frame":[', 'node frame'), ('],"prefix":[', 'node prefix'),
	('],"length":#node},"frameTable":{"address":[', 'frame -1'), ('],"inlineDepth":[', 'frame 0'), ('],"category":[', 'frame 0'),
	('],"subcategory":[', 'frame 0'), ('],"func":[', 'frame n'), ('],"nativeSymbol":[', 'frame null'), ('],"innerWindowID":[', 'frame null'),
	('],"line":[', 'frame line'), ('],"column":[', 'frame null'),
	('],"length":#frame},"funcTable":{"name":[', 'frame name'), ('],"isJS":[', 'frame false'), ('],"relevantForJS":[', 'frame false'),
	('],"resource":[', 'frame -1'), ('],"fileName":[', 'frame file'), ('],"lineNumber":[', 'frame null'), ('],"columnNumber":[', 'frame null'),
	('],"length":#frame},"resourceTable":{"lib":[],"name":[],"host":[],"type":[],"length":0},"nativeSymbols":{"libIndex":[],"address":[],"name":[],"functionSize":[],"length":0}}', NULL);
CREATE TEMP TABLE size_of(utid INTEGER PRIMARY KEY, samples INTEGER, markers INTEGER, nodes INTEGER, frames INTEGER);
INSERT INTO size_of SELECT utid, (SELECT count(*) FROM sample s WHERE s.utid = t.utid), (SELECT count(*) FROM shown_marker m WHERE m.utid = t.utid),
	(SELECT count(*) FROM node k WHERE k.utid = t.utid), (SELECT count(*) FROM frame_of f WHERE f.utid = t.utid) FROM shown_thread t;
CREATE TEMP VIEW head AS
SELECT t.n, CASE WHEN t.n > 1 THEN ',' ELSE '' END || '{"processType":"default","processStartupTime":0,"processShutdownTime":null,"registerTime":'
	|| coalesce(max(a.start_ts - t0, 0) / 1e6, 0) || ',"unregisterTime":' || coalesce((a.end_ts - t0) / 1e6, 'null') || ',"pausedRanges":[],"name":'
	|| json_quote(coalesce(a.name, '?')) || ',"isMainThread":' || CASE WHEN a.tid = p.pid THEN 'true' ELSE 'false' END || ',"processName":'
	|| json_quote(coalesce(p.name, '?')) || ',"pid":' || json_quote(CAST(coalesce(p.rec_pid, p.pid) AS TEXT)) || ',"tid":'
	|| coalesce(a.rec_tid, a.tid) || ',"showMarkersInTimeline":true,' AS text
FROM shown_thread t JOIN thread a USING(utid) LEFT JOIN process p USING(upid), origin;
CREATE TEMP VIEW element AS
SELECT t.n, 'sample stack' AS list, s.rowid AS k, (SELECT max(d.n) FROM node d WHERE d.utid = s.utid AND d.place = s.place) AS v
FROM shown_thread t JOIN sample s USING(utid)
UNION ALL SELECT t.n, 'sample time', s.rowid, printf('%.6f', (s.ts - t0) / 1e6) FROM shown_thread t JOIN sample s USING(utid), origin
UNION ALL SELECT t.n, 'sample weight', s.rowid, printf('%.6f', s.ns / 1e6) FROM shown_thread t JOIN sample s USING(utid)
UNION ALL SELECT t.n, 'marker name', m.rowid, (SELECT x.id - 1 FROM text_of x WHERE x.text = m.name) FROM shown_thread t JOIN shown_marker m USING(utid)
UNION ALL SELECT t.n, 'marker start', m.rowid, printf('%.6f', (m.ts - t0) / 1e6) FROM shown_thread t JOIN shown_marker m USING(utid), origin
UNION ALL SELECT t.n, 'marker end', m.rowid, printf('%.6f', (m.end - t0) / 1e6) FROM shown_thread t JOIN shown_marker m USING(utid), origin
UNION ALL SELECT t.n, 'marker phase', m.rowid, 1 FROM shown_thread t JOIN shown_marker m USING(utid)
UNION ALL SELECT t.n, 'marker category', m.rowid, m.category FROM shown_thread t JOIN shown_marker m USING(utid)
UNION ALL SELECT t.n, 'marker data', m.rowid, m.data FROM shown_thread t JOIN shown_marker m USING(utid)
UNION ALL SELECT t.n, 'node frame', d.n, d.frame FROM shown_thread t JOIN node d USING(utid)
UNION ALL SELECT t.n, 'node prefix', d.n, coalesce(d.prefix, 'null') FROM shown_thread t JOIN node d USING(utid)
UNION ALL SELECT t.n, 'frame ' || c.column1, f.n, CASE c.column1 WHEN 'n' THEN f.n WHEN 'line' THEN coalesce(x.line, 'null')
	WHEN 'name' THEN (SELECT y.id - 1 FROM text_of y WHERE y.text = x.name)
	WHEN 'file' THEN coalesce((SELECT y.id - 1 FROM text_of y WHERE y.text = x.file), 'null') ELSE c.column1 END
FROM shown_thread t JOIN frame_of f USING(utid) JOIN named_frame x USING(frame)
CROSS JOIN (VALUES('-1'), ('0'), ('n'), ('null'), ('line'), ('name'), ('false'), ('file')) c;
SELECT CASE WHEN e.k IS NULL THEN CASE WHEN p.n = 1 THEN (SELECT h.text FROM head h WHERE h.n = t.n) ELSE '' END
		|| replace(replace(replace(replace(p.before, '#sample', z.samples), '#marker', z.markers), '#node', z.nodes), '#frame', z.frames) END AS text,
	e.v AS item
FROM shown_thread t JOIN size_of z USING(utid) CROSS JOIN step p
JOIN (SELECT n, list, k, v FROM element UNION ALL SELECT n, NULL, NULL, NULL FROM shown_thread) e ON e.n = t.n AND (e.k IS NULL OR e.list = p.list)
ORDER BY t.n, p.n, e.k;
SELECT ']}' AS text;
