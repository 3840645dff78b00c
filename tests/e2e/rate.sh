#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A high rate: nothing is lost at 30,000 handoffs a second; what does not fit into a tiny ring is
# counted; a program without frame pointers does not fill the capture with stacks.
. "$(dirname "$0")/../lib.sh"
need_tracing

hop=(--async-hop submit_item,2,handle_item,1)

peak_of() { # PID: its greatest resident size in KiB, followed until it ends
	local kb peak=0
	while kill -0 "$1" 2>/dev/null; do
		kb=$(awk '$1 == "VmHWM:" { print $2 }' "/proc/$1/status" 2>/dev/null)
		[ "${kb:-0}" -gt $peak ] && peak=$kb
		sleep 0.1
	done
	echo $peak
}

# Lossless, in bounded memory. The work is 10 us here, so that two cores hold the rate while they also
# record; on a machine that is busy otherwise it takes a few tries to reach it.
for ((try = 1; try <= 4; try++)); do
	rm -f "$tmp/go" "$tmp/full.out"
	"$workloads/queue_bench" --rate 30000 --work-us 10 --seconds 6 --start-file "$tmp/go" \
		--truth "$tmp/full.truth" >"$tmp/full.out" &
	target=$!
	pids+=($target)
	wait_for grep -q PID "$tmp/full.out"
	start_recorder "$tmp/full.log" -p $target "${hop[@]}" -o "$tmp/full.cwc" handle_item
	recorder=$recorder_pid
	: >"$tmp/go"
	peak=$(peak_of $recorder)
	wait $target $recorder
	forget $target $recorder
	rate=$(awk '$1 == "handoffs" { printf "%d", $6 }' "$tmp/full.out")
	[ "$rate" -ge 28000 ] && break
done
at_most "peak resident size of the recorder, KiB" "$peak" 65536
at_least "peak resident size that was seen, KiB" "$peak" 1000
# Nobody holds a rate on a machine whose cores are wanted by many others.
limit_of "handoffs a second" 28000 0
at_least "handoffs a second of the workload" "$rate" $limit
if import full; then
	expect "events lost" "$(query full "SELECT coalesce(sum(count), 0) FROM loss WHERE reason <> 'contradiction'")" 0
	# A switch that the kernel did not report (some guests hide what their agent does) is inferred from
	# what follows; it is no loss of the recorder.
	inferred=$(query full "SELECT coalesce(sum(count), 0) FROM loss WHERE reason = 'contradiction'")
	at_most "switches missing by inference, of 1,000 calls" \
		"$((inferred * 1000 / $(query full "SELECT count(*) FROM slice")))" 1
	for f in submit_item handle_item; do
		expect "calls of $f" "$(query full "SELECT count(*) FROM call WHERE function = '$f'")" \
			"$(query full "SELECT calls FROM t.calls WHERE function = '$f'")"
	done
	expect "complete chains" "$(query full "SELECT count(*) FROM chain WHERE complete")" \
		"$(query full "SELECT calls FROM t.calls WHERE function = 'handle_item'")"
	# Switches: the program's own count (rusage) over the time in which it worked. The last ones of a thread that
	# exits are in nobody's count, and one may fall between a look at the clock and one at the count.
	switched=$("$analyze" sql "$tmp/full.cwc" --format csv "SELECT
		(SELECT count(*) FROM raw_sched_switch WHERE flags & 2 AND prev_pid = $target
			AND ts BETWEEN $(query full "SELECT begin_ns || ' AND ' || end_ns FROM t.ending")) +
		(SELECT count(*) FROM raw_sched_block WHERE prev_pid = $target
			AND ts BETWEEN $(query full "SELECT begin_ns || ' AND ' || end_ns FROM t.ending"))" |
		tail -n 1)
	counted=$(query full "SELECT voluntary + involuntary FROM t.ending")
	at_most "difference of switches recorded ($switched) and counted by the kernel ($counted)" \
		"$((switched > counted ? switched - counted : counted - switched))" 5
	note "$(query full "SELECT calls FROM t.calls LIMIT 1") handoffs at $rate/s, none lost, recorder $((peak / 1024)) MiB"
fi

# A ring that is much too small: received + lost is what happened, and chains that it touches say so.
# An emulator makes too few events for that: there the recorder stands still in the middle.
if [ "$slow" -gt 1 ]; then
	{
		wait_for [ -e "$tmp/tiny.go" ]
		sleep 2
		stopped=$(pgrep -f -- "-o $tmp/tiny.cwc")
		kill -STOP "$stopped"
		sleep 2
		kill -CONT "$stopped"
	} &
fi
record_pid tiny queue_bench --seconds $((slow > 1 ? 8 : 2)) -- "${hop[@]}" --ring-size 8K handle_item
if import tiny; then
	lost() { # KIND [CONDITION]
		query tiny "SELECT coalesce(sum(count), 0) FROM loss WHERE kind = '$1' AND ${2:-1}"
	}
	at_least "entries lost with a tiny ring" "$(lost probe_entry)" 1
	expect "entries received and lost" \
		"$(($(query tiny "SELECT count(*) FROM slice") + $(lost probe_entry)))" \
		"$(query tiny "SELECT sum(calls) FROM t.calls")"
	expect "returns received and lost" \
		"$(($("$analyze" sql "$tmp/tiny.cwc" --format csv "SELECT count(*) FROM raw_probe_return" 2>/dev/null | tail -n 1) +
			$(lost probe_return)))" "$(query tiny "SELECT calls FROM t.calls WHERE function = 'handle_item'")"
	# Switches of the program's threads away from a CPU, by its own count (rusage): each voluntary one is a
	# sched_block, to the last; each other one a sched_switch. A sched_switch that was lost may also have
	# been one only to such a thread, which rusage does not count: hence a range. (What some guests hide
	# are switches to threads: their agent runs until then. None of those counted here.)
	began_ended=$(query tiny "SELECT begin_ns || ' AND ' || end_ns FROM t.ending")
	meanwhile="end_ts >= ${began_ended% AND *} AND ts <= ${began_ended#* AND }"
	received() { # TABLE CONDITION
		"$analyze" sql "$tmp/tiny.cwc" --format csv "SELECT count(*) FROM $1 WHERE $2
			AND ts BETWEEN $began_ended" 2>/dev/null | tail -n 1 | tr -d '\r'
	}
	slept=$(($(received raw_sched_block "prev_pid = $target_pid") + $(lost sched_block "$meanwhile")))
	ousted=$(received raw_sched_switch "flags & 2 AND prev_pid = $target_pid")
	voluntary=$(query tiny "SELECT voluntary FROM t.ending")
	involuntary=$(query tiny "SELECT involuntary FROM t.ending")
	before=$((slow > 1 ? 200 : 5)) # as above; an emulator's losses may have been before the time that is counted
	at_least "switches lost with a tiny ring" "$(($(lost sched_block) + $(lost sched_switch)))" 1
	at_most "difference of sleeps recorded or lost ($slept) and counted by the kernel ($voluntary)" \
		"$((slept > voluntary ? slept - voluntary : voluntary - slept))" $before
	at_most "switches recorded ($slept asleep, $ousted runnable), above those counted by the kernel" \
		"$((slept + ousted))" "$((voluntary + involuntary + before))"
	at_least "switches recorded or lost ($slept asleep, $ousted runnable, $(lost sched_switch) of both kinds lost), by the kernel's count" \
		"$((slept + ousted + $(lost sched_switch "$meanwhile")))" "$((voluntary + involuntary - 5))"
	# Each waking is followed by its wakeup.
	woken=$(($(query tiny "SELECT sum(CASE key WHEN 'events.sched_waking' THEN value ELSE -value END) FROM capture_info
		WHERE key IN ('events.sched_waking', 'events.sched_wakeup')") + $(lost sched_waking) - $(lost sched_wakeup)))
	at_most "wakings recorded or lost, less such wakeups" "${woken#-}" 20
	expect "kinds of which more or fewer were received than BPF emitted" "$(query tiny "SELECT count(*) FROM capture_info e
		JOIN capture_info r ON r.key = 'events.' || substr(e.key, 9) WHERE e.key GLOB 'emitted.*' AND e.value <> r.value")" 0
	expect "complete chains without a flag whose duration or source is not the truth's order" "$(query tiny \
		"SELECT count(*) FROM chain c JOIN path p USING(chain_id) JOIN hop h USING(chain_id)
		 WHERE p.flags = '' AND (h.queue_ns < 0 OR h.work_ns < 0
			OR h.oncpu_ns + h.blocked_ns + h.runq_ns + h.preempted_ns <> h.work_ns)")" 0
	[ "$slow" -gt 1 ] || # where the losses may be over before the first chain
		at_least "chains with a flag" "$(query tiny "SELECT count(*) FROM path WHERE flags <> ''")" 1
	expect "handoffs stitched to another one without a flag" "$(query tiny \
		"SELECT count(*) FROM edge e JOIN slice s ON s.slice_id = e.src_slice
		 JOIN slice d ON d.slice_id = e.dst_slice WHERE s.arg3 <> d.arg2 AND e.evidence = 'exact'")" 0
fi

# No frame pointers: the stacks of a function are few, and say that they are cut.
record_pid nofp queue_bench_nofp --seconds 2 -- "${hop[@]}" handle_item
if import nofp; then
	at_most "distinct stacks of entries" "$(query nofp "SELECT count(DISTINCT stack_id) FROM slice")" 50
	at_least "stacks marked as address and caller only" \
		"$(query nofp "SELECT count(*) FROM stack WHERE caller_only")" 1
	expect "callers of the probed functions" "$(query nofp \
		"SELECT group_concat(function) FROM (SELECT DISTINCT c.function FROM slice s
		 JOIN callstack c USING(stack_id) WHERE c.depth = 1 ORDER BY 1)")" "consumer_main,main"
fi
finish
