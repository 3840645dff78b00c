#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Several rings: what a thread does on one CPU and then on the next is recorded in that order, calls are
# counted as they are made, and nothing is lost that is not said.
# PARALLEL: order and numbers.
. "$(dirname "$0")/../lib.sh"
need_tracing

# From the file, in its order: records, and returns on another CPU than the call; then what is wrong: a
# return before its call, a call within a call, a time before the one before.
order() { # NAME
	"$analyze" dump "$tmp/$1.cwc" | awk -F '[:,"]+' '
		$3 == "probe_entry" || $3 == "probe_return" {
			for (i = 2; i < NF; i += 2) v[$i] = $(i + 1)
			tid = v["tid"]
			n++
			if (v["ts"] < last[tid]) wrong++
			last[tid] = v["ts"]
			if ($3 == "probe_entry") {
				if (open[tid]) wrong++
				open[tid] = 1
				cpu[tid] = v["cpu"]
			} else {
				if (!open[tid]) wrong++
				open[tid] = 0
				moved += cpu[tid] != v["cpu"]
			}
		}
		END { print n, moved + 0, wrong + 0 }'
}

record_pid two move_test --count 2000 --threads 4 -- --rings 2 --ret --time move_to_next
said_lost "$tmp/two.log" && fail "$lost"
read -r records moved wrong <<<"$(order two)"
made=$(sed -n 's/.*"calls":\([0-9]*\).*/\1/p' "$tmp/two.truth")
expect "calls" "$made" 8000
expect "calls and returns in the file" "$records" $((2 * made))
at_least "returns on another CPU than the call" "$moved" $(($(nproc) > 1 ? made * 3 / 4 : 0))
expect "records of a thread in another order than it did what they say" "$wrong" 0
import two --no-symbols && expect "calls, and returns" \
	"$(sqlite3 "$tmp/two.db" "SELECT count(*), count(dur) FROM slice")" "$made|$made"

# So many calls and no more: each is counted where it returns.
"$workloads/move_test" --count 0 --threads 4 --start-file "$tmp/go" >"$tmp/out" &
target=$!
pids+=($target)
wait_for grep -q PID "$tmp/out"
start_recorder "$tmp/log" -p $target --rings 2 --ret --time move_to_next --max-events 5000 -o "$tmp/some.cwc"
expect "ring buffers of the recorder" "$(grep -l 'map_type:[[:space:]]*27' /proc/$recorder_pid/fdinfo/* 2>/dev/null | wc -l)" 2
: >"$tmp/go"
wait $recorder_pid
expect "--max-events: recorder's exit status" $? 0
forget $recorder_pid
import some --no-symbols && {
	got=$(sqlite3 "$tmp/some.db" "SELECT count(dur) FROM slice")
	expect "--max-events 5000: calls that returned" "$got" 5000
	expect "why it ended" "$("$analyze" sql "$tmp/some.cwc" --format csv "SELECT reason FROM raw_end" 2>/dev/null |
		tail -n 1 | tr -d '\r')" 4
}
kill -INT $target
wait $target
forget $target

# Rings that are far too small: what was received and what was lost are all that was made.
record_pid small move_test --count 20000 --threads 4 -- --rings 2 --ring-size 8K --ret --time move_to_next
import small --no-symbols && {
	lost=$(sqlite3 "$tmp/small.db" "SELECT coalesce(sum(count), 0) FROM loss WHERE kind = 'probe_entry'")
	expect "small rings: calls received and lost" \
		$(($(sqlite3 "$tmp/small.db" "SELECT count(*) FROM slice") + lost)) 80000
	note "$made calls of 4 threads in order, $moved on two CPUs; of 80000 through 8 KiB $lost were lost and said"
}
finish
