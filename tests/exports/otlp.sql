-- SPDX-License-Identifier: GPL-2.0-only
-- OTLP spans against the views; see chrome.sql.
CREATE TEMP TABLE span AS
SELECT r.value -> 'resource' AS resource, s.value ->> 'traceId' AS trace, s.value ->> 'spanId' AS span, s.value ->> 'parentSpanId' AS parent,
	s.value ->> 'name' AS name, s.value ->> 'kind' AS kind, CAST(s.value ->> 'startTimeUnixNano' AS INTEGER) AS begin,
	CAST(s.value ->> 'endTimeUnixNano' AS INTEGER) AS end, s.value -> 'events' AS events, s.value -> 'links' AS links,
	(SELECT json_group_object(a.value ->> 'key', CASE WHEN a.value -> 'value' ->> 'intValue' IS NOT NULL
		THEN CAST(a.value -> 'value' ->> 'intValue' AS INTEGER) ELSE a.value -> 'value' ->> 'stringValue' END)
	 FROM json_each(s.value, '$.attributes') a) AS attr
FROM arg, json_each(arg.file, '$.resourceSpans') r, json_each(r.value, '$.scopeSpans') c, json_each(c.value, '$.spans') s;
CREATE UNIQUE INDEX temp.span_by_id ON span(trace, span);
SELECT '# spans', count(*) FROM span;
SELECT 'ids', trace, span FROM span WHERE length(trace) <> 32 OR length(span) <> 16 OR trace || span GLOB '*[^0-9a-f]*'
	OR trim(trace, '0') = '' OR trim(span, '0') = '' OR substr(trace, 1, 16) <> (SELECT substr(value, 1, 16) FROM capture_info WHERE key = 'capture_id');
SELECT 'no such parent', s.* FROM span s WHERE s.parent IS NOT NULL AND NOT EXISTS (SELECT 1 FROM span p WHERE p.trace = s.trace AND p.span = s.parent);
SELECT 'outlasts its parent', s.* FROM span s JOIN span p ON p.trace = s.trace AND p.span = s.parent WHERE s.begin < p.begin OR s.end > p.end AND s.kind <> 1;
SELECT 'roots of a trace', trace, count(*) FROM span WHERE parent IS NULL GROUP BY trace HAVING count(*) <> 1;
SELECT 'link to nothing', s.trace, l.value FROM span s, json_each(s.links) l
WHERE NOT EXISTS (SELECT 1 FROM span p WHERE p.trace = l.value ->> 'traceId' AND p.span = l.value ->> 'spanId');
SELECT 'no service', count(*) FROM span WHERE NOT EXISTS (SELECT 1 FROM json_each(resource, '$.attributes') a
	WHERE a.value ->> 'key' = 'service.name') HAVING count(*) > 0;

SELECT '# chains', count(*) FROM chain;
SELECT 'chain', c.chain_id, s.* FROM chain c LEFT JOIN span s ON s.parent IS NULL AND s.attr ->> '$."callweave.chain_id"' = c.chain_id, report_clock k
WHERE s.begin IS NOT c.start_ts + k.wall_offset_ns OR s.end IS NOT c.end_ts + k.wall_offset_ns
	OR s.attr ->> '$."callweave.queue_ns"' IS NOT c.queue_ns OR s.attr ->> '$."callweave.work_ns"' IS NOT c.work_ns;
SELECT '# hops', count(*) FROM hop;
CREATE TEMP TABLE got AS SELECT s.*, r.attr ->> '$."callweave.chain_id"' AS chain_id, s.attr ->> '$."callweave.hop"' AS hop_index
FROM span s JOIN span r ON r.trace = s.trace AND r.span = s.parent WHERE s.kind = 5;
CREATE INDEX temp.got_by_hop ON got(chain_id, hop_index);
SELECT 'hop', h.chain_id, h.hop_index, s.* FROM hop h LEFT JOIN got s USING(chain_id, hop_index), report_clock k
WHERE s.name IS NOT h.target OR s.begin IS NOT h.submit_ts + k.wall_offset_ns OR s.end IS NOT coalesce(h.end_ts, h.start_ts) + k.wall_offset_ns
	OR CAST(s.events ->> '$[0].timeUnixNano' AS INTEGER) IS NOT h.start_ts + k.wall_offset_ns
	OR s.attr ->> '$."callweave.queue_ns"' IS NOT h.queue_ns OR s.attr ->> '$."callweave.work_ns"' IS NOT h.work_ns
	OR s.attr ->> '$."callweave.oncpu_ns"' IS NOT h.oncpu_ns OR s.attr ->> '$."callweave.blocked_ns"' IS NOT h.blocked_ns
	OR s.attr ->> '$."callweave.runq_ns"' IS NOT h.runq_ns OR s.attr ->> '$."callweave.preempted_ns"' IS NOT h.preempted_ns
	OR s.attr ->> '$."thread.id"' IS NOT h.target_tid OR s.attr ->> '$."thread.name"' IS NOT h.target_thread
	OR s.attr ->> '$."callweave.key"' IS NOT h.key OR json_array_length(s.links) < (h.hop_index > 0);
SELECT 'number of hops', count(*) FROM span WHERE kind = 5 HAVING count(*) <> (SELECT count(*) FROM hop);
SELECT '# calls', count(*) FROM call WHERE dur IS NOT NULL AND slice_id NOT IN (SELECT target_slice FROM hop);
SELECT 'call', c.slice_id, s.* FROM call c LEFT JOIN span s ON s.attr ->> '$."callweave.call_id"' = c.slice_id, report_clock k
WHERE c.dur IS NOT NULL AND c.slice_id NOT IN (SELECT target_slice FROM hop)
	AND (s.name IS NOT c.function OR s.begin IS NOT c.ts + k.wall_offset_ns OR s.end - s.begin IS NOT c.dur
		OR (c.parent_id IS NOT NULL AND s.parent IS NULL));
SELECT 'number of calls', count(*) FROM span WHERE attr ->> '$."callweave.call_id"' IS NOT NULL
HAVING count(*) <> (SELECT count(*) FROM call WHERE dur IS NOT NULL AND slice_id NOT IN (SELECT target_slice FROM hop));
