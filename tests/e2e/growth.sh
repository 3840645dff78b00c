#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Import takes as long an event for many events as for few, in bounded memory: ten million of them
# against a million in make soak (GROWTH_SECONDS), a million against a third of that here. Processor
# time is compared, which a busy machine changes least.
. "$(dirname "$0")/../lib.sh"
need_tracing
seconds=${GROWTH_SECONDS:-6}

# Records for so long; imports; leaves events, ns of processor time an event, and peak KiB.
grow() { # NAME SECONDS
	local name=$1 pid kb used
	rm -f "$tmp/$name.cwc"
	record_exec "$name" queue_bench --rate 40000 --work-us 3 --seconds "$2" -- --attribution \
		--async-hop submit_item,2,handle_item,1 handle_item
	rm -f "$tmp/$name.truth"
	events=$(sed -n 's/.*: \([0-9]*\) events .*/\1/p' "$tmp/$name.log")
	peak=0 used=''
	for ((try = 1; try <= 3; try++)); do
		rm -f "$tmp/$name.db"
		{ TIMEFORMAT='%3U %3S'; time "$analyze" import --no-symbols "$tmp/$name.cwc" -o "$tmp/$name.db" 2>"$tmp/$name.import"; } 2>"$tmp/$name.time" &
		pid=$!
		while kill -0 $pid 2>/dev/null; do
			kb=$(awk '$1 == "VmHWM:" { print $2 }' /proc/"$(pgrep -P $pid -x callweave-analy | head -n 1)"/status 2>/dev/null)
			[ "${kb:-0}" -gt $peak ] && peak=$kb
			sleep 0.05
		done
		wait $pid
		expect "$name: exit status of the import" $? 0
		used="$used $(awk '{ print $1 + $2 }' "$tmp/$name.time")"
	done
	spent=$(tr ' ' '\n' <<<"$used" | grep . | sort -g | head -n 1)
	each=$(awk -v s="$spent" -v n="$events" 'BEGIN { printf "%.0f", s * 1e9 / n }')
	echo "$name: $events events, $each ns of processor time an event, at most $((peak / 1024)) MiB"
	[ -s "$tmp/$name.db" ] || fail "$name: no database"
	rm -f "$tmp/$name.db"
}
for ((again = 1; again <= 3; again++)); do
	grow few $((seconds >= 20 ? seconds / 10 : 2))
	[ "$events" -ge 100000 ] && break
done
few=$each few_events=$events
grow many "$seconds"
limit_of "events" $((seconds * 120000)) $((seconds * 10000))
at_least "events" "$events" $limit
limit_of "processor time an event, of 100 for few" 120 150
at_most "processor time an event, of 100 for $few_events events" $((100 * each / few)) $limit
at_most "MiB at most" $((peak / 1024)) 500
at_least "MiB at most" $((peak / 1024)) 5
note "$events events: $each ns each, $((peak / 1024)) MiB; $few_events events: $few ns each"
finish
