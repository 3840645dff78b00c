-- SPDX-License-Identifier: GPL-2.0-only
-- What the HTML page needs beside the other views: where threads spent their time, in sums. A view named
-- page_NAME, here or in another file, is given to the page as data.NAME.

-- How long each thread was in each state.
CREATE VIEW thread_time AS
SELECT
	-- Thread.
	utid AS utid,
	-- Time on a CPU, ns.
	sum(CASE WHEN state = 'running' THEN dur ELSE 0 END) AS running_ns,
	-- Time asleep, ns.
	sum(CASE WHEN state = 'blocked' THEN dur ELSE 0 END) AS blocked_ns,
	-- Time from waking to switch-in, ns.
	sum(CASE WHEN state = 'runnable' THEN dur ELSE 0 END) AS runq_ns,
	-- Time off CPU though runnable all along, ns.
	sum(CASE WHEN state = 'preempted' THEN dur ELSE 0 END) AS preempted_ns,
	-- Time that losses hide, ns.
	sum(CASE WHEN state = 'unknown' THEN dur ELSE 0 END) AS unknown_ns
FROM thread_state GROUP BY utid;

-- Time asleep by the stack that slept and the reason: of all traced threads, inside the work of each hop,
-- and inside the calls of each function. Sums of the three are not to be added to each other.
CREATE VIEW offcpu_stack AS
WITH inside AS (
	SELECT NULL AS plan_hop, NULL AS probe_id, o.offcpu_id FROM episode o JOIN thread t USING(utid) WHERE t.traced
	UNION ALL
	SELECT k.plan_hop, NULL, o.offcpu_id FROM (SELECT plan_hop, dst_utid, start_ts, end_ts FROM queue_task
		WHERE work_ns > 0) k
	CROSS JOIN episode o ON o.utid = k.dst_utid AND o.ts >= k.start_ts AND o.ts < k.end_ts
	UNION ALL
	SELECT NULL, s.probe_id, o.offcpu_id FROM slice s
	CROSS JOIN episode o ON o.utid = s.utid AND o.ts >= s.ts AND o.ts < s.ts + s.dur
	WHERE s.oncpu_ns IS NOT NULL)
SELECT
	-- Hop of the plan; NULL when the sum is of no hop.
	i.plan_hop AS plan_hop,
	-- Probe of the function; NULL when the sum is of no function.
	i.probe_id AS probe_id,
	-- User stack at switch-out; NULL unknown.
	b.user_stack_id AS stack_id,
	-- Kernel stack at switch-out; NULL unknown.
	b.kernel_stack_id AS kernel_stack_id,
	-- Why, as in blocked_reason.
	b.class AS class,
	-- How long in all, ns.
	sum(b.dur) AS ns,
	-- How often.
	count(*) AS count
FROM inside i JOIN blocked_reason b USING(offcpu_id)
WHERE b.dur > 0 GROUP BY 1, 2, 3, 4, 5;
