#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What is said of functions that were never called, and of files that nobody had mapped.
# PARALLEL: words are looked for.
. "$(dirname "$0")/../lib.sh"
need_tracing
cd "$tmp" || exit 2

said() { # OPTIONS...: what is said of functions
	"$record" -o uncalled.cwc "$@" 2>log >out || fail "$*: $(cat log)"
	grep -E '^callweave-record: (never called|no traced process)' log
}

bench=(--exec "$workloads/queue_bench")
run=(-- --rate 1000 --seconds 1)
expect "all are called" "$(said "${bench[@]}" handle_item submit_item "${run[@]}")" ""
expect "one is not" "$(said "${bench[@]}" handle_item libc.so.6:getppid "${run[@]}")" "callweave-record: never called: getppid"
expect "many are not" "$(said "${bench[@]}" handle_item libc.so.6:getppid libc.so.6:getsid libc.so.6:sethostname libc.so.6:swapoff libc.so.6:acct "${run[@]}")" \
	"callweave-record: never called: getppid, getsid, sethostname and 2 more of 6 functions"
# A library that the program does not load.
other=$(realpath "$(ldd "$analyze" | awk '/libzstd\.so/ { print $3 }')")
expect "a file that is not mapped" "$(said "${bench[@]}" handle_item "$other:ZSTD_versionNumber" "$other:ZSTD_isError" "${run[@]}")" \
	"callweave-record: no traced process had $other mapped: its functions were not called"
expect "quietly" "$(said -q "${bench[@]}" handle_item libc.so.6:getppid "${run[@]}")" ""
# A program that was there before.
"$workloads/trace_test" --count 0 --start-file "$tmp/never" >out2 &
pids+=($!)
wait_for grep -q PID out2
expect "nobody calls it" "$(said -p $! --duration 0.5 function_to_trace)" "callweave-record: never called: function_to_trace"
finish
