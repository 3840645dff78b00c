#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The HTML report of 10,000 chains of three hops: its size, how soon it can be used, how long a frame takes, and
# that its figures are over all. The capture is a real one, its database copied end to end; soak_html.sh
# does the same with a million chains.
. "$(dirname "$0")/../lib.sh"
need_tracing
chains=${HTML_CHAINS:-10000} most_bytes=${HTML_BYTES:-6000000}

# shellcheck source=tests/browser/install.sh
. "$here/browser/install.sh"
record_exec complex trace_complex_async_test --count 12 -- --async-hop submit_decode_task,2,decode_request \
	--async-hop submit_enrich_task,1,enrich_request --async-hop submit_persist_task,2,persist_result persist_result
import complex || finish
copies=$((chains / $(query complex "SELECT count(*) FROM path") + 1))
sqlite3 -batch -bail "$tmp/complex.db" -cmd ".parameter set :copies $copies" <"$here/e2e/multiply.sql" >/dev/null ||
	fail "multiply.sql"
at_least "chains" "$(query complex "SELECT count(*) FROM path WHERE hop_count = 3")" "$chains"

began=$(date +%s%N)
"$analyze" report "$tmp/complex.db" --format html -o "$tmp/complex.html" >"$tmp/complex.log" 2>&1 ||
	fail "report: $(cat "$tmp/complex.log")"
took=$((($(date +%s%N) - began) / 1000000))
# Percentiles by rank, from the table.
query complex "WITH ranked AS (SELECT queue_ns + work_ns AS ns, row_number() OVER (ORDER BY queue_ns + work_ns) AS place,
	count(*) OVER () AS n FROM path WHERE work_ns IS NOT NULL)
	SELECT json_object('total', json_object('n', n, 'avg', CAST(round(avg(ns)) AS INTEGER),
	'p50', max(ns) FILTER (WHERE place = (n * 50 + 99) / 100), 'p95', max(ns) FILTER (WHERE place = (n * 95 + 99) / 100),
	'p99', max(ns) FILTER (WHERE place = (n * 99 + 99) / 100), 'max', max(ns))) FROM ranked" >"$tmp/complex.json"
# The text's answer is of the same chains, and says why they wait however many there are.
"$analyze" report "$tmp/complex.db" --section answer >"$tmp/answer" 2>/dev/null || fail "answer"
expect "chains and average of the text's answer" "$(sed -n '1s/^answer *\([0-9,]*\) chains, .*: average \([0-9.]* [mun]*s\) .*/\1 \2/p' "$tmp/answer" | tr -d ,)" \
	"$(sqlite3 :memory: "SELECT v ->> '\$.total.n' || printf(' %.3f ms', (v ->> '\$.total.avg') / 1e6) FROM (SELECT CAST(readfile('$tmp/complex.json') AS TEXT) AS v)")"
grep -qE 'of it (blocked|in the run queue|preempted)( |$)' "$tmp/answer" &&
	{ grep -qE 'of it (blocked|in the run queue|preempted) \(.+: [0-9.]+ % of the time' "$tmp/answer" || fail "no reason is named: $(cat "$tmp/answer")"; }
bytes=$(stat -c %s "$tmp/complex.html")
at_most "bytes of the file" "$bytes" "$most_bytes"
if [ -z "$modules" ]; then
	[ "$failures" = 0 ] && skip "only the file of $((bytes / 1000)) kB was made: $missing"
	finish
fi
figure() { # NAME
	sed -n "s/^$1 //p" "$tmp/pace"
}
# Times are the best of three: what else the machine does makes them longer, now and then.
best() { # NAME: of those so far
	cat "$tmp"/pace.[0-9] | sed -n "s/^$1 //p" | sort -n | head -n 1
}
for try in 1 2 3; do
	CHROMIUM=$chromium node "$here/browser/pace.mjs" "$modules" "$tmp/complex.html" "$tmp/complex.json" >"$tmp/pace" 2>&1 ||
		fail "pace.mjs: $(cat "$tmp/pace")"
	cp "$tmp/pace" "$tmp/pace.$try"
	! busy || break # there the limits are wide
	[ "$(best usable)" -gt 1000 ] || [ "$(for what in zoom move scroll; do best $what; done | sort -n | tail -n 1)" -gt 25 ] || break
done
limit_of 'ms until it can be used' 2000 20000
at_most "ms until it can be used" "$(best usable)" "$limit"
limit_of 'ms a frame' 50 500
for what in zoom move scroll; do
	at_most "median ms of a frame: $what" "$(best $what)" "$limit"
done
expect "figures are those of SQL" "$(figure exact)" 1
expect "what it holds is said" "$(figure reduced)" 1
note "$chains chains: $((bytes / 1000)) kB in $took ms, usable in $(best usable) ms, a frame $(best zoom) $(best move) $(best scroll) ms"
finish
