# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
# Stacks of 20 frames without frame pointers: unwinding distinct ones, and what a repeated one takes.

stacks_distinct=8000
stacks_few=100 # repeated so often
stacks_rounds=500

by_callweave_stacks() { start_callweave --ring-size 64M --stack "$stacks_how" stack_end; }

# Bytes of the file an entry, module payloads apart, when stacks repeat.
repeated_bytes() { # HOW
	local events lost bytes payload
	stacks_how=$1
	traced by_callweave_stacks "$bench/stacks" "$tmp/go" $stacks_few $stacks_rounds || return
	read -r events lost bytes payload < <(closing_line "$tmp/tracer.log") || return
	awk -v b="$((bytes - payload))" -v n="$((stacks_few * stacks_rounds))" 'BEGIN { print b / n }'
}

section_stacks() {
	local round n=$((rounds < 3 ? rounds : 3)) count frames none dwarf
	stacks_how=dwarf
	traced by_callweave_stacks "$bench/stacks" "$tmp/go" $stacks_distinct 1 || {
		failed stacks "unwinding saved stacks" "$(last_words "$tmp/tracer.log")"
		return
	}
	mv "$tmp/trace.cwc" "$tmp/stacks.cwc"
	for ((round = 1; round <= n; round++)); do
		progress "stacks: round $round of $n"
		rm -f "$tmp/stacks.db"
		timed "$analyze" import --no-symbols "$tmp/stacks.cwc" -o "$tmp/stacks.db" || {
			failed stacks "unwinding saved stacks" "$(last_words "$tmp/timed.err")"
			return
		}
		read -r count frames < <(sqlite3 -readonly -separator ' ' "$tmp/stacks.db" "SELECT count(*), round(avg(frame_count))
			FROM stack WHERE complete AND unwound_by = 'unwind tables'")
		sample stacks.rate "$round" "$(awk -v n="$count" -v s="$(awk '$1 == "wall" { print $4 }' "$tmp/timed.use")" \
			'BEGIN { print n / s }')"
	done
	row stacks.rate "stacks unwound by a core a second, $frames frames, the whole import counted" "$(median stacks.rate)" \
		"stacks/s" "" "" "" ">= 20000"
	row stacks.complete "of them complete" "$count" stacks of "$stacks_distinct" \
		"$(awk -v a="$count" -v b=$stacks_distinct 'BEGIN { print a / b }')"
	none=$(repeated_bytes none) && dwarf=$(repeated_bytes dwarf) || {
		failed stacks.bytes "bytes that a repeated stack takes" "$(last_words "$tmp/tracer.log")"
		return
	}
	row stacks.bytes "bytes that a repeated stack takes in the file" \
		"$(awk -v a="$dwarf" -v b="$none" 'BEGIN { print a - b }')" bytes "" "" "" "< 16"
}
