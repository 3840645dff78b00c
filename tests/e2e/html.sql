-- SPDX-License-Identifier: GPL-2.0-only
-- What the page must show of a database, worked out by SQL alone, as one JSON text.
WITH clock AS (SELECT start_ts AS t0 FROM report_clock),
total AS (SELECT total_ns AS ns FROM chain WHERE total_ns IS NOT NULL
	UNION ALL SELECT dur FROM slice WHERE dur IS NOT NULL AND NOT EXISTS (SELECT 1 FROM path)
		AND probe_id = (SELECT probe_id FROM slice GROUP BY 1 ORDER BY sum(dur) DESC LIMIT 1)),
ranked AS (SELECT ns, row_number() OVER (ORDER BY ns) AS place, count(*) OVER () AS n FROM total),
figures AS (SELECT json_object('n', count(*), 'avg', CAST(round(avg(ns)) AS INTEGER),
	'p50', max(ns) FILTER (WHERE place = (n * 50 + 99) / 100),
	'p95', CASE WHEN n >= 20 THEN max(ns) FILTER (WHERE place = (n * 95 + 99) / 100) END,
	'p99', CASE WHEN n >= 100 THEN max(ns) FILTER (WHERE place = (n * 99 + 99) / 100) END, 'max', max(ns)) AS j,
	max(ns) FILTER (WHERE place = (n * 50 + 99) / 100) AS p50 FROM ranked),
slowest AS (SELECT chain_id FROM chain ORDER BY total_ns DESC, chain_id LIMIT 1),
state AS MATERIALIZED (SELECT * FROM thread_state),
hops AS (
	SELECT h.hop_index, h.target_utid, h.submit_ts, h.start_ts, h.end_ts,
		(SELECT json_group_array(json(x)) FROM (
			SELECT json_array(max(s.ts, h.start_ts) - t0, min(s.ts + s.dur, h.end_ts) - t0, CASE s.state
				WHEN 'running' THEN 'oncpu' WHEN 'runnable' THEN 'runq' ELSE s.state END) AS x
			FROM state s, clock WHERE s.utid = h.target_utid AND s.ts < h.end_ts AND s.ts + s.dur > h.start_ts
			ORDER BY s.ts)) AS states
	FROM hop h JOIN slowest USING(chain_id)),
-- The slowest call of a capture without chains, with its states.
calls AS (
	SELECT c.slice_id, c.utid, c.ts AS lo, c.ts + c.dur AS hi FROM slice c
	WHERE c.dur IS NOT NULL AND NOT EXISTS (SELECT 1 FROM path)
	ORDER BY c.dur DESC, c.slice_id LIMIT 1),
call_states AS (
	SELECT c.*, (SELECT json_group_array(json(x)) FROM (
		SELECT json_array(max(s.ts, c.lo) - t0, min(s.ts + s.dur, c.hi) - t0, CASE s.state
			WHEN 'running' THEN 'oncpu' WHEN 'runnable' THEN 'runq' ELSE s.state END) AS x
		FROM state s, clock WHERE s.utid = c.utid AND s.ts < c.hi AND s.ts + s.dur > c.lo ORDER BY s.ts)) AS states
	FROM calls c),
-- Who takes and who submits in which hop, and how often the call that submits was itself blocked.
submission AS (SELECT plan_hop, src_utid AS utid FROM edge WHERE kind = 'async'
	UNION SELECT plan_hop, utid FROM unconsumed),
does AS (SELECT utid, 0 AS place, 'takes' AS verb, plan_hop FROM (SELECT DISTINCT dst_utid AS utid, plan_hop FROM edge WHERE kind = 'async')
	UNION ALL SELECT utid, 1, 'submits', plan_hop FROM submission),
role AS (SELECT utid, place, verb || CASE WHEN count(*) > 1 THEN ' hops ' ELSE ' hop ' END || group_concat(plan_hop, ', ') AS words
	FROM (SELECT * FROM does ORDER BY utid, place, plan_hop) GROUP BY utid, place),
submit_blocked AS (
	SELECT h.plan_hop, count(*) AS n FROM hop_count h JOIN offcpu o ON o.blocked_ns > 0 AND o.state NOT IN (0, 2048) AND o.preempted = 0
	WHERE o.utid IN (SELECT utid FROM submission s WHERE s.plan_hop = h.plan_hop) AND o.user_stack_id IN (
		SELECT stack_id FROM callstack c WHERE c.function = h.source) GROUP BY 1)
SELECT json_object(
	'roles', (SELECT json_group_object(coalesce(t.rec_tid, t.tid), words) FROM (
		SELECT utid, group_concat(words, '; ') AS words FROM (SELECT * FROM role ORDER BY utid, place) GROUP BY utid)
		JOIN thread t USING(utid)),
	'submit_blocked', (SELECT json_group_object(plan_hop, n) FROM submit_blocked),
	'tabs', json(CASE WHEN EXISTS (SELECT 1 FROM path) THEN '["overview","chains","hops","blocking","functions","threads"]'
		ELSE '["overview","blocking","functions","threads"]' END),
	'total', json((SELECT j FROM figures)),
	'call', (SELECT json_object('id', slice_id, 'utid', utid, 'lo', lo - t0, 'hi', hi - t0, 'states', json(states))
		FROM call_states, clock),
	'chain', CASE WHEN EXISTS (SELECT 1 FROM path) THEN json_object(
		'id', (SELECT chain_id FROM slowest),
		'fastest', (SELECT chain_id FROM chain WHERE total_ns IS NOT NULL ORDER BY total_ns, chain_id LIMIT 1),
		'key', (SELECT printf('0x%x', key_int) FROM hop JOIN slowest USING(chain_id) WHERE hop_index = 0),
		'with_key', (SELECT count(DISTINCT chain_id) FROM hop WHERE key_int =
			(SELECT key_int FROM hop JOIN slowest USING(chain_id) WHERE hop_index = 0)),
		'above_p50', (SELECT count(*) FROM chain WHERE total_ns >= (SELECT p50 FROM figures)),
		'hops', (SELECT json_group_array(json_object('i', hop_index, 'submit', submit_ts - t0, 'utid', target_utid, 'lo', start_ts - t0,
			'hi', end_ts - t0, 'states', json(states))) FROM hops, clock)) END);
