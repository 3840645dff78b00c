#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# --max-rate: a function that is called too often is let go, as is said on the screen and in the
# capture; the others are recorded as if nothing had happened, and the program runs at full speed again.
# PARALLEL: the rate is what BPF counts.
. "$(dirname "$0")/../lib.sh"
need_tracing
export STORM_COUNTS=$tmp/counts

count_of() { # INDEX in storm_test's counts
	od -An -t u8 -w8 -v "$STORM_COUNTS" | sed -n "$((1 + $1))p" | tr -d ' '
}
value() { # SQL
	"$analyze" sql "$tmp/$file" --format csv "$1" 2>/dev/null | tail -n 1 | tr -d '\r"'
}

# One hot function, one calm one. The rate is what BPF counts, so that a busy machine changes nothing.
run() { # NAME FILE OPTIONS...
	name=$1 file=$2
	shift 2
	rm -f "$STORM_COUNTS"
	record_exec "$name" storm_test --hot 1 --ms 1500 --rate 100 --code 0 -- "$@"
	expect "$name: calls of calm" "$(value "SELECT count(*) FROM call WHERE function = 'calm'")" "$(count_of 0)"
	expect "$name: calls of calm with their durations" \
		"$(value "SELECT count(*) FROM call WHERE function = 'calm' AND dur IS NOT NULL AND no_return IS NULL")" \
		"$(count_of 0)"
	recorded=$(value "SELECT count(*) FROM call WHERE function = 'hot'")
	expect "$name: one sentence for it" "$(grep -c 'max-rate' "$tmp/$name.log")" 1
	grep -qE 'warning: hot is called about [0-9]{3,8} times a second, more than --max-rate 500: detached it' \
		"$tmp/$name.log" || fail "$name: the screen does not say it: $(cat "$tmp/$name.log")"
	said_lost "$tmp/$name.log" && fail "$name: $lost"
	grep -qE '; 1 functions? detached;' "$tmp/$name.log" ||
		fail "$name: the closing line does not say it: $(cat "$tmp/$name.log")"
	expect "$name: the capture says it" \
		"$(value "SELECT group_concat(kind || ' ' || reason || ' ' || coalesce(count, 'unknown')) FROM loss WHERE reason LIKE 'detached%'")" \
		'probe_entry detached: hot unknown'
	"$analyze" "$tmp/$file" 2>/dev/null >"$tmp/report"
	grep -qE '^lost +unknown number of probe_entry \(detached: hot\) from .* to the end' "$tmp/report" ||
		fail "$name: the report does not say it: $(head -n 8 "$tmp/report")"
	"$analyze" dump --validate "$tmp/$file" >"$tmp/valid" 2>&1 || fail "$name: $(tail -n 3 "$tmp/valid")"
	# Nothing of it after that moment, none of the others in doubt.
	expect "$name: calls of hot after it was detached" "$(value "SELECT count(*) FROM slice s JOIN probe p USING(probe_id)
		WHERE p.function = 'hot' AND s.ts >= (SELECT ts FROM loss WHERE reason LIKE 'detached%')")" 0
	expect "$name: calls of calm in doubt" "$(value "SELECT count(*) FROM call c WHERE function = 'calm' AND touched_by_loss
		AND NOT EXISTS (SELECT 1 FROM loss l WHERE l.reason NOT LIKE 'detached%' AND l.ts <= c.ts + c.dur AND l.end_ts >= c.ts)")" 0
}
run one one.cwc --max-rate 500 --time calm hot
at_most "calls of hot recorded" "$recorded" 500
at_least "calls of hot recorded" "$recorded" 450
# It runs at full speed again: its probe would have let it do a small part of this.
limit_of "calls of hot behind the detaching" $((10000000 / slow)) 501
at_least "calls of hot that the program made" "$(count_of 1)" $limit
made=$(count_of 1)

# Without the limit all is as before, and with one that is not reached.
name=all file=all.cwc
rm -f "$STORM_COUNTS"
record_exec all storm_test --ms 700 --rate 100 -- --max-rate 1000 --time calm hot
expect "no limit reached: calls of calm" "$(value "SELECT count(*) FROM call WHERE function = 'calm'")" "$(count_of 0)"
expect "no limit reached: losses" "$(value "SELECT count(*) FROM loss WHERE reason <> 'contradiction'")" 0
grep -q 'max-rate' "$tmp/all.log" && fail "a limit was said to be passed: $(cat "$tmp/all.log")"

# A recording in several files says it in each of them, and they open as one.
run parts parts.0001.cwc --max-rate 500 --time --max-size 64K --rotate 100 calm hot
parts=$(find "$tmp" -name 'parts.0*.cwc' | wc -l)
at_least "files of one recording" "$parts" 2
last=$(find "$tmp" -name 'parts.0*.cwc' | sort | tail -n 1)
mkdir "$tmp/alone"
cp "$last" "$tmp/alone/last.cwc"
file=alone/last.cwc
expect "the last file says it, too" "$(value "SELECT reason FROM loss WHERE reason LIKE 'detached%'")" 'detached: hot'

# Handoffs: what a function that was let go handed over is not guessed.
name=hops file=hops.cwc
record_exec hops queue_bench --rate 3000 --work-us 5 --seconds 1 -- --max-rate 300 \
	--async-hop submit_item,2,handle_item,1 handle_item
expect "handoffs: functions detached" "$(value "SELECT count(*) FROM loss WHERE reason LIKE 'detached%'")" 2
expect "handoffs: submissions" "$(value "SELECT submitted FROM hop_count")" 300
at_least "handoffs: chains that are whole" "$(value "SELECT count(*) FROM chain WHERE complete")" 200
note "$recorded calls of $made recorded"
finish
