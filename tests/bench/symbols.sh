# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Naming the frames of a capture beside addr2line on the same addresses of the same file. What
# naming takes is import with names less import without.

frames=$bench/frames

by_callweave_frames() { start_callweave place; }

# Addresses as the ELF file has them; the capture holds file offsets.
frame_addresses() { # DATABASE
	local shift
	shift=$(readelf -lW "$frames" | awk '$1 == "LOAD" && /R E/ { print $3, $2; exit }' |
		{ read -r vaddr offset && echo $((vaddr - offset)); })
	sqlite3 -readonly "$1" "SELECT DISTINCT printf('0x%x', rel_pc - is_return + $shift) FROM frame
		JOIN module USING(module_id) WHERE name = 'frames'"
}

section_symbols() {
	local round n=$((rounds < 3 ? rounds : 3)) count
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
		sample symbols.named "$round" "$wall"
		[ -s "$tmp/addresses" ] || frame_addresses "$tmp/bare.db" >"$tmp/addresses"
		timed sh -c "exec addr2line -e '$frames' -i -f -C <'$tmp/addresses'" || break
		sample symbols.addr2line "$round" "$wall"
	done
	if [ "$round" -le "$n" ]; then
		failed symbols "naming frames beside addr2line" "$(last_words "$tmp/timed.err")"
		return
	fi
	count=$(wc -l <"$tmp/addresses")
	awk '$1 == "symbols.bare" { bare[$2] = $3 } $1 == "symbols.named" { print "symbols.time", $2, $3 - bare[$2] }' \
		"$tmp/samples" >"$tmp/more"
	cat "$tmp/more" >>"$tmp/samples"
	row_beside symbols.time "naming $count addresses, with inlined functions and lines" symbols.time s \
		"addr2line -i -f -C" symbols.addr2line
	row symbols.named "of these, with function and line" "$(sqlite3 -readonly "$tmp/named.db" "SELECT
		count(DISTINCT frame_id) FROM symbol JOIN frame USING(frame_id) JOIN module USING(module_id)
		WHERE name = 'frames' AND function NOT NULL AND line NOT NULL")" frames addresses "$count"
}
