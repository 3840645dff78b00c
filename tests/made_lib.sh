# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154 # variables of lib.sh
# What the tests of code that no file held at first share. Sourced with the arguments of a test: BUILD and an
# empty folder.
# shellcheck source=lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_tracing
[ "$(uname -m)" = x86_64 ] || skip "has machine code of x86-64"
maker=

# Record NAME: a maker with these arguments, started by a command in front of it, if any.
record_maker() { # NAME [COMMAND...] -- ARGUMENTS
	local name=$1 before=()
	shift
	while [ "$1" != -- ]; do
		before+=("$1")
		shift
	done
	shift
	rm -f "$tmp/in" "$tmp/$name.out" # the word of the one before is not this one's
	mkfifo "$tmp/in"
	"${before[@]}" "$tmp/maker" "$@" <"$tmp/in" >"$tmp/$name.out" 2>&1 &
	started=$!
	pids+=($started)
	exec 5>"$tmp/in"
	wait_for grep -q PID "$tmp/$name.out"
	maker=$(for pid in $(pgrep -x maker); do # others may test the same
		[[ $(readlink "/proc/$pid/exe") != *"$tmp/maker" ]] || echo "$pid"
	done | tail -n 1)
	pids+=("$maker")
	start_recorder "$tmp/$name.log" -p "$maker" -o "$tmp/$name.cwc" "${target:-leaf}"
	echo go >&5
	exec 5>&-
	wait $recorder_pid
	expect "$name: recorder's exit status" $? 0
	wait $started
	rm -f "/tmp/perf-$maker.map"
	forget $recorder_pid $started "$maker"
	import "$name"
}
stack_of() { # NAME: functions from leaf on, with their modules' kinds
	sqlite3 -batch "$tmp/$1.db" "SELECT group_concat(coalesce(function, '?') || ' ' || kind, ' < ') FROM
		(SELECT c.function, s.kind FROM callstack c JOIN stack_frame f USING(stack_id, depth) JOIN frame g USING(frame_id)
			JOIN module_source s USING(module_id)
		 WHERE c.stack_id = (SELECT stack_id FROM slice LIMIT 1) AND c.depth < 3 ORDER BY c.depth)"
}
said() { # NAME KIND: what is said of the module of this kind
	"$analyze" sql "$tmp/$1.cwc" --format csv "SELECT path || ' ' || coalesce(names_from, 'none') || ' ' || coalesce(tried, '')
		FROM module_source WHERE kind = '$2' AND frames > 0" | tail -n +2 | tr -d '\r"'
}
# Record a text_mover for each of these ways.
moved_text_is_named() { # ARGUMENTS...
	local how
	for how; do
		# shellcheck disable=SC2086
		record_maker moved -- $how
		expect "text moved $how" "$(stack_of moved)" "leaf file < moved_inner file < moved_outer file"
		expect "processes that moved text, $how" "$(sqlite3 "$tmp/moved.db" "SELECT moved FROM module_source WHERE name = 'maker'")" 1
		"$analyze" modules "$tmp/moved.cwc" 2>/dev/null | grep -q "/maker \[moved to other pages\]" ||
			fail "modules does not say that text was moved $how"
	done
}
