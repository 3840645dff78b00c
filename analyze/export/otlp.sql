-- SPDX-License-Identifier: GPL-2.0-only
-- OpenTelemetry's traces as OTLP JSON. A chain is a trace: a root span, in it a span a hop from its submission to
-- the end of its work, linked to the hop before it, and to the trace that has the same handoff first. Calls of probed
-- functions are spans inside the hop they belong to, else traces of their own.

CREATE TEMP TABLE trace_base AS SELECT substr(coalesce((SELECT value FROM capture_info WHERE key = 'capture_id'), '')
	|| '0000000000000000', 1, 16) AS base;

-- Calls that are spans of their own: those that ended and are not a hop's target, each below the nearest such one,
-- or the hop whose target it is in.
CREATE TEMP TABLE inner_call AS SELECT s.slice_id, s.parent_id FROM chosen_call c JOIN slice s USING(slice_id);
CREATE INDEX temp.inner_call_by_parent ON inner_call(parent_id);
CREATE TEMP TABLE hop_target(slice_id INTEGER PRIMARY KEY, trace TEXT, span TEXT);
INSERT OR IGNORE INTO hop_target
SELECT e.dst_slice, base || printf('%016x', h.chain_id + 1), printf('%08x%08x', h.chain_id + 1, h.hop_index + 2)
FROM chosen_edge c JOIN path_hop h USING(chain_id, edge_id) JOIN edge e USING(edge_id), trace_base
WHERE e.dst_slice IS NOT NULL ORDER BY h.chain_id;
CREATE TEMP TABLE call_span(slice_id INTEGER PRIMARY KEY, trace TEXT, parent TEXT, level INTEGER);
INSERT OR IGNORE INTO call_span
WITH RECURSIVE below(slice_id, trace, parent, level) AS (
	SELECT i.slice_id, h.trace, h.span, 1 FROM hop_target h JOIN inner_call i ON i.parent_id = h.slice_id
	UNION ALL
	SELECT i.slice_id, base || printf('c%015x', i.slice_id + 1), NULL, 0 FROM inner_call i, trace_base
	WHERE i.slice_id NOT IN (SELECT slice_id FROM hop_target)
		AND (i.parent_id IS NULL OR i.parent_id NOT IN (SELECT slice_id FROM chosen_call))
	UNION ALL
	SELECT i.slice_id, b.trace, CASE WHEN s.dur IS NULL THEN b.parent ELSE printf('c%015x', s.slice_id + 1) END, b.level + 1
	FROM below b JOIN slice s USING(slice_id) JOIN inner_call i ON i.parent_id = b.slice_id
	WHERE i.slice_id NOT IN (SELECT slice_id FROM hop_target))
SELECT * FROM below ORDER BY slice_id;

-- Attributes are a list in OTLP, and one without a value is left out.
CREATE TEMP VIEW resource_json AS
SELECT p.upid, (SELECT json_group_array(json_object('key', key, 'value',
		json_object(CASE type WHEN 'integer' THEN 'intValue' ELSE 'stringValue' END, CAST(value AS TEXT)))) FROM json_each(json_object(
		'service.name', coalesce(p.name, 'unknown_service'),
		'process.pid', coalesce(p.rec_pid, p.pid),
		'process.executable.path', p.exe,
		'process.command_line', p.cmdline,
		'host.name', (SELECT value FROM capture_info WHERE key = 'host'),
		'host.arch', (SELECT CASE value WHEN 'x86_64' THEN 'amd64' WHEN 'aarch64' THEN 'arm64' ELSE value END
			FROM capture_info WHERE key = 'arch'),
		'os.type', 'linux',
		'os.version', (SELECT value FROM capture_info WHERE key = 'kernel'),
		'callweave.capture_id', (SELECT value FROM capture_info WHERE key = 'capture_id')))
	WHERE value IS NOT NULL) AS attributes
FROM process p;

CREATE TEMP TABLE span_key(upid INTEGER, chain_id INTEGER, hop_index INTEGER, slice_id INTEGER, rank INTEGER);
INSERT INTO span_key
SELECT t.upid, c.chain_id, -1, NULL, 0 FROM chosen_chain c JOIN path p USING(chain_id) JOIN slice s ON s.slice_id = p.last_slice JOIN thread t USING(utid)
UNION ALL
SELECT t.upid, c.chain_id, h.hop_index, NULL, 0 FROM chosen_chain c JOIN path_hop h USING(chain_id) JOIN edge e USING(edge_id)
	JOIN thread t ON t.utid = e.dst_utid
UNION ALL
SELECT t.upid, NULL, NULL, s.slice_id, 1 FROM call_span c JOIN slice s USING(slice_id) JOIN thread t USING(utid) WHERE s.dur IS NOT NULL;

CREATE TEMP VIEW chain_span AS
SELECT c.chain_id, -1 AS hop_index, json_object('traceId', base || printf('%016x', c.chain_id + 1),
	'spanId', printf('%08x%08x', c.chain_id + 1, 1), 'name', 'chain to ' || coalesce(c.function, '?'), 'kind', 1,
	'startTimeUnixNano', CAST(c.start_ts + wall_offset_ns AS TEXT), 'endTimeUnixNano', CAST(c.end_ts + wall_offset_ns AS TEXT),
	'attributes', json((SELECT json_group_array(json_object('key', key, 'value',
		json_object(CASE type WHEN 'integer' THEN 'intValue' ELSE 'stringValue' END, CAST(value AS TEXT)))) FROM json_each(json_object(
		'callweave.chain_id', c.chain_id, 'callweave.hops', c.hop_count,
		'callweave.queue_ns', c.queue_ns, 'callweave.work_ns', c.work_ns,
		'callweave.complete', c.complete, 'callweave.flags', nullif(c.flags, '')))
		WHERE value IS NOT NULL))) AS span
FROM chain c, trace_base, origin;
CREATE TEMP VIEW hop_span AS
SELECT h.chain_id, h.hop_index, json_object('traceId', base || printf('%016x', h.chain_id + 1),
	'spanId', printf('%08x%08x', h.chain_id + 1, h.hop_index + 2), 'parentSpanId', printf('%08x%08x', h.chain_id + 1, 1),
	'name', h.target, 'kind', 5, 'startTimeUnixNano', CAST(h.submit_ts + wall_offset_ns AS TEXT),
	'endTimeUnixNano', CAST(coalesce(h.end_ts, h.start_ts) + wall_offset_ns AS TEXT),
	'attributes', json((SELECT json_group_array(json_object('key', key, 'value',
		json_object(CASE type WHEN 'integer' THEN 'intValue' ELSE 'stringValue' END, CAST(value AS TEXT)))) FROM json_each(json_object(
		'thread.id', h.target_tid, 'thread.name', h.target_thread,
		'code.function.name', h.target, 'callweave.source', h.source,
		'callweave.source.thread.id', h.source_tid, 'callweave.source.thread.name', h.source_thread,
		'callweave.hop', h.hop_index, 'callweave.key', h.key,
		'callweave.evidence', h.evidence, 'callweave.dominant', h.dominant,
		'callweave.queue_ns', h.queue_ns, 'callweave.work_ns', h.work_ns,
		'callweave.oncpu_ns', h.oncpu_ns, 'callweave.blocked_ns', h.blocked_ns,
		'callweave.runq_ns', h.runq_ns, 'callweave.preempted_ns', h.preempted_ns,
		'callweave.unknown_ns', h.unknown_ns))
		WHERE value IS NOT NULL)),
	'events', json_array(json_object('timeUnixNano', CAST(h.start_ts + wall_offset_ns AS TEXT), 'name', 'taken')),
	'links', json((SELECT json_group_array(json(value)) FROM json_each(json_array(
		CASE WHEN h.hop_index > 0 THEN json_object('traceId', base || printf('%016x', h.chain_id + 1),
			'spanId', printf('%08x%08x', h.chain_id + 1, h.hop_index + 1)) END,
		(SELECT json_object('traceId', base || printf('%016x', f.chain_id + 1), 'spanId', printf('%08x%08x', f.chain_id + 1, f.hop_index + 2))
		 FROM chosen_edge x JOIN path_hop f USING(chain_id, edge_id) WHERE x.edge_id = h.edge_id AND x.chain_id <> h.chain_id)))
		WHERE value IS NOT NULL))) AS span
FROM hop h, trace_base, origin;
CREATE TEMP VIEW call_json AS
SELECT c.slice_id, json_patch('{}', json_object('traceId', k.trace, 'spanId', printf('c%015x', c.slice_id + 1), 'parentSpanId', k.parent,
	'name', c.function, 'kind', 1, 'startTimeUnixNano', CAST(c.ts + wall_offset_ns AS TEXT),
	'endTimeUnixNano', CAST(c.ts + c.dur + wall_offset_ns AS TEXT),
	'attributes', json((SELECT json_group_array(json_object('key', key, 'value',
		json_object(CASE type WHEN 'integer' THEN 'intValue' ELSE 'stringValue' END, CAST(value AS TEXT)))) FROM json_each(json_object(
		'thread.id', c.tid, 'thread.name', c.thread_name, 'code.function.name', c.function,
		'callweave.call_id', c.slice_id, 'callweave.oncpu_ns', c.oncpu_ns,
		'callweave.blocked_ns', c.blocked_ns, 'callweave.runq_ns', c.runq_ns,
		'callweave.preempted_ns', c.preempted_ns, 'callweave.unknown_ns', c.unknown_ns))
		WHERE value IS NOT NULL)))) AS span
FROM call_span k JOIN call c USING(slice_id), origin;

-- Spans of one process after the other, each list of them with its process's head.
SELECT '{"resourceSpans":[' AS text;
SELECT CASE WHEN head THEN CASE WHEN place > 1 THEN ']}]},' ELSE '' END || '{"resource":{"attributes":'
		|| (SELECT attributes FROM resource_json r WHERE r.upid = k.upid)
		|| '},"scopeSpans":[{"scope":{"name":"callweave"},"spans":[' END AS text,
	CASE WHEN k.rank THEN (SELECT span FROM call_json j WHERE j.slice_id = k.slice_id)
		WHEN k.hop_index < 0 THEN (SELECT span FROM chain_span j WHERE j.chain_id = k.chain_id)
		ELSE (SELECT span FROM hop_span j WHERE j.chain_id = k.chain_id AND j.hop_index = k.hop_index) END AS item
FROM (SELECT *, upid IS NOT lag(upid) OVER w AS head, row_number() OVER w AS place FROM span_key
	WINDOW w AS (ORDER BY upid, rank, chain_id, hop_index, slice_id)) k
ORDER BY k.place;
SELECT CASE WHEN EXISTS (SELECT 1 FROM span_key) THEN ']}]}' ELSE '' END || ']}' AS text;
