#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --flight: nothing on disk until it is asked for, then all that happened in the last seconds, and not
# much more.
# PARALLEL: what was written is compared with what the program did until then.
. "$(dirname "$0")/../lib.sh"
need_tracing

now_ns() {
	awk '{ printf "%.0f", $1 * 1e9 }' /proc/uptime
}

# Wait for the recorder's word that it wrote files.
wrote() { # LOG TIMES
	[ "$(grep -c 'wrote the last' "$1")" -ge "$2" ]
}

"$workloads/trace_thread_pool_test" --start-file "$tmp/go" --truth "$tmp/pool.truth" >"$tmp/pool.out" 2>&1 &
target=$!
pids+=("$target")
wait_for grep -q PID "$tmp/pool.out"
start_recorder "$tmp/pool.log" -p $target --flight 2 -o "$tmp/pool.cwc" "${pool_hops[@]}" write_result
: >"$tmp/go"
sleep 5
expect "files before they are asked for" "$(ls "$tmp"/pool*.cwc 2>/dev/null)" ""
asked=$(now_ns) clock=$(date +%s.%N)
kill -USR1 $recorder_pid
wait_for wrote "$tmp/pool.log" 1
first=$(find "$tmp" -name 'pool.*.cwc' | sort | head -n 1)
n=$(find "$tmp" -name 'pool.*.cwc' | wc -l)
# Two seconds before they were written: a recorder that waits for a CPU does that later than it is asked.
late=$(find "$tmp" -name 'pool.*.cwc' -printf '%T@\n' | sort -g | tail -n 1 | awk -v asked="$clock" '{ printf "%d", ($1 - asked) * 1000 }')
expect "who may read them" "$(stat -c %a "$tmp"/pool.*.cwc | sort -u)" 600
[ "$slow" -gt 1 ] || sleep 1
kill -INT $recorder_pid
wait $recorder_pid
expect "exit status" $? 0
kill $target
wait $target 2>/dev/null
# Not before the end: what lies between two writings is forgotten when that takes two seconds.
expect "one capture of them" "$("$analyze" dump --validate "$first" 2>&1 | tail -n 1 | grep -c 'nothing wrong')" 1
forget $target $recorder_pid
at_least "files written at the end, too" "$(find "$tmp" -name 'pool.*.cwc' | wc -l)" $((n + 1))

"$analyze" import "$first" -o "$tmp/pool.db" >"$tmp/pool.import" 2>&1 || fail "import: $(cat "$tmp/pool.import")"
grep -q 'are missing\|is missing' "$tmp/pool.import" && fail "what was forgotten on purpose is missing: $(cat "$tmp/pool.import")"
sqlite3 "$tmp/pool.truth.db" -cmd "PRAGMA synchronous=off" -cmd ".parameter set :file '$tmp/pool.truth'" \
	<"$here/e2e/truth.sql" || fail "cannot load the truth"
# /proc/uptime is CLOCK_BOOTTIME, which is CLOCK_MONOTONIC on a machine that never slept.
limit=$((late < 50 ? 1800 : 1850 - late))
[ $limit -ge 1000 ] || loosened "written $late ms after it was asked"
window="start_ns BETWEEN $asked - ${limit}000000 AND $asked - 200000000"
at_least "handoffs in the last seconds" "$(query pool "SELECT count(*) FROM t.hop WHERE $window")" $(((limit - 200) / 80))
expect "of those, not in the files" "$(query pool "SELECT count(*) FROM t.hop x WHERE $window AND NOT EXISTS
	(SELECT 1 FROM hop h WHERE h.target_tid = x.target_tid AND h.start_ts <= x.start_ns
		AND h.end_ts >= x.start_ns AND h.evidence = 'exact')")" 0
# A piece of half a second more, and that may be longer on a machine that is busy.
limit_of "seconds before that" $((slow > 1 ? 6 : 3)).5 6.5
at_most "seconds before that" "$(query pool "SELECT ($asked - min(start_ts)) / 1e9 FROM report_clock")" $limit
note "$n files for 2 s"

# A slow call has it written, once a span; a limit that is not reached never.
for when in "150 function_to_trace" "150 trace_lock_test:function_to_trace" "900 function_to_trace"; do
	limit=${when% *} function=${when#* }
	rm -f "$tmp/go" "$tmp/lock.out" "$tmp"/slow*.cwc
	"$workloads/trace_lock_test" --count $((slow > 1 ? 24 : 8)) --start-file "$tmp/go" >"$tmp/lock.out" 2>&1 &
	target=$!
	pids+=("$target")
	wait_for grep -q PID "$tmp/lock.out"
	start_recorder "$tmp/slow.log" -p $target --flight 20 --flight-when "$function,$limit" \
		-o "$tmp/slow$limit.cwc" "$function"
	: >"$tmp/go"
	wait $target
	wait $recorder_pid
	expect "$when: exit status" $? 0
	forget $target $recorder_pid
	expect "$when: written because of a call" "$(grep -c 'wrote the last' "$tmp/slow.log")" $((limit < 200))
done
finish
