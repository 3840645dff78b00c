# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
# What one hit costs, callweave beside bpftrace and perf record on the same probe of a function in a
# tight loop, and how many a second it takes without a loss.

hits=$bench/hits

# callweave has no mode without arguments: its entries hold all eight.
hit_callweave_entry() { start_callweave --stack none hit; }
hit_callweave_stack() { start_callweave hit; }
hit_callweave_return() { start_callweave --stack none --ret --time hit; }
hit_callweave_args() { start_callweave --stack none six; }
hit_bpftrace_entry() { start_bpftrace "uprobe:$hits:hit { @ = count(); }"; }
hit_bpftrace_stack() { start_bpftrace "uprobe:$hits:hit { @[ustack] = count(); }"; }
hit_bpftrace_return() { start_bpftrace "uprobe:$hits:hit { @ = count(); } uretprobe:$hits:hit { @r = count(); }"; }
hit_bpftrace_args() {
	start_bpftrace "uprobe:$hits:six { printf(\"%lx %lx %lx %lx %lx %lx\\n\", arg0, arg1, arg2, arg3, arg4, arg5); }"
}
hit_perf_entry() { start_perf_events -e "$perf_event:hit"; }
hit_perf_stack() { start_perf_events -g -e "$perf_event:hit"; }
hit_perf_return() { start_perf_events -e "$perf_event:hit" -e "$perf_event:back*"; }
hit_perf_args() { start_perf_events -e "$perf_event:six"; }
hit_empty_entry() { start_empty hit; }
hit_callweave_deep() { start_callweave hit; }
hit_callweave_push() { start_callweave --stack none begins_push; }
hit_callweave_endbr() { start_callweave --stack none begins_endbr; }
hit_callweave_cpus() { start_callweave --stack none --ring-size 64M hit; }
hit_callweave_one() { hit_callweave_cpus; }
hit_callweave_rings() { start_callweave --stack none --ring-size 64M --rings "$(nproc)" hit; }

# The floor: a program that does nothing, on the breakpoint that the recorder chose.
start_empty() { # FUNCTION
	start_tracer "$bench/empty" "$target_pid" "$hits" "$("$build/callweave-record" "$hits" --find-symbol "$1" |
		sed -n 's/.*offset=\(0x[0-9a-f]*\).*/\1/p')"
	wait_until "$measure_pid" grep -q ready "$tmp/tracer.log"
}

# What a hit takes in the file.
bytes_a_hit() { # KIND ROUND
	local events lost bytes payload
	read -r events lost bytes payload < <(closing_line "$tmp/tracer.log") || return
	sample "hits.bytes.$1" "$2" "$(quotient $((bytes - payload)) "$events")"
}

one_hit() { # TOOL KIND ROUND FUNCTION [CALLS_A_SECOND THREADS]
	[ -e "$tmp/failed.hits.$1.$2" ] && return
	progress "hits: round $3 of $rounds, $1, $2"
	if traced "hit_$1_$2" "$hits" "$tmp/go" 0.3 "${@:4}"; then
		sample "hits.$1.$2" "$3" "$(target_says ns)"
		[ "$1" != callweave ] || bytes_a_hit "$2" "$3"
	else
		last_words "$tmp/tracer.log" >"$tmp/failed.hits.$1.$2"
	fi
}

hit_row() { # NAME WHAT KIND TOOL WORDS
	local missing_tool=missing_$4
	if [ -e "$tmp/failed.hits.callweave.$3" ]; then
		failed "$1" "$2" "$(cat "$tmp/failed.hits.callweave.$3")"
	elif [ -n "${!missing_tool:-}" ]; then
		skipped "$1" "$2, beside $4" "${!missing_tool}"
	elif [ -e "$tmp/failed.hits.$4.$3" ]; then
		failed "$1" "$2" "$4: $(cat "$tmp/failed.hits.$4.$3")"
	else
		row_beside "$1" "$2" "hits.callweave.$3" ns "$5" "hits.$4.$3"
	fi
}

hit_rows() { # KIND WHAT BPFTRACE PERF
	hit_row "hits.$1" "$2" "$1" bpftrace "$3"
	hit_row "hits.$1.perf" "$2" "$1" perf "$4"
}

# What CPUs that hand over records at the same time cost each other.
cpus_row() { # KIND WHAT WORDS OTHER [GOAL]
	local kind
	for kind in "$1" "$4"; do
		[ -e "$tmp/failed.hits.callweave.$kind" ] || continue
		failed "hits.$1" "$2" "$(cat "$tmp/failed.hits.callweave.$kind")"
		return
	done
	row_beside "hits.$1" "$2" "hits.callweave.$1" ns "$3" "hits.callweave.$4" "${5:-}"
}

section_hits() {
	local round kind tool tools=(callweave) missing_bpftrace='' missing_perf='' missing_empty=''
	if have bpftrace; then tools+=(bpftrace); else missing_bpftrace="bpftrace is not installed"; fi
	if missing_perf=$(perf_probes "$hits" hit=hit "back=hit%return" "six=six a=%di b=%si c=%dx d=%cx e=%r8 f=%r9"); then
		tools+=(perf)
	fi
	perf_event=cwbench$$
	for ((round = 1; round <= rounds; round++)); do
		for tool in "${tools[@]}"; do
			for kind in entry stack return; do
				one_hit "$tool" "$kind" "$round" hit
			done
			one_hit "$tool" args "$round" six
		done
		one_hit empty entry "$round" hit
		one_hit callweave deep "$round" deep
		one_hit callweave push "$round" begins_push
		one_hit callweave endbr "$round" begins_endbr
		one_hit callweave one "$round" hit
		one_hit callweave cpus "$round" hit 0 "$(nproc)"
		one_hit callweave rings "$round" hit 0 "$(nproc)"
	done
	remove_perf_probes
	hit_rows entry "one hit: entry, with its arguments" "bpftrace, counted" "perf record"
	hit_rows stack "one hit: entry with user stack" "bpftrace, stacks counted" "perf record -g"
	hit_rows return "one hit: entry and return" "bpftrace, counted" "perf record"
	hit_rows args "one hit: six arguments kept" "bpftrace, printed" "perf record"
	hit_row hits.floor "one hit: entry, with its arguments" entry empty "an empty BPF program"
	[ -e "$tmp/failed.hits.callweave.deep" ] || row hits.deep "bytes of a hit with a stack of 20 frames, the same each time" \
		"$(median hits.bytes.deep)" bytes "without stacks" "$(median hits.bytes.entry)" "" "<= 16"
	cpus_row cpus "one hit: all $(nproc) CPUs at once" "one CPU alone" one "<= 1.25"
	cpus_row rings "the same, with a ring for each CPU" "as they share rings" cpus
	if [ -e "$tmp/failed.hits.callweave.endbr" ]; then
		failed hits.endbr "one hit: function with endbr64" "$(cat "$tmp/failed.hits.callweave.endbr")"
	else
		row_beside hits.endbr "one hit: function that begins endbr64; push" hits.callweave.endbr ns "begins with push" \
			hits.callweave.push "<= 1.3"
	fi
}

# ---- the most that is recorded without a loss ------------------------------------------------------
loss_at() { # CALLS A SECOND, 0 for as many as it can; leaves lost, events and rate
	local bytes payload
	traced hit_callweave_entry "$hits" "$tmp/go" 1 hit "$1" || return
	read -r events lost bytes payload < <(closing_line "$tmp/tracer.log") || return
	rate=$(target_says rate)
}

section_limit() {
	local rates=(100000 200000 400000 600000 800000 1000000 0) wanted rate=0 lost=0 events best=0 round floor
	for wanted in "${rates[@]}"; do
		progress "limit: $wanted calls a second"
		loss_at "$wanted" || {
			failed limit.events "events a second before the first loss" "$(last_words "$tmp/tracer.log")"
			return
		}
		[ "$lost" = 0 ] || break
		best=$rate
	done
	sample limit.full 1 "$rate"
	# What the target does in the same time under a program that does nothing.
	if traced hit_empty_entry "$hits" "$tmp/go" 1 hit 0; then floor=$(target_says rate); else floor=''; fi
	# The goal is 200,000 a second; where the machine makes no so many, 0.8 of what it makes anyway.
	if [ -z "$floor" ] || awk -v b="$best" 'BEGIN { exit !(b >= 196000) }'; then
		row limit.events "events a second recorded without a loss" "$best" events/s "" "" "" ">= 196000"
		[ -z "$floor" ] || row limit.floor "the same" "$best" events/s "with an empty program" "$floor" \
			"$(quotient "$best" "$floor")"
	else
		row limit.events "events a second recorded without a loss" "$best" events/s "with an empty program" \
			"$floor" "$(quotient "$best" "$floor")" ">= 0.8"
	fi
	row limit.lost "events lost at the highest rate tried" "$lost" events "at calls/s" "$rate"
}

# ---- where probes are placed -----------------------------------------------------------------------
section_placement() {
	local lib file functions entry placed
	for lib in libc.so.6 libstdc++.so.6; do
		file=$(ldconfig -p | awk -v lib="$lib" '$1 == lib { print $NF; exit }')
		if [ "$(uname -m)" != x86_64 ] || [ ! -e "$file" ]; then
			skipped "placement.${lib%%.*}" "single-stepped entry probes of $lib" "only on x86-64, where the library is"
			continue
		fi
		timed "$bench/placement" "$file" || {
			failed "placement.${lib%%.*}" "single-stepped entry probes of $lib" "$(last_words "$tmp/timed.err")"
			continue
		}
		read -r _ functions _ entry _ placed <"$tmp/timed.out"
		row "placement.${lib%%.*}" "single-stepped entry probes of $lib's $functions functions" "$placed" functions \
			"at the entries" "$entry" "$(quotient "$placed" "$entry")" "<= 0.5"
	done
}
