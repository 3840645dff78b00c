# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
# Naming the frames of a capture beside addr2line on the same addresses of the same files. What
# naming takes is import with names less import without.

frames=$bench/frames

by_callweave_frames() { start_callweave place; }

# A script that runs addr2line on every file that served names, with the addresses it was asked for:
# as the ELF file has them, where the capture holds file offsets.
addr2line_script() { # DATABASE
	local id path file shift
	while IFS='|' read -r id path file; do
		shift=$(readelf -lW "$path" | awk '$1 == "LOAD" && /R E/ { print $3, $2; exit }' |
			{ read -r address offset && echo $((address - offset)); })
		sqlite3 -readonly "$1" "SELECT DISTINCT printf('0x%x', rel_pc - is_return + $shift) FROM frame
			WHERE module_id = $id" >"$tmp/addresses.$id"
		echo "addr2line -e '$file' -i -f -C <'$tmp/addresses.$id'"
	done < <(sqlite3 -readonly "$1" "SELECT module_id, path, symbols_from FROM module WHERE symbols_from LIKE '/%'")
}

section_symbols() {
	local round n=$((rounds < 3 ? rounds : 3)) count
	have addr2line || {
		skipped symbols "naming frames beside addr2line" "addr2line is not installed"
		return
	}
	traced by_callweave_frames "$frames" "$tmp/go" || {
		failed symbols "naming frames beside addr2line" "$(last_words "$tmp/tracer.log")"
		return
	}
	mv "$tmp/trace.cwc" "$tmp/frames.cwc"
	for ((round = 1; round <= n; round++)); do
		progress "symbols: round $round of $n"
		rm -f "$tmp/bare.db" "$tmp/named.db"
		timed "$analyze" import --no-symbols "$tmp/frames.cwc" -o "$tmp/bare.db" || break
		sample symbols.bare "$round" "$wall"
		timed "$analyze" import "$tmp/frames.cwc" -o "$tmp/named.db" || break
		sample symbols.time "$round" "$(awk -v a="$wall" -v b="$(tail -n 1 "$tmp/samples" | cut -d ' ' -f 3)" \
			'BEGIN { print a - b }')"
		[ -s "$tmp/addr2line.sh" ] || addr2line_script "$tmp/named.db" >"$tmp/addr2line.sh"
		timed sh "$tmp/addr2line.sh" || break
		sample symbols.addr2line "$round" "$wall"
	done
	if [ "$round" -le "$n" ]; then
		failed symbols "naming frames beside addr2line" "$(last_words "$tmp/timed.err")"
		return
	fi
	count=$(cat "$tmp"/addresses.* | wc -l)
	row_beside symbols.time "naming $count addresses, with inlined functions and lines" symbols.time s \
		"addr2line -i -f -C" symbols.addr2line
	row symbols.named "of the traced program's, with function and line" "$(sqlite3 -readonly "$tmp/named.db" "SELECT
		count(DISTINCT frame_id) FROM symbol JOIN frame USING(frame_id) JOIN module USING(module_id)
		WHERE name = 'frames' AND function NOT NULL AND line NOT NULL")" frames of \
		"$(sqlite3 -readonly "$tmp/named.db" "SELECT count(*) FROM frame JOIN module USING(module_id) WHERE name = 'frames'")"
}
