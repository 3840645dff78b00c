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
		(SELECT json_group_array(json_array(waker, ran)) FROM (
			SELECT (SELECT coalesce(t.rec_tid, t.tid) FROM thread t WHERE t.utid = o.waker_utid) AS waker,
				(SELECT count(*) FROM ran_instead r WHERE r.offcpu_id = o.offcpu_id) AS ran
			FROM offcpu o WHERE o.utid = h.target_utid AND o.ts < h.end_ts AND o.ts >= h.start_ts AND o.blocked_ns > 0
				AND o.state > 0 ORDER BY o.ts)) AS wakers,
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
		SELECT stack_id FROM callstack c WHERE c.function = h.source) GROUP BY 1),
-- The parts of a chain by hop and class, the largest first.
part AS (SELECT chain_id, class, row_number() OVER (PARTITION BY chain_id ORDER BY ns DESC, place) AS rank FROM (
	SELECT chain_id, 'queue' AS class, queue_ns AS ns, 10 * hop_index AS place FROM hop
	UNION ALL SELECT chain_id, 'oncpu', oncpu_ns, 10 * hop_index + 1 FROM hop
	UNION ALL SELECT chain_id, 'blocked', blocked_ns, 10 * hop_index + 2 FROM hop
	UNION ALL SELECT chain_id, 'runq', runq_ns, 10 * hop_index + 3 FROM hop
	UNION ALL SELECT chain_id, 'preempted', preempted_ns, 10 * hop_index + 4 FROM hop
	UNION ALL SELECT chain_id, 'unknown', unknown_ns, 10 * hop_index + 5 FROM hop) WHERE ns IS NOT NULL),
waits AS MATERIALIZED (SELECT w.* FROM wait_part w JOIN thread t USING(utid) WHERE t.traced),
reasons AS (SELECT class, reason, count(*) AS n, sum(ns) AS ns FROM waits GROUP BY 1, 2 ORDER BY 4 DESC LIMIT 5),
wakers AS (SELECT other_utid, sum(ns) AS ns FROM waits WHERE class NOT IN ('run queue', 'preempted') AND other_utid IS NOT NULL
	GROUP BY 1 ORDER BY 2 DESC LIMIT 5),
ran AS (SELECT other_utid, sum(ns) AS ns FROM waits WHERE class IN ('run queue', 'preempted') AND other_utid IS NOT NULL
	GROUP BY 1 ORDER BY 2 DESC LIMIT 5),
-- Times of each hop in their order.
sample AS (SELECT plan_hop, part, ns, row_number() OVER (PARTITION BY plan_hop, part ORDER BY ns) AS place,
		count(*) OVER (PARTITION BY plan_hop, part) AS n
	FROM (SELECT plan_hop, 'queue' AS part, queue_ns AS ns FROM hop UNION ALL SELECT plan_hop, 'work', work_ns FROM hop WHERE work_ns IS NOT NULL)),
returned AS (SELECT probe_id, count(*) AS n, row_number() OVER (PARTITION BY probe_id ORDER BY count(*) DESC) AS place
	FROM slice GROUP BY probe_id, ret, no_return),
hop_reasons AS (SELECT plan_hop, class, reason, count, ns, row_number() OVER (PARTITION BY plan_hop ORDER BY ns DESC) AS place
	FROM hop_reason),
call_reasons AS (SELECT probe_id, class, reason, count, ns, row_number() OVER (PARTITION BY probe_id ORDER BY ns DESC) AS place
	FROM function_reason)
SELECT json_object(
	'samples', (SELECT json_group_array(json_array(plan_hop, part, json(times))) FROM (
		SELECT plan_hop, part, json_group_array(ns) AS times FROM (SELECT * FROM sample ORDER BY 1, 2, ns) GROUP BY 1, 2)),
	'figures', json_object(
		'percentiles', (SELECT json_group_array(json_array(plan_hop, part, n, p50, p95, p99)) FROM (SELECT plan_hop, part, n,
			max(ns) FILTER (WHERE place = (n * 50 + 99) / 100) AS p50,
			CASE WHEN n >= 20 THEN max(ns) FILTER (WHERE place = (n * 95 + 99) / 100) END AS p95,
			CASE WHEN n >= 100 THEN max(ns) FILTER (WHERE place = (n * 99 + 99) / 100) END AS p99 FROM sample GROUP BY 1, 2 ORDER BY 1, 2)),
		'over_time', (SELECT json_group_array(json_array(plan_hop, peak_pending, peak_active, completed)) FROM (
			SELECT * FROM queue_diagnostics WHERE interval IS NULL ORDER BY plan_hop)),
		'hop_reasons', (SELECT json_group_array(json_array(plan_hop, class, reason, count, ns)) FROM (
			SELECT * FROM hop_reasons WHERE place <= 3 ORDER BY plan_hop, place)),
		'call_reasons', (SELECT json_group_array(json_array(probe_id, class, reason, count, ns)) FROM (
			SELECT * FROM call_reasons WHERE place <= 3 ORDER BY probe_id, place)),
		'blocked_in', (SELECT json_group_object(scope, ns) FROM (
			SELECT coalesce('hop ' || plan_hop, 'call ' || probe_id, 'all') AS scope, sum(ns) AS ns
			FROM offcpu_stack WHERE stack_id IS NOT NULL GROUP BY 1 ORDER BY 1)),
		'returns', (SELECT json_group_array(json_array(probe_id, n, most)) FROM (
			SELECT probe_id, sum(n) AS n, max(n) AS most FROM returned WHERE place <= 20 GROUP BY 1 ORDER BY 1)),
		'functions', (SELECT json_group_array(json_array(probe_id, n, ns, most)) FROM (
			SELECT probe_id, count(*) AS n, sum(dur) AS ns, max(dur) AS most FROM slice GROUP BY 1 ORDER BY 1)),
		'threads', (SELECT json_group_array(json_array(utid, running_ns, blocked_ns, runq_ns, preempted_ns)) FROM (
			SELECT x.* FROM thread_time x JOIN thread t USING(utid) WHERE t.traced ORDER BY utid)),
		'reasons', (SELECT json_group_array(json_array(class, reason, n, ns)) FROM reasons),
		'wakers', (SELECT json_group_array(json_array(other_utid, ns)) FROM wakers),
		'ran', (SELECT json_group_array(json_array(other_utid, ns)) FROM ran),
		'blocked', (SELECT sum(dur) FROM blocked_reason b JOIN thread t USING(utid) WHERE t.traced AND b.user_stack_id IS NOT NULL),
		'latency', (SELECT json_group_array(json_array(plan_hop, n, q, qmost, w, wmost)) FROM (
			SELECT plan_hop, count(*) AS n, CAST(round(avg(queue_ns)) AS INTEGER) AS q, max(queue_ns) AS qmost,
				CAST(round(avg(work_ns)) AS INTEGER) AS w, max(work_ns) AS wmost FROM hop GROUP BY 1 ORDER BY 1)),
		'pools', (SELECT json_group_array(json_array(plan_hop, submitted, completed, peak_pending, peak_active, worker_count))
			FROM (SELECT * FROM queue_diagnostics WHERE interval IS NULL ORDER BY plan_hop)),
		'workers', (SELECT json_group_array(json_array(plan_hop, dst_utid, n, ns)) FROM (
			SELECT plan_hop, dst_utid, count(*) AS n, sum(work_ns) AS ns FROM queue_task WHERE dst_utid IS NOT NULL
			GROUP BY 1, 2 ORDER BY 1, 2)),
		'anomalies', (SELECT count(*) FROM anomaly),
		'lost', (SELECT coalesce(sum(count), 0) FROM loss),
		'evidence', (SELECT count(*) FROM hop WHERE evidence = 'exact')),
	'said', (SELECT json_group_array(text) FROM (
		SELECT value AS text FROM capture_info WHERE key IN ('host', 'cmdline')
		UNION ALL SELECT strftime('%Y-%m-%d %H:%M:%S', (start_ts + wall_offset_ns) / 1000000000 + utc_offset_s, 'unixepoch') FROM report_clock
		UNION ALL SELECT 'submitted by ' || CASE count(*) WHEN 1 THEN max(t.name || ' ' || coalesce(t.rec_tid, t.tid))
			ELSE count(*) || ' threads' END FROM submission s JOIN thread t USING(utid)
			WHERE s.plan_hop IN (SELECT plan_hop FROM hop) GROUP BY s.plan_hop
		UNION ALL SELECT DISTINCT m.path FROM module m JOIN frame f USING(module_id)
			WHERE f.frame_id NOT IN (SELECT frame_id FROM symbol WHERE function IS NOT NULL))),
	'chains', (SELECT count(*) FROM chain),
	'seconds', (SELECT (end_ts - start_ts) / 1e9 FROM report_clock),
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
		'filters', json_object(
			'evidence', (SELECT json_array('exact', count(*)) FROM path p WHERE flags = '' AND NOT EXISTS (
				SELECT 1 FROM hop h WHERE h.chain_id = p.chain_id AND h.evidence <> 'exact') HAVING count(*) > 0),
			'thread', (SELECT json_array(target_utid, (SELECT count(DISTINCT x.chain_id) FROM hop x
				WHERE h.target_utid IN (x.source_utid, x.target_utid))) FROM hop h JOIN slowest USING(chain_id) WHERE hop_index = 0),
			'function', (SELECT json_array(target, (SELECT count(DISTINCT x.chain_id) FROM hop x
				WHERE h.target IN (x.source, x.target))) FROM hop h JOIN slowest USING(chain_id) WHERE hop_index = 0),
			'dominant', (SELECT json_array(class, (SELECT count(*) FROM part x WHERE x.rank = 1 AND x.class = p.class))
				FROM part p JOIN slowest USING(chain_id) WHERE rank = 1)),
		'above_p50', (SELECT count(*) FROM chain WHERE total_ns >= (SELECT p50 FROM figures)),
		'hops', (SELECT json_group_array(json_object('i', hop_index, 'submit', submit_ts - t0, 'utid', target_utid, 'lo', start_ts - t0,
			'hi', end_ts - t0, 'wakers', json(wakers), 'states', json(states))) FROM hops, clock)) END);
