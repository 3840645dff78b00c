-- SPDX-License-Identifier: GPL-2.0-only
-- Hold the chains of an imported capture against the truth (attached as t). Prints lines
-- WHAT|GOT|RELATION|LIMIT. The capture holds the whole run of the workload.

CREATE TEMP TABLE h AS SELECT * FROM main.hop;
CREATE INDEX temp.h_at ON h(target_tid, target, start_ts);
CREATE TEMP TABLE off AS
SELECT th.tid AS tid, o.ts AS ts
FROM main.offcpu o JOIN main.thread th USING(utid);
CREATE INDEX temp.off_at ON off(tid, ts);

-- Which of the capture's hops is which of the truth's: the one whose work has the program's own
-- clock reading in it.
CREATE TEMP TABLE pair AS
SELECT x.rowid AS truth, x.request, x.hop, x.tag, x.submit_ns, x.start_ns, x.end_ns AS true_end, x.cpu_ns,
	x.source_tid AS true_source, x.key AS true_key, x.doubled,
	h.*, c.complete, p.flags
FROM t.hop x
JOIN h ON h.target_tid = x.target_tid AND h.target = x.target AND h.end_ts >= x.start_ns
	AND h.start_ts = (SELECT max(start_ts) FROM h l WHERE l.target_tid = x.target_tid AND l.target = x.target
		AND l.start_ts <= x.start_ns)
JOIN main.chain c USING(chain_id)
JOIN main.path p USING(chain_id)
WHERE x.start_ns IS NOT NULL;
-- Right: of the thread's submissions, the one that the chain names is the one that the truth names.
ALTER TABLE temp.pair ADD COLUMN right_source;
UPDATE temp.pair SET right_source = source_tid = true_source AND submit_ns = (
	SELECT min(y.submit_ns) FROM t.hop y WHERE y.source_tid = pair.true_source AND y.submit_ns >= pair.submit_ts);
CREATE INDEX temp.pair_request ON pair(request, chain_id);
CREATE INDEX temp.pair_chain ON pair(chain_id);

-- A thread that lost the CPU between a probe and the program's own clock reading.
CREATE TEMP TABLE disturbed AS
SELECT DISTINCT truth, chain_id FROM pair
WHERE EXISTS (SELECT 1 FROM off WHERE tid = target_tid AND ts BETWEEN start_ts AND start_ns)
	OR EXISTS (SELECT 1 FROM off WHERE tid = source_tid AND ts BETWEEN submit_ts AND submit_ns)
	OR EXISTS (SELECT 1 FROM off WHERE tid = target_tid AND ts BETWEEN true_end AND end_ts);
CREATE INDEX temp.disturbed_truth ON disturbed(truth, chain_id);

CREATE TEMP TABLE error AS
SELECT abs(queue_ns - (start_ns - submit_ns)) AS queue_error,
	abs(work_ns - (true_end - start_ns)) AS work_error,
	-- What is between a probe and the program's own clock reading is on the CPU, too.
	flags = '' AND abs(oncpu_ns - cpu_ns - (start_ns - start_ts) - (end_ts - true_end)) > max(50000 * :slow,
		cpu_ns * min(:slow, 10) / 50) AS cpu_off,
	-- The kernel's clock takes a thread to run from when it is chosen, or woken, not from the switch.
	flags = '' AND (oncpu_ns - cpu_ns - (start_ns - start_ts) - (end_ts - true_end) > max(50000 * :slow, cpu_ns * min(:slow, 10) / 50)
		OR cpu_ns - oncpu_ns > runq_ns + preempted_ns + max(50000 * :slow, cpu_ns * min(:slow, 10) / 50)) AS cpu_unexplained
FROM pair p
WHERE doubled = 0 AND NOT EXISTS (SELECT 1 FROM disturbed d WHERE d.truth = p.truth AND d.chain_id = p.chain_id);

CREATE TEMP TABLE wanted AS
SELECT request FROM t.hop GROUP BY request
HAVING max(cancelled) = 0 AND max(doubled) = 0 AND count(start_ns) = (SELECT count(DISTINCT hop) FROM t.hop);

SELECT 'requests whose chain was found',
	(SELECT count(*) FROM wanted w WHERE EXISTS (
		SELECT 1 FROM pair WHERE request = w.request AND right_source GROUP BY chain_id
		HAVING count(*) = (SELECT count(DISTINCT hop) FROM t.hop))),
	'=', (SELECT count(*) FROM wanted);
SELECT 'chains that join two requests without a flag',
	(SELECT count(*) FROM (SELECT chain_id FROM pair WHERE flags = '' GROUP BY chain_id
		HAVING count(DISTINCT request) > 1)), '=', 0;
SELECT 'hops with another key or another source than the truth, without a flag',
	(SELECT count(*) FROM pair WHERE flags = '' AND (key <> printf('0x%016x', true_key) OR NOT right_source)), '=', 0;
SELECT 'chains that are nobody''s',
	(SELECT count(*) FROM main.chain WHERE chain_id NOT IN (SELECT chain_id FROM pair)), '=', 0;
SELECT 'unflagged hops whose parts do not add up',
	(SELECT count(*) FROM h JOIN main.path p USING(chain_id) WHERE p.flags = ''
		AND h.oncpu_ns + h.blocked_ns + h.runq_ns + h.preempted_ns IS NOT h.work_ns), '=', 0;
SELECT 'unflagged hops with unknown time',
	(SELECT count(*) FROM h JOIN main.path p USING(chain_id) WHERE p.flags = ''
		AND coalesce(h.unknown_ns, -1) <> 0), '=', 0;
SELECT 'hops compared', (SELECT count(*) FROM error), '>=',
	(SELECT count(*) / 2 FROM t.hop WHERE start_ns IS NOT NULL AND doubled = 0);
SELECT 'queue: median error, ns',
	(SELECT queue_error FROM error ORDER BY queue_error LIMIT 1 OFFSET (SELECT count(*) / 2 FROM error)),
	'<=', 50000 * :slow;
SELECT 'queue: p99 error, ns',
	(SELECT queue_error FROM error ORDER BY queue_error LIMIT 1 OFFSET (SELECT count(*) * 99 / 100 FROM error)),
	'<=', 1000000 * :slow;
SELECT 'work: median error, ns',
	(SELECT work_error FROM error ORDER BY work_error LIMIT 1 OFFSET (SELECT count(*) / 2 FROM error)),
	'<=', 50000 * :slow;
SELECT 'work: p99 error, ns',
	(SELECT work_error FROM error ORDER BY work_error LIMIT 1 OFFSET (SELECT count(*) * 99 / 100 FROM error)),
	'<=', 1000000 * :slow;
-- A scheduler under load takes time to choose, and charges the thread it chose: some are off, where a mistake of ours would
-- make all that waited so. Time that a hypervisor stole is excepted, too, and an emulator's host steals uncounted. Of less
-- than 400 hops four may be off: an interrupt or two fall into some of them anywhere.
SELECT 'on-CPU off by more than 50 us or 2 %, of 100',
	(SELECT 100.0 * sum(cpu_off) / count(*) FROM error), '<=',
	(SELECT max(CASE WHEN :slow > 1 THEN 10.0 ELSE 5.0 END, 400.0 / count(*)) FROM error);
SELECT 'the same, where waits for a CPU do not explain it, of 100',
	(SELECT 100.0 * sum(cpu_unexplained) / count(*) FROM error), '<=',
	(SELECT max(CASE WHEN :slow > 1 THEN 10.0 WHEN :stolen > 0 THEN 4.0 ELSE 1.0 END, 400.0 / count(*)) FROM error);
