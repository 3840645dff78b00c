-- SPDX-License-Identifier: GPL-2.0-only
-- What no capture, however strange, may lead to: each row is a statement and how often it is wrong.
-- First what the tables hold.
SELECT 'calls begin after time began' AS what, count(*) AS wrong FROM slice WHERE ts < 0
UNION ALL SELECT 'calls last no negative time', count(*) FROM slice WHERE dur < 0
UNION ALL SELECT 'parts of calls are not negative', count(*) FROM slice
	WHERE min(oncpu_ns, blocked_ns, runq_ns, preempted_ns, unknown_ns) < 0
UNION ALL SELECT 'parts of calls add up', count(*) FROM slice
	WHERE dur IS NOT NULL AND oncpu_ns + blocked_ns + runq_ns + preempted_ns + unknown_ns <> dur
UNION ALL SELECT 'a call is where its thread is', count(*) FROM slice s LEFT JOIN thread t USING(utid)
	WHERE t.utid IS NULL
UNION ALL SELECT 'episodes last no negative time', count(*) FROM episode WHERE end_ts < ts OR ts < 0
UNION ALL SELECT 'parts of episodes are not negative', count(*) FROM episode
	WHERE min(blocked_ns, runq_ns, preempted_ns, unknown_ns) < 0
UNION ALL SELECT 'parts of episodes add up', count(*) FROM episode
	WHERE end_ts - ts <> blocked_ns + runq_ns + preempted_ns + unknown_ns
UNION ALL SELECT 'what is unknown lies in its episode', count(*) FROM episode
	WHERE unknown_ts < ts OR unknown_ts + unknown_ns > end_ts
UNION ALL SELECT 'who ran instead ran', count(*) FROM ran_later WHERE dur < 0
UNION ALL SELECT 'edges lead forward', count(*) FROM edge WHERE dst_ts < src_ts
UNION ALL SELECT 'losses last no negative time', count(*) FROM loss WHERE end_ts < ts OR ts < 0
UNION ALL SELECT 'processes end behind their begin', count(*) FROM process WHERE end_ts < start_ts
UNION ALL SELECT 'threads end behind their begin', count(*) FROM thread WHERE end_ts < start_ts
UNION ALL SELECT 'mappings are not empty', count(*) FROM mapping WHERE end = start
UNION ALL SELECT 'the capture has a length', count(*) FROM capture_info a, capture_info b
	WHERE a.key = 'start_ts' AND b.key = 'end_ts' AND b.value < a.value;

-- Then what views make of it.
SELECT 'who ran instead ran' AS what, count(*) AS wrong FROM ran_instead WHERE dur < 0
UNION ALL SELECT 'intervals of threads are not negative', count(*) FROM thread_state WHERE dur < 0
UNION ALL SELECT 'hops last no negative time', count(*) FROM hop
	WHERE queue_ns < 0 OR work_ns < 0 OR end_ts < start_ts OR start_ts < submit_ts
UNION ALL SELECT 'parts of hops add up', count(*) FROM hop
	WHERE oncpu_ns + blocked_ns + runq_ns + preempted_ns + unknown_ns <> work_ns
UNION ALL SELECT 'chains last no negative time', count(*) FROM chain
	WHERE total_ns < 0 OR queue_ns < 0 OR work_ns < 0 OR end_ts < start_ts;
