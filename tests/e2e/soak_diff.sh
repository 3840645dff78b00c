#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# diff on real pairs of the same load: recorded at the same time, under the same conditions, they raise an alarm in at
# most 1 of 20 pairs (and what chance adds to that), and one after the other on a machine that does nothing else, too.
# Run by `make soak`, which sets SOAK; DIFF_PAIRS pairs of each workload and each way.
if [ -z "${SOAK:-}" ]; then
	echo "only in make soak"
	exit 77
fi
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
need_tracing
pairs=${DIFF_PAIRS:-20}
alarms=0 n=0 others=0

compare() { # NAME at-once|after
	n=$((n + 1))
	"$analyze" diff "$tmp/a.cwc" "$tmp/b.cwc" --no-symbols --format jsonl >"$tmp/jsonl" 2>/dev/null || fail "diff of pair $n"
	grep -q '"p":[0-9]' "$tmp/jsonl" || fail "pair $n ($1, $2): nothing was tested"
	if [ "$2" = after ] && busy; then
		others=$((others + 1)) # what others do is a part of the load
	elif grep -q '"changed":true' "$tmp/jsonl"; then
		alarms=$((alarms + 1))
	fi
	grep -q '"changed":true' "$tmp/jsonl" || return
	echo "pair $n ($1, $2): $(grep '"changed":true' "$tmp/jsonl" | head -n 3 | grep -o '"target.*"p_adjusted":[^,]*')"
}

pool() { # SIDE
	record_exec "$1" trace_thread_pool_test --count 300 -- "${pool_hops[@]}" write_result
}

complex() { # SIDE
	record_exec "$1" trace_complex_async_test --count 60 -- --async-hop submit_decode_task,2,decode_request \
		--async-hop submit_enrich_task,1,enrich_request --async-hop submit_persist_task,2,persist_result persist_result
}

for ((i = 0; i < pairs; i++)); do
	for workload in pool complex; do
		rm -f "$tmp"/[ab].cwc
		$workload a &
		$workload b &
		wait
		compare $workload at-once
		$workload a
		$workload b
		compare $workload after
	done
done
# The same program, of which one function sleeps a fifth longer.
if sed 's/workload_sleep_us(50000)/workload_sleep_us(60000)/' "$here/workloads/trace_thread_pool_test.c" >"$tmp/slow.c" &&
	gcc -std=gnu11 -D_GNU_SOURCE -g -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -I"$here/workloads" \
		-o "$tmp/slow" "$tmp/slow.c" "$build/tests/workloads/truth.o" -lpthread; then
	record_exec a trace_thread_pool_test --count 300 -- "${pool_hops[@]}" write_result
	mkdir -p "$tmp/slower" && cp "$tmp/slow" "$tmp/slower/trace_thread_pool_test"
	workloads=$tmp/slower record_exec b trace_thread_pool_test --count 300 -- "${pool_hops[@]}" write_result
	"$analyze" diff "$tmp/a.cwc" "$tmp/b.cwc" >"$tmp/text" || fail "diff with a slow stage"
	grep -qE '^ *1 +submit_storage_task -> write_result +(work|blocked) ' "$tmp/text" || fail "the slow stage is not first: $(head -n 15 "$tmp/text")"
else
	fail "cannot compile the slow program"
fi
[ $n = 0 ] || note "$alarms of $((n - others)) real pairs of the same load raised an alarm, $others more were recorded on a busy machine"
at_most "false alarms" $alarms "$(awk -v n=$((n - others)) 'BEGIN { print int(0.05 * n + 1.645 * sqrt(0.0475 * n) + 0.5) }')"
finish
