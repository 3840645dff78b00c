#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Import takes as long an event for many events as for few, in bounded memory: ten million of them
# against a million in make soak (GROWTH_SECONDS), a million against a third of that here. Processor
# time is compared, which a busy machine changes least, and of imports in turn, so that it changes both.
. "$(dirname "$0")/../lib.sh"
need_tracing
seconds=${GROWTH_SECONDS:-6}
few=$((seconds >= 20 ? seconds / 10 : 2))
declare -A events=() each=()

# So many seconds of handoffs, as many as the machine makes of 40,000 a second.
take() { # NAME SECONDS
	rm -f "$tmp/$1.cwc"
	record_exec "$1" queue_bench --rate 40000 --work-us 3 --seconds "$2" -- --attribution \
		--async-hop submit_item,2,handle_item,1 handle_item
	rm -f "$tmp/$1.truth"
	events[$1]=$(sed -n 's/.*: \([0-9]*\) events .*/\1/p' "$tmp/$1.log")
}

# Imports; the least ns of processor time an event so far, and the peak in KiB.
grow() { # NAME
	local name=$1 pid kb spent
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
	spent=$(awk -v n="${events[$name]}" '{ printf "%.0f", ($1 + $2) * 1e9 / n }' "$tmp/$name.time")
	[ "$spent" -ge "${each[$name]:-$spent}" ] || each[$name]=$spent
	each[$name]=${each[$name]:-$spent}
	echo "$name: ${events[$name]} events, $spent ns of processor time an event, at most $((peak / 1024)) MiB"
	[ -s "$tmp/$name.db" ] || fail "$name: no database"
	rm -f "$tmp/$name.db"
}
for ((again = 1; again <= 3; again++)); do
	take few $few
	take many "$seconds"
	[ "${events[few]}" -ge $((few * 50000)) ] && [ "${events[many]}" -ge $((2 * ${events[few]})) ] && break
done
peak=0
for ((again = 1; again <= 4; again++)); do
	grow few
	grow many
done
# What others leave of the machine is not the same all the while.
limit_of "events, of 100 of few" 200 120
at_least "events, of 100 of ${events[few]}" $((100 * ${events[many]} / ${events[few]})) $limit
limit_of "processor time an event, of 100 for few" 120 150
at_most "processor time an event, of 100 for ${events[few]} events" $((100 * ${each[many]} / ${each[few]})) $limit
at_most "MiB at most" $((peak / 1024)) 500
at_least "MiB at most" $((peak / 1024)) 5
note "${events[many]} events: ${each[many]} ns each, $((peak / 1024)) MiB; ${events[few]} events: ${each[few]} ns each"
finish
