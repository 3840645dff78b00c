#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Records deleted at random before import, and counted as lost: whatever differs from the lossless
# answer carries a flag. Deleted in one second only: what lies outside it carries none.
# PARALLEL: a capture is compared with its own thinned copy.
. "$(dirname "$0")/../lib.sh"
need_tracing
edit=$build/tests/capture_edit
[ -x "$edit" ] || skip "no capture_edit was built"

# compare NAME LABEL RANGE-CONDITION: the thinned copy NAME.thin.db against NAME.db, one row a chain
# or call. A chain is named by its last target's thread and entry. Prints 'WHAT|COUNT'.
compare() { # NAME
	sqlite3 -batch -bail -cmd "ATTACH '$tmp/$1.db' AS full" "$tmp/$1.thin.db" <"$here/e2e/deletions.sql"
}

check() { # NAME LABEL
	local what got
	compare "$1" >"$tmp/compared" || fail "$2: the comparison failed"
	while IFS='|' read -r what got; do
		case $what in
		*WRONG*) expect "$2: $what" "$got" 0 ;;
		*) eval "${what%% *}=$got" ;;
		esac
	done <"$tmp/compared"
	# Neither everything flagged nor nothing: the comparison above would say nothing then. A few long calls
	# are all touched.
	if [ $1 != lock ]; then
		at_least "$2: chains or calls unflagged" "$unflagged" 1
		at_least "$2: chains or calls flagged" "$flagged" 1
	fi
	total_unflagged=$((total_unflagged + unflagged))
	total_flagged=$((total_flagged + flagged))
}
unflagged=0 flagged=0 total_unflagged=0 total_flagged=0

record_exec async trace_async_test --count 150 -- --async-hop enqueue_request,2,process_request,1 \
	--async-hop enqueue_storage_task,2,write_result,1 write_result
record_exec pool trace_thread_pool_test --count 120 -- "${pool_hops[@]}" write_result
record_exec tagged tagged --count 2000 --work-us 400 --cancel-percent 20 --double-percent 2 -- "${pool_hops[@]}" write_result
record_exec nest nest_test --count 3000 --recursions 20 -- --attribution func1 func2 func3 recurse
record_exec lock trace_lock_test --count 12 -- --attribution --ret function_to_trace
for name in async pool tagged nest lock; do
	import $name || continue
	for seed in 1 2 3; do
		"$edit" "$tmp/$name.cwc" "$tmp/thin.cwc" --delete-percent 1 --seed $seed >"$tmp/log" 2>&1 ||
			fail "$name: capture_edit: $(cat "$tmp/log")"
		"$analyze" import "$tmp/thin.cwc" -o "$tmp/$name.thin.db" >"$tmp/log" 2>&1 ||
			fail "$name: import: $(cat "$tmp/log")"
		check $name "$name, seed $seed"
		rm -f "$tmp/$name.thin.db"
	done
done

# One second of about four: everything in it goes, chains that do not touch it stay as they were.
record_exec second tagged --count 2000 --work-us 4000 -- "${pool_hops[@]}" write_result
if import second; then
	"$edit" "$tmp/second.cwc" "$tmp/thin.cwc" --delete-percent 30 --from-ms 1000 --to-ms 2000 >"$tmp/log" 2>&1 ||
		fail "second: capture_edit: $(cat "$tmp/log")"
	"$analyze" import "$tmp/thin.cwc" -o "$tmp/second.thin.db" >"$tmp/log" 2>&1 || fail "second: import: $(cat "$tmp/log")"
	check second "one second"
	outside="SELECT c.chain_id FROM full.chain c, (SELECT min(ts) AS a, max(end_ts) AS b FROM main.loss WHERE reason = 'deleted')
		WHERE c.end_ts < a OR c.start_ts > b"
	both() {
		sqlite3 -batch -bail -cmd "ATTACH '$tmp/second.db' AS full" "$tmp/second.thin.db" "$1"
	}
	at_least "one second: chains outside" "$(both "SELECT count(*) FROM ($outside)")" 500
	expect "one second: chains outside that are missing or flagged" "$(both "SELECT count(*) FROM full.path f
		WHERE f.chain_id IN ($outside) AND f.flags = '' AND NOT EXISTS (SELECT 1 FROM main.path p
			WHERE p.start_ts = f.start_ts AND p.end_ts = f.end_ts AND p.flags = '' AND p.complete)")" 0
	at_most "one second: length of the losses, s" \
		"$(both "SELECT (max(end_ts) - min(ts)) / 1e9 FROM main.loss WHERE reason = 'deleted'")" 1.001
fi
note "$total_unflagged unflagged the same, $total_flagged flagged"
finish
