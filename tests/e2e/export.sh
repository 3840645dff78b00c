#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Exports read back: the numbers in them are those of SQL, and the tools that they are for take them, where npm
# has those. tests/exports/ knows the rules of each tool's documentation.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
root=$here/..

export_as() { # NAME FORMAT [OPTIONS]
	local name=$1 format=$2
	shift 2
	"$analyze" export "$tmp/$name.db" --format "$format" -o "$tmp/$name.$format" "$@" ||
		fail "$name: cannot export $format $*"
}

# Every row that NAME.FORMAT.sql gives is a difference between the export, which it has as :file, and the views.
compare() { # NAME FORMAT [WEIGHT]
	local name=$1 format=$2 out
	out=$(sqlite3 -batch -bail -cmd "CREATE TEMP TABLE arg AS SELECT CAST(readfile('$tmp/$name.$format') AS TEXT) AS file,
			'${3:-}' AS weight" "$tmp/$name.db" <"$here/exports/$format.sql" 2>&1)
	[ -z "$(grep -v '^# ' <<<"$out")" ] || fail "$name: $format ${3:-}: $(grep -v '^# ' <<<"$out" | head -n 20)"
	grep -q '^# ' <<<"$out" || fail "$name: $format ${3:-} was compared with nothing"
	while read -r _ what n; do
		[ "$n" = 0 ] || seen[$format-$what]=1
	done < <(grep '^# ' <<<"$out")
}

declare -A seen
names=(pool async)
cp "$root/examples/thread-pool.cwc" "$tmp/pool.cwc"
cp "$root/tests/captures/v1-async.cwc" "$tmp/async.cwc"
if [ "$(id -u)" = 0 ] && [ -r /sys/kernel/btf/vmlinux ] && [ -x "$record" ]; then
	record_exec lock trace_lock_test --count 4 -- --attribution --ret function_to_trace
	record_exec nest nest_test -- --attribution --ret func1 func2 func3 recurse
	record_exec complex trace_complex_async_test --count 12 -- --async-hop submit_decode_task,2,decode_request \
		--async-hop submit_enrich_task,1,enrich_request --async-hop submit_persist_task,2,persist_result persist_result
	names+=(lock nest complex)
fi
for name in "${names[@]}"; do
	import "$name" || continue
	for format in chrome; do
		export_as "$name" $format
		compare "$name" $format
	done
	for weight in blocked oncpu queue; do
		for format in; do
			export_as "$name" $format --weight $weight
			compare "$name" $format $weight
		done
	done
done
finish
