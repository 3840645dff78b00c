#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Nothing is lost at 200,000 events a second with the ring as it is; where the machine makes no so many,
# at no less than 0.8 of what the same program makes under a BPF program that does nothing. Beyond what
# can be taken, received and lost add up to the calls that were made. The file is small all the while.
. "$(dirname "$0")/../lib.sh"
need_tracing
hits=$build/tests/bench/hits
empty=$build/tests/bench/empty
[ -x "$hits" ] && [ -x "$empty" ] || skip "the benchmark's programs were not built"

says() { # FILE WORD: what a target printed behind it
	awk -v w="$2" '{ for (i = 1; i < NF; i++) if ($i == w) v = $(i + 1) } END { print v }' "$1"
}
start_hits() { # OUT SECONDS RATE
	rm -f "$tmp/$1"
	"$hits" "$tmp/go" "$2" hit "$3" >"$tmp/$1" 2>&1 &
	target=$!
	pids+=($target)
	wait_for grep -q PID "$tmp/$1"
}
closing() { # LOG: lost entries by the recorder's own word
	sed -n 's/.*LOST: \(.*\);.*/\1/p' "$1" | grep -oE '[0-9]+ entries' | cut -d ' ' -f 1
}

# What the machine makes, into $floor: the same target, an empty program on the same breakpoint.
offset=$("$record" "$hits" --find-symbol hit | sed -n 's/.*offset=\(0x[0-9a-f]*\).*/\1/p')
make_floor() {
	floor=200000
	rm -f "$tmp/go"
	start_hits floor 1 200000
	"$empty" $target "$hits" "$offset" >"$tmp/empty" 2>&1 &
	other=$!
	pids+=($other)
	if wait_for grep -q ready "$tmp/empty"; then
		: >"$tmp/go"
		wait $target
		floor=$(says "$tmp/floor" rate)
	else
		kill -KILL $target
	fi
	wait $other 2>/dev/null
	forget $target $other
}

# As many as are asked for, without a loss.
for ((try = 1; try <= 5; try++)); do
	make_floor # in turn, so that what else the machine does changes both
	rm -f "$tmp/go"
	start_hits at.out 2 200000
	start_recorder "$tmp/at.log" -p $target --stack none hit -o "$tmp/at.cwc"
	: >"$tmp/go"
	wait $target $recorder_pid
	forget $target $recorder_pid
	rate=$(says "$tmp/at.out" rate)
	wanted=$(awk -v f="$floor" 'BEGIN { printf "%d", (f >= 196000 ? 196000 : 0.8 * f) }')
	[ "$rate" -ge "$wanted" ] && ! grep -q LOST "$tmp/at.log" && break
done
limit_of "events a second" "$wanted" 0
at_least "events a second" "$rate" $limit
made=$(says "$tmp/at.out" calls)
lost=$(closing "$tmp/at.log")
busy || expect "events lost at $rate a second" "${lost:-0}" 0
grep -qE "\($((made - ${lost:-0})) entries" "$tmp/at.log" ||
	fail "received and lost are not the $made calls: $(tail -n 1 "$tmp/at.log")"
at_rate=$rate

# More than can be taken: several at once, as fast as they can, into a ring that is too small for it.
rm -f "$tmp/go"
targets=()
for i in 1 2 3; do
	start_hits "full$i.out" 1 0
	targets+=($target)
done
start_recorder "$tmp/full.log" -p "${targets[0]}" -p "${targets[1]}" -p "${targets[2]}" --ring-size 64K \
	--ret --time hit -o "$tmp/full.cwc"
: >"$tmp/go"
wait "${targets[@]}" $recorder_pid
forget "${targets[@]}" $recorder_pid
made=0
for i in 1 2 3; do made=$((made + $(says "$tmp/full$i.out" calls))); done
import full --no-symbols && {
	value() { sqlite3 -batch -bail "$tmp/full.db" "$1"; }
	at_least "entries lost with a ring of 64K" \
		"$(value "SELECT coalesce(sum(count), 0) FROM loss WHERE kind = 'probe_entry'")" 1
	expect "entries received and lost" "$(value "SELECT (SELECT count(*) FROM slice) +
		(SELECT coalesce(sum(count), 0) FROM loss WHERE kind = 'probe_entry')")" "$made"
	expect "returns received and lost" "$(($("$analyze" sql "$tmp/full.cwc" --format csv \
		"SELECT count(*) FROM raw_probe_return" 2>/dev/null | tail -n 1 | tr -d '\r') +
		$(value "SELECT coalesce(sum(count), 0) FROM loss WHERE kind = 'probe_return'")))" "$made"
}

# A reader that is slower than the target holds up what it reads, but not the clock: the ring is never
# empty all the while.
rm -f "$tmp/go"
start_hits slow.out 40 0
: >"$tmp/go"
timeout 60 "$record" -p $target --stack none --duration 1 --ring-size 1M hit -o - 2>"$tmp/slow.log" |
	{
		for ((i = 0; i < 60; i++)); do # three seconds, of which one is recorded
			dd bs=4k count=1 iflag=fullblock of="$tmp/slow" status=none && sleep 0.05
		done
		cat >"$tmp/slow"
	}
if busy && ! grep -q LOST "$tmp/slow.log"; then
	loosened "the reader was not slower than the target"
else
	grep -q LOST "$tmp/slow.log" || fail "the reader was not slower than the target: $(tail -n 1 "$tmp/slow.log")"
fi
kill -KILL $target || fail "--duration 1 ended with the target, after 40 s"
wait $target 2>/dev/null
forget $target

note "$at_rate events/s without a loss (an empty program: $floor), ${made} calls received or lost beyond"
finish
