# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
# What recording costs the target: its throughput, whole runs, beside other tracers' on the same
# probes. The target hands over about as much as it can, 20 us of work each.

queue=$build/workloads/queue_bench
hop=(--async-hop submit_item,2,handle_item,1)

by_callweave() {
	start_callweave --attribution "${hop[@]}" handle_item
}

by_bpftrace() {
	start_bpftrace "uprobe:$queue:submit_item { @a[ustack] = count(); }
		uprobe:$queue:handle_item { @b[ustack] = count(); }
		uretprobe:$queue:handle_item { @c[ustack] = count(); }"
}

by_perf() {
	start_perf_events -g -z -e "$perf_event:*"
}

by_strace() {
	start_strace
}

by_gdb() {
	start_gdb submit_item handle_item
}

# One round with one tracer. A failure is kept for the row.
throughput() { # TOOL TRACER ROUND SECONDS
	[ -e "$tmp/failed.$1" ] && return
	progress "target: round $3 of $rounds, $1"
	if traced "$2" "$queue" --start-file "$tmp/go" --spin "$spin" --seconds "$4"; then
		sample "target.$1" "$3" "$(target_says rate)"
	else
		last_words "$tmp/tracer.log" >"$tmp/failed.$1"
	fi
}

# Bytes of what perf wrote, an event and a handoff; the last round's file is kept for import.
perf_samples() { # ROUND
	local bytes events
	bytes=$(stat -c %s "$tmp/perf.data")
	events=$((3 * $(target_says handoffs)))
	sample target.perf_event_bytes "$1" "$(quotient "$bytes" "$events")"
	sample target.perf_handoff_bytes "$1" "$(quotient "$bytes" "$(target_says handoffs)")"
	mv "$tmp/perf.data" "$tmp/queue.perf.data"
	perf_events=$events
}

target_row() { # TOOL WHAT
	if [ -e "$tmp/failed.$1" ]; then
		failed "target.$1" "$2" "$(cat "$tmp/failed.$1")"
	else
		row_beside "target.$1" "$2" "target.$1" handoffs/s untraced target.untraced
	fi
}

section_target() {
	local round tools=(untraced:none callweave:by_callweave) tool why
	local missing_perf='' missing_bpftrace=''
	spin=$("$queue" --calibrate | awk '$1 == "spin" { print $2 }')
	if have bpftrace; then tools+=(bpftrace:by_bpftrace); else missing_bpftrace="bpftrace is not installed"; fi
	perf_event=cwbench$$
	if why=$(perf_probes "$queue" submit=submit_item handle=handle_item handled=handle_item%return); then
		tools+=(perf:by_perf)
	else
		missing_perf=$why
	fi
	if have strace; then tools+=(strace:by_strace); fi
	if have gdb; then tools+=(gdb:by_gdb); fi
	for ((round = 1; round <= rounds; round++)); do
		for tool in "${tools[@]}"; do
			throughput "${tool%%:*}" "${tool#*:}" "$round" "$seconds"
			[ "$tool" != callweave:by_callweave ] || [ -e "$tmp/failed.callweave" ] ||
				capture_samples target "$round"
			[ "$tool" != perf:by_perf ] || [ -e "$tmp/failed.perf" ] || perf_samples "$round"
		done
	done
	remove_perf_probes

	row target.untraced "the target alone" "$(median target.untraced)" handoffs/s
	target_row callweave "callweave: arguments, stacks, attribution, futex waits"
	if [ -n "$missing_bpftrace" ]; then
		skipped target.bpftrace "bpftrace: user stack counts of the same three probes" "$missing_bpftrace"
		skipped target.goal "callweave beside bpftrace" "$missing_bpftrace"
	else
		target_row bpftrace "bpftrace: user stack counts of the same three probes"
		[ -e "$tmp/failed.callweave" ] || [ -e "$tmp/failed.bpftrace" ] ||
			row_beside target.goal "callweave beside bpftrace" target.callweave handoffs/s bpftrace \
				target.bpftrace ">= 0.90"
	fi
	if [ -n "$missing_perf" ]; then
		skipped target.perf "perf record -g -z of the same three probes" "$missing_perf"
	else
		target_row perf "perf record -g -z of the same three probes"
	fi
	if have strace; then
		target_row strace "strace -f -e futex"
	else
		skipped target.strace "strace -f -e futex" "strace is not installed"
	fi
	if have gdb; then
		target_row gdb "gdb, breakpoints on the two functions"
	else
		skipped target.gdb "gdb, breakpoints on the two functions" "gdb is not installed"
	fi
	[ -e "$tmp/failed.callweave" ] || capture_rows target full-speed
	[ -n "$missing_perf" ] || [ -e "$tmp/failed.callweave" ] || [ -e "$tmp/failed.perf" ] || {
		row_beside target.event.perf "bytes an event on disk" target.event_bytes bytes \
			"perf record -g -z, without arguments" target.perf_event_bytes
		row_beside target.handoff.perf "bytes a handoff on disk" target.handoff_bytes bytes \
			"perf record -g -z, without the scheduler" target.perf_handoff_bytes
	}
}
