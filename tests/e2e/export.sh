#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Exports read back: the numbers in them are those of SQL, and the tools that they are for take them, where npm
# has those. tests/exports/ knows the rules of each tool's documentation.
# shellcheck source=tests/lib.sh
# PARALLEL: exports are compared with SQL.
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
	out=$(cat ${3:+"$here/exports/weights.sql"} "$here/exports/$format.sql" |
		sqlite3 -batch -bail -cmd "CREATE TEMP TABLE arg AS SELECT CAST(readfile('$tmp/$name.$format') AS TEXT) AS file,
			'${3:-}' AS weight" "$tmp/$name.db" 2>&1)
	[ -z "$(grep -v '^# ' <<<"$out")" ] || fail "$name: $format ${3:-}: $(grep -v '^# ' <<<"$out" | head -n 20)"
	grep -q '^# ' <<<"$out" || fail "$name: $format ${3:-} was compared with nothing"
	while IFS=' |' read -r _ what n; do
		[ "$n" = 0 ] || seen[$format-$what]=1
	done < <(grep '^# ' <<<"$out")
}

declare -A seen
names=(pool async)
cp "$root/examples/thread-pool.cwc" "$tmp/pool.cwc"
cp "$root/tests/captures/v1-async.cwc" "$tmp/async.cwc"
if [ "$(id -u)" = 0 ] && [ -r /sys/kernel/btf/vmlinux ] && [ -x "$record" ]; then
	record_exec lock trace_lock_test --count 4 -- --attribution --ret function_to_trace
	record_exec nest nest_test --count 100 --recursions 20 -- --attribution --ret func1 func2 func3 recurse
	record_exec complex trace_complex_async_test --count 12 -- --async-hop submit_decode_task,2,decode_request \
		--async-hop submit_enrich_task,1,enrich_request --async-hop submit_persist_task,2,persist_result persist_result
	names+=(lock nest complex)
fi
for name in "${names[@]}"; do
	import "$name" || continue
	for format in chrome dot otlp csv; do
		export_as "$name" $format
		compare "$name" $format
	done
	for weight in blocked oncpu queue; do
		for format in speedscope folded firefox; do
			export_as "$name" $format --weight $weight
			compare "$name" $format $weight
		done
	done
done
# Filters choose the same chains as report's.
export_as pool chrome --min-total-ms 100 --from 0.1
expect "pool: chains of a filtered trace" "$(sqlite3 :memory: "SELECT count(*) FROM json_each(CAST(readfile('$tmp/pool.chrome') AS TEXT), '\$.traceEvents')
	WHERE value ->> 'ph' = 'b' AND value ->> '\$.args.chain_id' IS NOT NULL")" \
	"$("$analyze" report "$tmp/pool.db" --min-total-ms 100 --from 0.1 --format jsonl | grep -c '"type":"chain"')"
export_as pool otlp --function nothing_like_that
expect "pool: spans of no chain" "$(tr -d ' \n' <"$tmp/pool.otlp")" '{"resourceSpans":[]}'
for format in chrome speedscope folded csv dot firefox; do
	export_as pool $format --function nothing_like_that
done

# Names that no program should have are whole in what has a way to say any name, and harmless everywhere.
cp "$tmp/pool.db" "$tmp/evil.db"
sqlite3 -batch -bail "$tmp/evil.db" <"$here/e2e/hostile.sql" || fail "hostile.sql"
for format in chrome otlp firefox speedscope folded csv dot; do
	export_as evil $format
	tr -d '\n' <"$tmp/evil.$format" | LC_ALL=C grep -qaP '[\x00-\x1f\x7f]|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]' &&
		fail "evil: $format has characters that command a terminal or reorder what is read"
	case $format in
	chrome | firefox) what='function FROM probe JOIN slice USING(probe_id)' ;;
	otlp) what='source FROM hop UNION SELECT target FROM hop' ;;
	speedscope) what='name FROM thread WHERE traced' ;;
	*) continue ;;
	esac
	expect "evil: names that $format has not" "$(sqlite3 -batch "$tmp/evil.db" "WITH said AS MATERIALIZED (
			SELECT DISTINCT atom AS text FROM json_tree(CAST(readfile('$tmp/evil.$format') AS TEXT)) WHERE type = 'text'),
		names(name) AS MATERIALIZED (SELECT DISTINCT $what)
		SELECT count(*) FROM names WHERE NOT EXISTS (SELECT 1 FROM said WHERE instr(text, name))")" 0
done
expect "evil: lines of folded that are no stack with a weight" "$(grep -vcE '^[^;]+(;[^;]+)+ [0-9]+$' "$tmp/evil.folded")" 0
sqlite3 "$tmp/csv.db" ".import --csv '$tmp/evil.csv' rows" 2>"$tmp/err" || fail "evil: CSV: $(cat "$tmp/err")"
expect "evil: rows of CSV" "$(sqlite3 "$tmp/csv.db" 'SELECT count(*) FROM rows')" "$(query evil 'SELECT count(*) FROM hop')"

# The file is there whole or not at all, and what was there stays.
echo before >"$tmp/kept"
"$analyze" export "$tmp/pool.db" --format chrome -o /dev/full 2>"$tmp/err" && fail "a full device is no failure"
grep -q 'cannot write /dev/full' "$tmp/err" || fail "a full device: $(cat "$tmp/err")"
(ulimit -f 8 && "$analyze" export "$tmp/pool.db" --format chrome -o "$tmp/kept" 2>"$tmp/err") && fail "a file too large is no failure"
expect "file that could not be replaced" "$(cat "$tmp/kept")" before
expect "files left behind" "$(find "$tmp" -name 'kept.*')" ""
"$analyze" export "$tmp/pool.db" --format dot -o "$tmp/kept" || fail "an existing file is not replaced"
grep -q digraph "$tmp/kept" || fail "an existing file is not replaced"
for command in export diff; do
	"$analyze" $command --help | grep -q "callweave-analyze $command .*trace.cwc\|callweave-analyze $command before.cwc" ||
		fail "$command --help shows no example"
done
"$analyze" export "$tmp/pool.db" --format dot -o "$tmp/no/such" 2>"$tmp/err" && fail "no folder is no failure"
expect "sentences about a missing folder" "$(wc -l <"$tmp/err")" 1
"$analyze" export "$tmp/pool.db" --format xml >"$tmp/err" 2>&1
expect "status of an unknown format" $? 2
"$analyze" export "$tmp/pool.db" --format chrome --weight oncpu >"$tmp/err" 2>&1
expect "status of a weight for what has none" $? 2
"$analyze" export "$tmp/pool.db" --format chrome 2>"$tmp/err" | head -c 100 >/dev/null
expect "what is said when the reader goes" "$(cat "$tmp/err")" ""

# The tools themselves.
# shellcheck source=tests/exports/install.sh
. "$here/exports/install.sh"
for name in "${names[@]}"; do
	for format in chrome dot otlp speedscope firefox; do
		export_as "$name" $format 2>/dev/null
	done
done
if [ -z "$missing" ]; then
	node "$here/exports/tools.mjs" "$tools" "$tmp" "${names[@]}" evil >"$tmp/tools.out" 2>&1 || fail "tools: $(cat "$tmp/tools.out")"
	note "$(tail -n 1 "$tmp/tools.out")"
fi
# Speedscope itself, in a browser, shows the thread that was blocked most, and for how long.
if [ -z "$missing" ] && [ -n "$chromium" ]; then
	CHROMIUM=$chromium node "$here/exports/speedscope.mjs" "$tools" "$tmp/pool.speedscope" >"$tmp/speedscope.out" 2>&1 ||
		fail "speedscope: $(tail -n 5 "$tmp/speedscope.out")"
	most=$(sqlite3 "$tmp/pool.db" "SELECT printf('%.2fs', max(n) / 1e9) FROM (SELECT sum(blocked_ns) AS n FROM offcpu GROUP BY utid)")
	grep -q "^$most (100%)" "$tmp/speedscope.out" || fail "speedscope shows no $most: $(head -n 3 "$tmp/speedscope.out")"
fi

for what in chrome-calls chrome-states chrome-chains chrome-hops chrome-handoffs chrome-wakings otlp-calls otlp-hops; do
	[ -n "${seen[$what]:-}" ] || [ ${#names[@]} = 2 ] || fail "no capture had any $what"
done
[ $failures = 0 ] && [ -n "$missing" ] && skip "compared with SQL only: $missing"
[ $failures = 0 ] && [ -z "$chromium" ] && skip "Speedscope was not opened: chromium is not installed"
finish
