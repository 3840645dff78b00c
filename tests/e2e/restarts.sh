#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Recorders that start and stop again and again, or are killed, on a target that is busy in what they
# probe: it goes on, by its own count of calls and of the longest time it got nowhere, ends as it would
# have, and nothing is left that slows it down.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../storm_lib.sh"
need_tracing
tried=0
cp "$workloads/storm_test" "$tmp/prog"

gets_on() { # since its count was $before
	[ "$(count_of 1)" -gt "$before" ]
}

target 600000 8
: >"$tmp/go"
RANDOM=7
for ((i = 1; i <= 20; i++)); do
	[ $i -le 4 ] || [ $SECONDS -lt 150 ] || break # a machine on which each takes many seconds
	start_recorder "$tmp/again.log" -p $target --time calm hot -o "$tmp/again.cwc"
	sleep "0.0$((RANDOM % 90 + 10))"
	before=$(count_of 1)
	signal=INT status=0
	[ $((i % 4)) != 0 ] || signal=KILL status=137
	kill -$signal $recorder_pid
	wait $recorder_pid 2>/dev/null
	expect "start and stop $i: exit status of the recorder" $? $status
	forget $recorder_pid
	wait_for gets_on
	"$analyze" dump --validate "$tmp/again.cwc" >"$tmp/valid" 2>&1 || [ $signal = KILL ] ||
		fail "start and stop $i: $(tail -n 1 "$tmp/valid")"
	tried=$i
done
# Nothing is left behind that slows it down.
before=$(count_of 1)
sleep 0.5
after=$(($(count_of 1) - before))
kill -TERM $target
target_ends "start and stop" 8
at_least "calls of the target in half a second behind the last recorder" $after $((2000000 / slow))
[ "$tried" = 20 ] || loosened "recorders: $tried, not 20"
note "$tried recorders, the target got nowhere for at most $((longest / 1000000)) ms"
finish
