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

-- Each thread in steps: what is between two lists, of which table the list is, and which value of its rows.
CREATE TEMP TABLE step(n INTEGER PRIMARY KEY, before TEXT, rows TEXT, value TEXT);
INSERT INTO step(before, rows, value) VALUES
	('"samples":{"stack":[', 'sample', 'stack'), ('],"time":[', 'sample', 'time'), ('],"weight":[', 'sample', 'weight'),
	('],"weightType":"tracing-ms","length":#sample},"markers":{"name":[', 'marker', 'name'), ('],"startTime":[', 'marker', 'start'),
	('],"endTime":[', 'marker', 'end'), ('],"phase":[', 'marker', '1'), ('],"category":[', 'marker', 'category'), ('],"data":[', 'marker', 'data'),
	('],"length":#marker},"stackTable":{"frame":[', 'node', 'frame'), ('],"prefix":[', 'node', 'prefix'),
	('],"length":#node},"frameTable":{"address":[', 'frame', '-1'), ('],"inlineDepth":[', 'frame', '0'), ('],"category":[', 'frame', '0'),
	('],"subcategory":[', 'frame', '0'), ('],"func":[', 'frame', 'n'), ('],"nativeSymbol":[', 'frame', 'null'), ('],"innerWindowID":[', 'frame', 'null'),
	('],"line":[', 'frame', 'line'), ('],"column":[', 'frame', 'null'),
	('],"length":#frame},"funcTable":{"name":[', 'frame', 'name'), ('],"isJS":[', 'frame', 'false'), ('],"relevantForJS":[', 'frame', 'false'),
	('],"resource":[', 'frame', '-1'), ('],"fileName":[', 'frame', 'file'), ('],"lineNumber":[', 'frame', 'null'), ('],"columnNumber":[', 'frame', 'null'),
	('],"length":#frame},"resourceTable":{"lib":[],"name":[],"host":[],"type":[],"length":0},"nativeSymbols":{"libIndex":[],"address":[],"name":[],"functionSize":[],"length":0}}', NULL, NULL);
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
-- Rows come in the order of the loops: nothing is sorted or kept, however many there are.
-- Of the four tables one is searched at a time: the key of the others is NULL.
SELECT CASE WHEN b.head THEN CASE WHEN p.n = 1 THEN (SELECT h.text FROM head h WHERE h.n = t.n) ELSE '' END
		|| replace(replace(replace(replace(p.before, '#sample', z.samples), '#marker', z.markers), '#node', z.nodes), '#frame', z.frames) END AS text,
	CASE WHEN s.rowid IS NOT NULL THEN CASE p.value
			WHEN 'stack' THEN (SELECT y.n FROM node y WHERE y.utid = s.utid AND y.place = s.place ORDER BY y.pos DESC LIMIT 1)
			WHEN 'time' THEN printf('%.6f', (s.ts - t0) / 1e6) ELSE printf('%.6f', s.ns / 1e6) END
		WHEN m.rowid IS NOT NULL THEN CASE p.value WHEN 'name' THEN (SELECT y.id - 1 FROM text_of y WHERE y.text = m.name)
			WHEN 'start' THEN printf('%.6f', (m.ts - t0) / 1e6) WHEN 'end' THEN printf('%.6f', (m.end - t0) / 1e6)
			WHEN 'category' THEN m.category WHEN 'data' THEN m.data ELSE p.value END
		WHEN d.n IS NOT NULL THEN CASE p.value WHEN 'frame' THEN d.frame ELSE coalesce(d.prefix, 'null') END
		WHEN f.n IS NOT NULL THEN CASE p.value WHEN 'n' THEN f.n WHEN 'line' THEN coalesce(x.line, 'null')
			WHEN 'name' THEN (SELECT y.id - 1 FROM text_of y WHERE y.text = x.name)
			WHEN 'file' THEN coalesce((SELECT y.id - 1 FROM text_of y WHERE y.text = x.file), 'null') ELSE p.value END
	END AS item
FROM origin CROSS JOIN shown_thread t CROSS JOIN size_of z USING(utid) CROSS JOIN step p CROSS JOIN (SELECT 1 AS head UNION ALL SELECT 0) b
LEFT JOIN sample s ON s.utid = CASE WHEN NOT b.head AND p.rows = 'sample' THEN t.utid END
LEFT JOIN shown_marker m ON m.utid = CASE WHEN NOT b.head AND p.rows = 'marker' THEN t.utid END
LEFT JOIN node d ON d.utid = CASE WHEN NOT b.head AND p.rows = 'node' THEN t.utid END
LEFT JOIN frame_of f ON f.utid = CASE WHEN NOT b.head AND p.rows = 'frame' THEN t.utid END
LEFT JOIN named_frame x ON x.frame = f.frame
ORDER BY t.n, p.n, b.head DESC, s.ts, s.rowid, m.rowid, d.n, f.n;
SELECT ']}' AS text;
