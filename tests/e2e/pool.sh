#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Two thread pools with bounded queues and bursts, by PID and by --exec.
. "$(dirname "$0")/../lib.sh"
need_tracing

for how in pid exec; do
	record_$how $how trace_thread_pool_test --count 80 -- "${pool_hops[@]}" write_result
	import $how && check_chains $how
done
note "80 chains twice; $(grep -h 'work: p99' "$tmp"/*.figures | awk -F'|' '{ printf "%s%d", sep, $2 / 1000; sep = " and " } END { print " us p99 of work" }')"
finish
