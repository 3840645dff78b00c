#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Handoffs found among all functions of each workload and some of libc: one group for each true one and
# no other, none where there is none. And who handed over the work, by the wakings.
# PARALLEL: handoffs found are compared with those made.
. "$(dirname "$0")/../lib.sh"
need_tracing
cd "$tmp" || exit 2
libc_functions=(malloc calloc realloc free pthread_mutex_lock pthread_mutex_unlock pthread_cond_signal
	pthread_cond_wait pthread_cond_broadcast pthread_create pthread_join sem_post sem_wait clock_nanosleep
	clock_gettime memset memcpy strlen)

functions_of() { # WORKLOAD: those it defines, and libc's
	nm --defined-only "$workloads/$1" | awk '$2 ~ /^[tT]$/ { print $3 }' |
		grep -vE '^(_|deregister_tm_clones$|register_tm_clones$|frame_dummy$|main$)'
	printf 'libc.so.6:%s\n' "${libc_functions[@]}"
}

# found NAME: SOURCE,ARG,TARGET,ARG of each group, sorted.
found() {
	"$analyze" suggest "$tmp/$1.cwc" --format jsonl 2>"$tmp/$1.err" |
		sed -n 's/.*"option":"--async-hop \([^"]*\)".*/\1/p' | sort
}

recorded=0
try() { # NAME WORKLOAD "OPTIONS OF THE RECORDER" "WANTED..." [OPTIONS OF THE WORKLOAD]
	local name=$1 workload=$2 options=$3 wanted=$4 n
	shift 4
	mapfile -t functions < <(functions_of "$workload")
	# shellcheck disable=SC2086 # options are words
	record_exec "$name" "$workload" "$@" -- $options "${functions[@]}"
	n=${#functions[@]}
	at_least "$name: functions recorded" "$n" 30
	recorded=$((recorded + 1))
	expect "$name: handoffs" "$(found "$name" | tr '\n' ' ')" "$(printf '%s\n' $wanted | sort | tr '\n' ' ' | sed 's/^ $//')"
}

pool='submit_compute_task,2,process_request,1 submit_storage_task,2,write_result,1'
try pool trace_thread_pool_test --attribution "$pool" --count 60
try async trace_async_test --attribution \
	'enqueue_request,2,process_request,1 enqueue_storage_task,2,write_result,1' --count 60
try complex trace_complex_async_test --attribution "submit_decode_task,2,decode_request,2
	submit_enrich_task,1,enrich_request,3 submit_persist_task,2,persist_result,8" --count 15
try tagged tagged --attribution "$pool" --count 400
try trace trace_test --attribution submit_async_task,1,function_to_trace,1 --count 50
try bench queue_bench --attribution submit_item,2,handle_item,1 --rate 2000 --seconds 1
# Entries alone are enough.
try entries trace_thread_pool_test '' "$pool" --count 60
# No handoff in these.
try lock trace_lock_test --attribution '' --count 8
try nest nest_test --attribution '' --count 100
try blocked blocked_test --attribution '' --count 8

# A program that was running before, with its queues full.
mapfile -t functions < <(functions_of trace_thread_pool_test)
"$workloads/trace_thread_pool_test" --count 0 >"$tmp/running.out" 2>&1 &
running=$!
pids+=($running)
sleep 1
"$record" -p $running --attribution --duration 2 -o "$tmp/running.cwc" "${functions[@]}" >"$tmp/running.log" 2>&1 ||
	fail 'cannot record the running program'
kill $running
expect 'running: handoffs' "$(found running | tr '\n' ' ')" "$(printf '%s ' $pool)"

# What is said of them: wrappers inside the group, the plan in the order of the chain, and it works.
"$analyze" suggest "$tmp/tagged.cwc" >"$tmp/tagged.txt" || fail 'suggest failed'
for line in 'the same key, before: entry_new argument 1' 'the same key, after: task_put argument 2' \
	'another key: submit_storage_task argument 4 -> run_storage argument 1'; do
	expect "in the text: $line" "$(grep -c "^  $line" "$tmp/tagged.txt" | sed 's/^[1-9]$/some/')" some
done
"$analyze" suggest "$tmp/pool.cwc" | sed -n '/^target:/,$p' >"$tmp/pool.yaml"
expect 'plan' "$(cat "$tmp/pool.yaml")" 'target:
  function: write_result

hops:
  - source: submit_compute_task
    source_arg: 2
    target: process_request
    target_arg: 1
  - source: submit_storage_task
    source_arg: 2
    target: write_result
    target_arg: 1'
mapfile -t hops < <("$analyze" suggest "$tmp/pool.cwc" | sed -n 's/^  \(--async-hop .*\)/\1/p')
# In the order of the chain, as the plan has them.
# shellcheck disable=SC2046 # an option and its value
"$analyze" import "$tmp/pool.cwc" -o "$tmp/pool.db" $(printf '%s\n' "${hops[@]}" | sort) >/dev/null 2>&1 ||
	fail 'the suggested hops do not work'
expect 'chains by the suggested hops' "$(sqlite3 "$tmp/pool.db" 'SELECT count(*) FROM chain WHERE complete')" 60
"$analyze" suggest "$tmp/lock.cwc" >"$tmp/lock.txt" || fail 'suggest failed where nothing is found'
expect 'word when nothing is found' "$(grep -c '^No handoff found' "$tmp/lock.txt")" 1

# Discovery: who woke the target's thread, and which function it was in.
first_of() { # NAME TARGET
	"$analyze" discover "$tmp/$1.cwc" "$2" --format jsonl 2>/dev/null |
		sed -n 's/.*"rank":1,"function":"\([^"]*\)".*/\1/p'
}
# On a busy machine a worker may never find its queue empty, and then nobody wakes it: of three, the first
# recording in which somebody does.
for _ in 1 2 3; do
	record_exec wake trace_async_test --count 60 -- --async-hop enqueue_request,2,process_request,1 \
		--async-hop enqueue_storage_task,2,write_result,1 write_result
	[ -n "$(first_of wake write_result)" ] && [ -n "$(first_of wake process_request)" ] && break
done
record_exec workers trace_thread_pool_test --count 60 -- "${pool_hops[@]}" write_result
expect 'source of write_result' "$(first_of wake write_result)" enqueue_storage_task
expect 'source of process_request' "$(first_of wake process_request)" enqueue_request
expect 'source of write_result in the pools' "$(first_of workers write_result)" submit_storage_task
expect 'source of process_request in the pools' "$(first_of workers process_request)" submit_compute_task
# From the target alone, recorded before, or live from the recorder: what the source is called is in the
# stack of the waker, and that is the first one shown.
shows() { # NAME SOURCE TARGET: of the text in NAME.txt
	expect "$1: first candidate" "$(sed -n 's/^candidate source function: \([^ ]*\) .*/\1/p' "$tmp/$1.txt" | head -n 1)" "$2"
	expect "$1: its stack" "$(sed -n "/^candidate/,/^suggested/{/waker #.* $2 at /p}" "$tmp/$1.txt" | grep -c . | sed 's/^[1-9]$/there/')" there
	expect "$1: its template" "$(grep -A 1 -m 1 '^suggested template:' "$tmp/$1.txt" | tail -n 1)" "  --async-hop $2,?,$3,1 $3"
}
record_exec alone trace_thread_pool_test --count 100 -- --discover-async process_request --discover-async write_result
for pair in submit_compute_task,process_request submit_storage_task,write_result; do
	"$analyze" discover "$tmp/alone.cwc" "${pair#*,}" >"$tmp/offline.txt" 2>"$tmp/err" || fail "discover: $(cat "$tmp/err")"
	shows offline "${pair%,*}" "${pair#*,}"
	"$record" --discover-async "${pair#*,}" -o - --exec "$workloads/trace_thread_pool_test" -- --count 100 2>"$tmp/log" |
		"$analyze" discover - "${pair#*,}" >"$tmp/live.txt" 2>"$tmp/err" || fail "live: $(cat "$tmp/log" "$tmp/err")"
	shows live "${pair%,*}" "${pair#*,}"
done
"$analyze" discover "$tmp/wake.cwc" write_result --async-target-arg 3 >"$tmp/wake.txt" || fail 'discover failed'
expect 'template' "$(grep -A 1 -m 1 '^suggested template:' "$tmp/wake.txt" | tail -n 1)" \
	'  --async-hop enqueue_storage_task,?,write_result,3 write_result'
expect 'candidate' "$(grep -c '^candidate source function: enqueue_storage_task ' "$tmp/wake.txt")" 1
expect "wakes to entry that are later than the truth's starts" "$(
	"$analyze" import "$tmp/wake.cwc" -o "$tmp/wake.db" >/dev/null 2>&1
	sqlite3 "$tmp/wake.db" "SELECT count(*) FROM call_waking WHERE wake_to_entry_ns < 0"
)" 0
"$analyze" discover "$tmp/wake.cwc" nothing >"$tmp/nothing.out" 2>&1
expect 'status for a function that was not recorded' $? 1
expect 'word for it' "$(tail -n 1 "$tmp/nothing.out")" \
	'callweave-analyze: calls of nothing were not recorded; recorded were: enqueue_request, enqueue_storage_task, process_request, write_result'
note "$recorded workloads among 30 functions or more"
finish
