# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the tests with storm_test share: a target that leaves its own counts in a file, which outlives it.
# Sourced behind lib.sh.
# shellcheck disable=SC2154,SC2034 # variables of lib.sh and of the tests
export STORM_COUNTS=$tmp/counts
longest=0

count_of() { # INDEX in storm_test's counts: calm, hot, threads, processes, longest standstill
	od -An -t u8 -w8 -v "$STORM_COUNTS" | sed -n "$((1 + $1))p" | tr -d ' '
}
# A target that calls hot as often as it can, and calm, for so many ms; it waits for $tmp/go.
target() { # MS CODE
	rm -f "$STORM_COUNTS" "$tmp/go" "$tmp/out"
	"$tmp/prog" --start-file "$tmp/go" --hot 1 --rate 500 --ms "$1" --code "$2" >"$tmp/out" 2>&1 &
	target=$!
	pids+=($target)
	wait_for grep -q PID "$tmp/out"
}

# The target's own end, and that it never stood still for long.
target_ends() { # NAME CODE
	local ns limit
	wait $target
	expect "$1: exit status of the target" $? "$2"
	forget $target
	ns=$(count_of 4)
	[ "$ns" -gt $longest ] && longest=$ns
	limit_of "ms in which the target got nowhere" 500 20000
	at_most "$1: ms in which the target got nowhere" $((ns / 1000000)) $limit
}
