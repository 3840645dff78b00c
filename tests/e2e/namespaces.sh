#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A target in PID and mount namespaces of its own, whose program no one else can see: recorded from
# outside, from inside, and from a namespace in between, in which all three ids differ.
# PARALLEL: names and ids are compared.
. "$(dirname "$0")/../lib.sh"
need_tracing
unshare -pfm --mount-proc true 2>/dev/null || skip "cannot make PID and mount namespaces"
depth=$(awk '/^NSpid:/ { print NF - 1 }' /proc/self/status)
hops=(--async-hop submit_async_task,1,function_to_trace,1 function_to_trace)

# By a name of its own: other suites may run on this machine.
export program=hidden_$$
# The first process of new namespaces: runs the workload from a file system that is mounted there only,
# and stays until it may go, since all end with it.
cat >"$tmp/inner.sh" <<'END'
mount -t tmpfs none /mnt || exit 1
cp "$1" "/mnt/$program"
"/mnt/$program" --count 40 --start-file "$2/go" --truth "$2/ns.truth" &
wait
until [ -e "$2/end" ]; do sleep 0.01; done
END
# The same one namespace further in, with the recorder in between. The loop keeps its ids apart.
cat >"$tmp/middle.sh" <<'END'
for i in 1 2 3 4 5; do /bin/true; done
unshare -pfm --mount-proc bash "$2/inner.sh" "$1" "$2" >"$2/target" 2>&1 &
wrapper=$!
until pid=$(pgrep -x "$program"); do sleep 0.01; done
echo "$pid" >"$2/middle.pid"
"$3" -p "$pid" -o "$2/middle.cwc" "${@:4}" >"$2/middle.log" 2>&1
echo $? >"$2/middle.status"
touch "$2/end"
wait $wrapper
END
start() { # SCRIPT ARGUMENTS...: sets $global, the target's pid here
	rm -f "$tmp"/{go,end,ns.truth,target}
	unshare -pfm --mount-proc bash "$@" >"$tmp/target" 2>&1 &
	wrapper=$!
	pids+=($wrapper)
	wait_for pgrep -x "$program" >/dev/null
	global=$(pgrep -x "$program")
	pids+=("$global")
	inodes=$(stat -Lc %i "/proc/$global/ns/pid" "/proc/$global/ns/mnt" | paste -s -d ' ')
	# Seen from a chroot, paths of other mount namespaces begin where those do.
	seen=/mnt/$program
	[ / -ef /proc/1/root/ ] || seen=$(sed -n 's,^[^/]*\(/.*mnt/'"$program"'\)$,\1,p' "/proc/$global/maps" | head -n 1)
}
end() { # NAME
	wait $recorder
	expect "$1: recorder's exit status" $? 0
	: >"$tmp/end"
	wait $wrapper
	forget $recorder $wrapper "$global"
}
check() { # NAME PIDS: all hops, names, and the target's pids for the kernel, the recorder and itself
	local name=$1
	said_lost "$tmp/$name.log" && fail "$name: $lost"
	cp "$tmp/ns.truth" "$tmp/$name.truth"
	import "$name" || return
	expect "$name: hops" "$(query "$name" "SELECT count(DISTINCT s.submit_ns) FROM hop h JOIN t.hop s ON s.key = h.key_int
		AND abs(s.submit_ns - h.submit_ts) < 10000000 * $slow")" 40
	expect "$name: module" "$(query "$name" "SELECT DISTINCT m.path FROM probe JOIN module m USING(module_id)")" "$seen"
	at_least "$name: frames of main" "$(query "$name" "SELECT count(*) FROM callstack WHERE function = 'main'")" 1
	at_least "$name: functions of the C library" \
		"$(query "$name" "SELECT count(DISTINCT function) FROM callstack WHERE module LIKE 'libc.so%'")" 1
	expect "$name: inodes of its PID and mount namespaces" \
		"$(query "$name" "SELECT DISTINCT pid_ns || ' ' || mnt_ns FROM process WHERE exe = '$seen'")" "$inodes"
	[ "$depth" = 1 ] || return # else even the outermost recorder does not know the kernel's ids
	expect "$name: pids" "$(query "$name" "SELECT pid || ' ' || rec_pid || ' ' || ns_pid FROM process WHERE exe = '$seen'")" "$2"
	at_least "$name: threads with their own ids" \
		"$(query "$name" "SELECT count(*) FROM thread WHERE name = '$program' AND ns_tid BETWEEN 1 AND 50 AND tid > 50")" 2
}

start "$tmp/inner.sh" "$workloads/trace_test" "$tmp"
inside=$(awk '/^NSpid:/ { print $NF }' "/proc/$global/status")
"$record" -p "$global" -o "$tmp/outside.cwc" "${hops[@]}" >"$tmp/outside.log" 2>&1 &
recorder=$!
pids+=($recorder)
wait_for recorder_ready "$tmp/outside.log" $recorder
: >"$tmp/go"
end outside
check outside "$global $global $inside"

start "$tmp/inner.sh" "$workloads/trace_test" "$tmp"
inside=$(awk '/^NSpid:/ { print $NF }' "/proc/$global/status")
seen=/mnt/$program
nsenter -t "$global" -p -m -r "$record" -p "$inside" -o "$tmp/inside.cwc" "${hops[@]}" >"$tmp/inside.log" 2>&1 &
recorder=$!
pids+=($recorder)
wait_for recorder_ready "$tmp/inside.log" $recorder
: >"$tmp/go"
end inside
check inside "$global $inside $inside"

start "$tmp/middle.sh" "$workloads/trace_test" "$tmp" "$record" "${hops[@]}"
inside=$(awk '/^NSpid:/ { print $NF }' "/proc/$global/status")
wait_for grep -q recording "$tmp/middle.log"
: >"$tmp/go"
recorder=$wrapper
end middle
expect "middle: recorder's exit status" "$(cat "$tmp/middle.status")" 0
[ "$(cat "$tmp/middle.pid")" != "$inside" ] || fail "middle: two ids are the same"
check middle "$global $(cat "$tmp/middle.pid") $inside"

# The recorder in a time namespace, in which its clocks are not those of the kernel and of the target.
if unshare -fT --boottime 100000 --monotonic 5000 true 2>/dev/null; then
	start "$tmp/inner.sh" "$workloads/trace_test" "$tmp"
	inside=$(awk '/^NSpid:/ { print $NF }' "/proc/$global/status")
	began=$(awk '{ sub(/.*\) /, ""); print $20 }' "/proc/$global/stat")
	unshare -fT --boottime 100000 --monotonic 5000 "$record" -p "$global" -o "$tmp/time.cwc" "${hops[@]}" >"$tmp/time.log" 2>&1 &
	recorder=$!
	pids+=($recorder)
	wait_for recorder_ready "$tmp/time.log" $recorder
	: >"$tmp/go"
	end time
	check time "$global $global $inside"
	expect "time: processes and their start" "$(query time "SELECT group_concat(pid || ' ' || (start_boottime / 10000000)) FROM process
		WHERE traced")" "$global $began"
	expect "time: mappings and events apart" "$(query time "SELECT max(abs(m.ts - (SELECT min(ts) FROM slice))) > 100e9 FROM mapping m")" 0
	expect "time: the clocks' distance" "$(query time "SELECT abs(value - $(query outside "SELECT value FROM capture_info
		WHERE key = 'boottime_offset_ns'")) < 1e9 FROM capture_info WHERE key = 'boottime_offset_ns'")" 1
else
	loosened "no time namespaces here"
fi
finish
