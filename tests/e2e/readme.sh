#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The README's table of command lines: each row is run as it stands there, on the program that it
# names, and what it shows is held against what that program knows of itself. Only PID and the offset
# are put in.
# PARALLEL: counts and keys are the program's own, at any speed.
. "$(dirname "$0")/../lib.sh"
need_tracing
recorded=() analyzed=()
readme=$here/../README.md
cp -r "$workloads"/. "$tmp" # what is recorded by its file is nobody else's
ln -s "$(realpath "$here/../examples")" "$tmp/examples"
cd "$tmp" || exit 2
capture=callweave.cwc

# A function's value in the symbol table, as another tool reads it.
value_of() { # FILE SYMBOL
	readelf -W --syms --dyn-syms "$1" 2>/dev/null | awk -v s="$2" '
		$4 == "FUNC" && $7 != "UND" && ($8 == s || index($8, s "@") == 1) { print "0x" $2 }' |
		sed 's/^0x0*/0x/' | sort -u
}
has() { # PATTERN FILE...: in this row's output
	grep -qE -- "$1" "${@:2}" || fail "$row: no '$1' in $2: $(head -n 5 "$2")"
}
json() { # FILE SQL, over the rows r(j)
	sqlite3 :memory: "WITH r(j) AS (SELECT value FROM json_each('[' || replace(rtrim(CAST(readfile('$1') AS TEXT),
		char(10)), char(10), ',') || ']')) $2"
}
option() { # NAME WORDS...: the value of --NAME
	local name=--$1
	shift
	while [ $# -gt 1 ]; do
		[ "$1" = "$name" ] && echo "$2" && return
		shift
	done
}

# ---- what rows must show ----------------------------------------------------------------------------
# As many calls as the program made, each with what was asked for.
check_calls() { # FUNCTION
	local wanted function=$1 lines what about
	wanted=$(query row "SELECT count(*) FROM t.hop WHERE target = '$function' UNION ALL
		SELECT count(*) FROM t.lock ORDER BY 1 DESC LIMIT 1")
	# calloc is called once a task, and by others.
	if [[ $function == *alloc ]]; then
		wanted=$(query row "SELECT count(*) FROM call WHERE function LIKE '%alloc'")
		[ "$function" = malloc ] || at_least "$row: calls" "$wanted" "$count"
		at_least "$row: calls" "$wanted" 1
		has '^  #0 .* libc\.so\.6 ' shown
	else
		[[ " ${recorded[*]} " == *' --offset '* ]] || expect "$row: other functions" \
			"$(query row "SELECT count(*) FROM call WHERE function <> '$function'")" 0
		expect "$row: calls" "$(query row "SELECT count(*) FROM call")" "$wanted"
		has "^  #0 .* $program  *$function at tests/workloads/$program.c:[0-9]+\$" shown
	fi
	expect "$row: entries shown" "$(grep -c '^\[' shown)" "$wanted"
	lines=$(grep -c '^  RETURN ' shown)
	case " ${recorded[*]} " in
	*' --ret '* | *' --return-value '*) what=' ret=0x' ;;
	*' --time '* | *' --latency '* | *' --attribution '* | *' --breakdown '*) what=' duration=' ;;
	*)
		expect "$row: returns that nobody asked for" "$lines" 0
		return
		;;
	esac
	expect "$row: returns" "$lines" "$wanted"
	expect "$row: returns with$what" "$(grep -c "^  RETURN.*$what" shown)" "$wanted"
	[[ $what == *ret* && $function == function_to_trace ]] &&
		expect "$row: return values" "$(grep -c '^  RETURN ret=0x0000000000123456 (1193046) duration=' shown)" "$wanted"
	case " ${recorded[*]} " in
	*' --attribution '* | *' --breakdown '*)
		expect "$row: parts" "$(grep -cE '^  RETURN .* oncpu=.* offcpu=.* blocked=.* runq=.* preempt/unknown=' shown)" "$wanted"
		;;
	esac
	[ "$program" = trace_lock_test ] || return
	about='([1-9][0-9]{2}[.][0-9]+ ms|[0-9.]+ s( |$))' # a quarter of a second, or what it became; lock.sh holds it against the truth
	expect "$row: waits for the program's mutex" "$(grep -cE "^ *wait=futex operation=wait address=$(query row \
		"SELECT mutex FROM t.lock LIMIT 1") duration=$about" shown)" "$wanted"
	has "waker PID $target/TID $(query row "SELECT holder_tid FROM t.lock LIMIT 1") " shown
	has 'waker #.* lock_holder_main ' shown
}

# As many chains as requests came through, and all hops of each by the right key.
check_chains_of() { # FILE
	local wanted limit
	wanted=$(query row "SELECT count(*) FROM t.hop WHERE hop = (SELECT max(hop) FROM t.hop)")
	limit=$(option max-events "${recorded[@]}" "${analyzed[@]}")
	[ -z "$limit" ] || [ "$wanted" -le "$limit" ] || wanted=$limit
	case " ${analyzed[*]} " in
	*html*)
		has '^<!DOCTYPE html>' "$1"
		at_least "$row: chains" "$(query row "SELECT count(*) FROM chain WHERE complete")" "$wanted"
		return
		;;
	*' json '*)
		expect "$row: chains" "$(json "$1" "SELECT count(*) FROM r WHERE j ->> 'type' = 'chain'")" "$wanted"
		sqlite3 row.truth.db "SELECT key FROM hop ORDER BY 1" >keys.truth
		json "$1" "SELECT h.value ->> 'key_int' FROM r, json_each(j, '\$.hops') h WHERE j ->> 'type' = 'chain' ORDER BY 1" >keys
		[ -n "$(head -n 1 keys)" ] || json "$1" "SELECT h.value ->> 'key' FROM r, json_each(j, '\$.hops') h
			WHERE j ->> 'type' = 'chain'" | while read -r key; do echo $((key)); done | sort -n >keys
		diff keys keys.truth >keys.diff || fail "$row: keys differ: $(head -n 3 keys.diff)"
		return
		;;
	esac
	expect "$row: chains" "$(grep -c '^chain ' "$1")" "$wanted"
	expect "$row: hops" "$(grep -c '^async hop ' "$1")" $((wanted * $(query row "SELECT count(DISTINCT hop) FROM t.hop")))
	expect "$row: hops that say where the time went" "$(grep -cE '^  queue=.* work=.* oncpu=.* blocked=.* runq=.* dominant=' "$1")" \
		"$(grep -c '^async hop ' "$1")"
	has "^  async #0 .* $program  *(submit|enqueue)_[a-z_]* at tests/workloads/$program.c:" "$1"
	[ "$program" = trace_complex_async_test ] || return
	expect "$row: arguments found" "$(sed -n 's/^async hop \([0-9]\).* target-arg=\([0-9]\) .*/\1:\2/p' "$1" | sort -u | xargs)" '0:2 1:3 2:8'
	has 'wait=futex operation=wait address=0x' "$1"
	has 'waker #.* storage_lock_holder ' "$1"
}

check_filtered() { # FILE, of a program that went on: no bare entries, and filters hold for each chain
	expect "$row: chains" "$(grep -c '^chain ' "$1")" 10
	expect "$row: calls without a chain" "$(awk '/^\[.* PID / { n++ } /^chain / { n-- } END { print n }' "$1")" 0
	expect "$row: chains that the filters do not let through" "$(json trace.jsonl "
		SELECT count(*) FROM r WHERE j ->> 'type' = 'chain' AND NOT (j ->> 'total_ns' >= 100000000
		AND EXISTS (SELECT 1 FROM json_each(j, '\$.hops') h WHERE h.value ->> 'queue_ns' >= 10000000)
		AND EXISTS (SELECT 1 FROM json_each(j, '\$.hops') h WHERE h.value ->> 'work_ns' >= 20000000))")" 0
	expect "$row: chains of the same capture" "$(json trace.jsonl "SELECT count(*) FROM r WHERE j ->> 'type' = 'chain'")" 10
}

check() {
	case " ${recorded[*]} ${analyzed[*]} " in
	*' --find-symbol '*)
		local symbol file
		symbol=$(option find-symbol "${recorded[@]}")
		file=$(sed -n '/^[^ ]/h; / symbol='"$symbol"'[@ ]/ { x; p; q; }' shown)
		[ -e "$file" ] || fail "$row: no file: $(cat shown)"
		command -v readelf >/dev/null || return
		[ "$symbol" = malloc ] && [[ " ${recorded[*]} " == *' --module '* ]] && expect "$row: files" "$(grep -c '^[^ ]' shown)" 1
		has "^  symbol=$symbol(@[^ ]*)? value=$(value_of "$file" "$symbol" | head -n 1)( |\$)" shown
		;;
	*' --check-config '*) has '^examples/thread-pool.yaml: valid; 4 functions; hops submit_compute_task -> process_request, submit_storage_task -> write_result$' shown ;;
	*' discover '*)
		has '^candidate source function: submit_storage_task ' shown
		has '^  --async-hop submit_storage_task,\?,write_result,1 write_result$' shown
		;;
	*' diagnostics '*)
		expect "$row: snapshots" "$(grep -c snapshot shown)" 0
		has '^queue 2 submit_persist_task -> persist_result .* diagnosis=lock contention$' shown
		;;
	*' --min-total-ms '*) check_filtered shown ;;
	*' --async-'* | *' --config '*)
		check_chains_of "$(option output "${analyzed[@]}" | grep . || ls callweave-*.html 2>/dev/null || echo shown)"
		case " ${analyzed[*]} " in
		*' follow - --diagnostic-interval-ms 1000 '*) has '^\[.*\] queue snapshot 0' shown ;;
		esac
		;;
	*' malloc '* | *' calloc '*) check_calls "${recorded[-1]}" ;;
	*) check_calls function_to_trace ;;
	esac
}

# ---- running a row ----------------------------------------------------------------------------------
offset=$("$record" --binary ./trace_test --find-symbol function_to_trace | sed -n 's/.*offset=//p')
put_in() { # WORDS of a cell, with what is not known before, to the array named first
	# shellcheck disable=SC2034 # it is the array of the caller
	local -n into=$1
	eval "into=($(sed "s/\bPID\b/$target/g; s/\b0x11c9\b/$offset/g" <<<"$2"))"
}
run_analyze() {
	[ ${#analyzed[@]} = 0 ] || "$analyze" "${analyzed[@]}" >shown 2>said || fail "$row: $(cat said)"
}
begin_target() { # its PID in $target
	rm -f go row.* out "$capture" trace.json* callweave-*.html
	[[ $1 == *PID* ]] || return
	"./$program" --start-file go --truth row.truth --count "$count" >out 2>&1 &
	target=$!
	pids+=($target)
	wait_for grep -q PID out
}
end_target() {
	: >go
	if [[ $1 == *PID* ]]; then
		wait "$target" || fail "$row: the program failed"
		forget "$target"
	else
		"./$program" --truth row.truth --count "$count" >out 2>&1
		kill -INT $recorder_pid
	fi
}

# It records once more than its header and what was there before is written: it says nothing then.
records() {
	[ "$(stat -c %s "$capture")" -gt 20000 ]
}

# record -o - | follow -
piped() {
	mkfifo stream
	"$record" "${recorded[@]}" 2>log >stream &
	recorder_pid=$!
	tee "$capture" <stream | "$analyze" "${analyzed[@]}" >shown 2>said &
	local follower=$!
	pids+=($recorder_pid $follower)
	wait_for records
	if [ "$count" = 0 ]; then # until the reader has enough
		: >go
		wait $follower
		kill -INT "$target"
		wait "$target"
		forget "$target"
	else
		end_target PID
		wait $follower
	fi
	wait $recorder_pid || fail "$row: $(cat log)"
	forget $recorder_pid $follower
	rm stream
	"$analyze" "$capture" --format jsonl --min-total-ms 100 --min-queue-ms 10 --min-work-ms 20 --max-events 10 >trace.jsonl 2>/dev/null
}

run_row() { # PROGRAM CALLWEAVE RECORD ANALYZE
	local how
	program=$1 row=$2 count=12 target=
	[ "$3" != same ] || set -- "$1" "$2" "$2" "$4"
	[[ $4 != *--max-events\ 10 ]] || count=0
	[ "$program" != trace_lock_test ] || count=3
	[ -x "./$program" ] || { fail "$row: no program $program"; return; }
	case $3 in
	*--find-symbol* | *--check-config*) how=ask ;;
	*'-o -'*) how=piped ;;
	*--exec*) how="exec" ;;
	*) how=record ;;
	esac
	begin_target "$3"
	put_in recorded "$3"
	put_in analyzed "$4"
	case $how in
	ask)
		"$record" "${recorded[@]}" >shown 2>said || fail "$row: $(cat said)"
		[ -z "$target" ] || { end_target PID; }
		;;
	piped) piped ;;
	exec)
		count=$(option count "${recorded[@]}")
		"$record" "${recorded[@]}" --truth row.truth >out 2>log || fail "$row: $(cat log)"
		;;
	record)
		start_recorder log "${recorded[@]}"
		end_target "$3"
		wait $recorder_pid || fail "$row: $(cat log)"
		forget $recorder_pid
		;;
	esac
	[ $how = piped ] || run_analyze
	if [ -e "$capture" ] && [ -s row.truth ]; then
		mv "$capture" row.cwc
		import row || return
		mv row.cwc "$capture"
	fi
	check
	rows=$((rows + 1))
}

rows=0
while IFS='|' read -r _ a b c d _; do
	cell() { sed 's/^ *`\{0,1\}//; s/`\{0,1\} *$//' <<<"$1"; }
	before=$failures
	run_row "$(cell "$a")" "$(cell "$b")" "$(cell "$c")" "$(cell "$d")"
	[ $failures = $before ] || echo "^ in the row: $a| $b|$c|$d"
done < <(sed -n '/^## .*command lines$/,/^## Where/p' "$readme" | grep '^| `')
at_least 'rows of the table' $rows 30
note "$rows command lines"
finish
