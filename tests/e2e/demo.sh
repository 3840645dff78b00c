#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# make demo-async: the thread pool is recorded and its chains are shown as they end, until Ctrl-C,
# which ends the workload, the recorder and the reader.
# PARALLEL: lines are looked for.
. "$(dirname "$0")/../lib.sh"
need_tracing
cd "$here/.." || exit 2
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL
for goal in demo:tests/demo demo-async:tests/demo_async 'soak:SOAK=1 .*tests/run'; do
	make -n B=build "${goal%%:*}" 2>"$tmp/err" | grep -q "${goal#*:} " || fail "make ${goal%%:*}: $(cat "$tmp/err")"
done

# As a terminal does it: the signal goes to all of the group.
setsid env --default-signal=INT tests/demo_async "$build" >"$tmp/out" 2>"$tmp/err" &
demo=$!
pids+=($demo)
# All of it, when this is ended before.
trap 'kill -KILL -- -$demo 2>/dev/null; cleanup' EXIT
wait_for grep -q '^chain 20 ' "$tmp/out"
target=$(sed -n 's/^\$ callweave-record -p \([0-9]*\) .*/\1/p' "$tmp/out")
kill -INT -- -$demo
wait $demo
forget $demo
target_ended() { [ ! -d "/proc/$target" ]; }
wait_for target_ended || fail "the workload goes on after Ctrl-C"
trap cleanup EXIT
grep -q '^ended .*stopped by a signal' "$tmp/out" || fail "no end: $(tail -n 5 "$tmp/out")"
grep -q '^async hop 1 submit_storage_task -> write_result ' "$tmp/out" || fail "no hops"
grep -q ' queue snapshot 0' "$tmp/out" || fail "no queue snapshot"
grep -qE '^[0-9,]+ chains' "$tmp/out" || fail "no summary: $(tail -n 5 "$tmp/out")"
sed -i '/records were lost .*(contradiction)$/d; /events (.*, none lost/d' "$tmp/err"
! busy || sed -i '/map records were lost .*(ring full)$/d; /LOST: [0-9]* reports of mappings;/d' "$tmp/err"
[ -s "$tmp/err" ] && fail "said: $(cat "$tmp/err")"
note "$(grep -c '^chain ' "$tmp/out") chains shown live"
finish
