# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
# What one hit costs, callweave beside bpftrace on the same probe of a function in a tight loop.

hits=$bench/hits

hit_callweave_entry() { start_callweave --stack none hit; }
hit_callweave_stack() { start_callweave hit; }
hit_callweave_return() { start_callweave --stack none --ret --time hit; }
hit_bpftrace_entry() { start_bpftrace "uprobe:$hits:hit { @ = count(); }"; }
hit_bpftrace_stack() { start_bpftrace "uprobe:$hits:hit { @[ustack] = count(); }"; }
hit_bpftrace_return() { start_bpftrace "uprobe:$hits:hit { @ = count(); } uretprobe:$hits:hit { @r = count(); }"; }

one_hit() { # TOOL KIND ROUND
	[ -e "$tmp/failed.hits.$1.$2" ] && return
	progress "hits: round $3 of $rounds, $1, $2"
	if traced "hit_$1_$2" "$hits" "$tmp/go" 0.3; then
		sample "hits.$1.$2" "$3" "$(target_says ns)"
	else
		last_words "$tmp/tracer.log" >"$tmp/failed.hits.$1.$2"
	fi
}

section_hits() {
	local round kind tool tools=(callweave) what
	have bpftrace && tools+=(bpftrace)
	for ((round = 1; round <= rounds; round++)); do
		for kind in entry stack return; do
			for tool in "${tools[@]}"; do
				one_hit "$tool" "$kind" "$round"
			done
		done
	done
	for kind in entry stack return; do
		case $kind in
		entry) what="one hit: entry" ;;
		stack) what="one hit: entry with user stack" ;;
		return) what="one hit: entry and return" ;;
		esac
		if [ -e "$tmp/failed.hits.callweave.$kind" ]; then
			failed "hits.$kind" "$what" "$(cat "$tmp/failed.hits.callweave.$kind")"
		elif ! have bpftrace; then
			row "hits.$kind" "$what" "$(median "hits.callweave.$kind")" ns
		elif [ -e "$tmp/failed.hits.bpftrace.$kind" ]; then
			failed "hits.$kind" "$what" "bpftrace: $(cat "$tmp/failed.hits.bpftrace.$kind")"
		else
			row_beside "hits.$kind" "$what" "hits.callweave.$kind" ns bpftrace "hits.bpftrace.$kind"
		fi
	done
}
