#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What can go wrong around a recorder: it stands still, nobody reads from it, it is not alone, the file
# of the program it traces is replaced or overwritten. The target goes on all the while, by its own
# count of calls and of the longest time it got nowhere, and ends as it would have; received and lost
# add up to what it did. (Recorders that come and go: restarts.sh.)
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../storm_lib.sh"
need_tracing
stopped=${SOAK:+10}
stopped=${stopped:-2}
tried=0 all_lost=0
cp "$workloads/storm_test" "$tmp/prog"

query() { # NAME SQL
	sqlite3 -batch -bail "$tmp/$1.db" "$2"
}

goes_on() { # the target, since its count was $before
	[ $(($(count_of 1) - before)) -ge 1000 ]
}

ends() { # NAME CODE
	target_ends "$@"
	tried=$((tried + 1))
}

# Received and lost are what the target counted.
adds_up() { # NAME
	import "$1" --no-symbols || return
	received=$(query "$1" "SELECT count(*) FROM slice")
	lost=$(query "$1" "SELECT coalesce(sum(count), 0) FROM loss WHERE kind = 'probe_entry'")
	made=$(($(count_of 0) + $(count_of 1)))
	all_lost=$((all_lost + lost))
	echo "$1: $made calls, $received received, $lost lost, at most $(($(count_of 4) / 1000000)) ms without one"
	expect "$1: calls received and lost" $((received + lost)) "$made"
}

# ---- the recorder does not run for a while, with a small ring, so that there are losses --------------
target $((1000 * stopped + 1000)) 3
start_recorder "$tmp/stop.log" -p $target --ring-size 1M --stack none calm hot -o "$tmp/stop.cwc"
: >"$tmp/go"
sleep 0.5
before=$(count_of 1)
kill -STOP $recorder_pid
sleep "$stopped"
during=$(($(count_of 1) - before))
kill -CONT $recorder_pid
ends stop 3
wait $recorder_pid
expect "stop: exit status of the recorder" $? 0
forget $recorder_pid
adds_up stop
at_least "stop: calls of the target while the recorder stood still" $during 1000
# A ring of 1M holds less than 20,000 of them; a target that waits for a CPU may not make so many.
enough=$((during >= 20000))
[ $enough = 1 ] || loosened "stop: too few calls for a loss"
at_least "stop: calls lost with a ring of 1M" "$lost" $enough
[ "$lost" = 0 ] || expect "stop: the loss begins after calls that were received" \
	"$(query stop "SELECT min(ts) > (SELECT min(ts) FROM slice) FROM loss WHERE kind = 'probe_entry'")" 1

# ---- nobody reads the pipe, or slowly -----------------------------------------------------------------
mkfifo "$tmp/pipe"
target 120000 4
head -c 300000 <"$tmp/pipe" >"$tmp/closed.cwc" &
reader=$!
"$record" -p $target --stack none calm hot -o - >"$tmp/pipe" 2>"$tmp/closed.log" &
recorder=$!
pids+=($recorder)
: >"$tmp/go"
wait $recorder
expect "closed pipe: exit status of the recorder" $? 0
wait $reader
forget $recorder
before=$(count_of 1)
grep -q 'reader of the capture has gone' "$tmp/closed.log" || fail "closed pipe: $(cat "$tmp/closed.log")"
wait_for goes_on
kill -TERM $target || fail "closed pipe: the target ended with its recorder"
ends "closed pipe" 4
import closed --no-symbols
at_least "closed pipe: calls in what was read" "$(query closed "SELECT count(*) FROM slice")" 1

target 2000 5
{ # 64 KiB, ten times a second
	exec 9<"$tmp/pipe"
	while dd bs=64k count=1 <&9 >"$tmp/piece" 2>/dev/null && [ -s "$tmp/piece" ]; do
		cat "$tmp/piece" >>"$tmp/slow.cwc"
		sleep 0.1
	done
} &
reader=$!
"$record" -p $target --ring-size 1M --stack none calm hot -o "$tmp/pipe" >"$tmp/slow.log" 2>&1 &
recorder=$!
pids+=($recorder)
wait_for recorder_ready "$tmp/slow.log" $recorder
: >"$tmp/go"
ends "slow pipe" 5
wait $recorder
expect "slow pipe: exit status of the recorder" $? 0
wait $reader
forget $recorder
adds_up slow

# ---- the disk is full ----------------------------------------------------------------------------------
mkdir "$tmp/small"
target 120000 10
unshare -m bash -c 'mount -t tmpfs -o size=400k none "$0" && "${@:2}" -o "$0/full.cwc" 2>"$1.log"
	status=$?
	cp "$0/full.cwc" "$1.cwc"
	exit $status' "$tmp/small" "$tmp/full" "$record" -p $target --stack none calm hot &
recorder=$!
pids+=($recorder)
: >"$tmp/go"
wait $recorder
expect "full disk: exit status of the recorder" $? 1
forget $recorder
before=$(count_of 1)
grep -qi 'no space' "$tmp/full.log" || fail "full disk: $(cat "$tmp/full.log")"
wait_for goes_on
kill -TERM $target || fail "full disk: the target ended with its recorder"
ends "full disk" 10
import full --no-symbols
at_least "full disk: calls in what was written" "$(query full "SELECT count(*) FROM slice")" 1000
grep -q 'lost\|cut\|ends' "$tmp/full.import" || fail "full disk: import does not say that the file ends early: $(cat "$tmp/full.import")"

# ---- the program's file is replaced while it runs ------------------------------------------------------
# In place the kernel refuses it; under its name another program, whose functions are elsewhere, comes.
target 2500 6
start_recorder "$tmp/file.log" "$tmp/prog" --stack none calm hot -o "$tmp/file.cwc"
: >"$tmp/go"
cp "$workloads/queue_bench" "$tmp/prog" 2>/dev/null && fail "a running program could be overwritten"
cp "$workloads/queue_bench" "$tmp/other"
mv "$tmp/other" "$tmp/prog"
"$tmp/prog" --rate 1000 --seconds 1 >"$tmp/other.out" 2>&1
expect "replaced file: exit status of the new program" $? 0
grep -q 'handoffs [0-9]' "$tmp/other.out" || fail "replaced file: the new program did not work"
ends "replaced file" 6
kill -INT $recorder_pid
wait $recorder_pid
expect "replaced file: exit status of the recorder" $? 0
forget $recorder_pid
adds_up file
expect "replaced file: programs in the capture" "$(query file "SELECT count(DISTINCT upid) FROM slice JOIN thread USING(utid)")" 1
cp "$workloads/storm_test" "$tmp/other"
mv "$tmp/other" "$tmp/prog"

# While nobody runs it, it can be overwritten in place: breakpoints at the old places would cut the
# instructions of the new program.
start_recorder "$tmp/place.log" "$tmp/prog" --stack none calm hot -o "$tmp/place.cwc"
rm -f "$STORM_COUNTS"
"$tmp/prog" --ms 200 --code 9 >"$tmp/other.out"
expect "overwritten file: exit status of the old program" $? 9
cp "$workloads/queue_bench" "$tmp/prog" || fail "overwritten file: it could not be"
"$tmp/prog" --rate 1000 --seconds 1 >"$tmp/other.out" 2>&1
expect "overwritten file: exit status of the new program" $? 0
kill -INT $recorder_pid
wait $recorder_pid
expect "overwritten file: exit status of the recorder" $? 0
forget $recorder_pid
grep -q "prog is being overwritten: detached its functions" "$tmp/place.log" ||
	fail "overwritten file: the screen does not say it: $(cat "$tmp/place.log")"
import place --no-symbols
expect "overwritten file: calls of the old program" "$(query place "SELECT count(*) FROM slice")" "$(count_of 0)"
expect "overwritten file: what the capture says" \
	"$(query place "SELECT group_concat(reason) FROM (SELECT reason FROM loss WHERE reason LIKE 'det%' ORDER BY 1)")" \
	'detached: calm,detached: hot'
tried=$((tried + 1))
cp "$workloads/storm_test" "$tmp/prog"

# ---- two recorders at a time, of the same functions --------------------------------------------------
target 2000 7
start_recorder "$tmp/first.log" -p $target --stack none --time calm hot -o "$tmp/first.cwc"
first=$recorder_pid
start_recorder "$tmp/second.log" -p $target --stack none calm hot -o "$tmp/second.cwc"
: >"$tmp/go"
ends "two recorders" 7
for pid in $first $recorder_pid; do
	wait $pid
	expect "two recorders: exit status" $? 0
done
forget $first $recorder_pid
adds_up first
adds_up second

note "$tried faults, $all_lost calls lost and said, the target got nowhere for at most $((longest / 1000000)) ms"
finish
