-- SPDX-License-Identifier: GPL-2.0-only
-- Sums over the whole capture, whatever the filters chose.

-- Where time was spent off the CPU, the most first: the whole, each hop, each function.
CREATE TEMP TABLE top_offcpu AS
SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY plan_hop, probe_id ORDER BY ns DESC) AS place
	FROM offcpu_stack) WHERE place <= 1000;

CREATE TEMP TABLE page_diagnosis AS SELECT * FROM queue_diagnostics WHERE interval IS NULL;
CREATE TEMP VIEW page_queue AS
SELECT plan_hop, slot, pending, active, pending_after, active_after, submitted, started, done FROM queue_slot
ORDER BY plan_hop, slot;
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
SELECT class, reason, other_utid, sum(ns) AS ns, sum(parts) AS n FROM wait_named WHERE scope = 0 GROUP BY 1, 2, 3;
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
		SELECT r.class, r.reason, w.utid, w.stack_id, sum(s.ns) AS ns, sum(s.parts) AS n
		FROM wait_sum s JOIN place_reason r USING(place) JOIN waker w ON w.waker_id = s.id
		WHERE s.scope = 3 AND w.stack_id IS NOT NULL AND w.utid IS NOT NULL AND NOT w.in_interrupt GROUP BY 1, 2, 3, 4))
WHERE place = 1 ORDER BY ns DESC LIMIT 300;

-- What follows is over the episodes that are in the page.
DROP VIEW temp.queue_diagnostics;
DROP VIEW temp.hop_reason;
DROP VIEW temp.function_reason;
DROP TABLE temp.queue_task;
DROP TABLE temp.queue_sum;
DROP TABLE temp.offcpu_stack;
DROP TABLE temp.wait_named;
DROP TABLE temp.wait_sum;
