#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# 2,000 probes with returns: found, placed and attached in under a second of CPU time, and detached in
# under a second. What a recorder takes with a single probe is not counted; the best of three counts.
. "$(dirname "$0")/../lib.sh"
need_tracing
awk -F'[.-]' '{ exit !($1 > 6 || ($1 == 6 && $2 >= 6)) }' /proc/sys/kernel/osrelease || skip "needs uprobe_multi (kernel 6.6)"
cc=${CC:-gcc}
command -v "$cc" >/dev/null || skip "needs a C compiler"
count=2000
{
	for ((i = 0; i < count; i++)); do echo "__attribute__((noipa)) int fn_$i(int x) { return x + $i; }"; done
	printf '#include <stdio.h>\n#include <unistd.h>\nint main(void)\n{\n\tint s = 0;\n\tprintf("PID %%d\\n", getpid());\n\tfflush(stdout);\n\tfor (;;) {\n'
	for ((i = 0; i < count; i++)); do echo "s += fn_$i(s);"; done
	printf 'usleep(200000);\n}\nreturn s;\n}\n'
} >"$tmp/many.c"
"$cc" -O1 -fno-omit-frame-pointer -o "$tmp/many" "$tmp/many.c" || fail "cannot compile"
plan() { # COUNT
	echo "time: true"
	echo "functions:"
	for ((i = 0; i < $1; i++)); do echo "  - fn_$i"; done
}
plan $count >"$tmp/many.yaml"
plan 1 >"$tmp/one.yaml"
"$tmp/many" >"$tmp/out" &
target=$!
pids+=($target)
wait_for grep -q PID "$tmp/out"

now() { echo $(($(date +%s%N) / 1000000)); }
least() { # VARIABLE VALUE
	[ "${!1:-}" != "" ] && [ "${!1}" -le "$2" ] || printf -v "$1" %d "$2"
}
cpu_ms() { awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print int(($12 + $13) * 1000 / hz) }' "/proc/$1/stat"; }
measure() { # PLAN: sets begin_PLAN and end_PLAN, ms
	local t
	rm -f "$tmp/log"
	"$record" -p $target --config "$tmp/$1.yaml" -o "$tmp/$1.cwc" >"$tmp/log" 2>&1 &
	recorder=$!
	pids+=($recorder)
	wait_for recorder_ready "$tmp/log" $recorder
	least "begin_$1" "$(cpu_ms $recorder)"
	sleep 0.5
	t=$(now)
	kill -INT $recorder
	wait $recorder || fail "$1: $(tail -n 1 "$tmp/log")"
	least "end_$1" $(($(now) - t))
	forget $recorder
}
for _ in 1 2 3; do
	measure one
	measure many
done
# shellcheck disable=SC2154 # set by measure
at_most "ms of CPU time to put $count probes in place" $((begin_many - begin_one)) $((1000 * slow))
# shellcheck disable=SC2154
at_most "ms to stop with $count probes" "$end_many" $((1000 * slow))
expect "functions recorded" "$("$analyze" sql "$tmp/many.cwc" --format csv "SELECT count(DISTINCT function) FROM call WHERE dur > 0" 2>/dev/null | tail -n 1 | tr -d '\r')" $count
note "$count entry and return probes: $((begin_many - begin_one)) ms of CPU more to begin, $end_many ms to end"
finish
