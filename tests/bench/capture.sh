# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
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

quotient() {
	awk -v a="$1" -v b="$2" 'BEGIN { print a / b }'
}

# Samples of the run that just ended, from the recorder's closing line and the target's.
capture_samples() { # SECTION ROUND
	local lost bytes payload handoffs
	read -r events lost bytes payload < <(closing_line "$tmp/tracer.log") || return
	handoffs=$(target_says handoffs)
	sample "$1.event_bytes" "$2" "$(quotient $((bytes - payload)) "$events")"
	sample "$1.handoff_bytes" "$2" "$(quotient $((bytes - payload)) "$handoffs")"
	sample "$1.events" "$2" "$(quotient "$events" "$handoffs")"
	sample "$1.payload" "$2" "$(quotient "$payload" 1024)"
	sample "$1.lost" "$2" "$lost"
	sample "$1.cpu" "$2" "$(quotient "$tracer_cpu" "$(target_says seconds)")"
	sample "$1.rss" "$2" "$tracer_rss"
	sample "$1.cpu_event" "$2" "$(awk -v c="$tracer_cpu" -v n="$events" 'BEGIN { print c * 1e9 / n }')"
}

# The goals for bytes are for the target at full speed: what an event takes depends on the mix.
capture_rows() { # SECTION [full-speed]
	local event="" handoff=""
	[ "${2:-}" != full-speed ] || event="<= 8" handoff="<= 64"
	row "$1.events" "events a handoff" "$(median "$1.events")" events
	row "$1.event" "bytes an event on disk, module payloads apart" "$(median "$1.event_bytes")" bytes "" "" "" "$event"
	row "$1.handoff" "bytes a handoff on disk, module payloads apart" "$(median "$1.handoff_bytes")" bytes "" "" "" "$handoff"
	row "$1.payload" "module payloads" "$(median "$1.payload")" KiB
	row "$1.lost" "events lost in all rounds" "$(awk -v n="$1.lost" '$1 == n { lost += $3 } END { print lost }' \
		"$tmp/samples")" events "" "" "" "= 0"
	row "$1.cpu" "the recorder's CPU, share of a core" "$(median "$1.cpu")" cores "" "" "" "<= 0.40"
	row "$1.cpu_event" "the recorder's CPU an event" "$(median "$1.cpu_event")" ns
	row "$1.rss" "the recorder's peak memory" "$(median "$1.rss")" MiB "" "" "" "<= 64"
}

# Record into $tmp/NAME.cwc. Work is half of that of the other runs, so that the rate can be reached
# while recording. Leaves the number of events in recorded_events.
record_at_rate() { # NAME RATE SECONDS ROUND SAMPLES
	local spin events
	spin=$("$build/workloads/queue_bench" --work-us 10 --calibrate | awk '$1 == "spin" { print $2 }')
	traced by_callweave_at_rate "$build/workloads/queue_bench" --start-file "$tmp/go" --spin "$spin" \
		--rate "$2" --seconds "$3" || return
	capture_samples "$5" "$4" || {
		echo "no closing line was understood" >>"$tmp/tracer.log"
		return 1
	}
	sample "$5.rate" "$4" "$(target_says rate)"
	mv "$tmp/trace.cwc" "$tmp/$1.cwc"
	recorded_events=$events
}

by_callweave_at_rate() {
	start_callweave --attribution --async-hop submit_item,2,handle_item,1 handle_item
}

section_capture() {
	local round n=$((rounds < 3 ? rounds : 3))
	for ((round = 1; round <= n; round++)); do
		progress "capture: round $round of $n"
		record_at_rate million $capture_rate $capture_seconds "$round" capture || {
			failed capture "recording at $capture_rate handoffs/s" "$(last_words "$tmp/tracer.log")"
			return
		}
	done
	million_events=$recorded_events
	row capture.rate "handoffs a second that were asked for and done" "$(median capture.rate)" handoffs/s \
		"asked for" $capture_rate "$(quotient "$(median capture.rate)" $capture_rate)"
	capture_rows capture
}
