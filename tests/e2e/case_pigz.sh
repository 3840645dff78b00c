#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# examples/case-pigz.md: the blocks that pigz compressed are the chains, and its two handoffs agree on
# which thread compressed which block.
# PARALLEL: chains and counts are those of the program's own numbers, at any speed.
. "$(dirname "$0")/../case_lib.sh"
run_case pigz
read=(--async-hop readn,2,libz.so.1:crc32_z,2)
write=(--async-hop twist_,1,free_lock_,1)
blocks=$(((64000000 + 131071) / 131072))

expect "the input is what the text says" "$(stat -c %s "$work/numbers.txt")" 64000000
gzip -dc "$work/numbers.txt.gz" | cmp - "$work/numbers.txt" || fail "pigz's output is not its input"

suggested "readn,2,libz.so.1:crc32_z,2"
expect "read to compressed: chains" "$(ask pigz.cwc "SELECT count(*) FROM chain WHERE complete" "${read[@]}")" $blocks
told "$blocks chains for $blocks blocks"
expect "read to compressed: ambiguous" \
	"$(ask pigz.cwc "SELECT count(*) FROM hop WHERE evidence LIKE '%ambiguous%'" "${read[@]}")" 0
expect "reads: the blocks and the end" "$(ask pigz.cwc "SELECT submitted || ' ' || open_at_end FROM hop_count" "${read[@]}")" \
	"$((blocks + 1)) 1"
at_most "input buffers" "$(ask pigz.cwc "SELECT count(DISTINCT key) FROM hop" "${read[@]}")" 11
at_most "compress threads" "$(ask pigz.cwc "SELECT count(DISTINCT target_tid) FROM hop" "${read[@]}")" 4
expect "read by the main thread, compressed by others" \
	"$(ask pigz.cwc "SELECT count(*) FROM hop WHERE source_tid = pid AND target_tid <> pid" "${read[@]}")" $blocks

expect "compressed to written: chains" \
	"$(ask pigz.cwc "SELECT count(*) FROM hop WHERE target_tid <> pid" "${write[@]}")" $blocks
expect "compressed to written: ambiguous" "$(ask pigz.cwc \
	"SELECT count(*) FROM hop WHERE target_tid <> pid AND evidence LIKE '%ambiguous%'" "${write[@]}")" 0
expect "writers" "$(ask pigz.cwc "SELECT count(DISTINCT target_tid) FROM hop WHERE target_tid <> pid" "${write[@]}")" 1

# Blocks are read and written in order, by one thread each: the n-th read and the n-th written block are
# the same, and so must be the thread that compressed it.
ask pigz.cwc "SELECT target_tid FROM hop ORDER BY submit_ts" "${read[@]}" >"$tmp/compressed"
ask pigz.cwc "SELECT source_tid FROM hop WHERE target_tid <> pid ORDER BY start_ts" "${write[@]}" >"$tmp/written"
at_least "blocks" "$(wc -l <"$tmp/compressed")" $blocks
expect "blocks of which the two handoffs name different threads" \
	"$(paste "$tmp/compressed" "$tmp/written" | awk '$1 != $2' | wc -l)" 0
# And each block is compressed before it waits to be written.
ask pigz.cwc "SELECT start_ts FROM hop ORDER BY submit_ts" "${read[@]}" >"$tmp/checked"
ask pigz.cwc "SELECT submit_ts FROM hop WHERE target_tid <> pid ORDER BY start_ts" "${write[@]}" >"$tmp/done"
expect "blocks done before they were compressed" "$(paste "$tmp/checked" "$tmp/done" | awk '$1 >= $2' | wc -l)" 0
# Nobody needs to know which functions to look at; the buffers that come back are no handoff.
found_among 20 readn,2,libz.so.1:crc32_z,2 'read*' 'write*' '*_space*' 'deflate*' '*_lock*' 'twist*' 'possess*' 'release*' \
	'peek*' 'wait*' zlib_vernum 'put_*' process libz.so.1:crc32_z libz.so.1:deflate -- -p 4 -kf numbers.txt
note "$blocks blocks of 64,000,000 bytes, read to compressed and compressed to written"
finish
