#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Captures that no recorder would write, with checksums that are right (tests/hostile.c), lead to no
# crash, no nonsense (tests/fuzz/sane.sql), and to neither hours nor gigabytes.
# PARALLEL: files are read.
. "$(dirname "$0")/../lib.sh"
hostile=$build/tests/hostile
asan=$build/asan/callweave-analyze
{ [ -x "$hostile" ] && [ -x "$asan" ]; } || skip "tests/hostile and the ASan build are missing"

sane() { # NAME DB
	sqlite3 -batch "$2" <"$here/fuzz/sane.sql" | grep -v '|0$' >"$tmp/wrong" &&
		fail "$1: not true: $(cat "$tmp/wrong")"
}

# Whatever is in it, the ASan build imports it, or says why not.
imported() { # NAME [N SEED FILE]
	local name=$1 status
	"$hostile" "$name" "$tmp/h.cwc" "${@:2}" || fail "cannot make $*"
	rm -f "$tmp/h.db"
	"$asan" import "$tmp/h.cwc" -o "$tmp/h.db" >"$tmp/out" 2>"$tmp/err"
	status=$?
	[ $status = 0 ] || fail "$*: exit status $status: $(tail -n 5 "$tmp/err")"
	sane "$*" "$tmp/h.db"
	tried=$((tried + 1))
}
tried=0
for name in $("$hostile"); do
	case $name in
	wild | mutate) ;;
	*) imported "$name" 100 ;;
	esac
done
# Seeds that found something once, and others.
for seed in 1 2 3 5 8; do
	imported wild 2000 $seed
	imported mutate $((seed * 3)) $seed "$here/captures/v1-async.cwc"
done

# Every command, on one of them. Some say that there is nothing to show.
"$hostile" wild "$tmp/h.cwc" 1000 7
for args in report 'report --format jsonl' 'report --format csv' 'report --format html' diagnostics blocked \
	suggest follow dump 'dump --validate' sql; do
	# shellcheck disable=SC2086 # a command and its options
	timeout 60 "$asan" $args "$tmp/h.cwc" >"$tmp/out" 2>"$tmp/err" </dev/null
	status=$?
	[ $status -le 1 ] || fail "$args: exit status $status: $(tail -n 5 "$tmp/err")"
	grep -q 'cannot query' "$tmp/err" && fail "$args: $(grep 'cannot query' "$tmp/err")"
done

# Following a capture of 100 years takes none.
"$hostile" years "$tmp/h.cwc" 100
(ulimit -t 20 && "$analyze" follow "$tmp/h.cwc" >"$tmp/out" 2>&1) || fail "following years: $(tail -n 1 "$tmp/out")"

# Bounded: 10 s of CPU time and 1 GiB, whatever is claimed.
for big in 'threads 200000' 'crowd 50000' 'recursion 100000' 'returns 100000' 'losses 100000' 'late_losses 100000' \
	'maps 30000' 'forks 100000' 'keys 300000' 'collide 200000' 'probes 300000' 'hops 10000' 'fan 100000' \
	'blobs 30000'; do
	# shellcheck disable=SC2086 # a name and a size
	set -- $big
	"$hostile" "$1" "$tmp/h.cwc" "$2"
	rm -f "$tmp/h.db"
	(ulimit -t 10 -v $((1200 << 10)) && "$analyze" import "$tmp/h.cwc" -o "$tmp/h.db") >"$tmp/out" 2>&1 ||
		fail "$big: exit status $?: $(tail -n 1 "$tmp/out")"
	tried=$((tried + 1))
done

# Names cannot do anything to the terminal.
"$hostile" names "$tmp/h.cwc"
for args in report 'report --format jsonl' 'report --format csv' diagnostics blocked suggest follow dump sql; do
	# shellcheck disable=SC2086 # a command and its options
	"$analyze" $args "$tmp/h.cwc" >"$tmp/out" 2>&1 </dev/null
	tr -d '\n' <"$tmp/out" | LC_ALL=C grep -aqP '[\x00-\x08\x0b-\x1f\x7f]' && fail "$args: control characters are printed"
	iconv -f utf-8 -t utf-8 "$tmp/out" >"$tmp/same" 2>&1 || fail "$args: prints no UTF-8"
done

# Closed standard descriptors are errors, not the next file.
timeout 20 "$analyze" - <&- >"$tmp/out" 2>"$tmp/err"
grep -q empty "$tmp/err" || fail "standard input closed: $(cat "$tmp/err")"
"$analyze" "$tmp/h.cwc" >&- 2>"$tmp/err" && fail "standard output closed: no error"
grep -q 'standard output' "$tmp/err" || fail "standard output closed: $(cat "$tmp/err")"
note "$tried hostile captures"

finish
