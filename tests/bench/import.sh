# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
# Import of N events beside inserting N rows into SQLite, and a filtered report from the cache.

analyze=$build/callweave-analyze

# A filter that one chain in a hundred passes, from the imported database.
queue_filter() { # DATABASE
	sqlite3 -readonly "$1" "SELECT queue_ns / 1e6 FROM chain ORDER BY queue_ns DESC
		LIMIT 1 OFFSET (SELECT count(*) / 100 FROM chain)"
}

section_import() {
	local round n=$((rounds < 3 ? rounds : 3)) filter format
	[ -e "$tmp/million.cwc" ] || record_at_rate 1 || {
		failed import "import beside inserting rows" "$(last_words "$tmp/tracer.log")"
		return
	}
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
}
