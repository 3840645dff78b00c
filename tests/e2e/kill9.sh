#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A recorder that is killed leaves a file that opens and holds all but the last quarter of a second.
. "$(dirname "$0")/../lib.sh"
need_tracing

"$workloads/queue_bench" --seconds 60 --rate 20000 >"$tmp/out" &
target=$!
pids+=($target)
wait_for grep -q PID "$tmp/out"
worst=0
RANDOM=42
for ((i = 0; i < 10; i++)); do
	start_recorder "$tmp/log" -p $target --async-hop submit_item,2,handle_item,1 -o "$tmp/k.cwc" handle_item
	recorder=$recorder_pid
	sleep "0.$((400 + RANDOM % 599))"
	killed=$(awk '{ printf "%d", $1 * 1000 }' /proc/uptime)
	kill -KILL $recorder
	wait $recorder 2>/dev/null
	forget $recorder
	"$analyze" import "$tmp/k.cwc" -o "$tmp/k.db" >"$tmp/import" 2>&1 || {
		fail "kill $i: import failed: $(cat "$tmp/import")"
		continue
	}
	last=$(sqlite3 "$tmp/k.db" "SELECT max(ts) / 1000000 FROM slice")
	missing=$((killed - ${last:-0}))
	[ $missing -gt $worst ] && worst=$missing
	at_most "kill $i: ms missing before it" "$missing" 250
	at_least "kill $i: calls in the file" "$(sqlite3 "$tmp/k.db" "SELECT count(*) FROM slice")" 2000
	[ -s "$tmp/import" ] || fail "kill $i: import does not say that the file ends early"
	rm -f "$tmp/k.cwc" "$tmp/k.db"
done
note "at most $worst ms missing in 10 kills"

# A second Ctrl-C ends at once, and the file is still readable. The first closes the file.
for times in 1 2; do
	start_recorder "$tmp/log" -p $target --async-hop submit_item,2,handle_item,1 -o "$tmp/c.cwc" handle_item
	recorder=$recorder_pid
	sleep 0.5
	kill -INT $recorder
	[ $times = 2 ] && kill -INT $recorder 2>/dev/null
	wait $recorder
	status=$?
	forget $recorder
	[ $times = 2 ] || expect "exit status after Ctrl-C" $status 0
	"$analyze" import "$tmp/c.cwc" -o "$tmp/c.db" >"$tmp/import" 2>&1 || fail "$times Ctrl-C: $(cat "$tmp/import")"
	at_least "$times Ctrl-C: calls" "$(sqlite3 "$tmp/c.db" "SELECT count(*) FROM slice")" 500
	[ $times = 2 ] || "$analyze" dump --validate "$tmp/c.cwc" >"$tmp/valid" 2>&1 || fail "Ctrl-C: $(tail -n 3 "$tmp/valid")"
	rm -f "$tmp/c.cwc" "$tmp/c.db"
done
finish
