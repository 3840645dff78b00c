#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The static recorder in a root where nothing else is but /proc and /sys: a workload outside of it is
# recorded, and the capture names its functions.
# PARALLEL: calls and wakers are counted.
. "$(dirname "$0")/../lib.sh"
need_tracing
static_recorder || finish
expect 'libraries that it needs' "$(ldd "$static" 2>&1 | sed 's/^[[:space:]]*//')" 'not a dynamic executable'

root=$tmp/root
mkdir -p "$root/proc" "$root/sys"
cp "$static" "$root/callweave-record"
"$workloads/trace_lock_test" --start-file "$tmp/go" --truth "$tmp/lock.truth" --count 3 >"$tmp/out" 2>&1 &
target=$!
pids+=($target)
wait_for grep -q PID "$tmp/out"
# Mounts of its own, which end with it.
: >"$tmp/log"
unshare -m bash -c 'mount --rbind /proc "$1/proc" && mount --rbind /sys "$1/sys" && root=$1 && shift &&
	exec chroot "$root" "$@"' - "$root" /callweave-record -p $target --attribution --ret \
	-o /trace.cwc function_to_trace >"$tmp/log" 2>&1 &
recorder_pid=$!
pids+=($recorder_pid)
wait_for recorder_ready "$tmp/log" $recorder_pid
: >"$tmp/go"
wait $target
wait $recorder_pid
expect "the recorder's exit status" $? 0
[ -s "$root/trace.cwc" ] || { fail "no capture: $(cat "$tmp/log")"; finish; }
said_lost "$tmp/log" && fail "the recorder said: $lost"
mv "$root/trace.cwc" "$tmp/lock.cwc"
expect 'files that it left or needed' "$(find "$root" -xdev -type f | sed "s,$root,,")" /callweave-record

import lock || finish
expect 'calls and their return values' "$(query lock \
	"SELECT count(*), count(dur), min(ret), max(ret) FROM call WHERE function = 'function_to_trace'")" \
	"$(query lock 'SELECT count(*), count(*), min(ret), max(ret) FROM t.lock')"
expect 'rounds whose wait names its waker, and where that released the lock' "$(query lock \
	"SELECT count(DISTINCT l.round) FROM t.lock l JOIN futex_wait w ON w.address = l.mutex AND w.ts BETWEEN l.start_ns AND l.end_ns
	 WHERE w.waker_tid = l.holder_tid AND EXISTS (SELECT 1 FROM callstack c
		WHERE c.stack_id = w.waker_stack_id AND c.function = 'release_shared_resource')")" 3
note "$(du -k "$static" | cut -f 1) KiB, nothing else in the root"
finish
