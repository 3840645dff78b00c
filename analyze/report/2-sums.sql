-- SPDX-License-Identifier: GPL-2.0-only
-- Sums over the whole capture, whatever the filters chose.

-- Where time was spent off the CPU, the most first: the whole, each hop, each function.
CREATE TEMP TABLE top_offcpu AS
SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY plan_hop, probe_id ORDER BY ns DESC) AS place
	FROM offcpu_stack) WHERE place <= 1000;

CREATE TEMP TABLE page_diagnosis AS SELECT * FROM queue_diagnostics WHERE interval IS NULL;
CREATE TEMP TABLE page_queue AS
WITH w AS (SELECT start_ts AS t0, max((end_ts - start_ts) / 240, 1) AS width FROM report_clock),
run AS (
	SELECT e.plan_hop, e.ts, (e.ts - w.t0) / w.width AS slot, e.what,
		sum(e.d_pending) OVER o AS pending, sum(e.d_active) OVER o AS active,
		row_number() OVER (PARTITION BY e.plan_hop, (e.ts - w.t0) / w.width ORDER BY e.ts DESC) AS from_end
	FROM queue_event e, w WINDOW o AS (PARTITION BY e.plan_hop ORDER BY e.ts ROWS UNBOUNDED PRECEDING))
SELECT plan_hop, slot, max(pending) AS pending, max(active) AS active,
	max(CASE WHEN from_end = 1 THEN pending END) AS pending_after, max(CASE WHEN from_end = 1 THEN active END) AS active_after,
	sum(what = 'submit') AS submitted, sum(what = 'start') AS started, sum(what = 'done') AS done
FROM run GROUP BY plan_hop, slot ORDER BY plan_hop, slot;
CREATE TEMP TABLE page_worker AS
SELECT plan_hop, dst_utid AS utid, count(*) AS started, sum(work_ns) AS work, max(work_ns) AS longest,
	min(start_ts) - t0 AS first, max(coalesce(end_ts, start_ts)) - t0 AS last
FROM queue_task, start WHERE dst_utid IS NOT NULL GROUP BY 1, 2 ORDER BY 1, 4 DESC;

CREATE TEMP TABLE page_hop_reason AS
SELECT * FROM (SELECT plan_hop, class, reason, count, ns, share, other_utid, others,
	row_number() OVER (PARTITION BY plan_hop ORDER BY ns DESC) AS place FROM hop_reason) WHERE place <= 40;
CREATE TEMP TABLE page_function_reason AS
SELECT * FROM (SELECT probe_id, class, reason, count, ns, share, other_utid, others,
	row_number() OVER (PARTITION BY probe_id ORDER BY ns DESC) AS place FROM function_reason) WHERE place <= 40;
CREATE TEMP TABLE waited AS
SELECT w.class, w.reason, w.other_utid, sum(w.ns) AS ns, count(*) AS n
FROM wait_part w CROSS JOIN thread t USING(utid) WHERE t.traced GROUP BY 1, 2, 3;
-- Who ended waits, and who ran instead, by thread.
CREATE TEMP TABLE page_other AS
SELECT * FROM (SELECT class, other_utid AS utid, sum(ns) AS ns, sum(n) AS n,
		row_number() OVER (PARTITION BY class ORDER BY sum(ns) DESC) AS place
	FROM waited WHERE other_utid IS NOT NULL GROUP BY 1, 2)
WHERE place <= 40;
CREATE TEMP TABLE page_wait_reason AS
SELECT class, reason, sum(n) AS count, sum(ns) AS ns, 1.0 * sum(ns) / (SELECT sum(ns) FROM waited) AS share,
	max(CASE WHEN best = 1 THEN other_utid END) AS other_utid, count(other_utid) AS others
FROM (SELECT *, row_number() OVER (PARTITION BY class, reason ORDER BY ns DESC) AS best FROM waited)
GROUP BY class, reason ORDER BY 4 DESC LIMIT 40;
-- In which stack the thread that ended the most of a reason's waits was.
CREATE TEMP TABLE top_waker AS
SELECT * FROM (
	SELECT *, row_number() OVER (PARTITION BY class, reason, utid ORDER BY ns DESC) AS place FROM (
		SELECT b.class, b.reason, w.utid, w.stack_id, sum(b.dur) AS ns, count(*) AS n
		FROM blocked_reason b JOIN episode e USING(offcpu_id) JOIN waker w USING(waker_id)
		WHERE w.stack_id IS NOT NULL AND w.utid IS NOT NULL AND NOT w.in_interrupt GROUP BY 1, 2, 3, 4))
WHERE place = 1 ORDER BY ns DESC LIMIT 300;

-- What follows is over the episodes that are in the page.
DROP VIEW temp.queue_event;
DROP VIEW temp.queue_diagnostics;
DROP VIEW temp.hop_reason;
DROP VIEW temp.function_reason;
DROP VIEW temp.offcpu_stack;
DROP TABLE temp.queue_task;
DROP TABLE temp.blocked_reason;
DROP TABLE temp.wait_part;
