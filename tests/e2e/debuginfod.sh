#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A debuginfod server on this machine gives lines and inlined functions of a stripped program, when it
# is asked for; else nobody asks it.
# PARALLEL: names are compared.
. "$(dirname "$0")/../lib.sh"
need_tracing
for tool in debuginfod objcopy strip readelf; do
	command -v $tool >/dev/null || skip "needs $tool"
done
[ -e /usr/lib/x86_64-linux-gnu/libdebuginfod.so.1 ] || ldconfig -p | grep -q libdebuginfod.so.1 || skip "needs libdebuginfod"
whole=$workloads/trace_async_test
id=$(readelf -n "$whole" | sed -n 's/.*Build ID: //p')
mkdir -p "$tmp/bin" "$tmp/served"
strip -o "$tmp/bin/trace_async_test" "$whole"
objcopy --only-keep-debug "$whole" "$tmp/served/some-name.debug"
export DEBUGINFOD_CACHE_PATH=$tmp/client

"$record" -o "$tmp/a.cwc" --exec "$tmp/bin/trace_async_test" libc.so.6:clock_nanosleep -- --count 5 >"$tmp/out" 2>"$tmp/log" ||
	fail "$(tail -n 2 "$tmp/log")"
port=$(free_port)
debuginfod -F -p $port -d "$tmp/server.db" "$tmp/served" >"$tmp/server.log" 2>&1 &
server=$!
pids+=($server)
url=http://127.0.0.1:$port
get() { # PATH: the first line of the answer
	local line
	exec 6<>"/dev/tcp/127.0.0.1/$port" || return
	printf 'GET %s HTTP/1.0\r\n\r\n' "$1" >&6
	read -t 2 -r line <&6
	exec 6>&-
	echo "$line"
}
serves() {
	[[ $(get "/buildid/$id/debuginfo" 2>/dev/null) == *200* ]]
}
wait_for serves || {
	cat "$tmp/server.log"
	finish
}
frames() { # OPTIONS...
	"$analyze" sql "$tmp/a.cwc" "$@" --no-cache --format csv "SELECT f.rel_pc, y.inline_depth, y.function, y.file, y.line FROM frame f
		JOIN module m USING(module_id) LEFT JOIN symbol y USING(frame_id) WHERE m.name = 'trace_async_test' ORDER BY 1, 2" \
		2>"$tmp/err" | tail -n +2 | tr -d '\r'
}
modules() { # OPTIONS...: where the program's names and lines are from
	"$analyze" sql "$tmp/a.cwc" "$@" --no-cache --format csv "SELECT coalesce(names_from, 'none'), coalesce(lines_from, 'none'), tried
		FROM module_source WHERE name = 'trace_async_test'" 2>/dev/null | tail -n 1 | tr -d '\r'
}
asked() {
	grep -c 'GET /buildid/' "$tmp/server.log"
}
before=$(asked)

# Not asked for, whatever the environment says.
export DEBUGINFOD_URLS=$url
expect "names without --debuginfod" "$(frames | cut -d, -f3 | grep -c .)" 0
expect "questions to the server without --debuginfod" "$(asked)" "$before"
frames --debug-dir "$workloads" >"$tmp/wanted"
at_least "frames with lines" "$(grep -c ',tests/workloads/trace_async_test.c,[0-9]' "$tmp/wanted")" 5
at_least "inlined frames" "$(cut -d, -f2 "$tmp/wanted" | grep -cv '^0$')" 1

expect "names from the server of DEBUGINFOD_URLS" "$(frames --debuginfod | diff - "$tmp/wanted")" ""
[[ $(modules --debuginfod) == *"$tmp/client/$id/debuginfo,"* ]] || fail "where from: $(modules --debuginfod)"
unset DEBUGINFOD_URLS
rm -rf "$tmp/client"
expect "names from a server that the option names" "$(frames --debuginfod="$url" | diff - "$tmp/wanted")" ""
at_least "questions to the server" "$(asked)" $((before + 1))

# An archive takes along what a server gave.
"$analyze" archive "$tmp/a.cwc" -o "$tmp/whole.cwc" --debuginfod="$url" >"$tmp/archive.txt" 2>&1 || fail "archive: $(cat "$tmp/archive.txt")"
grep -A1 "^$tmp/bin/trace_async_test$" "$tmp/archive.txt" | grep -q 'debug .* KiB' || fail "archive: $(cat "$tmp/archive.txt")"

# A server that does not answer: on a terminal how far naming is gets shown after a second; Ctrl-C ends it, and
# what is known is printed.
rm -rf "$tmp/client"
kill -STOP $server
cut=("$analyze" report "$tmp/a.cwc" --no-cache --debuginfod="$url")
if command -v script >/dev/null; then
	env --default-signal=INT script -qefc "echo \$\$ >'$tmp/cut.pid' && exec ${cut[*]} >'$tmp/cut.txt'" "$tmp/cut.err" >/dev/null </dev/null &
	searching=$!
	pids+=($searching)
	wait_for grep -q "naming stack frames: [0-9]* %" "$tmp/cut.err" || fail "no progress on a terminal: $(cat "$tmp/cut.err")"
	kill -INT "$(cat "$tmp/cut.pid")"
	wait $searching
	expect "status of an interrupted search on a terminal" $? 0
	forget $searching
else
	busy && seconds=30 || seconds=3
	timeout -k 60 -s INT $seconds "${cut[@]}" >"$tmp/cut.txt" 2>"$tmp/cut.err"
	expect "status of an interrupted search" $? 124 # timeout says that it had to
	note "without script(1): no terminal"
fi
grep -q "interrupted while looking up names" "$tmp/cut.err" || fail "interrupted: $(cat "$tmp/cut.err")"
grep -q clock_nanosleep "$tmp/cut.txt" || fail "nothing was printed: $(head -n 5 "$tmp/cut.txt")"
kill -CONT $server

# Without the server: said, and no more.
kill -KILL $server # it takes its time to end by itself, with a request open
wait $server 2>/dev/null
forget $server
rm -rf "$tmp/client"
expect "names without a server" "$(frames --debuginfod="$url" | cut -d, -f3 | grep -c .)" 0
[[ $(modules --debuginfod="$url") == *"debuginfod, debug information: "* ]] || fail "without a server: $(modules --debuginfod="$url")"
mv "$tmp/a.cwc" "$tmp/b.cwc" && cp "$tmp/whole.cwc" "$tmp/a.cwc"
expect "names of the archive" "$(frames | diff - "$tmp/wanted")" ""
"$analyze" modules "$tmp/a.cwc" --debuginfod >"$tmp/out" 2>&1
expect "status of --debuginfod without any server" "$? $(grep -c 'give a server' "$tmp/out")" "2 1"
note "$(wc -l <"$tmp/wanted") frames"
finish
