#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --cgroup records exactly the processes of a cgroup and of those below it: that were there, that
# come in and execute, that are born there; and nobody else.
# PARALLEL: processes and calls are counted.
. "$(dirname "$0")/../lib.sh"
need_tracing
root=$(awk '{ for (i = 7; i < NF; i++) if ($i == "-" && $(i + 1) == "cgroup2") { print $5; exit } }' /proc/self/mountinfo)
mounted=
if [ -z "$root" ]; then
	root=$tmp/cgroup
	mkdir "$root"
	mount -t cgroup2 none "$root" 2>/dev/null || skip "cgroup version 2 is not mounted and cannot be"
	mounted=$root
fi
group=$root/callweave-test-$$
mkdir -p "$group/inner" 2>/dev/null || skip "cannot make a cgroup in $root"
leave() {
	cleanup
	rmdir "$group/inner" "$group"
	[ -z "$mounted" ] || umount "$mounted"
}
trap leave EXIT

join() { # GROUP PROGRAM...: run it there, its output to nowhere
	bash -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@" >/dev/null' - "$@"
}
calls() { # NAME
	"$analyze" sql "$tmp/$1.cwc" --format csv "SELECT count(*) FROM call GROUP BY pid ORDER BY 1" 2>/dev/null | tail -n +2 | tr -d '\r' | tr '\n' ' '
}
start() { # VARIABLE COUNT GROUP: a workload that waits for $tmp/go
	"$workloads/trace_test" --count "$2" --start-file "$tmp/go" >"$tmp/out.$2" &
	printf -v "$1" %d $!
	pids+=($!)
	wait_for grep -q PID "$tmp/out.$2"
	[ -z "$3" ] || echo "${!1}" >"$3/cgroup.procs"
}
record_group() { # NAME OPTIONS...
	local name=$1
	shift
	"$record" -o "$tmp/$name.cwc" "$@" >"$tmp/$name.out" 2>"$tmp/$name.log" &
	recorder=$!
	pids+=($recorder)
	wait_for recorder_ready "$tmp/$name.log" $recorder
}
stop() { # NAME
	kill -INT $recorder
	wait $recorder || fail "$1: $(cat "$tmp/$1.log")"
	forget $recorder
}

# Without a BINARY: the programs of those that are there.
start inside 31 "$group"
start below 32 "$group/inner"
start outside 33 ""
record_group named --cgroup "$group" --time function_to_trace
: >"$tmp/go"
join "$group/inner" "$workloads/trace_test" --count 11
join "$root" "$workloads/trace_test" --count 12
# Born in the group, of a parent that came in before it executed anything.
join "$group" bash -c '"$1" --count 13; "$1" --count 14' - "$workloads/trace_test"
# shellcheck disable=SC2154 # start sets them
wait $inside $below $outside
stop named
forget $inside $below $outside
expect "calls of processes in the cgroup" "$(calls named)" "11 13 14 31 32 "
said_lost "$tmp/named.log" && fail "$lost"

# With a BINARY, by the path below the mount point, nobody there yet.
record_group later --cgroup "${group#"$root"}" --time "$workloads/trace_test" function_to_trace
join "$group" "$workloads/trace_test" --count 5
"$workloads/trace_test" --count 6 >/dev/null
stop later
expect "calls of a process that came later" "$(calls later)" "5 "

# A process that leaves and executes is recorded no more.
record_group gone --cgroup "$group" --time "$workloads/trace_test" function_to_trace
join "$group" bash -c '"$1" --count 7; echo $$ >"$2/cgroup.procs"; "$1" --count 8' - "$workloads/trace_test" "$root"
stop gone
expect "calls after leaving the cgroup" "$(calls gone)" "7 "

"$record" --cgroup "$group" -o "$tmp/x.cwc" function_to_trace 2>"$tmp/log"
expect "an empty cgroup: exit status" $? 1
grep -q 'no process in the cgroup .*name the BINARY' "$tmp/log" || fail "an empty cgroup: $(cat "$tmp/log")"
"$record" --cgroup "$tmp" -o "$tmp/x.cwc" function_to_trace 2>"$tmp/log"
grep -q 'no cgroup of version 2' "$tmp/log" || fail "not a cgroup: $(cat "$tmp/log")"
finish
