#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the recorder may do: --check says it before, a recording keeps no more than it needs, and from
# kernel 6.6 on a user with two capabilities can record.
. "$(dirname "$0")/../lib.sh"
need_tracing

nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
powerless=("${nobody[@]}" --inh-caps=-all --bounding-set=-all)

"$record" --check >"$tmp/check" 2>&1 || fail "--check as root: $(cat "$tmp/check")"
# What came with a later kernel than this is said to have.
expect "features that root lacks" "$(awk 'no && !/^ *from [0-9.]+ on/ { print no }
	{ no = / NO$/ ? $0 : "" } END { if (no) print no }' "$tmp/check")" ""
grep -q '^Recording is possible.$' "$tmp/check" || fail "root cannot record: $(cat "$tmp/check")"
"${powerless[@]}" "$record" --check >"$tmp/check" 2>&1
expect "--check without capabilities" $? 1
for text in 'loading BPF programs  *NO' 'CAP_BPF and CAP_PERFMON' CAP_SYS_PTRACE CAP_SYSLOG \
	'^Recording is not possible here.$'; do
	grep -q -- "$text" "$tmp/check" || fail "--check without capabilities says nothing of '$text'"
done
# What is not there says what would change that: a capability, a sysctl, a later kernel.
expect "features that powers would give, without their names" "$(awk '/^[^ ].* (yes|NO)$/ { if (no && !named) print no
		no = / NO$/ ? $0 : ""; named = 0 }
	/^ / && /CAP_[A-Z]|kernel\.[a-z_]+|from [0-9.]+ on|without loading BPF programs/ { named = 1 }
	END { if (no && !named) print no }' "$tmp/check")" ""
at_most "columns of the table" "$(awk '{ if (length($0) > n) n = length($0) } END { print n }' "$tmp/check")" 100

echo 64 >"$tmp/depth"
unshare -m bash -c 'mount --bind "$1" /proc/sys/kernel/perf_event_max_stack && "$2" --check' - "$tmp/depth" "$record" >"$tmp/check" 2>&1
[[ $(grep -A 1 'deep kernel stacks  *NO' "$tmp/check") == *'after 64 frames: sysctl kernel.perf_event_max_stack=127' ]] ||
	fail "--check where stacks are not deep: $(cat "$tmp/check")"

# While it records: the capabilities left, of all its threads.
look_at_threads() { # one that ends meanwhile has none
	cat /proc/$recorder_pid/task/*/status >"$tmp/status" 2>/dev/null
}
meanwhile=look_at_threads record_pid kept tagged --count 2000 -- "${pool_hops[@]}" write_result
allowed=$((1 << 39 | 1 << 38 | 1 << 19 | 1 << 2 | 1 << 34 | 1 << 40))
threads=0
while read -r key value; do
	[ "$key" = CapPrm: ] || continue
	threads=$((threads + 1))
	expect "capabilities of a thread beyond those of going on" $((0x$value & ~allowed)) 0
done <"$tmp/status"
at_least "threads that were looked at" $threads 1
import kept && check_chains kept
expect "others may read the capture" "$(stat -c %a "$tmp/kept.cwc")" 600

# The rights that the kernel wants for uprobe_multi, and no others.
if "$record" --check | grep -q 'many probes at once  *yes'; then
	mkdir -m 777 "$tmp/nobody"
	install -m 755 "$workloads/tagged" "$tmp/nobody/"
	"${powerless[@]}" "$tmp/nobody/tagged" --start-file "$tmp/nobody/go" --truth "$tmp/nobody/user.truth" >"$tmp/user.out" 2>&1 &
	target=$!
	pids+=("$target")
	wait_for grep -q PID "$tmp/user.out"
	"${nobody[@]}" --inh-caps +bpf,+perfmon --ambient-caps +bpf,+perfmon "$record" -p $target -o "$tmp/nobody/user.cwc" "${pool_hops[@]}" write_result \
		>"$tmp/user.log" 2>&1 &
	recorder_pid=$!
	pids+=("$recorder_pid")
	wait_for recorder_ready "$tmp/user.log" $recorder_pid
	: >"$tmp/nobody/go"
	wait $target
	wait $recorder_pid
	status=$?
	# Debian's kernels have levels of perf_event_paranoid that these capabilities do not lift.
	others='^$'
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -gt 2 ]; then
		others='new mappings are not reported by the kernel (Permission denied)'
		"${nobody[@]}" --inh-caps +bpf,+perfmon --ambient-caps +bpf,+perfmon "$record" --check >"$tmp/check"
		grep -q 'kernel.perf_event_paranoid ([0-9]*) at most 2' "$tmp/check" ||
			fail "--check does not say what mappings would take: $(cat "$tmp/check")"
	fi
	expect "recording as nobody with two capabilities" "$status $(grep -v "none lost\|recording\|$others" "$tmp/user.log")" "0 "
	forget $target $recorder_pid
	mv "$tmp/nobody"/user.* "$tmp/"
	import user && expect "chains that nobody recorded" "$(query user "SELECT count(*) FROM chain WHERE complete")" 400
fi
finish
