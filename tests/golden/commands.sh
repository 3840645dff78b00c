#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the analyzer says when it is asked wrongly, given the wrong file, or cannot write: one
# sentence, exit status 1 (2 for usage), and quiet success when the reader goes away.
set -u
analyze=$(realpath "$1")/asan/callweave-analyze dir=$2
cd "$(dirname "$0")/../.." || exit 2
failed=0
db=$dir/a.db
cat schema/*.sql tests/golden/report/people.sql tests/golden/report/calls.sql | sqlite3 "$db"

expect() { # STATUS "PATTERN ON STDERR" ARGUMENTS...
	local status=$1 pattern=$2 got
	shift 2
	"$analyze" "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	if [ $got -ne "$status" ] || ! grep -q -e "$pattern" "$dir/err"; then
		echo "$*: status $got, not $status; stderr (wanted: $pattern):"
		cat "$dir/err"
		failed=1
	fi
	# One sentence; usage errors have argp's hint behind it.
	[ "$status" = 2 ] || [ "$(wc -l <"$dir/err")" -le 1 ] || { echo "$*: more than a sentence"; cat "$dir/err"; failed=1; }
}
rows() { # "EXPECTED" ARGUMENTS...
	local wanted=$1 got
	shift
	got=$("$analyze" "$@" 2>&1)
	[ "$got" = "$wanted" ] || { printf '%s: got\n%s\nnot\n%s\n' "$*" "$got" "$wanted"; failed=1; }
}

# Files that are no captures.
: >"$dir/empty"
echo "just text" >"$dir/text"
mkdir "$dir/folder"
sqlite3 "$dir/foreign.db" 'CREATE TABLE t(a)'
cp "$db" "$dir/newer.db" && sqlite3 "$dir/newer.db" 'PRAGMA user_version = 1000'
cp "$db" "$dir/cut.db" && truncate -s 50000 "$dir/cut.db"
expect 1 'nofile.*No such file' "$dir/nofile"
expect 1 'empty' "$dir/empty"
expect 1 'not a callweave capture' "$dir/text"
expect 1 'not a callweave capture.*ELF' /bin/ls
expect 1 'directory' "$dir/folder"
expect 1 'SQLite database, but not' "$dir/foreign.db"
expect 1 'another version' "$dir/newer.db"
expect 1 '.' "$dir/cut.db"
if [ "$(id -u)" != 0 ]; then
	touch "$dir/secret" && chmod 0 "$dir/secret"
	expect 1 'Permission denied' "$dir/secret"
fi

# Usage.
expect 2 'Usage'
expect 2 'unrecognized option' "$db" --nonsense
expect 2 'give a capture' report
expect 2 'one capture' report "$db" "$db"
expect 2 '--format xml: give' "$db" --format xml
expect 2 '--section summary,foo: give names' "$db" --section summary,foo
expect 2 '--section goes with the text format' "$db" --section summary --format csv
expect 2 '--min-total-ms x' "$db" --min-total-ms x
expect 2 '--max-events x' "$db" --max-events x
expect 2 '--from noon' "$db" --from noon
expect 2 '--key x' "$db" --key x
expect 2 '--color pink' "$db" --color pink
expect 2 'async-hop' "$db" --async-hop a,9
expect 2 'give the database' import "$db"
expect 2 'give the file to write' archive "$db"
expect 2 'give the copy a file name' archive "$db" -o -
expect 2 'give a capture' modules
expect 2 'give none or full' "$db" --srcline some
DEBUGINFOD_URLS='' expect 2 'debuginfod: give a server' modules "$db" --debuginfod
expect 1 'no capture file' archive "$db" -o "$dir/x"
expect 1 'nofile.*No such file' archive "$dir/nofile" -o "$dir/x"
expect 2 'one argument' sql "$db" select 1
expect 1 'cannot be stitched again' "$db" --async-hop a,1,b,1
expect 1 'database already' import "$db" -o "$dir/x.db"
for command in '' report follow export diff import diagnostics blocked discover suggest modules archive sql dump; do
	"$analyze" $command --help >"$dir/out" 2>&1 && grep -q -i 'example' "$dir/out" ||
		{ echo "$command --help: no examples"; failed=1; }
	# argp loses its column when a line ends where its buffer does.
	awk -v c="${command:-help}" 'c != "help" && (/^ {9,}-/ || (/^[^ ]/ && before ~ /^ +-/)) { bad = 1; print c " --help: not in its column: " $0 }
		{ before = $0 } END { exit bad }' "$dir/out" || failed=1
done

# Plans in files: hops and filters in place of the capture's, whatever the order; options win.
c=tests/captures/v1-async.cwc
export XDG_CACHE_HOME=$dir/xdg
plan() { printf '%s\n' "$@" >"$dir/plan.yaml"; }
chains() { # COUNT HOPS ARGUMENTS...: so many chains of so many hops
	local wanted="$1 $2" got
	shift 2
	got=$("$analyze" "$c" --format jsonl "$@" 2>"$dir/err" | sed -n 's/^{"type":"chain".*"hop_count":\([0-9]*\).*/\1/p' | sort | uniq -c | xargs)
	[ "$got" = "$wanted" ] || { echo "$*: chains '$got', not '$wanted': $(cat "$dir/err")"; failed=1; }
}
plan 'hops:' '  - source: enqueue_request' '    source_arg: 2' '    target: process_request' 'filters:' '  max_events: 7'
chains 7 1 --config "$dir/plan.yaml"
chains 3 1 --config "$dir/plan.yaml" --max-events 3
chains 3 1 --max-events 3 --config "$dir/plan.yaml"
chains 5 2 --config "$dir/plan.yaml" --max-events 5 --async-hop enqueue_request,2,process_request,1 \
	--async-hop enqueue_storage_task,2,write_result,1
chains 7 1 --async-hop enqueue_storage_task,2,write_result --config "$dir/plan.yaml"
[ "$("$analyze" follow "$c" --config "$dir/plan.yaml" 2>/dev/null | grep -c '^chain .* hops=1')" = 7 ] ||
	{ echo "follow --config"; failed=1; }
plan 'filters:' '  max_events: 4'
chains 4 2 --config "$dir/plan.yaml"
[ "$("$analyze" export "$c" --format csv --config "$dir/plan.yaml" 2>/dev/null | cut -d, -f1 | sort -u | wc -l)" = 5 ] ||
	{ echo "export --config"; failed=1; }
[ "$("$analyze" diff "$c" "$c" --format jsonl --config "$dir/plan.yaml" 2>/dev/null | grep -c '"count_a":4,"count_b":4,')" -gt 0 ] ||
	{ echo "diff --config"; failed=1; }
expect 2 'only one --config' "$c" --config "$dir/plan.yaml" --config "$dir/other.yaml"
expect 1 'cannot read .*none.yaml: No such file' "$c" --config "$dir/none.yaml"
plan 'hops:' '  - source: f' '    source_arg: 9' '    target: g'
expect 1 "plan.yaml:3:17: source_arg is '9': expected" "$c" --config "$dir/plan.yaml"
plan 'hops:' '  - source: f' '    source_arg: 1' '    target: g'
expect 1 'calls of f were not recorded; recorded were: .*enqueue_request' "$c" --config "$dir/plan.yaml"

# SQL: only reading, and errors in SQLite's words.
expect 1 'SQL error: no such column: nope' sql "$db" 'SELECT nope FROM call'
expect 1 'no such column: nope; the name of a table or view as QUERY' sql "$db" 'SELECT nope FROM call'
expect 1 'no such table: calls; without QUERY' sql "$db" 'SELECT 1 FROM calls'
expect 1 'no table or view is called calls; without QUERY' sql "$db" calls
expect 1 'SQL error: .*syntax' sql "$db" 'SELEC 1'
expect 1 'SQL error: .*raw_probe_entry.*need the capture' sql "$db" 'SELECT * FROM raw_probe_entry'
for query in 'DELETE FROM slice' 'CREATE TABLE t(a)' 'CREATE TEMP TABLE t(a)' 'DROP VIEW chain' 'VACUUM' \
	"VACUUM INTO '$dir/v.db'" "ATTACH '$dir/v.db' AS v" 'PRAGMA query_only=0' 'PRAGMA user_version=7' \
	'PRAGMA journal_mode=wal' "SELECT load_extension('x')" 'INSERT INTO loss SELECT * FROM loss' \
	"SELECT 1; UPDATE slice SET ts = 0"; do
	expect 1 'SQL error: the database is read-only' sql "$db" "$query"
done
[ ! -e "$dir/v.db" ] || { echo "a query wrote a file"; failed=1; }
expect 1 'cannot read the query' sql "$db" "@$dir/nofile"
rows 'n
-
4' sql "$db" 'SELECT count(*) AS n FROM call'
rows '{"n":4}
{"m":"a"}' sql "$db" --format jsonl 'SELECT count(*) AS n FROM call; -- and
SELECT '"'a'"' AS m;'
rows 'key
1' sql "$db" --format csv "SELECT value AS key FROM json_each('[1]')"
# What was in the file stays when the query fails, and a new file is whole.
echo old >"$dir/kept"
expect 1 "no such column" sql "$db" "SELECT nope FROM call" -o "$dir/kept"
[ "$(cat "$dir/kept")" = old ] || { echo "sql -o: a failure took the file"; failed=1; }
"$analyze" sql "$db" --format csv "SELECT 5 AS five" -o "$dir/kept" || failed=1
[ "$(cat "$dir/kept")" = "five
5" ] || { echo "sql -o: $(cat "$dir/kept")"; failed=1; }
echo 'SELECT 5 AS five' >"$dir/q.sql"
rows 'five
5' sql "$db" --format csv "@$dir/q.sql"
[ "$("$analyze" sql "$db" --format csv - <"$dir/q.sql" | tail -n 1)" = 5 ] || { echo "query on stdin"; failed=1; }
"$analyze" sql "$db" | grep -q '^chain  *view  *Chains: ' || { echo "sql: no list of tables"; failed=1; }
rows 'name
slice' sql "$db" --format csv "SELECT name FROM pragma_table_list WHERE name = 'slice'"

# The reader goes away; the disk is full; the file cannot be made.
for arguments in "report $db" "report $db --format jsonl" "report $db --format csv" "sql $db --format csv" ; do
	query=()
	[[ $arguments != sql* ]] || query=("WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 99999) SELECT i FROM c")
	"$analyze" $arguments "${query[@]}" 2>"$dir/err" | head -n 1 >"$dir/out"
	status=${PIPESTATUS[0]}
	[ "$status" = 0 ] && [ ! -s "$dir/err" ] || { echo "$arguments | head: status $status"; cat "$dir/err"; failed=1; }
	"$analyze" $arguments "${query[@]}" 2>"$dir/err" >/dev/full
	status=$?
	[ "$status" = 1 ] && grep -q 'cannot write standard output: No space' "$dir/err" ||
		{ echo "$arguments >/dev/full: status $status"; cat "$dir/err"; failed=1; }
done
expect 1 'cannot write .*No such file' "$db" -o "$dir/none/x"
expect 1 'cannot write .*No space' "$db" -o /dev/full
"$analyze" "$db" -o "$dir/report.txt" && cmp "$dir/report.txt" tests/golden/report/calls.txt || failed=1
exit $failed
