#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Following kept captures from their beginning says what the report says of them.
set -u
analyze=$(realpath "$1")/asan/callweave-analyze dir=$2
cd "$(dirname "$0")/../.." || exit 2
export XDG_CACHE_HOME=$dir/xdg
failed=0
complain() { echo "$*"; failed=1; }
records() { grep '"type":"c' | LC_ALL=C sort; }
status() { # WANTED PATTERN ARGUMENTS...: exit status and what is said
	local wanted=$1 pattern=$2 got
	shift 2
	"$analyze" follow "$@" >"$dir/out" 2>"$dir/err" </dev/null
	got=$?
	[ $got = "$wanted" ] && grep -q -- "$pattern" "$dir/err" || complain "follow $*: status $got, $(cat "$dir/err")"
}

for c in tests/captures/*.cwc examples/*.cwc; do
	[ -e "$c" ] || continue
	"$analyze" report "$c" --no-cache --format jsonl 2>/dev/null >"$dir/report" || complain "report $c"
	"$analyze" follow "$c" --format jsonl 2>"$dir/err" >"$dir/follow" || complain "follow $c: $(cat "$dir/err")"
	records <"$dir/report" >"$dir/r"
	records <"$dir/follow" >"$dir/f"
	cmp "$dir/r" "$dir/f" || complain "$c: follow and report differ"
	cat "$c" | "$analyze" follow - --format jsonl 2>/dev/null | records | cmp - "$dir/f" || complain "$c: from a pipe"
	"$analyze" follow - --format jsonl 2>/dev/null <"$c" | records | cmp - "$dir/f" || complain "$c: from standard input"
	# The same blocks as text, in the order in which they ended; the report has its head above them.
	for command in report follow; do
		option=--no-cache
		[ $command = report ] || option='--no-cache --diagnostic-interval-ms 0'
		# shellcheck disable=SC2086 # words
		"$analyze" $command "$c" $option 2>/dev/null |
			grep -E '^(chain|\[|async hop|  (RETURN|no return|queue=|wait=|waker|#|async))' | LC_ALL=C sort >"$dir/$command.txt"
	done
	cmp "$dir/report.txt" "$dir/follow.txt" || complain "$c: text differs"
	# Counts of the summary; percentiles of follow are those of histograms.
	for command in report follow; do
		tail -n 1 "$dir/$command" >"$dir/last"
		sqlite3 :memory: "SELECT fullkey, value FROM json_tree(CAST(readfile('$dir/last') AS TEXT))
			WHERE atom IS NOT NULL AND key NOT IN ('p50_ns', 'p95_ns', 'p99_ns') AND fullkey NOT LIKE '$.losses%'
				AND key <> 'imported' ORDER BY fullkey" >"$dir/$command.counts"
	done
	diff "$dir/report.counts" "$dir/follow.counts" || complain "$c: summaries differ"
	[ "$(wc -l <"$dir/follow.counts")" -gt 30 ] || complain "$c: no summary"
done

# Queues and pools of each interval and of the whole. What later intervals tell is left out of those: how
# many workers there are (and so whether they are saturated), and how long the work took that began in one.
for c in tests/captures/v1-async.cwc examples/thread-pool.cwc; do
	for interval in 0 50 1000; do
		"$analyze" follow "$c" --format jsonl --diagnostic-interval-ms $interval 2>/dev/null |
			grep '^{"type":"queue_' >"$dir/follow"
		"$analyze" diagnostics "$c" --no-cache --format jsonl --diagnostic-interval-ms $interval 2>/dev/null |
			LC_ALL=C sort >"$dir/report"
		[ -s "$dir/report" ] || complain "$c: no diagnostics"
		LC_ALL=C sort "$dir/follow" -o "$dir/follow"
		for of in follow report; do
			sed -i '/queue_snapshot/s/"\(saturated_ns\|busiest_worker_average_work_ns\|diagnosis\)":["a-z0-9. +]*//g
				s/"\(saturated_ns\|busiest_worker_average_work_ns\)":[a-z0-9.]*,//g' "$dir/$of"
		done
		diff "$dir/report" "$dir/follow" || complain "$c: diagnostics of every $interval ms differ"
	done
done
[ "$(grep -c queue_snapshot "$dir/follow")" -ge 1 ] || complain "no queue snapshot"

# What calls and hops waited for over the whole run, whose rows are gone by then.
for c in examples/thread-pool.cwc tests/captures/v1-async.cwc; do
	"$analyze" follow $c --format jsonl 2>/dev/null | grep '^{"type":"reasons"' >"$dir/f"
	"$analyze" blocked $c --no-cache --top 3 --format jsonl 2>/dev/null >"$dir/r"
	[ "$(grep -c '"of":"hop"' "$dir/f")" = 2 ] && diff "$dir/f" "$dir/r" || complain "$c: reasons differ"
done
[ "$("$analyze" follow examples/thread-pool.cwc 2>/dev/null | grep -c '^top reasons of the work of ')" = 2 ] ||
	complain "no reasons in the text"

c=tests/captures/v1-async.cwc
count() { "$analyze" follow $c --format jsonl "$@" 2>/dev/null | grep -c '"type":"chain"'; }
all=$(count)
[ "$all" -gt 100 ] || complain "only $all chains"
[ "$(count --max-events 7)" = 7 ] || complain "--max-events 7: $(count --max-events 7)"
[ "$(count --min-total-ms 6)" = "$("$analyze" $c --no-cache --format jsonl --min-total-ms 6 2>/dev/null |
	grep -c '"type":"chain"')" ] || complain "--min-total-ms"
some=$(count --min-total-ms 6)
[ "$some" -gt 0 ] && [ "$some" -lt "$all" ] || complain "--min-total-ms 6 shows $some of $all"
[ "$(count --from 0.1 --to 0.2)" -lt "$all" ] || complain "--from and --to"
"$analyze" follow $c --async-hop enqueue_request,2,process_request,1 --format jsonl 2>/dev/null |
	grep -c '"hop_count":1' | grep -qx 13. || complain "other hops"

# A cut stream says what is missing and still ends well.
head -c 100000 $c | "$analyze" follow - >"$dir/out" 2>"$dir/err" || complain "a cut stream: status $?"
grep -q 'the file ends in the middle of the frame' "$dir/err" || complain "a cut stream: $(cat "$dir/err")"
grep -q '^[0-9]* chains' "$dir/out" || complain "a cut stream: no summary"
head -c 100000 $c >"$dir/cut.cwc"
status 0 'ends in the middle of the frame' "$dir/cut.cwc"

status 1 'cannot open /nonexistent/x.cwc: No such file' /nonexistent/x.cwc
status 1 'is a directory' "$dir"
status 1 'standard input is empty' -
status 1 'not recorded; recorded were: enqueue_request' $c --async-hop nothing,1,process_request,1
status 2 'give - for standard input' --format jsonl
status 2 'follow prints text or jsonl' $c --format csv
status 2 'follow prints text or jsonl' $c --format html
status 2 'diagnostic-interval-ms x: give milliseconds' $c --diagnostic-interval-ms x
status 2 'give milliseconds' $c --min-total-ms x
status 1 'cannot write /nonexistent/out: No such file' $c -o /nonexistent/out
"$analyze" follow $c -o "$dir/file" && grep -q '^chain 1 ' "$dir/file" || complain "-o FILE"
"$analyze" follow $c --format jsonl 2>"$dir/err" | head -n 1 >/dev/null
[ ! -s "$dir/err" ] || complain "a closed pipe: $(cat "$dir/err")"
exit $failed
