#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Targets that make it hard: one that crashes in a recorded function or is killed, processes and threads
# that come and go in great numbers. Each keeps its own exit status and does all its work, by the counts
# that it leaves in a file; what was received and what was lost add up to them.
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../storm_lib.sh"
need_tracing
tried=0 all_lost=0

# storm NAME STATUS WORKLOAD OPTIONS -- RECORDER OPTIONS: the target's own exit status, a capture that
# opens, and calls received and lost that are as many as it made, or less when it was killed: each of its
# threads may have been between counting and calling, and in a call that never ended.
storm() {
	local name=$1 status=$2 words rest got made
	split_words "${@:3}"
	rm -f "$STORM_COUNTS" "$tmp/go" "$tmp/out"
	"$workloads/storm_test" --start-file "$tmp/go" "${words[@]}" >"$tmp/out" 2>&1 &
	target=$!
	pids+=($target)
	wait_for grep -q PID "$tmp/out"
	start_recorder "$tmp/$name.log" -p $target -o "$tmp/$name.cwc" --time "${rest[@]}" calm
	: >"$tmp/go"
	[ "$status" != 137 ] || {
		sleep 1
		kill -KILL $target
	}
	wait $target 2>/dev/null
	got=$?
	expect "$name: exit status of the target" "$got" "$status"
	wait $recorder_pid
	got=$?
	expect "$name: exit status of the recorder" $got 0
	[ $got = 0 ] || cat "$tmp/$name.log"
	forget $target $recorder_pid
	import "$name" --no-symbols || return
	made=$(count_of 0)
	received=$(query "$name" "SELECT count(*) FROM slice")
	lost=$(query "$name" "SELECT coalesce(sum(count), 0) FROM loss WHERE kind = 'probe_entry'")
	all_lost=$((all_lost + lost))
	tried=$((tried + 1))
	echo "$name: $made calls, $received received, $lost lost, exit status $status"
	at_least "$name: calls" "$made" "$least"
	ended_ill=$(query "$name" "SELECT group_concat(n || ' ' || why) FROM
		(SELECT count(*) AS n, no_return AS why FROM slice WHERE no_return IS NOT NULL GROUP BY no_return)")
	if [ "$status" = 137 ]; then
		at_least "$name: calls that are neither received nor lost" $((made - received - lost)) 0
		at_most "$name: calls that are neither received nor lost" $((made - received - lost)) 5
		[[ $ended_ill =~ ^([1-5]\ exit)?$ ]] || fail "$name: calls that did not end well: $ended_ill"
	else
		expect "$name: calls received and lost" $((received + lost)) "$made"
		expect "$name: calls that did not end well" "$ended_ill" "$unended"
	fi
}
query() { # NAME SQL, without a truth
	sqlite3 -batch -bail "$tmp/$1.db" "$2"
}

least=500 unended='1 exit'
storm crash 139 --rate 1000 --ms 60000 --crash 500 --
expect "crash: the call it crashed in" "$received" 500
least=100
storm killed 137 --rate 1000 --ms 60000 --threads 4 --
least=300 unended=''
storm forks 5 --forks 300 --ms 0 --code 5 -- --follow-forks
expect "forks: processes that ended well" "$(count_of 3)" 300
expect "forks: processes recorded" "$(query forks "SELECT count(DISTINCT upid) FROM slice JOIN thread USING(utid)")" \
	$((received < 300 ? 0 : 300))
least=100
storm execs 0 --execs 100 -- --follow-forks
expect "execs: programs executed" "$(count_of 3)" 100
least=2000
storm threads 6 --threads 2000 --rate 2 --ms 3000 --code 6 --
expect "threads: threads that ended well" "$(count_of 2)" 2000
# In three seconds of an emulator not all of them get to a call.
all=$((slow > 1 ? 200 : 2000))
[ "$lost" -gt 0 ] || at_least "threads: threads recorded" \
	"$(query threads "SELECT count(DISTINCT utid) FROM slice JOIN thread USING(utid) WHERE tid <> $target")" $all
least=10000
storm churn 0 --churn 10000 --ms 0 --
expect "churn: threads that ended well" "$(count_of 2)" 10000
note "$tried storms, $all_lost calls lost and said"
finish
