#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The HTML report of real captures in a real browser: its numbers are SQL's, what it draws are the thread
# states, every control works, and names of targets are text.
# PARALLEL: the page is compared with SQL.
. "$(dirname "$0")/../lib.sh"
need_tracing

report() { # NAME: NAME.db to NAME.html, and what SQL says of it to NAME.json
	"$analyze" report "$tmp/$1.db" --format html -o "$tmp/$1.html" >"$tmp/$1.log" 2>&1 ||
		fail "$1: report: $(cat "$tmp/$1.log")"
	sqlite3 -batch -bail "$tmp/$1.db" <"$here/e2e/html.sql" >"$tmp/$1.json" || fail "$1: html.sql"
}

# Names that no program should have; see hostile.sql.
hostile() { # FROM TO
	cp "$tmp/$1.db" "$tmp/$2.db"
	sqlite3 -batch -bail "$tmp/$2.db" <"$here/e2e/hostile.sql" || fail "$2: hostile.sql"
}

# Start a browser on a report; they run beside each other.
browser() { # NAME WORDS that the answer must have
	local name=$1
	shift
	[ -n "$modules" ] || return
	CHROMIUM=$chromium node "$here/browser/page.mjs" "$modules" "$tmp/$name.html" "$tmp/$name.json" \
		"${SHOTS:+$SHOTS/$name}" "$@" >"$tmp/$name.browser" 2>&1 &
	browsers[$name]=$!
	pids+=($!)
}

look() { # at what the browsers of these names found
	local name
	for name in "$@"; do
		[ -n "${browsers[$name]:-}" ] || continue
		wait "${browsers[$name]}" || fail "$name: $(cat "$tmp/$name.browser")"
		note "$name: $(tail -n 1 "$tmp/$name.browser")"
		forget "${browsers[$name]}"
	done
}

# shellcheck source=tests/browser/install.sh
. "$here/browser/install.sh"
declare -A browsers=()

record_exec pool trace_thread_pool_test --count 120 -- "${pool_hops[@]}" write_result
record_exec lock trace_lock_test --count 4 -- --attribution --ret function_to_trace
record_exec complex trace_complex_async_test --count 12 -- --async-hop submit_decode_task,2,decode_request \
	--async-hop submit_enrich_task,1,enrich_request --async-hop submit_persist_task,2,persist_result persist_result
for name in pool lock complex; do
	import $name && report $name
done
hostile pool evil && report evil
for name in pool lock complex evil; do
	expect "$name: scripts in the file" "$(grep -c '<script' "$tmp/$name.html")" 2
	expect "$name: addresses of the network" "$(grep -ciE '(src|href)="?https?:' "$tmp/$name.html")" 0
	[ -z "${SHOTS:-}" ] || mkdir -p "$SHOTS/$name"
done
# The answer names the largest part of the time; which one that is depends on what else the machine does.
largest=$(query pool "WITH ended AS (SELECT h.* FROM hop h JOIN chain USING(chain_id) WHERE total_ns IS NOT NULL)
	SELECT source || ' ' || target || ' ' || kind || ' ' || threads FROM (
	SELECT source, target, 'queue' AS kind, sum(queue_ns) AS ns, count(DISTINCT target_utid) AS threads FROM ended GROUP BY 1, 2
	UNION ALL SELECT source, target, 'blocked', sum(blocked_ns), 0 FROM ended GROUP BY 1, 2
	UNION ALL SELECT source, target, 'run', sum(runq_ns), 0 FROM ended GROUP BY 1, 2) ORDER BY ns DESC LIMIT 1")
read -r source target kind threads <<<"$largest"
if [ "$kind" = queue ]; then
	# What it says of the work: nothing where work is short beside the queue; on a busy machine names may be missing.
	reason=$(query pool "SELECT reason FROM hop_reason JOIN (SELECT plan_hop, avg(queue_ns) AS queue, avg(work_ns) AS work
			FROM hop WHERE source = '$source' AND target = '$target' GROUP BY plan_hop) USING(plan_hop)
		WHERE work > 0.06 * queue AND share > 0.5 AND class NOT IN ('on CPU', 'run queue', 'preempted', 'unknown')
		ORDER BY ns DESC LIMIT 1")
	busy || expect "pool: what its work is blocked on" "$reason" clock_nanosleep
	browser pool "$source" "$target" "$reason" "All $threads threads" "they can complete"
else
	browser pool "$target" "$kind"
fi
browser lock function_to_trace 'futex wait' release_shared_resource
look pool lock
browser complex persist_result 'futex wait' commit_storage
browser evil
look complex evil
"$analyze" report "$tmp/pool.db" --format html --min-total-ms 1e6 -o "$tmp/none.html" || fail "no chain at all: report"
# Filters choose the same chains as those of the other formats.
for filter in '--min-total-ms 150' '--min-queue-ms 100 --max-events 7' '--function write_result --from 0.3 --to 0.6'; do
	[ -n "$modules" ] || continue
	# shellcheck disable=SC2086 # options and their values
	"$analyze" report "$tmp/pool.db" --format html $filter -o "$tmp/some.html" 2>"$tmp/some.err" || fail "$filter: report"
	# shellcheck disable=SC2086
	expect "$filter: chains of the page" "$(node -e "const page = require('fs').readFileSync('$tmp/some.html', 'utf8'),
		data = JSON.parse(require('zlib').inflateRawSync(Buffer.from(/id=\"data\"[^>]*>([^<]*)</.exec(page)[1], 'base64')));
		console.log(data.selection.selected[0] + ' ' + data.chain.chain.sort((a, b) => a - b).join())")" \
		"$("$analyze" report "$tmp/pool.db" --format jsonl $filter 2>/dev/null | sed -n 's/.*"type":"chain".*"chain_id":\([0-9]*\).*/\1/p' |
			sort -n | awk '{ all = all (NR > 1 ? "," : "") $1 } END { print NR " " all }')"
done
[ $failures = 0 ] && [ -n "$missing" ] && skip "only the files were checked: $missing"
finish
