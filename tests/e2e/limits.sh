#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Where recordings end: at a size, going on in further files, or because nobody reads them any more.
# PARALLEL: files and events are counted.
. "$(dirname "$0")/../lib.sh"
need_tracing
hops=(--async-hop submit_item,2,handle_item,1 handle_item)
"$workloads/queue_bench" --seconds 250 --rate 10000 >"$tmp/out" &
target=$!
pids+=($target)
wait_for grep -q PID "$tmp/out"

# One file of at most a size.
timeout 60 "$record" -p $target --max-size 1M -o "$tmp/one.cwc" "${hops[@]}" >"$tmp/log" 2>&1 ||
	fail "--max-size: $(tail -n 1 "$tmp/log")"
at_most "bytes of a file of --max-size 1M" "$(stat -c %s "$tmp/one.cwc")" $((1 << 20))
at_least "bytes of a file of --max-size 1M" "$(stat -c %s "$tmp/one.cwc")" $((700 << 10))
"$analyze" dump --validate "$tmp/one.cwc" >"$tmp/valid" 2>&1 || fail "--max-size: $(tail -n 3 "$tmp/valid")"
expect "why it ended" "$("$analyze" sql "$tmp/one.cwc" --format csv "SELECT reason FROM raw_end" 2>/dev/null | tail -n 1 | tr -d '\r')" 6

# Several files: each is whole, no event is in two of them or in none.
timeout 100 "$record" -p $target --max-size 700K --rotate 3 -o "$tmp/many.cwc" "${hops[@]}" >"$tmp/log" 2>&1 ||
	fail "--rotate: $(tail -n 1 "$tmp/log")"
expect "files" "$(cd "$tmp" && echo many.*)" "many.0001.cwc many.0002.cwc many.0003.cwc"
expect "who may read them" "$(stat -c %a "$tmp"/many.*.cwc | sort -u)" 600
total=$(sed -n 's/.*: \([0-9]*\) events (.*/\1/p' "$tmp/log")
said_lost "$tmp/log" && fail "$lost"
sum=0
last=0
for n in 1 2 3; do
	file=$tmp/many.000$n.cwc
	at_most "bytes of file $n" "$(stat -c %s "$file")" $((700 << 10))
	"$analyze" dump --validate "$file" >"$tmp/valid" 2>&1 || fail "file $n: $(tail -n 3 "$tmp/valid")"
	events=$(sed -n 's/.* \([0-9]*\) events, nothing wrong/\1/p' "$tmp/valid")
	sum=$((sum + events))
	rm -f "$tmp/many.db" "$tmp/many.truth"
	cp "$file" "$tmp/many.cwc"
	import many
	one() { sqlite3 -batch "$tmp/many.db" "$1"; }
	at_least "file $n: chains" "$(one "SELECT count(*) FROM chain WHERE complete")" 300
	alone=$((${alone:-0} + $(one "SELECT count(*) FROM chain WHERE complete")))
	calls=$((${calls:-0} + $(one "SELECT count(*) FROM slice")))
	expect "file $n: calls whose stack is missing" \
		"$(one "SELECT count(*) FROM slice WHERE stack_id IS NULL OR stack_id NOT IN (SELECT stack_id FROM stack_frame)")" 0
	expect "file $n: frames without a name" "$(one "SELECT count(*) FROM callstack WHERE function IS NULL AND module LIKE 'queue_bench%'")" 0
	expect "file $n: threads without a name" "$(one "SELECT count(*) FROM thread WHERE name IS NULL AND utid IN (SELECT utid FROM slice)")" 0
	first=$(one "SELECT min(ts) FROM slice")
	[ "$first" -gt "$last" ] || fail "file $n begins before file $((n - 1)) ends"
	last=$(one "SELECT max(ts) FROM slice")
done
expect "events of all files" $sum "$total"
# Opened as one, with the chains whole that go from one file into the next.
"$analyze" import "$tmp/many.0001.cwc" -o "$tmp/many.db" >"$tmp/log" 2>&1 || fail "all files: $(cat "$tmp/log")"
one() { sqlite3 -batch "$tmp/many.db" "$1"; }
expect "calls in all files" "$(one "SELECT count(*) FROM slice")" "$calls"
at_least "chains in all files, and in each alone" "$(one "SELECT count(*) FROM chain WHERE complete")" "$alone"
loss="SELECT 1 FROM loss l WHERE l.ts <= s.ts AND l.end_ts >= s.ts - 100000000"
expect "handlers without a chain, but at the begin and by losses" "$(one "SELECT count(*) FROM unmatched u JOIN slice s USING(slice_id)
	WHERE u.reason <> 'before capture' AND NOT EXISTS ($loss)")" 0
bounds=$(for n in 2 3; do head -c 2000 "$tmp/many.000$n.cwc" | grep -ao 'start_mono_ns=[0-9]*' | cut -d= -f2; done)
at_least "chains from one file into the next" "$(one "SELECT count(*) FROM chain, (SELECT value AS b FROM json_each('[${bounds//$'\n'/,}]'))
	WHERE complete AND start_ts < b + 100000000 AND start_ts + total_ns > b")" 1
expect "captures that the files say they belong to" "$(for n in 1 2 3; do head -c 600 "$tmp/many.000$n.cwc" | grep -ao 'capture_id=[0-9a-f]*'; done | sort -u | wc -l)" 1

# The reader goes away: no failure, one sentence, while events come and while none do.
"$workloads/trace_test" --count 0 --start-file "$tmp/never" >"$tmp/out2" &
idle=$!
pids+=($idle)
wait_for grep -q PID "$tmp/out2"
for which in "$target submit_item" "$idle function_to_trace"; do
	{ timeout 100 "$record" -p ${which% *} -o - ${which#* } 2>"$tmp/log"; echo $? >"$tmp/status"; } | head -c 100 >/dev/null
	expect "$which: exit status when the reader goes away" "$(cat "$tmp/status")" 0
	expect "$which: what is said" "$(cat "$tmp/log")" "callweave-record: the reader of the capture has gone: stopped recording"
done
finish
