#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Queue and thread-pool diagnostics against the truth: two overloaded pools, a pipeline that waits
# for a lock, a calm worker, and a workload that cancels and doubles submissions.
. "$(dirname "$0")/../lib.sh"
need_tracing

# Peaks and workers as the program saw them, a row HOP|PENDING|ACTIVE|WORKERS|SUBMITTED|STARTED.
# For the first hops the work ends at the next handoff. The program reads its clock some us after it is in a
# function: a submission and a start on two CPUs may have been the other way round. Hence two peaks of PENDING,
# with starts that much earlier, and with submissions.
truth_of() { # NAME NS-OF-SUBMISSIONS NS-OF-STARTS
	query "$1" "
	WITH e(hop, ts, p, a) AS (
		SELECT hop, submit_ns - $2, 1, 0 FROM t.hop
		UNION ALL SELECT hop, max(start_ns - $3, submit_ns - $2 + 1), -1, 1 FROM t.hop WHERE start_ns IS NOT NULL
		UNION ALL SELECT hop, end_ns, 0, -1 FROM t.hop WHERE start_ns IS NOT NULL),
	r AS (SELECT hop, sum(p) OVER w AS p, sum(a) OVER w AS a FROM e
		WINDOW w AS (PARTITION BY hop ORDER BY ts ROWS UNBOUNDED PRECEDING))
	SELECT hop, max(p), max(a), (SELECT count(DISTINCT target_tid) FROM t.hop h WHERE h.hop = r.hop),
		(SELECT count(*) FROM t.hop h WHERE h.hop = r.hop),
		(SELECT count(start_ns) FROM t.hop h WHERE h.hop = r.hop)
	FROM r GROUP BY hop ORDER BY hop"
}

ours_of() { # NAME
	query "$1" "SELECT plan_hop, peak_pending, peak_active, worker_count, submitted, started
		FROM queue_diagnostics WHERE interval IS NULL ORDER BY plan_hop"
}

one() { # NAME COLUMN HOP
	query "$1" "SELECT $2 FROM queue_diagnostics WHERE interval IS NULL AND plan_hop = $3"
}

# Sums agree with what was counted while stitching and with the edges, and intervals add up.
check_sums() { # NAME
	expect "$1: counted while stitching" "$(query "$1" "
		SELECT submitted, started, duplicate_keys, superseded, expired, unmatched_targets, no_handoff, pending
		FROM queue_diagnostics WHERE interval IS NULL ORDER BY plan_hop")" "$(query "$1" "
		SELECT submitted, matched, duplicate_keys, superseded, expired, unmatched, no_handoff, open_at_end
		FROM hop_count ORDER BY plan_hop")"
	expect "$1: exact queue and work" "$(query "$1" "
		SELECT plan_hop, queue_total_ns, work_total_ns FROM queue_diagnostics WHERE interval IS NULL ORDER BY 1")" \
		"$(query "$1" "
		SELECT plan_hop, sum(queue_ns), sum(work_ns) FROM (SELECT DISTINCT plan_hop, edge_id, queue_ns, work_ns
			FROM hop) GROUP BY 1 ORDER BY 1")"
	expect "$1: intervals add up" "$(query "$1" "
		SELECT plan_hop, sum(submitted), sum(started), sum(completed), sum(queue_total_ns), sum(work_total_ns),
			sum(saturated_ns), max(peak_pending), max(peak_active), sum(duplicate_keys)
		FROM queue_diagnostics WHERE interval IS NOT NULL GROUP BY 1 ORDER BY 1")" "$(query "$1" "
		SELECT plan_hop, submitted, started, completed, queue_total_ns, work_total_ns, saturated_ns, peak_pending,
			peak_active, duplicate_keys FROM queue_diagnostics WHERE interval IS NULL ORDER BY 1")"
}

record_pool() {
	record_exec pool trace_thread_pool_test --count 80 -- "${pool_hops[@]}" write_result
}

record_complex() {
	record_exec complex trace_complex_async_test --count 10 -- --async-hop submit_decode_task,2,decode_request \
		--async-hop submit_enrich_task,1,enrich_request --async-hop submit_persist_task,2,persist_result persist_result
}

# On a machine that is busy with other things the queues of a short run fill otherwise than they are
# made to: what is told of them is asked of the first recording, of three, in which they did. Of a
# machine where they never do it is not asked; all else is, of the last one.
again_unless() { # NAME DIAGNOSES
	local try
	for try in 1 2 3; do
		[ "$(query "$1" "SELECT group_concat(diagnosis, ' ') FROM (SELECT diagnosis FROM queue_diagnostics
			WHERE interval IS NULL ORDER BY plan_hop)")" = "$2" ] && return
		[ $try != 3 ] || break
		loosened "$1 recorded again"
		"record_$1"
		import "$1" && check_sums "$1"
	done
	! busy || {
		loosened "$1: its queues filled otherwise"
		otherwise="$otherwise $1"
	}
}
as_made() { # NAME
	[[ "$otherwise " != *" $1 "* ]]
}
otherwise=

record_pool
record_complex
record_exec calm trace_test --count 50 -- --async-hop submit_async_task,1,function_to_trace function_to_trace
record_exec tagged tagged --cancel-percent 5 --double-percent 5 -- "${pool_hops[@]}" write_result

for name in pool complex calm tagged; do
	import $name && check_sums $name
done
again_unless pool 'backlog+saturation backlog+saturation'
again_unless complex 'none none lock contention'
# How late it read its clock: more than usual where it lost the CPU in between.
read_of() { # NAME
	query "$1" "SELECT max($((100000 * slow)), max(x.submit_ns - (SELECT max(submit_ts) FROM hop h WHERE h.plan_hop = x.hop
			AND h.key_int = x.key AND h.submit_ts <= x.submit_ns)), max(x.start_ns - (SELECT max(start_ts) FROM hop h
			WHERE h.plan_hop = x.hop AND h.key_int = x.key AND h.start_ts <= x.start_ns))) FROM t.hop x"
}
for name in pool complex calm; do
	read_ns=$(read_of $name)
	paste -d '|' <(ours_of $name) <(truth_of $name 0 $read_ns) <(truth_of $name $read_ns 0) >"$tmp/peaks"
	expect "$name: hops whose peaks, workers or counts are not the truth's (ours|least|most)" "$(awk -F'|' '
		$2 < $8 || $2 > $14 || $1 "|" $3 "|" $4 "|" $5 "|" $6 != $13 "|" $15 "|" $16 "|" $17 "|" $18' "$tmp/peaks")" ""
	at_least "$name: hops" "$(wc -l <"$tmp/peaks")" 1
done
expect "complex: target arguments" "$(query complex 'SELECT DISTINCT hop_index, target_arg FROM hop ORDER BY 1')" \
	"$(printf '0|2\n1|3\n2|8')"

# The futex that the last stage waits for, and who had the lock, in each of its calls.
expect "complex: calls whose wait names the program's mutex and the thread that held it" "$(query complex "
	SELECT count(DISTINCT l.round), (SELECT count(*) FROM t.lock) FROM t.lock l JOIN thread w ON w.tid = l.waiter_tid
	JOIN futex_wait f ON f.utid = w.utid AND f.ts BETWEEN l.start_ns AND l.end_ns
	WHERE f.address = l.mutex AND f.waker_tid = l.holder_tid AND f.waker_kind = 'observed' AND f.dur > 10000000
	AND EXISTS (SELECT 1 FROM callstack c WHERE c.stack_id = f.waker_stack_id AND c.function = 'storage_lock_holder')")" '10|10'

for hop in 0 1; do
	! as_made pool || expect "pool: diagnosis of hop $hop" "$(one pool diagnosis $hop)" backlog+saturation
	! as_made complex || expect "complex: diagnosis of hop $hop" "$(one complex diagnosis $hop)" none
done
if as_made complex; then
	expect 'complex: diagnosis of hop 2' "$(one complex diagnosis 2)" 'lock contention'
	at_least 'complex: part of the work in futexes' "$(one complex futex_ratio 2)" 0.6
fi
busy || expect 'calm: diagnosis' "$(one calm diagnosis 0)" none
expect 'complex: one wait a task' "$(one complex futex_waits 2)" 10
expect 'pool: busiest worker is one of them' "$(query pool "
	SELECT count(*) FROM queue_diagnostics q WHERE interval IS NULL AND busiest_worker_started = (
		SELECT max(n) FROM (SELECT count(*) AS n FROM t.hop WHERE hop = q.plan_hop GROUP BY target_tid))
	AND busiest_worker_started = (SELECT count(*) FROM t.hop WHERE target_tid = busiest_worker_tid)")" 2

# The command: other intervals, formats, and what it says of a capture without hops.
"$analyze" diagnostics "$tmp/pool.cwc" --diagnostic-interval-ms 100 --format jsonl >"$tmp/pool.jsonl" ||
	fail 'diagnostics failed'
expect 'snapshots add up' "$(sqlite3 :memory: "
	WITH r AS (SELECT value AS j FROM json_each('[' || replace(rtrim(CAST(readfile('$tmp/pool.jsonl') AS TEXT),
		char(10)), char(10), ',') || ']'))
	SELECT sum(h.value ->> 'submitted') FROM r, json_each(j, '\$.hops') h WHERE j ->> 'type' = 'queue_snapshot'")" 160
expect 'one record at the end' "$(grep -c '"type":"queue_diagnostics"' "$tmp/pool.jsonl")" 1
"$analyze" diagnostics "$tmp/pool.cwc" --diagnostic-interval-ms 0 >"$tmp/pool.txt" || fail 'diagnostics failed'
! as_made pool || expect 'text of the whole capture' "$(grep -c '^queue [01] .* diagnosis=backlog+saturation$' "$tmp/pool.txt")" 2
expect 'no interval was asked for' "$(grep -c snapshot "$tmp/pool.txt")" 0
"$record" -o "$tmp/none.cwc" --time --exec "$workloads/trace_test" function_to_trace -- --count 2 >/dev/null 2>&1
"$analyze" diagnostics "$tmp/none.cwc" >"$tmp/none.out" 2>&1
expect 'status without hops' $? 1
expect 'word without hops' "$(tail -n 1 "$tmp/none.out")" \
	'callweave-analyze: no hop was recorded: give one with --async-hop SOURCE,ARG,TARGET'
note "pending peaks $(one pool peak_pending 0) and $(one pool peak_pending 1), $(awk "BEGIN { print int(100 * $(one complex futex_ratio 2)) }") % of the contended work in futexes"
finish
