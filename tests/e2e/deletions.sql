-- SPDX-License-Identifier: GPL-2.0-only
-- The database of a thinned capture (main) against the lossless one (attached as full): prints
-- WHAT|COUNT; what is WRONG must be 0.

-- A chain as text, under the name of its last target's thread and entry.
CREATE TEMP TABLE thin_chain AS
SELECT (SELECT target_tid || '@' || start_ts FROM main.hop h WHERE h.chain_id = p.chain_id ORDER BY hop_index DESC LIMIT 1) AS name,
	p.flags, p.complete, p.start_ts || ' ' || p.end_ts || ' ' || (
		SELECT group_concat(source || source_tid || target || target_tid || key || ' ' || submit_ts || ' ' || start_ts
			|| ' ' || end_ts || ' ' || oncpu_ns || ' ' || blocked_ns || ' ' || runq_ns || ' ' || preempted_ns)
		FROM (SELECT * FROM main.hop h WHERE h.chain_id = p.chain_id ORDER BY hop_index)) AS content
FROM main.path p;
CREATE TEMP TABLE full_chain AS
SELECT (SELECT target_tid || '@' || start_ts FROM full.hop h WHERE h.chain_id = p.chain_id ORDER BY hop_index DESC LIMIT 1) AS name,
	p.flags, p.complete, p.start_ts || ' ' || p.end_ts || ' ' || (
		SELECT group_concat(source || source_tid || target || target_tid || key || ' ' || submit_ts || ' ' || start_ts
			|| ' ' || end_ts || ' ' || oncpu_ns || ' ' || blocked_ns || ' ' || runq_ns || ' ' || preempted_ns)
		FROM (SELECT * FROM full.hop h WHERE h.chain_id = p.chain_id ORDER BY hop_index)) AS content
FROM full.path p;
CREATE INDEX temp.full_chain_name ON full_chain(name);

CREATE TEMP TABLE thin_call AS
SELECT tid || '@' || s.ts AS name, s.touched_by_loss, printf('%d %s %d %s %d %d %d %d %d', s.dur, s.no_return, s.ret,
	p.function, s.oncpu_ns, s.blocked_ns, s.runq_ns, s.preempted_ns, s.unknown_ns) AS content
FROM main.slice s JOIN main.thread USING(utid) JOIN main.probe p USING(probe_id);
CREATE TEMP TABLE full_call AS
SELECT tid || '@' || s.ts AS name, printf('%d %s %d %s %d %d %d %d %d', s.dur, s.no_return, s.ret,
	p.function, s.oncpu_ns, s.blocked_ns, s.runq_ns, s.preempted_ns, s.unknown_ns) AS content
FROM full.slice s JOIN full.thread USING(utid) JOIN full.probe p USING(probe_id);
CREATE INDEX temp.full_call_name ON full_call(name);

SELECT 'WRONG: chains without a flag that the lossless answer does not have, or has otherwise',
	(SELECT count(*) FROM thin_chain t WHERE t.flags = '' AND NOT EXISTS (
		SELECT 1 FROM full_chain f WHERE f.name = t.name AND f.content = t.content AND f.complete = t.complete));
SELECT 'WRONG: calls without a flag that the lossless answer has otherwise',
	(SELECT count(*) FROM thin_call t WHERE NOT t.touched_by_loss AND NOT EXISTS (
		SELECT 1 FROM full_call f WHERE f.name = t.name AND f.content = t.content));
-- The flag does not wait for a difference: whatever a loss may have touched has it.
SELECT 'WRONG: chains without a flag from whose time an event was deleted',
	(SELECT count(*) FROM main.path p WHERE p.flags = '' AND EXISTS (SELECT 1 FROM main.loss l
		WHERE l.ts BETWEEN p.start_ts AND p.end_ts AND l.reason = 'deleted'
			AND (l.kind GLOB 'probe_*' OR l.kind GLOB 'sched_*')));
SELECT 'WRONG: handoffs called exact over whose time an entry was deleted',
	(SELECT count(*) FROM main.edge e WHERE e.evidence NOT GLOB '*loss*' AND EXISTS (SELECT 1 FROM main.loss l
		WHERE l.ts BETWEEN e.src_ts AND e.dst_ts AND l.reason = 'deleted' AND l.kind = 'probe_entry'));
SELECT 'WRONG: nothing was counted as lost', (SELECT count(*) = 0 FROM main.loss);
SELECT 'unflagged chains and calls', (SELECT count(*) FROM main.path WHERE flags = '')
	+ (SELECT count(*) FROM main.slice WHERE NOT touched_by_loss);
SELECT 'flagged chains and calls', (SELECT count(*) FROM main.path WHERE flags <> '')
	+ (SELECT count(*) FROM main.slice WHERE touched_by_loss);
