#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# SCHEMA.md says what the schema says, and a table, view or column without a comment is noticed.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$2
status=0

schema/doc.sh --check || status=1

# The check itself can fail: without one comment, and with a column that SCHEMA.md does not know.
refused() { # WHAT SED-COMMAND FILE
	rm -rf "$tmp/schema"
	cp -r schema "$tmp/schema"
	sed -i "$2" "$tmp/schema/$3"
	cmp -s "schema/$3" "$tmp/schema/$3" && echo "nothing was changed for: $1" && status=1
	"$tmp/schema/doc.sh" --check 2>/dev/null && echo "accepted: $1" && status=1
}
refused "a table without a comment" '/^-- Off-CPU episodes of traced threads/d' 50-sched.sql
refused "a column without a comment" '/-- Switch-out\.$/d' 50-sched.sql
refused "a view's column without a comment" '/-- Handoff\.$/d; /-- Chain\.$/d' 60-chain.sql
refused "a comment that SCHEMA.md has otherwise" 's/-- Number of hops\./-- Hops, counted./' 60-chain.sql
# Names that other tools rely on, and every view, in plain sqlite3: of a kept capture, and of no rows.
analyze=$(realpath "$1")/callweave-analyze
"$analyze" import tests/captures/v1-async.cwc -o "$tmp/kept.db" >"$tmp/log" 2>&1 || { cat "$tmp/log"; status=1; }
cat schema/*.sql | sqlite3 "$tmp/none.db"
asked() { # DATABASE QUERY
	sqlite3 -batch -bail "$tmp/$1.db" "$2" >"$tmp/rows" 2>"$tmp/err" && [ ! -s "$tmp/err" ] && return
	echo "$1.db: $2: $(cat "$tmp/err")"
	status=1
}
for db in kept none; do
	asked $db "SELECT chain_id, hop_index, source, target, key, target_arg, submit_ts, start_ts, end_ts, source_tid,
		target_tid, queue_ns, work_ns, oncpu_ns, blocked_ns, runq_ns, preempted_ns, unknown_ns FROM hop"
	asked $db "SELECT chain_id, start_ts, end_ts, total_ns, queue_ns, work_ns, hop_count, complete FROM chain"
	asked $db "SELECT ts, dur, pid, tid, function, ret FROM call"
	for name in process thread module stack frame symbol probe call thread_state wakeup futex_wait edge loss \
		capture_info hop chain $(sqlite3 "$tmp/$db.db" "SELECT name FROM sqlite_schema WHERE type = 'view'"); do
		asked $db "SELECT * FROM $name LIMIT 100"
	done
done
[ "$(sqlite3 "$tmp/kept.db" "SELECT min(hop_index), typeof(key), count(*) > 100 FROM hop")" = "0|text|1" ] ||
	{ echo "hop: not from 0, keys not as text, or few rows"; status=1; }

# A tracepoint's own frame, where a kernel stack begins while somebody else traces it, too, makes no other stack.
said=$(sqlite3 "$tmp/none.db" "
	INSERT INTO frame(frame_id, module_id, rel_pc, address, is_return) VALUES (1, -1, 1, 1, 1), (2, -1, 2, 2, 1), (3, 1, 3, 3, 1);
	INSERT INTO symbol(frame_id, inline_depth, function) VALUES (1, 0, '__traceiter_sched_switch'), (2, 0, '__schedule'), (3, 0, '__traceiter_mine');
	INSERT INTO stack_frame(stack_id, depth, frame_id) VALUES (1, 0, 1), (1, 1, 2), (2, 0, 2), (3, 0, 3);
	SELECT group_concat(stack_id || function, ' ') FROM (SELECT * FROM callstack ORDER BY stack_id, depth)")
[ "$said" = "1__schedule 2__schedule 3__traceiter_mine" ] || { echo "callstack: $said"; status=1; }

# `sql CAPTURE NAME` says of the columns what SCHEMA.md says.
for name in $(sed -n 's/^### \([a-z_0-9]*\) (.*/\1/p' schema/SCHEMA.md); do
	"$analyze" sql "$tmp/kept.db" "$name" 2>"$tmp/err" | tail -n +3 | sed -E "s/^([a-z_0-9]+) +(INTEGER|TEXT|REAL|BLOB|) +/$name \1 /"
done >"$tmp/said"
awk '/^### / { name = $2 } /^[|] `/ { sub(/^[|] `/, ""); sub(/ [|]$/, ""); gsub(/[\\][|]/, "|"); column = $0; sub(/`.*/, "", column)
	sub(/^[^|]*[|] [A-Z]* [|] /, ""); print name, column, $0 }' \
	schema/SCHEMA.md >"$tmp/wanted"
[ "$(wc -l <"$tmp/wanted")" -gt 400 ] && diff "$tmp/wanted" "$tmp/said" >"$tmp/diff" ||
	{ echo "sql NAME says of $(wc -l <"$tmp/wanted") columns:"; head -n 10 "$tmp/diff"; status=1; }

exit $status
