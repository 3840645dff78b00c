#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Nested and recursive calls: exact counts, inner calls within outer ones, and a reason for every
# return that was not seen.
# PARALLEL: calls and stacks are counted.
. "$(dirname "$0")/../lib.sh"
need_tracing

functions=(func1 func2 func3 recurse jump_out exit_thread)
for how in pid exec; do
	record_$how $how nest_test --longjmps 50 --thread-exits 5 -- --time "${functions[@]}"
	import $how || continue
	expect "$how: calls of func1 to func3" "$(query $how "SELECT group_concat(n) FROM (SELECT count(*) AS n
		FROM call WHERE function GLOB 'func[123]' GROUP BY function)")" 100000,100000,100000
	for f in "${functions[@]}"; do
		expect "$how: calls and returns of $f" \
			"$(query $how "SELECT count(*), count(dur) FROM call WHERE function = '$f'")" \
			"$(query $how "SELECT calls, returns FROM t.calls WHERE function = '$f'")"
	done
	expect "$how: calls that are not within the one that made them" "$(query $how \
		"SELECT count(*) FROM slice i JOIN slice o ON o.slice_id = i.parent_id
		 WHERE i.ts < o.ts OR i.dur > o.dur OR i.ts + i.dur > o.ts + o.dur")" 0
	expect "$how: parents of func3 that are not func2" "$(query $how \
		"SELECT count(*) FROM slice i JOIN probe pi ON pi.probe_id = i.probe_id
		 LEFT JOIN slice o ON o.slice_id = i.parent_id LEFT JOIN probe po ON po.probe_id = o.probe_id
		 WHERE pi.function = 'func3' AND po.function IS NOT 'func2'")" 0
	expect "$how: why jump_out did not return" "$(query $how \
		"SELECT no_return, count(*) FROM slice JOIN probe USING(probe_id)
		 WHERE function = 'jump_out' GROUP BY 1")" "longjmp|50"
	expect "$how: why exit_thread did not return" "$(query $how \
		"SELECT no_return, count(*) FROM slice JOIN probe USING(probe_id)
		 WHERE function = 'exit_thread' GROUP BY 1")" "exit|5"
	expect "$how: depth of the recursion" "$(query $how \
		"SELECT max(depth) FROM slice JOIN probe USING(probe_id) WHERE function = 'recurse'")" 39
done

# Deeper than the kernel's 64 pending returns a thread: entries are exact, missing returns have the reason.
for how in pid exec; do
	record_$how deep nest_test --count 10 --depth 200 --recursions 100 -- --time recurse
	import deep || continue
	expect "$how, 200 deep: calls" "$(query deep "SELECT count(*) FROM call WHERE function = 'recurse'")" 20000
	expect "$how, 200 deep: reasons of missing returns" "$(query deep \
		"SELECT group_concat(DISTINCT no_return) FROM slice WHERE dur IS NULL")" "kernel limit"
	expect "$how, 200 deep: returns without a duration" "$(query deep \
		"SELECT count(*) FROM slice WHERE (dur IS NULL) <> (no_return IS NOT NULL)")" 0
	expect "$how, 200 deep: calls that are not within the one that made them" "$(query deep \
		"SELECT count(*) FROM slice i JOIN slice o ON o.slice_id = i.parent_id
		 WHERE i.ts < o.ts OR i.dur > o.dur OR i.ts + i.dur > o.ts + o.dur OR i.depth <> o.depth + 1")" 0
	expect "$how, 200 deep: depth" "$(query deep "SELECT max(depth) FROM slice")" 199
	note "200 deep: $(query deep "SELECT count(dur) || ' returns of ' || count(*) FROM slice")"
done
finish
