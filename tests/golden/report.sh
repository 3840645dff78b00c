#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Reports over hand-filled databases, byte for byte: tests/golden/report.sh BUILD DIR. With UPDATE=1
# the expected files are written anew: look at the difference before committing it.
set -eu
analyze=$(realpath "$1")/asan/callweave-analyze dir=$2
cd "$(dirname "$0")/../.."
here=tests/golden/report
failed=0

compare() { # EXPECTED ARGUMENTS...
	local expected=$here/$1
	shift
	"$analyze" "$@" >"$dir/got" 2>"$dir/err" || { echo "status $?: $*"; failed=1; }
	# What is missing is said whatever the format.
	if [[ $2 == */chains.db ]]; then
		grep -q '^callweave-analyze: .*: 12 probe_return records were lost between 0.995 s and 1.010 s (ring full)$' \
			"$dir/err" || { echo "no word about the loss: $*"; failed=1; }
	fi
	[ "$(wc -l <"$dir/err")" -le 1 ] || { echo "stderr of $*:"; cat "$dir/err"; failed=1; }
	if [ "${UPDATE:-}" = 1 ]; then
		cp "$dir/got" "$expected"
	elif ! diff -u "$expected" "$dir/got"; then
		echo "differs: $*"
		failed=1
	fi
}

unset LANG LC_ALL LC_CTYPE # drawings in ASCII
for name in chains calls; do
	cat schema/*.sql $here/people.sql $here/$name.sql | sqlite3 "$dir/$name.db"
	compare $name.txt report "$dir/$name.db"
	LANG=C.UTF-8 compare $name-all.txt report "$dir/$name.db" --section all
	compare $name.jsonl report "$dir/$name.db" --format jsonl
	compare $name.csv report "$dir/$name.db" --format csv
done

# What is on a CPU for most of the time, but not for nearly all, is told the rest, too.
answers() { # ONCPU_NS TEXT
	local got
	cp "$dir/calls.db" "$dir/busy.db"
	sqlite3 "$dir/busy.db" "UPDATE slice SET oncpu_ns = $1 WHERE slice_id = 1"
	got=$("$analyze" "$dir/busy.db" --section answer 2>/dev/null | sed -n 's/.*; //p')
	# shellcheck disable=SC2053 # a pattern
	[[ $got == $2 ]] || { echo "the answer for $1 ns on a CPU ends '$got', not '$2'"; failed=1; }
}
answers 14078400 '70 % of that on CPU (futex *: 97 % of the time, *)'
answers 19106400 '95 % of that on CPU'

# Where names and lines come from: those that stacks show, and all.
cat schema/*.sql $here/people.sql $here/modules.sql | sqlite3 "$dir/modules.db"
compare modules.txt modules "$dir/modules.db"
compare modules.jsonl modules "$dir/modules.db" --format jsonl
compare modules.csv modules "$dir/modules.db" --format csv --all

# Each filter lets through the chains that it should: their numbers.
ids() { # "NUMBERS" ARGUMENTS...
	local wanted=$1 got
	shift
	got=$("$analyze" "$dir/chains.db" --format jsonl "$@" 2>/dev/null |
		sed -n 's/.*"type":"chain".*"chain_id":\([0-9]*\).*/\1/p' | tr '\n' ' ')
	[ "$got" = "$wanted" ] || { echo "$*: chains '$got', not '$wanted'"; failed=1; }
}
ids '1 2 3 '
ids '2 3 ' --min-total-ms 10
ids '2 ' --min-total-ms 10.001
ids '2 ' --min-queue-ms 30
ids '' --min-queue-ms 30.1
ids '2 ' --min-work-ms 250
ids '' --min-work-ms 250.1
ids '' --min-total-ms 1 --min-queue-ms 20 --min-work-ms 251
ids '1 2 ' --max-events 2
ids '2 ' --min-total-ms 100 --max-events 1
ids '2 3 ' --from 0.1
ids '1 ' --to 100ms
ids '2 ' --from 0.13 --to 0.132
ids '3 ' --from 14:23:30
ids '1 2 ' --to 14:23:29.999
ids '1 2 3 ' --pid 100
ids '' --pid 5100
ids '1 2 3 ' --tid 102
ids '1 2 ' --tid 100
ids '1 2 ' --function submit_compute
ids '1 2 3 ' --function write_result
ids '' --function nothing
ids '1 ' --key 0xfffffffffffffff0
ids '1 ' --key -16
ids '2 ' --key 64
ids '2 ' --key 64 --tid 102 --function process --min-work-ms 1

# A chain filter or --max-events leaves out the target that no chain led to; others do not.
lone() { # COUNT ARGUMENTS...
	local wanted=$1 got
	shift
	got=$("$analyze" "$dir/chains.db" --format jsonl "$@" 2>/dev/null | grep -c '"type":"call"' || true)
	[ "$got" = "$wanted" ] || { echo "$*: $got lone calls, not $wanted"; failed=1; }
}
lone 1
lone 1 --tid 102
lone 0 --min-total-ms 0.001
lone 0 --max-events 100

# Filters recorded with the plan hold until the command line says otherwise.
sqlite3 "$dir/chains.db" "INSERT INTO capture_info VALUES('plan', '$(printf 'filters:\n  min_total_ms: 100\n  max_events: 5\n')')"
ids '2 '
ids '2 3 ' --min-total-ms 10
ids '1 2 3 ' --min-total-ms 0
lone 0 --min-total-ms 0
lone 1 --min-total-ms 0 --max-events 0
sqlite3 "$dir/chains.db" "DELETE FROM capture_info WHERE key = 'plan'"

# Percentiles are the nearest rank, and withheld where there are too few samples to tell.
percentiles() { # COUNT P50 P95 P99
	cat schema/*.sql $here/people.sql - <<-SQL | sqlite3 "$dir/p$1.db"
		WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < $1)
		INSERT INTO slice(ts, dur, utid, probe_id, depth, touched_by_loss)
		SELECT 1000000000 + i, (i * 7919) % $1 + 1, 1, 3, 0, 0 FROM c;
	SQL
	"$analyze" "$dir/p$1.db" --format jsonl | tail -n 1 >"$dir/summary"
	grep -q "\"write_result\":{\"count\":$1,.*\"p50_ns\":$2,\"p95_ns\":$3,\"p99_ns\":$4,\"max_ns\":$1}" \
		"$dir/summary" || { echo "percentiles of $1:"; cat "$dir/summary"; failed=1; }
}
percentiles 1 1 null null
percentiles 19 10 null null
percentiles 20 10 19 null
percentiles 99 50 95 null
percentiles 100 50 95 99
percentiles 1000 500 950 990

# On a terminal lines wrap at its width and colours are on; neither without one.
on_terminal() { # COLUMNS ARGUMENTS...
	local columns=$1
	shift
	script -qec "stty cols $columns; TERM=xterm $(printf '%q ' "$analyze" "$@") 2>/dev/null" /dev/null </dev/null | tr -d '\r'
}
plain() { sed 's/\x1b\[[0-9;]*m//g'; }
for columns in 90 100; do
	on_terminal $columns "$dir/chains.db" >"$dir/got"
	grep -q $'\033\[1m' "$dir/got" || { echo "no colour on a terminal"; failed=1; }
	plain <"$dir/got" >"$dir/plain"
	longest=$(awk '{ if (length($0) > n) n = length($0) } END { print n + 0 }' "$dir/plain")
	[ "$longest" -gt $((columns / 2)) ] && [ "$longest" -le $columns ] || {
		echo "longest line on a terminal of $columns columns: $longest"
		failed=1
	}
	# The same words in the same order, but for source paths that are cut to fit.
	tr -s ' \n' '\n' <"$dir/plain" | grep -v / >"$dir/words"
	"$analyze" "$dir/chains.db" 2>/dev/null | tr -s ' \n' '\n' | grep -v / | cmp - "$dir/words" ||
		{ echo "wrapping changes the words"; failed=1; }
done
"$analyze" "$dir/chains.db" 2>/dev/null | grep -q '^.\{150\}' || { echo "no long line without a terminal"; failed=1; }

# Colour only when it is asked for.
"$analyze" "$dir/calls.db" --color always | grep -q $'\033\[1m' || { echo "no colour"; failed=1; }
! "$analyze" "$dir/calls.db" | grep -q $'\033' || { echo "colour unasked"; failed=1; }
exit $failed
