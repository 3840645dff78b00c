# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# The recorder and its file at 30,000 handoffs a second: bytes, CPU, memory, losses.

capture_rate=30000
capture_seconds=8 # about a million events

# From the recorder's closing line: events, events lost, bytes of the file, of those payloads.
closing_line() { # LOG
	awk '/ events/ {
		for (i = 1; i < NF; i++) {
			if ($(i + 1) ~ /^events/)
				events = $i
			if ($(i + 1) ~ /^KiB/)
				bytes = $i * 1024
			if ($(i + 1) == "of" && $(i + 3) ~ /^symbols/)
				payload = $i * 1024
		}
		none = /none lost/
		if (match($0, /LOST: [^;]*/)) {
			n = split(substr($0, RSTART + 6, RLENGTH - 6), part, ", ")
			for (i = 1; i <= n; i++)
				lost += part[i]
		}
	}
	END { if (events) printf "%d %d %.0f %.0f\n", events, none ? 0 : lost, bytes, payload }' "$1"
}

by_callweave_at_rate() {
	start_callweave --attribution --async-hop submit_item,2,handle_item,1 handle_item
}

# Work is half of that of the other runs, so that the rate can be reached while recording.
# Record once into $tmp/million.cwc. Leaves the figures of the closing line and handoffs.
record_at_rate() {
	local spin
	spin=$("$build/workloads/queue_bench" --work-us 10 --calibrate | awk '$1 == "spin" { print $2 }')
	traced by_callweave_at_rate "$build/workloads/queue_bench" --start-file "$tmp/go" --spin "$spin" \
		--rate $capture_rate --seconds $capture_seconds || return
	read -r events lost bytes payload < <(closing_line "$tmp/tracer.log") || {
		echo "no closing line was understood" >>"$tmp/tracer.log"
		return 1
	}
	handoffs=$(target_says handoffs)
	mv "$tmp/trace.cwc" "$tmp/million.cwc"
	million_events=$events
}

section_capture() {
	local round n=$((rounds < 3 ? rounds : 3))
	for ((round = 1; round <= n; round++)); do
		progress "capture: round $round of $n"
		record_at_rate || {
			failed capture "recording at $capture_rate handoffs/s" "$(last_words "$tmp/tracer.log")"
			return
		}
		sample capture.rate "$round" "$(target_says rate)"
		sample capture.event_bytes "$round" "$(awk -v b=$((bytes - payload)) -v n="$events" 'BEGIN { print b / n }')"
		sample capture.handoff_bytes "$round" "$(awk -v b=$((bytes - payload)) -v n="$handoffs" 'BEGIN { print b / n }')"
		sample capture.events "$round" "$(awk -v e="$events" -v n="$handoffs" 'BEGIN { print e / n }')"
		sample capture.lost "$round" "$lost"
		sample capture.cpu "$round" "$(awk -v c="$tracer_cpu" -v s="$(target_says seconds)" 'BEGIN { print c / s }')"
		sample capture.rss "$round" "$tracer_rss"
		sample capture.payload "$round" "$(awk -v b="$payload" 'BEGIN { print b / 1024 }')"
	done
	row capture.rate "handoffs a second that were asked for and done" "$(median capture.rate)" handoffs/s \
		"asked for" $capture_rate "$(awk -v r="$(median capture.rate)" -v a=$capture_rate 'BEGIN { print r / a }')"
	row capture.events "events a handoff" "$(median capture.events)" events
	row capture.event "bytes an event on disk, module payloads apart" "$(median capture.event_bytes)" bytes "" "" "" "<= 8"
	row capture.handoff "bytes a handoff on disk, module payloads apart" "$(median capture.handoff_bytes)" bytes "" "" "" "<= 64"
	row capture.payload "module payloads" "$(median capture.payload)" KiB
	row capture.lost "events lost" "$(median capture.lost)" events "" "" "" "= 0"
	row capture.cpu "the recorder's CPU, share of a core" "$(median capture.cpu)" cores "" "" "" "<= 0.40"
	row capture.rss "the recorder's peak memory" "$(median capture.rss)" MiB "" "" "" "<= 64"
}
