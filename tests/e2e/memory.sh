#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The recorder's memory stays what it was, while events, threads and references to them come and go:
# ten minutes in make soak (MEMORY_SECONDS), some seconds here.
. "$(dirname "$0")/../lib.sh"
need_tracing
seconds=${MEMORY_SECONDS:-16}
export STORM_COUNTS=$tmp/counts

"$workloads/queue_bench" --rate 10000 --work-us 5 --seconds $((seconds + 60)) >"$tmp/queue.out" &
queue=$!
"$workloads/storm_test" --churn 1000000000 --ms 0 >"$tmp/storm.out" &
storm=$!
pids+=($queue $storm)
wait_for grep -q PID "$tmp/queue.out"
wait_for grep -q PID "$tmp/storm.out"
start_recorder "$tmp/log" -p $queue -p $storm --attribution --async-hop submit_item,2,handle_item,1 \
	--max-size 4M --rotate 9999 -o "$tmp/m.cwc" handle_item storm_test:calm
recorder=$recorder_pid
for ((i = 0; i < 16; i++)); do
	sleep "$(awk -v s="$seconds" 'BEGIN { print s / 16 }')"
	kill -0 $recorder || break
	awk '$1 == "VmRSS:" { print $2 }' "/proc/$recorder/status" >>"$tmp/rss"
	# Two files are enough on the disk.
	find "$tmp" -name 'm.*.cwc' | sort | head -n -2 | xargs -r rm --
done
expect "looks at a recorder that went on" "$(wc -l <"$tmp/rss")" 16
kill -INT $recorder
wait $recorder
expect "exit status" $? 0
kill -TERM $queue $storm
wait $queue $storm
forget $recorder $queue $storm
grep -q 'none lost' "$tmp/log" || busy || fail "events were lost: $(tail -n 1 "$tmp/log")"
threads=$(od -An -t u8 -j 16 -N 8 "$STORM_COUNTS" | tr -d ' ')
at_least "threads that came and went" "$threads" 1000
early=$(head -n 8 "$tmp/rss" | sort -n | tail -n 1)
late=$(tail -n 8 "$tmp/rss" | sort -n | tail -n 1)
# Where others keep it from its CPU, what waits to be compressed is more at one time than at another.
limit_of "KiB in the second half, above the first" $((early / 20 + 1024)) $((early / 8 + 1024))
at_most "KiB in the second half, above $early in the first" $((late - early)) $limit
at_most "KiB at most" "$late" 65536
note "$((early / 1024)) MiB in the first half, $((late / 1024)) MiB in the second of $seconds s, $threads threads"
finish
