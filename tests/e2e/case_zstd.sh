#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# examples/case-zstd.md: the jobs that zstd's pool ran are the chains.
# PARALLEL: chains and counts are those of the program's own numbers, at any speed.
. "$(dirname "$0")/../case_lib.sh"
run_case zstd
hop=(--async-hop POOL_tryAdd,3,ZSTDMT_compressionJob,1)
jobs=$(((64000000 + 1048575) / 1048576))

expect "the input is what the text says" "$(stat -c %s "$work/numbers.txt")" 64000000
zstd -dcq "$work/numbers.txt.zst" | cmp - "$work/numbers.txt" || fail "zstd's output is not its input"

expect "chains" "$(ask zstd.cwc "SELECT count(*) FROM chain WHERE complete" "${hop[@]}")" $jobs
expect "calls of the job's function" "$(ask zstd.cwc \
	"SELECT count(*) FROM call WHERE function = 'ZSTDMT_compressionJob'")" $jobs
told "$jobs chains for $jobs jobs"

# A chain begins at the one attempt that the pool took; every refused attempt is superseded.
expect "chains that begin at an attempt that was taken" "$(ask zstd.cwc \
	"SELECT count(*) FROM hop JOIN slice s ON s.slice_id = source_slice WHERE s.ret & 1" "${hop[@]}")" $jobs
expect "superseded are the refused attempts" \
	"$(ask zstd.cwc "SELECT superseded FROM hop_count" "${hop[@]}")" \
	"$(ask zstd.cwc "SELECT count(*) FROM call WHERE function = 'POOL_tryAdd' AND NOT ret & 1" "${hop[@]}")"
# With the condition there is nothing but what the pool took.
expect "submitted, matched, superseded, exact by the plan" "$(ask zstd.cwc "SELECT submitted, matched, superseded,
	(SELECT sum(evidence = 'exact') FROM hop) FROM hop_count" --config "$work/zstd.yaml")" "$jobs,$jobs,0,$jobs"
# One thread hands over, the workers are others, and the table of jobs has eight places.
expect "threads that hand over" "$(ask zstd.cwc "SELECT count(DISTINCT source_tid) FROM hop" "${hop[@]}")" 1
expect "jobs of the thread that hands over" \
	"$(ask zstd.cwc "SELECT count(*) FROM hop WHERE source_tid = target_tid" "${hop[@]}")" 0
at_most "workers" "$(ask zstd.cwc "SELECT count(DISTINCT target_tid) FROM hop" "${hop[@]}")" 4
expect "keys" "$(ask zstd.cwc "SELECT count(DISTINCT key) FROM hop" "${hop[@]}")" 8
# The input's order is the order of the places: a job's place follows its predecessor's.
expect "jobs out of order" "$(ask zstd.cwc "SELECT count(*) FROM (SELECT key,
	lag(key, 8) OVER (ORDER BY submit_ts) AS before FROM hop) WHERE before <> key" "${hop[@]}")" 0

# Two more pools, of one thread each, are fed by one function: what it hands over is what they run.
expect "reads and writes" "$(ask zstd.cwc "SELECT sum(function LIKE 'AIO%') - sum(function = 'POOL_add') FROM call")" 0
for target in AIO_ReadPool_executeReadJob AIO_WritePool_executeWriteJob; do
	expect "$target: calls without a chain" "$(ask zstd.cwc "SELECT (SELECT count(*) FROM call WHERE function = '$target')
		- (SELECT count(*) FROM chain)" --async-hop "POOL_add,3,$target,1")" 0
done

# Nobody needs to know which functions to look at.
found_among 80 "AIO_IOPool_enqueueJob,1,AIO_ReadPool_executeReadJob,1 AIO_IOPool_enqueueJob,1,AIO_WritePool_executeWriteJob,1
	POOL_tryAdd,3,ZSTDMT_compressionJob,1" 'POOL_*' 'AIO_*' 'ZSTDMT_*' 'FIO_*' -- -q -T4 -5 -B1M -f numbers.txt

grep -q "^candidate source function: POOL_tryAdd " "$log" || fail "discover does not name POOL_tryAdd"
suggested "POOL_tryAdd,3,ZSTDMT_compressionJob,1"
suggested "POOL_add,3,AIO_ReadPool_executeReadJob,1"
note "$jobs jobs of 64,000,000 bytes, $(ask zstd.cwc "SELECT superseded FROM hop_count" "${hop[@]}") refused attempts"
finish
