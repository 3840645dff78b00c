-- SPDX-License-Identifier: GPL-2.0-only
-- What threads are for and what holds them up: who submits in each hop, how long submitting itself was
-- blocked, and in which stacks each thread was blocked for the longest. Over the whole capture.

CREATE TEMP TABLE page_submitter AS
SELECT plan_hop, src_utid AS utid, count(*) AS submitted FROM queue_task WHERE first_taken GROUP BY 1, 2;

-- Blocked inside the call that submits, and how much of that a thread ended that takes from this hop: so it
-- is where a bounded queue is full.
CREATE TEMP TABLE submit_stack AS
SELECT DISTINCT h.plan_hop, c.stack_id FROM hop_count h JOIN callstack c ON c.function = h.source
	JOIN stack k USING(stack_id) WHERE k.kind = 'user';
CREATE TEMP TABLE taker AS SELECT DISTINCT plan_hop, dst_utid AS utid FROM queue_task WHERE dst_utid IS NOT NULL;
CREATE TEMP VIEW slept AS
SELECT s.id AS utid, r.class, r.reason, r.user_stack_id, s.other_utid, s.ns, s.parts, s.longest
FROM wait_sum s JOIN place_reason r USING(place) WHERE s.scope = 4;
CREATE TEMP TABLE page_submit_block AS
SELECT x.plan_hop, sum(b.parts) AS n, sum(b.ns) AS ns, max(b.longest) AS longest,
	coalesce(sum(b.ns) FILTER (WHERE (x.plan_hop, b.other_utid) IN (SELECT plan_hop, utid FROM taker)), 0) AS by_taker_ns
FROM slept b JOIN submit_stack x ON x.stack_id = b.user_stack_id
WHERE (x.plan_hop, b.utid) IN (SELECT plan_hop, utid FROM page_submitter) GROUP BY x.plan_hop;

CREATE TEMP TABLE top_thread_stack AS
SELECT * FROM (SELECT *, row_number() OVER (PARTITION BY utid ORDER BY ns DESC) AS place FROM (
	SELECT b.utid, b.class, b.user_stack_id AS stack_id, max(b.reason) AS reason, sum(b.ns) AS ns, sum(b.parts) AS n
	FROM slept b CROSS JOIN thread t USING(utid) WHERE t.traced GROUP BY 1, 2, 3))
WHERE place <= 3;
