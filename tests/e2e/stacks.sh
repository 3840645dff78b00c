#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Whole stacks: from the C library's wrapper of a system call to where the thread began.
. "$(dirname "$0")/../lib.sh"
need_tracing

# Function names of each stack, or modules where there is none, innermost first, one row a stack; inlined functions
# left out.
chains="SELECT s.*, (SELECT group_concat(coalesce(function, module), ' < ') FROM (SELECT function, module FROM callstack c
	WHERE c.stack_id = s.stack_id AND c.inline_depth = (SELECT max(inline_depth) FROM callstack d
		WHERE d.stack_id = c.stack_id AND d.depth = c.depth) ORDER BY depth)) AS chain FROM stack s"

# Most of the C library's own functions are in its debug symbols only; elsewhere they have no name.
record_exec lock trace_lock_test --count 4 -- --attribution --ret function_to_trace
import lock
unlock='%pthread_mutex_unlock%'
if [ "$(query lock "SELECT sum(frames > named) FROM module_source WHERE name = 'libc.so.6'")" != 0 ]; then
	unlock='%libc.so.6'
	note "without debug symbols of the C library: unlock is not named"
fi
# shellcheck disable=SC2154 # import makes them
expect "wakers of the lock that are unlock, called by release_shared_resource, by lock_holder_main" \
	"$(query lock "SELECT count(*) FROM futex_wait w JOIN ($chains) s ON s.stack_id = w.waker_stack_id
		WHERE w.address = (SELECT mutex FROM t.lock LIMIT 1) AND w.waker_kind = 'observed'
			AND s.chain LIKE '$unlock < release_shared_resource < lock_holder_main < %'
			AND s.complete")" 4
# The loader's own functions have no frame pointers: where it is interrupted deep in them, less than all of its stack
# is saved, which the stack says.
expect "stacks of the program that are not complete, those in the loader apart" \
	"$(query lock "SELECT count(*) FROM ($chains) s WHERE kind = 'user' AND NOT complete
		AND upid IN (SELECT upid FROM process WHERE name LIKE '%trace_lock_test%') AND chain IS NOT NULL
		AND NOT EXISTS (SELECT 1 FROM callstack c WHERE c.stack_id = s.stack_id AND c.module LIKE 'ld-linux%')")" 0
expect "incomplete stacks that do not say why" "$(query lock "SELECT count(*) FROM stack WHERE NOT complete AND problem IS NULL")" 0
[ "$failures" = 0 ] || { cat "$tmp/lock.log" && query lock "SELECT * FROM ($chains) WHERE NOT complete"; }

# Programs that know their own stacks, gone when the capture is analyzed. Compared frame by frame: functions,
# and return addresses down to where the thread began.
mkdir "$tmp/bin"
ways() { # NAME PROGRAM OPTIONS...
	local name=$1 program=$2
	shift 2
	cp "$workloads/$program" "$tmp/bin/"
	workloads=$tmp/bin record_exec "$name" "$program" --recursion 120 -- --attribution "$@" stack_leaf
	rm -f "$tmp/bin/$program"
	import "$name"
}
compared() { # NAME SQL
	{
		cat "$here/e2e/stacks.sql"
		echo "$2;"
	} | sqlite3 -batch -bail -cmd "ATTACH '$tmp/$1.truth.db' AS t" "$tmp/$1.db"
}
wrong="SELECT path, right, complete, truncated, broken, problem, functions FROM \"right\" WHERE"
for how in stack_test stack_test_nofp; do
	ways "$how" $how --stack dwarf
	expect "$how: paths compared" "$(compared $how "SELECT count(DISTINCT path) FROM compared WHERE stack_id IS NOT NULL")" 18
	expect "$how: by unwind tables, paths that are not complete or not as the program knows them" \
		"$(compared $how "$wrong path <> 'own stack' AND NOT (right AND complete AND NOT truncated AND NOT broken)")" ""
	expect "$how: a handler with a stack of its own, which says why it ends at what was interrupted" \
		"$(compared $how "SELECT begins_right, complete, truncated, problem LIKE '%alternate signal stack%' FROM compared WHERE path = 'own stack'")" "1|0|1|1"
done
# Less than the deep path needs: as far as it goes, and said so.
ways short stack_test_nofp --stack dwarf=2048
expect "2 KiB: the deep path" "$(compared short "SELECT begins_right, complete, truncated, problem FROM compared
	WHERE path = 'deep'")" "1|0|1|the saved part of the stack ends"
expect "2 KiB: stacks that are not right and do not say so" "$(compared short "$wrong complete AND NOT right")" ""
# More frames than the kernel gives: as far as those go, and said so.
record_exec over stack_test --recursion 300 -- --attribution stack_leaf
import over
expect "300 calls deep, by frame pointers" "$(compared over "SELECT begins_right, complete, truncated, problem FROM compared
	WHERE path = 'deep'")" "1|0|1|limit of frames"
# By frame pointers: right, or not called complete.
ways fp stack_test
expect "frame pointers: paths that are not complete or not as the program knows them" \
	"$(compared fp "$wrong path NOT IN ('signal', 'own stack')
		AND NOT (right AND complete)")" ""
expect "frame pointers: stacks that are not right and do not say so" "$(compared fp "$wrong complete AND NOT right")" ""
ways nofp stack_test_nofp
expect "no frame pointers: system calls that are not complete or not as the program knows them" \
	"$(compared nofp "$wrong kind <> 'entry' AND NOT (right AND complete)")" ""
expect "no frame pointers: stacks that are not right and do not say so" "$(compared nofp "$wrong complete AND NOT right")" ""
grep -q 'stack_test_nofp: no frame pointers.*--stack dwarf' "$tmp/nofp.log" ||
	fail "no frame pointers: the recorder does not say so: $(cat "$tmp/nofp.log")"
# A program is executed while the recorder does not run: where code is mapped it knows of the one before. The
# stacks of its first moments have names of their own all the same.
cp "$workloads/stack_test_nofp" "$tmp/bin/"
cat >"$tmp/later" <<END
#!/bin/bash
(: >"$tmp/forked"; while [ ! -e "$tmp/go" ]; do sleep 0.02; done
	exec "$tmp/bin/stack_test_nofp" --truth "$tmp/later.truth" --recursion 120) &
wait
END
chmod +x "$tmp/later"
"$record" -o "$tmp/later.cwc" --attribution --stack dwarf -f --exec "$tmp/later" \
	"$tmp/bin/stack_test_nofp:stack_leaf" >"$tmp/later.out" 2>"$tmp/later.log" &
recorder_pid=$!
pids+=($recorder_pid)
wait_for test -e "$tmp/forked"
sleep 0.3
kill -STOP $recorder_pid
: >"$tmp/go"
wait_for grep -q stdio "$tmp/later.truth"
kill -CONT $recorder_pid
wait $recorder_pid
expect "executed meanwhile: exit status of the recorder" $? 0
said_lost "$tmp/later.log" && fail "executed meanwhile: $lost"
forget $recorder_pid
import later
expect "executed meanwhile: paths with a stack of another's" "$(compared later "SELECT count(*) FROM (SELECT stack_id
	FROM compared WHERE kind = 'entry' GROUP BY stack_id HAVING count(DISTINCT path) > 1)")" 0
expect "executed meanwhile: stacks that are not right and do not say so" "$(compared later "$wrong complete AND NOT right")" ""

# Code without unwind information. What it may hide is not said to be whole; its own caller is known when it
# was just entered, and what a signal interrupted is known by what the kernel put on the stack.
bare() { # HOW
	"$record" -o "$tmp/bare.cwc" --stack "$1" --exec "$workloads/no_tables" behind_bare bare_leaf handled in_context \
		behind_aligned >"$tmp/bare.out" 2>"$tmp/bare.log" || fail "without tables: $(cat "$tmp/bare.log")"
	import bare
}
bare_stacks() { # FUNCTION WHERE
	sqlite3 -batch "$tmp/bare.db" "SELECT count(*) FROM ($chains) s JOIN slice c USING(stack_id)
		JOIN probe p USING(probe_id)
		WHERE p.function = '$1' AND $2"
}
if [ "$(uname -m)" = x86_64 ]; then
	for how in fp dwarf; do
		bare $how
		expect "$how: stacks through assembly that say what may be missing" \
			"$(bare_stacks behind_bare "NOT complete AND broken AND problem LIKE '%may hide%'
				AND chain LIKE 'behind_bare < calls_bare < each_way < main < %'")" 3
		expect "$how: stacks of assembly that was just entered" "$(bare_stacks bare_leaf "complete
			AND chain LIKE 'bare_leaf < asks_leaf < each_way < main < %'")" 3
		expect "$how: stacks through a function that aligns them" "$(bare_stacks behind_aligned "complete
			AND chain LIKE 'behind_aligned < aligned < each_way < main < %'")" 3
		expect "$how: stacks that makecontext made" "$(bare_stacks in_context "complete
			AND chain LIKE 'in_context < context_main < %' AND frame_count = 3")" 3
	done
	expect "dwarf: stacks of a handler that returns through code without tables" "$(bare_stacks handled "complete
		AND chain LIKE 'handled < on_signal < bare_restorer < interrupted < each_way < main < %'")" 3
fi

# Return probes on functions that are still to return, some without frame pointers, one tail-called by another:
# their trampoline is in no stack.
returning=(step_a path_direct path_deep thread_main path_thread path_qsort libc.so.6:qsort libc.so.6:qsort_r)
ways returns stack_test --stack dwarf --ret "${returning[@]}"
expect "return probes: paths whose functions are not as the program knows them" \
	"$(compared returns "SELECT path, functions FROM compared WHERE path <> 'own stack'
		AND NOT (functions = true_functions AND complete)")" ""
ways fpreturns stack_test --ret "${returning[@]}"
expect "frame pointers, return probes: paths whose functions are not as the program knows them" \
	"$(compared fpreturns "SELECT path, functions FROM compared
		WHERE path NOT IN ('signal', 'own stack')
		AND NOT (functions = true_functions AND complete)")" ""
for how in returns fpreturns; do
	expect "$how: stacks with the trampoline" "$(query $how "SELECT count(DISTINCT stack_id) FROM callstack
		WHERE module = '[uprobes]'")" 0
	expect "$how: stacks of the function that is tail-called, of other callers" "$(query $how "SELECT DISTINCT chain
		FROM ($chains) s JOIN slice c USING(stack_id) JOIN probe p USING(probe_id)
		WHERE p.function = 'qsort_r' AND complete AND chain NOT LIKE '%qsort_r < path_qsort < main < %'")" ""
done
finish
