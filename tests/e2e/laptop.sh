#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Names and stacks of real recordings: here, where the program is, they agree with addr2line; in a root
# that holds the analyzer and its libraries only, the same chains and the same functions come out.
# PARALLEL: names are compared.
. "$(dirname "$0")/../lib.sh"
need_tracing
for tool in addr2line readelf ldd chroot; do
	command -v $tool >/dev/null || skip "needs $tool"
done

# File offsets to the addresses that the ELF file uses, one a line.
elf_addresses() { # ELF
	local offset from at size loads
	loads=$(readelf -lW "$1" | awk '$1 == "LOAD" { print $2, $3, $5 }')
	while read -r offset; do
		while read -r from at size; do
			((offset >= from && offset < from + size)) || continue
			printf '0x%x\n' $((offset - from + at))
			break
		done <<<"$loads"
	done
}

# Every frame of the program, with lines and inlined functions, as addr2line has them.
check_names() { # NAME PROGRAM
	local name=$1 program=$2 elf=$workloads/$2 frames
	sqlite3 -batch -separator ' ' "$tmp/$name.db" \
		"SELECT rel_pc - is_return, (SELECT group_concat(x, ' ') FROM (SELECT function || ' ' ||
			coalesce(replace(file, rtrim(file, replace(file, '/', '')), ''), '??') || ':' || coalesce(line, '?') AS x
			FROM symbol y WHERE y.frame_id = f.frame_id ORDER BY inline_depth))
		 FROM frame f JOIN module m USING(module_id) WHERE m.name = '$program' ORDER BY 1" \
		>"$tmp/$name.frames"
	frames=$(wc -l <"$tmp/$name.frames")
	at_least "$name: frames in $program" "$frames" 4
	cut -d' ' -f2- "$tmp/$name.frames" >"$tmp/$name.got"
	cut -d' ' -f1 "$tmp/$name.frames" | elf_addresses "$elf" >"$tmp/$name.addresses"
	addr2line -a -i -f -e "$elf" <"$tmp/$name.addresses" | awk '
		/^0x/ { if (line != "") print line; line = ""; next }
		{ function_name = $1; getline; sub(/ .*/, ""); sub(/.*\//, "")
		  line = line (line == "" ? "" : " ") function_name " " $0 }
		END { print line }' >"$tmp/$name.wanted"
	diff "$tmp/$name.got" "$tmp/$name.wanted" >"$tmp/$name.diff" ||
		fail "$name: names differ from addr2line's (<: ours): $(head -n 10 "$tmp/$name.diff")"
	note "$frames frames of $program named as addr2line does"
}

# Stacks of a kind all begin with these functions, innermost first.
check_stacks() { # NAME WHAT WANTED QUERY-OF-STACK-IDS
	local got
	got=$(sqlite3 -batch "$tmp/$1.db" "SELECT DISTINCT substr((SELECT group_concat(function, ' < ') FROM
		(SELECT function FROM callstack c WHERE c.stack_id = s.id ORDER BY depth, inline_depth)),
		1, length('$3')) FROM ($4) s")
	expect "$1: $2" "$got" "$3"
}

# What the analyzer needs to run, and nothing else.
make_root() {
	local lib
	mkdir -p "$tmp/root/tmp"
	cp "$analyze" "$tmp/root/callweave-analyze"
	ldd "$analyze" | grep -o '/[^ ]*' | while read -r lib; do
		mkdir -p "$tmp/root$(dirname "$lib")"
		cp -L "$lib" "$tmp/root$lib"
	done
}

in_root() {
	env -i TMPDIR=/tmp "$(command -v chroot)" "$tmp/root" /callweave-analyze "$@"
}

# The same capture imported in the root: NAME.db there against NAME.db here.
check_root() { # NAME PROGRAM
	local name=$1 program=$2
	cp "$tmp/$name.cwc" "$tmp/root/$name.cwc"
	in_root import "/$name.cwc" -o "/$name.db" >"$tmp/$name.root.log" 2>&1 ||
		{
			fail "$name: import in the root: $(cat "$tmp/$name.root.log")"
			return
		}
	expect "$name: hops in the root" "$(sqlite3 "$tmp/root/$name.db" 'SELECT * FROM hop ORDER BY 1, 2' | md5sum)" \
		"$(sqlite3 "$tmp/$name.db" 'SELECT * FROM hop ORDER BY 1, 2' | md5sum)"
	expect "$name: where names of $program come from in the root" "$(sqlite3 "$tmp/root/$name.db" \
		"SELECT symbols_from FROM module WHERE name = '$program'")" capture
	# The function itself: what is inlined into it takes debug information. Other modules may have
	# had more names here, from a debug file; another name there is always wrong.
	sqlite3 -batch "$tmp/root/$name.db" "ATTACH '$tmp/$name.db' AS here;
		CREATE TEMP VIEW there AS SELECT f.module_id, rel_pc, is_return, function, offset
			FROM main.frame f LEFT JOIN main.symbol y ON y.frame_id = f.frame_id AND inline_depth =
			(SELECT max(inline_depth) FROM main.symbol z WHERE z.frame_id = f.frame_id);
		CREATE TEMP VIEW local AS SELECT f.module_id, rel_pc, is_return, function, offset
			FROM here.frame f LEFT JOIN here.symbol y ON y.frame_id = f.frame_id AND inline_depth =
			(SELECT max(inline_depth) FROM here.symbol z WHERE z.frame_id = f.frame_id);
		SELECT m.name || ': ' || coalesce(l.function, '?') || '+' || coalesce(l.offset, '?') || ' here, ' ||
			coalesce(t.function, '?') || '+' || coalesce(t.offset, '?') || ' there'
		FROM local l LEFT JOIN there t USING(module_id, rel_pc, is_return) JOIN here.module m USING(module_id)
		WHERE (m.name = '$program' OR t.function IS NOT NULL)
			AND (l.function IS NOT t.function OR l.offset IS NOT t.offset)" >"$tmp/$name.other"
	[ -s "$tmp/$name.other" ] && fail "$name: other names in the root: $(head -n 10 "$tmp/$name.other")"
	in_root "/$name.cwc" >"$tmp/$name.root.txt" 2>"$tmp/$name.root.err" ||
		fail "$name: report in the root: $(cat "$tmp/$name.root.err")"
}

make_root

record_exec async trace_async_test --count 20 -- --async-hop enqueue_request,2,process_request,1 \
	--async-hop enqueue_storage_task,2,write_result,1 write_result
if import async; then
	check_names async trace_async_test
	check_stacks async 'entry stacks of write_result' 'write_result < storage_worker_main' \
		"SELECT stack_id AS id FROM call WHERE function = 'write_result'"
	check_stacks async 'stacks of the first handoff' 'enqueue_request < http_handler < main' \
		"SELECT source_stack_id AS id FROM hop WHERE hop_index = 0"
	check_stacks async 'stacks of the second handoff' \
		'enqueue_storage_task < process_request < process_worker_main' \
		"SELECT source_stack_id AS id FROM hop WHERE hop_index = 1"
	"$analyze" "$tmp/async.cwc" >"$tmp/async.txt" 2>"$tmp/async.err" || fail "report: $(cat "$tmp/async.err")"
	source='tests/workloads/trace_async_test.c:[0-9]*$'
	for line in "^  #0   0x[0-9a-f]\{16\} trace_async_test  *write_result at $source" \
		"^  #1   0x[0-9a-f]\{16\} trace_async_test  *storage_worker_main at $source" \
		"^  async #0   trace_async_test  *enqueue_request at $source" \
		"^  async #1   trace_async_test  *http_handler at $source"; do
		grep -q "$line" "$tmp/async.txt" || fail "the report has no line '$line'"
	done
	check_root async trace_async_test
	for line in '^  #0   0x[0-9a-f]\{16\} trace_async_test  *write_result$' \
		'^  async #1   trace_async_test  *http_handler$'; do
		grep -q "$line" "$tmp/async.root.txt" || fail "the report in the root has no line '$line'"
	done
fi

record_exec lock trace_lock_test --count 3 -- --attribution --ret function_to_trace
if import lock; then
	check_names lock trace_lock_test
	check_stacks lock 'entry stacks of function_to_trace' 'function_to_trace < main' \
		"SELECT stack_id AS id FROM call WHERE function = 'function_to_trace'"
	check_root lock trace_lock_test
fi
finish
