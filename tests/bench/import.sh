# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
# Import of N events beside inserting N rows into SQLite and beside perf script, a filtered report
# from the cache, and how both grow with the number of events.

analyze=$build/callweave-analyze

# A filter that one chain in a hundred passes, from the imported database.
queue_filter() { # DATABASE
	sqlite3 -readonly "$1" "SELECT queue_ns / 1e6 FROM chain ORDER BY queue_ns DESC
		LIMIT 1 OFFSET (SELECT count(*) / 100 FROM chain)"
}

section_import() {
	local round n=$((rounds < 3 ? rounds : 3)) filter format
	if [ ! -e "$tmp/million.cwc" ]; then
		record_at_rate million "$capture_rate" "$capture_seconds" 1 capture || {
			failed import "import beside inserting rows" "$(last_words "$tmp/tracer.log")"
			return
		}
		million_events=$recorded_events
	fi
	for ((round = 1; round <= n; round++)); do
		progress "import: round $round of $n"
		rm -f "$tmp/rows.db" "$tmp/million.db"
		timed "$bench/insert" "$tmp/rows.db" "$million_events" || break
		sample import.rows "$round" "$wall"
		timed "$analyze" import "$tmp/million.cwc" -o "$tmp/million.db" || break
		sample import.time "$round" "$wall"
		sample import.rss "$round" "$(awk '$1 == "wall" { print $6 / 1024 }' "$tmp/timed.use")"
	done
	rm -f "$tmp/rows.db"
	if [ "$round" -le "$n" ]; then
		failed import.time "import of $million_events events" "$(last_words "$tmp/timed.err")"
		return
	fi
	row_beside import.time "import of $million_events events" import.time s "as many rows" import.rows "< 1.0"
	row import.rss "peak memory of the import" "$(median import.rss)" MiB
	row import.size "size of the database" "$(stat -c %s "$tmp/million.db" | awk '{ print $1 / 1048576 }')" MiB

	filter=$(queue_filter "$tmp/million.db")
	timed "$analyze" report "$tmp/million.cwc" --max-events 1 || {
		failed import.report "a filtered report from the cache" "$(last_words "$tmp/timed.err")"
		return
	}
	for format in text jsonl; do
		for ((round = 1; round <= n; round++)); do
			timed "$analyze" report "$tmp/million.cwc" --min-queue-ms "$filter" --format $format || break
			sample import.report.$format "$round" "$wall"
		done
		row import.report.$format "filtered report from the cache ($format, 1 chain in 100)" \
			"$(median import.report.$format)" s "" "" "" "< 1.0"
	done
	import_growth "$n"
}

# ---- against the number of events ----------------------------------------------------------------
# Ten million are recorded and imported once, in some five minutes: EVENTS_MOST=1000000 leaves them out.
events_most=${EVENTS_MOST:-10000000}

growth_label() { # EVENTS
	awk -v n="$1" 'BEGIN { e = int(log(n) / log(10) + 0.5); print "1e" e }'
}

# A size: its events a second of import and of a whole report.
import_size() { # LABEL FILE EVENTS ROUNDS
	local round
	for ((round = 1; round <= $4; round++)); do
		progress "import: $1 events, round $round of $4"
		rm -f "$tmp/size.db"
		timed "$analyze" import --no-symbols "$2" -o "$tmp/size.db" || return
		sample "growth.$1.import" "$round" "$(quotient "$3" "$wall")"
		sample "growth.$1.rss" "$round" "$(awk '$1 == "wall" { print $6 / 1024 }' "$tmp/timed.use")"
		timed "$analyze" report "$tmp/size.db" --format jsonl || return
		sample "growth.$1.report" "$round" "$(quotient "$3" "$wall")"
	done
	rm -f "$tmp/size.db"
}

import_growth() { # ROUNDS
	local size label pace lasts before=''
	for size in 10000 100000 1000000 10000000; do
		[ "$size" -le "$events_most" ] || break
		label=$(growth_label $size)
		if [ $size = 1000000 ]; then
			cp --reflink=auto "$tmp/million.cwc" "$tmp/$label.cwc"
			recorded_events=$million_events
		else
			# As long as it takes at that rate, or for a second at a lower one.
			read -r pace lasts < <(awk -v n=$size -v m="$million_events" -v s=$capture_seconds -v r=$capture_rate 'BEGIN {
				t = s * n / m; l = t > 1 ? int(t) : 1; printf "%d %d\n", r * t / l, l }')
			record_at_rate "$label" "$pace" "$lasts" 1 "growth.$label" || {
				failed "growth.$label" "import of $size events" "$(last_words "$tmp/tracer.log")"
				return
			}
		fi
		import_size "$label" "$tmp/$label.cwc" "$recorded_events" $((size > 1000000 ? 1 : $1)) || {
			failed "growth.$label" "import of $recorded_events events" "$(last_words "$tmp/timed.err")"
			return
		}
		rm -f "$tmp/$label.cwc"
		# A tenth of the events costs a tenth of the time; the smallest is mostly the start.
		if [ -n "$before" ] && [ "$before" != 1e4 ]; then
			row "growth.$label.import" "import of $recorded_events events" "$(median "growth.$label.import")" events/s \
				"of $before events" "$(median "growth.$before.import")" \
				"$(quotient "$(median "growth.$label.import")" "$(median "growth.$before.import")")" ">= 0.8"
			row "growth.$label.report" "report of $recorded_events events, every chain" "$(median "growth.$label.report")" events/s \
				"of $before events" "$(median "growth.$before.report")" \
				"$(quotient "$(median "growth.$label.report")" "$(median "growth.$before.report")")"
		else
			row "growth.$label.import" "import of $recorded_events events" "$(median "growth.$label.import")" events/s
			row "growth.$label.report" "report of $recorded_events events, every chain" "$(median "growth.$label.report")" events/s
		fi
		row "growth.$label.rss" "peak memory of the import of $recorded_events events" "$(median "growth.$label.rss")" MiB "" "" "" "<= 500"
		before=$label
	done
	beside_perf_script
}

# perf's way from its file to text, over the events of the target's last run.
beside_perf_script() {
	if [ ! -e "$tmp/queue.perf.data" ]; then
		skipped import.perf "import beside perf script" "needs the section target, with perf"
		return
	fi
	progress "import: perf script"
	timed perf script -i "$tmp/queue.perf.data" -F comm,tid,time,event,ip,sym || {
		failed import.perf "import beside perf script" "$(last_words "$tmp/timed.err")"
		return
	}
	row import.perf "import of 1e6 events" "$(median growth.1e6.import)" events/s "perf script" \
		"$(quotient "$perf_events" "$wall")" "$(awk -v a="$(median growth.1e6.import)" -v b="$perf_events" -v c="$wall" \
			'BEGIN { print a * c / b }')"
}
