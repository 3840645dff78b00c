#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Three threads and two queues, recorded by PID and by --exec: every chain, compared with the truth.
. "$(dirname "$0")/../lib.sh"
need_tracing

hops=(--async-hop enqueue_request,2,process_request,1 --async-hop enqueue_storage_task,2,write_result,1)
for how in pid exec; do
	record_$how $how trace_async_test --count 400 -- "${hops[@]}" write_result
	import $how && check_chains $how
done

# The same capture with other hops: one only, and its target's argument left to be found.
"$analyze" import "$tmp/exec.cwc" -o "$tmp/auto.db" --async-hop enqueue_request,2,process_request \
	>"$tmp/auto.log" 2>&1 || fail "import with one hop, argument auto: $(cat "$tmp/auto.log")"
expect "one hop, argument found" "$(sqlite3 "$tmp/auto.db" \
	"SELECT count(*), min(hop_count), max(hop_count), (SELECT group_concat(DISTINCT target_arg) FROM hop) FROM chain")" \
	"400|1|1|1"
finish
