#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Requests with unique tags through pools that reuse their task structs: which call belongs to which
# can be told by the tag alone, and nothing may be stitched to another request without a flag.
. "$(dirname "$0")/../lib.sh"
need_tracing

# Edges that join two tags: the source's third argument is not the target's second.
crossed() { # NAME CONDITION
	query "$1" "SELECT count(*) FROM edge e JOIN slice s ON s.slice_id = e.src_slice
		JOIN slice d ON d.slice_id = e.dst_slice WHERE s.arg3 <> d.arg2 AND ($2)"
}

# An emulator takes minutes for what is over in a second.
fewer=$((slow > 1 ? 10 : 1))
for how in pid exec; do
	record_$how $how tagged -- "${pool_hops[@]}" write_result
	if import $how; then
		check_chains $how
		expect "$how: complete chains" "$(query $how "SELECT count(*) FROM chain WHERE complete")" 400
		expect "$how: edges that join two tags" "$(crossed $how 1)" 0
		expect "$how: edges with a doubt" "$(query $how "SELECT count(*) FROM edge WHERE evidence <> 'exact'")" 0
	fi
done

for how in pid exec; do
	record_$how reuse tagged --count $((2000 / fewer)) --cancel-percent 5 --double-percent 3 -- "${pool_hops[@]}" write_result
	import reuse || continue
	check_chains reuse
	expect "$how, cancelled and doubled: edges that join two tags without a flag" \
		"$(crossed reuse "e.evidence = 'exact'")" 0
	at_least "cancelled submissions in the truth" "$(query reuse "SELECT sum(cancelled) FROM t.hop")" $((20 / fewer))
	at_least "doubled keys in the truth" "$(query reuse "SELECT sum(doubled) FROM t.hop")" $((60 / fewer))
	# Each cancelled submission stays without a target: superseded by the next use of its struct, or open.
	expect "submissions never taken: counted" "$(query reuse "SELECT count(*) FROM unconsumed WHERE plan_hop = 0")" \
		"$(query reuse "SELECT sum(cancelled) + (SELECT count(*) FROM unmatched WHERE plan_hop = 0) FROM t.hop")"
	note_reuse="$(crossed reuse 1) crossed, all flagged"
done

for how in pid exec; do
	record_$how backlog tagged --backlog $((20000 / fewer)) --work-us 10 -- "${pool_hops[@]}" write_result
	import backlog || continue
	check_chains backlog
	expect "$how, backlog: complete chains" "$(query backlog "SELECT count(*) FROM chain WHERE complete")" $((20000 / fewer))
	expect "$how, backlog: edges that join two tags" "$(crossed backlog 1)" 0
	note "400 and 400 of 400, $((20000 / fewer)) of $((20000 / fewer)); reuse: ${note_reuse:-}"
done
finish
