# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
# What recording costs the target: its throughput, whole runs, beside other tracers' on the same
# probes. The target hands over about as much as it can, 20 us of work each.

queue=$build/workloads/queue_bench
hop=(--async-hop submit_item,2,handle_item,1)

perf_event=''
mounted_tracefs=$tmp/mounted-tracefs
remove_perf_probes() {
	[ -z "$perf_event" ] || perf probe -q -d "$perf_event:*" >/dev/null 2>&1
	perf_event=''
	[ ! -e "$mounted_tracefs" ] || { umount /sys/kernel/tracing && rm -f "$mounted_tracefs"; }
}

# Uprobes of perf need tracefs. Says why not on failure.
add_perf_probes() {
	have perf || {
		echo "perf is not installed"
		return 1
	}
	[ -e /sys/kernel/tracing/uprobe_events ] || [ -e /sys/kernel/debug/tracing/uprobe_events ] ||
		{ mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null && : >"$mounted_tracefs"; } || {
		echo "tracefs cannot be mounted"
		return 1
	}
	perf probe -q -x "$queue" --add "$1:submit=submit_item" --add "$1:handle=handle_item" \
		--add "$1:handled=handle_item%return" >"$tmp/perf.log" 2>&1 && return
	echo "perf probe: $(last_words "$tmp/perf.log")"
	return 1
}

by_callweave() {
	start_callweave --attribution "${hop[@]}" handle_item
}

by_bpftrace() {
	start_bpftrace "uprobe:$queue:submit_item { @a[ustack] = count(); }
		uprobe:$queue:handle_item { @b[ustack] = count(); }
		uretprobe:$queue:handle_item { @c[ustack] = count(); }"
}

by_perf() {
	start_perf "$perf_event:*"
}

by_strace() {
	start_strace
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
	if why=$(add_perf_probes "$perf_event"); then
		tools+=(perf:by_perf)
	else
		missing_perf=$why
	fi
	if have strace; then tools+=(strace:by_strace); fi
	for ((round = 1; round <= rounds; round++)); do
		for tool in "${tools[@]}"; do
			throughput "${tool%%:*}" "${tool#*:}" "$round" "$seconds"
			[ "$tool" != callweave:by_callweave ] || [ -e "$tmp/failed.callweave" ] ||
				capture_samples target "$round"
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
		skipped target.perf "perf record -g of the same three probes" "$missing_perf"
	else
		target_row perf "perf record -g of the same three probes"
	fi
	if have strace; then
		target_row strace "strace -f -e futex"
	else
		skipped target.strace "strace -f -e futex" "strace is not installed"
	fi
	[ -e "$tmp/failed.callweave" ] || capture_rows target full-speed
}
