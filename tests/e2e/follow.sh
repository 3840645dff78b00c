#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Following a recording: at 20,000 handoffs a second nothing is lost, memory stays flat, and what is
# printed is what the offline report says of the same stream. FOLLOW_SECONDS sets the length.
. "$(dirname "$0")/../lib.sh"
need_tracing
seconds=${FOLLOW_SECONDS:-20}
hop=(--async-hop submit_item,2,handle_item,1 handle_item)

# ---- flat memory and equality -------------------------------------------------------------------
# Of what is printed the summary into a file, and what is compared: chains and calls; of a long run of each chain
# its number, times and what became of it.
part() { # SUMMARY
	LC_ALL=C awk -v summary="$1" -v long=$((seconds > 10)) '
		index($0, "{\"type\":\"summary\"") == 1 { print >summary }
		index($0, "{\"type\":\"c") != 1 { next }
		!long { print; next }
		at = index($0, "\"chain_id\":") { print substr($0, at + 11, 200) }'
}

# Ticks of CPU time: of the whole machine, with what a hypervisor took, and of this test.
ticks() {
	awk '$1 == "cpu" { print $2 + $3 + $4 + $7 + $8 + $9 }' /proc/stat
}
own_ticks() {
	awk '{ sub(/.*\) /, ""); print $12 + $13 + $14 + $15 }' /proc/$$/stat
}

# Records, follows, and takes samples of what follow keeps: $early and $late of the run, in KiB. What others had of the
# CPUs meanwhile, of 100, is in $others.
stream() {
	local follower kb all own begun
	all=$(ticks) own=$(own_ticks) begun=$EPOCHSECONDS
	rm -f "$tmp/stream" "$tmp/shown" "$tmp"/f.*
	mkfifo "$tmp/stream" "$tmp/shown"
	("$record" -o - "${hop[@]}" --exec "$workloads/queue_bench" -- --rate 20000 --seconds "$seconds" \
		--truth "$tmp/f.truth" 2>"$tmp/f.log" || echo "recorder failed" >>"$tmp/f.log") |
		tee "$tmp/f.cwc" >"$tmp/stream" &
	pids+=($!)
	part "$tmp/f.summary" <"$tmp/shown" >"$tmp/f.jsonl" &
	pids+=($!)
	"$analyze" follow - --format jsonl <"$tmp/stream" 2>"$tmp/f.err" >"$tmp/shown" &
	follower=$!
	pids+=($follower)
	samples=()
	while kill -0 $follower 2>/dev/null; do
		kb=$(awk '$1 == "VmRSS:" { print $2 }' "/proc/$follower/status" 2>/dev/null)
		[ -n "$kb" ] && samples+=("$kb")
		sleep 0.25
	done
	wait $follower
	expect "exit status of follow" $? 0
	wait
	pids=()
	others=$((100 * ($(ticks) - all - $(own_ticks) + own) / ((EPOCHSECONDS - begun) * $(nproc) * $(getconf CLK_TCK))))
	cat "$tmp/f.err"
	expect "trouble of the recorder" "$(grep -c 'failed' "$tmp/f.log")" 0
	early=$(most 20 50) late=$(most 75 100)
	allowed=$((early + early / 8 + 10240))
	rate=$(sed -n 's/^handoffs .* rate \([0-9]*\).*/\1/p' "$tmp/f.log")
}

most() { # FROM TO: the greatest sample between these parts of the run, of 100
	local i n=${#samples[@]} most=0
	for ((i = n * $1 / 100; i < n * $2 / 100; i++)); do
		[ "${samples[i]}" -gt $most ] && most=${samples[i]}
	done
	echo $most
}

# No exact rate can be asked of a machine that others have a tenth of.
shared() {
	busy || [ "$others" -ge 10 ]
}

# It keeps what has come and waits for its turn: more than before once the machine had other things to do, and
# there the rate is not held or the ring full. Another run tells that from a leak or a loss that is ours; on a
# machine that is busy it goes on and on.
for _ in 1 2 3; do
	stream
	shared && break
	[ "$late" -le $allowed ] && [ "${rate:-0}" -ge 19000 ] && ! grep -q LOST "$tmp/f.log" && break
done
if shared; then
	loosened "KiB of follow: at most 400000 all the while"
	at_most "KiB of follow" "$late" 400000
else
	at_most "KiB of follow late in the run, $early before" "$late" $allowed
	at_most "KiB of follow" "$late" 160000
fi

summary() { # JSON PATH
	sqlite3 :memory: "SELECT json_extract(CAST(readfile('$tmp/f.summary') AS TEXT), '$1')"
}
if shared && [ "${rate:-0}" -lt 19000 ]; then
	loosened "only $rate handoffs a second, others had $others of 100 of the CPUs"
else
	at_least "handoffs a second" "$rate" 19000
fi
expect "records that came too late" "$(summary '$.capture.late_records')" 0
if shared && grep -q LOST "$tmp/f.log"; then
	loosened "the ring was full"
	lossless=
else
	expect "losses that the recorder counted" "$(grep -c LOST "$tmp/f.log")" 0
	lossless=yes
fi

TMPDIR=$tmp "$analyze" import "$tmp/f.cwc" -o "$tmp/f.db" 2>"$tmp/import.err" || fail "import: $(cat "$tmp/import.err")"
SQLITE_TMPDIR=$tmp "$analyze" report "$tmp/f.db" --format jsonl 2>/dev/null | part "$tmp/r.summary" >"$tmp/r.jsonl"
for of in f r; do
	LC_ALL=C sort -T "$tmp" "$tmp/$of.jsonl" -o "$tmp/$of.jsonl"
done
sqlite3 "$tmp/f.truth.db" -cmd ".parameter set :file '$tmp/f.truth'" <"$here/e2e/truth.sql"
expect "chains of follow" "$(summary '$.chains')" "$(query f "SELECT count(*) FROM path")"
[ -z "$lossless" ] || expect "complete chains of follow" "$(summary '$.complete_chains')" \
	"$(query f "SELECT count(*) FROM t.hop WHERE start_ns IS NOT NULL UNION ALL SELECT calls FROM t.calls
		WHERE function = 'submit_item' ORDER BY 1 DESC LIMIT 1")"
if ! cmp "$tmp/f.jsonl" "$tmp/r.jsonl"; then
	fail "follow and the offline report differ: $(wc -l <"$tmp/f.jsonl") and $(wc -l <"$tmp/r.jsonl") lines"
	diff "$tmp/f.jsonl" "$tmp/r.jsonl" | cut -c 1-400 | head -n 6
fi
# The summary counts the whole run as the report does; percentiles are within half a percent.
whole="json_remove(j, '$.capture.imported', '$.losses', '$.call_latency', '$.hops')"
for of in f r; do
	sqlite3 :memory: "WITH x(j) AS (SELECT CAST(readfile('$tmp/$of.summary') AS TEXT))
		SELECT key, value FROM x, json_each($whole) WHERE key <> 'capture'
		UNION ALL SELECT key, value FROM x, json_each(json_extract($whole, '$.capture'))
		UNION ALL SELECT fullkey, value FROM x, json_tree(json_extract(j, '$.hops'))
			WHERE atom IS NOT NULL AND key NOT LIKE 'p%'" >"$tmp/$of.counts"
	sqlite3 :memory: "WITH x(j) AS (SELECT CAST(readfile('$tmp/$of.summary') AS TEXT))
		SELECT value FROM x, json_tree(json_extract(j, '$.hops')) WHERE key LIKE 'p%_ns' ORDER BY fullkey" \
		>"$tmp/$of.percentiles"
done
diff "$tmp/f.counts" "$tmp/r.counts" || fail "the summaries differ"
expect "percentiles off by more than half a percent" \
	"$(paste "$tmp/f.percentiles" "$tmp/r.percentiles" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (d > $2 / 200 + 1) n++ }
		END { print n + 0, NR }')" "0 6"
said="$(summary '$.chains') chains in $seconds s, follow at most $((late / 1024)) MiB"
note "$said"
rm -f "$tmp"/*.jsonl "$tmp"/f.db "$tmp"/f.cwc
[ -n "${FOLLOW_SECONDS:-}" ] && finish

# ---- enough ---------------------------------------------------------------------------------------
bench=(--exec "$workloads/queue_bench" -- --rate 500 --seconds 60)
begin=$SECONDS
"$record" -o - "${hop[@]}" "${bench[@]}" 2>"$tmp/e.log" | "$analyze" follow - --max-events 3 --format jsonl \
	>"$tmp/e.jsonl" 2>"$tmp/e.err"
statuses=("${PIPESTATUS[@]}")
expect "exit status of follow that has enough" "${statuses[1]}" 0
expect "lines of it" "$(sed 's/^{"type":"\([a-z_]*\)".*/\1/' "$tmp/e.jsonl" | grep -vE 'queue_snapshot|reasons' | sort | uniq -c | xargs)" \
	"3 chain 1 queue_diagnostics 1 summary"
at_most "seconds until the recorder has ended, too" $((SECONDS - begin)) 20
note "a recorder whose reader has enough ends with ${statuses[0]}: $(tail -n 1 "$tmp/e.log")"

# ---- a filter, text, and Ctrl-C for both -----------------------------------------------------------
rm -f "$tmp/stream"
mkfifo "$tmp/stream"
"$record" -o - "${hop[@]}" "${bench[@]}" >"$tmp/stream" 2>"$tmp/c.log" &
recorder=$!
"$analyze" follow - --min-work-ms 1000 <"$tmp/stream" >"$tmp/c.txt" 2>"$tmp/c.err" &
follower=$!
pids+=($recorder $follower)
wait_for grep -q '^following' "$tmp/c.txt"
sleep 1
kill -INT $recorder $follower
wait $recorder
expect "exit status of the recorder after Ctrl-C" $? 0
wait $follower
expect "exit status of follow after Ctrl-C" $? 0
forget $recorder $follower
grep -q '^shown  *a work>=1.000 s' "$tmp/c.txt" || fail "follow does not say its filter"
grep -Eq '^0 of [0-9,]+ chains$' "$tmp/c.txt" || fail "no count of all chains: $(cat "$tmp/c.txt")"
grep -q '^ended  *stopped by a signal' "$tmp/c.txt" || fail "follow did not read to the recorder's end"
# Which events contradict each other depends on the machine.
sed -i "/records were lost .*(contradiction)\$/d" "$tmp/c.err"
! busy || sed -i '/map records were lost .*(ring full)$/d' "$tmp/c.err"
[ -s "$tmp/c.err" ] && fail "follow says: $(cat "$tmp/c.err")"

# ---- a growing file: until the recorder ends, or is killed -----------------------------------------
"$record" -o "$tmp/g.cwc" "${hop[@]}" --exec "$workloads/queue_bench" -- --rate 500 --seconds 3 >/dev/null 2>"$tmp/g.log" &
recorder=$!
pids+=($recorder)
wait_for recorder_ready "$tmp/g.log" $recorder
timeout 60 "$analyze" follow "$tmp/g.cwc" --format jsonl >"$tmp/g.jsonl" 2>"$tmp/g.err"
expect "exit status of follow of a file" $? 0
wait $recorder
forget $recorder
"$analyze" "$tmp/g.cwc" --no-cache --format jsonl >"$tmp/g.report" 2>/dev/null
expect "chains of a growing file" "$(grep -c '"type":"chain"' "$tmp/g.jsonl")" "$(grep -c '"type":"chain"' "$tmp/g.report")"
"$analyze" blocked "$tmp/g.cwc" --no-cache --top 3 --format jsonl >"$tmp/g.reasons" 2>/dev/null
grep '"type":"reasons"' "$tmp/g.jsonl" | diff - "$tmp/g.reasons" || fail "follow and blocked give other reasons of three seconds"
expect "functions and hops with reasons" "$(wc -l <"$tmp/g.reasons")" 2
at_least "chains of a growing file" "$(grep -c '"type":"chain"' "$tmp/g.jsonl")" 1000

"$record" -o "$tmp/k.cwc" "${hop[@]}" "${bench[@]}" >/dev/null 2>"$tmp/k.log" &
recorder=$!
pids+=($recorder)
wait_for recorder_ready "$tmp/k.log" $recorder
timeout 60 "$analyze" follow "$tmp/k.cwc" >"$tmp/k.txt" 2>"$tmp/k.err" &
follower=$!
wait_for grep -q '^chain 100 ' "$tmp/k.txt"
child=$(pgrep -P $recorder)
kill -KILL $recorder
wait $recorder 2>/dev/null
kill -KILL $child # its target would go on beside the next tests
wait $follower
expect "exit status of follow of a file whose recorder was killed" $? 0
forget $recorder
grep -q 'no end record: the recorder was killed' "$tmp/k.err" || fail "not said that it was killed: $(cat "$tmp/k.err")"
note "$said"
finish
