#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Why threads were not running, against a program that knows: it sleeps, reads a pipe, syncs a file,
# waits for a futex, polls, faults in pages of a file and competes for its CPU.
. "$(dirname "$0")/../lib.sh"
need_tracing

parts=(part_sleep part_pipe part_sync part_futex part_poll part_fault part_compete)
cd "$tmp" || exit 2 # the workload's file goes there
record_exec blocked blocked_test --count 10 -- --attribution wait_for_everything "${parts[@]}"
import blocked || finish
disk=$(df --output=fstype "$tmp" | tail -n 1)

db() {
	sqlite3 -batch -bail "$tmp/blocked.db" "$1"
}
truth() { # FUNCTION FIELD
	sed -n "s/.*\"function\":\"$1\".*\"$2\":\([0-9]*\).*/\1/p" "$tmp/blocked.truth"
}
path=$(sed -n 's/.*"event":"file","path":"\([^"]*\)".*/\1/p' "$tmp/blocked.truth")
mutex=$(sed -n 's/.*"mutex":"\([^"]*\)".*/\1/p' "$tmp/blocked.truth")

# The reasons of each function add up to its calls, exactly where nothing was lost.
expect 'functions whose reasons do not add up' "$(db "
	SELECT count(*) FROM (SELECT sum(ns) AS ns, function FROM function_reason GROUP BY function) r
	WHERE ns <> (SELECT sum(dur) FROM call c WHERE c.function = r.function)
		OR NOT EXISTS (SELECT 1 FROM call c WHERE c.function = r.function)")" 0
expect 'functions' "$(db 'SELECT count(DISTINCT function) FROM function_reason')" 8
expect 'blocked intervals without a reason' "$(db "
	SELECT count(*) FROM thread_state s LEFT JOIN blocked_reason b USING(offcpu_id)
	WHERE s.state = 'blocked' AND (b.reason IS NULL OR b.class IN ('kernel', 'system call'))
	AND EXISTS (SELECT 1 FROM slice c WHERE c.utid = s.utid AND c.ts <= s.ts AND c.ts + c.dur > s.ts)")" 0

# Where others want the CPU, one that waits for it does so between a probe and the program's reading of its clock, too.
limit_of 'ms between probes and clocks' 0 300
between=$((limit * 1000000))
# Every part: its time is the truth's, and what it was blocked for has the right name.
# named FUNCTION CLASS REASON: the reason, a pattern, takes 95 % of the time the function was blocked.
named() {
	local function=$1 class=$2 pattern=$3 ours wall named blocked
	wall=$(truth "$function" ns)
	ours=$(db "SELECT sum(dur) FROM call WHERE function = '$function'")
	at_most "$function: off the truth's time, ns" $((wall > ours ? wall - ours : ours - wall)) $((wall / 50 + 500000 * slow + between))
	blocked=$(db "SELECT coalesce(sum(ns), 0) FROM function_reason WHERE function = '$function'
		AND class NOT IN ('on CPU', 'run queue', 'preempted', 'unknown')")
	named=$(db "SELECT coalesce(sum(ns), 0) FROM function_reason WHERE function = '$function'
		AND class = '$class' AND reason GLOB '$pattern'")
	at_least "$function: blocked, ns" "$blocked" 1
	at_least "$function: of that, named $class" "$named" $((blocked * 95 / 100))
	# What is left of the wall time is what it was blocked and what it waited for a CPU.
	at_most "$function: blocked and not on the CPU, ns" "$blocked" $((wall - $(truth "$function" cpu_ns) + 500000 * slow + between))
}
named part_sleep sleep 'clock_nanosleep'
named part_pipe pipe 'read fd [0-9]* pipe:[[][0-9]*[]]'
if [ "$disk" = tmpfs ]; then
	echo "no part_sync: $tmp is in memory, and no disk is waited for"
else
	named part_sync disk "fsync fd [0-9]* $path"
fi
named part_futex futex "futex wait*"
at_least 'part_futex: waited for the mutex, ns' "$(db "SELECT sum(ns) FROM function_reason
	WHERE function = 'part_futex' AND reason GLOB 'futex wait* $mutex'")" 60000000
named part_poll poll 'poll pipe:[[][0-9]*[]]'
if [ "$disk" = tmpfs ]; then
	echo "no page faults: $tmp is in memory"
else
	named part_fault 'page fault' 'page fault, from disk'
	at_least 'pages that were read' "$(db "SELECT sum(count) FROM function_reason
		WHERE function = 'part_fault' AND class = 'page fault'")" 100
fi
# Ten waits of so many ms each. Some guests hide what happens while their agent runs: who was woken then counts as
# preempted, or as unknown. Those are not asked.
# It asks for the end of a wait, and then waits: what it takes until then on a slow machine is not waited for.
limit_of "of 100 of the waits" 97 80
for pair in sleep:10 pipe:8 futex:12 poll:6; do
	hidden=$(db "SELECT count(*) FROM slice s JOIN probe USING(probe_id) WHERE function = 'part_${pair%:*}' AND (unknown_ns > 0
		OR EXISTS (SELECT 1 FROM offcpu o WHERE o.utid = s.utid AND o.ts BETWEEN s.ts AND s.ts + s.dur
			AND o.state > 0 AND o.state <> 2048 AND o.waking_ts IS NULL))")
	at_most "${pair%:*}: waits whose end was hidden, of 10" "$hidden" 5
	at_least "${pair%:*}: time, ms, but for $hidden hidden waits" "$(db "SELECT sum(ns) / 1000000 FROM function_reason
		WHERE function = 'part_${pair%:*}' AND class = '${pair%:*}'")" $(((10 - hidden) * ${pair#*:} * limit / 100))
done

# Competing for the CPU: no sleep, and the competitor is named.
compete=$(db "SELECT sum(ns) FROM function_reason WHERE function = 'part_compete' AND class IN ('preempted', 'run queue')")
wanted=$(($(truth part_compete ns) - $(truth part_compete cpu_ns)))
unknown=$(db "SELECT coalesce(sum(ns), 0) FROM function_reason WHERE function = 'part_compete' AND class = 'unknown'")
at_most 'part_compete: unknown, ns' "$unknown" $((wanted / 4))
at_most 'part_compete: off the truth, but for what is unknown, ns' $((compete > wanted ? compete - wanted : wanted - compete)) \
	$((wanted / 20 + 1000000 * slow + unknown + between))
at_least 'the competitor ran instead, ns' "$(db "SELECT sum(ns) FROM function_reason WHERE function = 'part_compete'
	AND reason = 'competitor ran instead'")" 10000000

# Who ended the waits: the holder of the lock, the writers.
expect 'the lock was released by' "$(db "
	SELECT DISTINCT y.function FROM blocked_reason b JOIN futex_wait f USING(offcpu_id)
	JOIN callstack y ON y.stack_id = f.waker_stack_id
	WHERE b.address = '$mutex' AND y.function = 'lock_holder'")" lock_holder
expect 'wakers of the parts' "$(db "
	SELECT count(DISTINCT r.other_utid) FROM function_reason r
	WHERE r.function = 'part_' || r.class AND r.class IN ('pipe', 'futex', 'poll')
	AND r.reason NOT LIKE '%bitset%'")" 3
expect 'the sleep was ended by an interrupt' "$(db "
	SELECT count(*) FROM blocked_reason WHERE class = 'sleep' AND waker_utid IS NOT NULL AND NOT waker_irq")" 0

# The same for the work of hops, and the command.
record_exec complex trace_complex_async_test --count 5 -- --async-hop submit_decode_task,2,decode_request \
	--async-hop submit_enrich_task,1,enrich_request --async-hop submit_persist_task,2,persist_result persist_result
import complex || finish
expect 'hops whose reasons do not add up' "$(query complex "
	SELECT count(*) FROM (SELECT plan_hop, sum(ns) AS ns FROM hop_reason GROUP BY 1) r JOIN queue_diagnostics q
	USING(plan_hop) WHERE q.interval IS NULL AND q.work_total_ns <> r.ns")" 0
expect 'hops' "$(query complex 'SELECT count(DISTINCT plan_hop) FROM hop_reason')" 3
expect 'first reason of each hop' "$(query complex "
	SELECT plan_hop, class FROM (SELECT *, row_number() OVER (PARTITION BY plan_hop ORDER BY ns DESC) AS n
	FROM hop_reason) WHERE n = 1 ORDER BY 1")" "$(printf '0|sleep\n1|sleep\n2|futex')"
"$analyze" blocked "$tmp/complex.cwc" --top 2 >"$tmp/complex.txt" || fail 'blocked failed'
expect 'sections of the text' "$(grep -c '^top reasons of the work of ' "$tmp/complex.txt")" 3
expect 'the lock in the text' "$(grep -A 1 '^top reasons of the work of submit_persist_task' "$tmp/complex.txt" |
	grep -c '% .* futex wait 0x.* \[futex\] woken by TID')" 1
"$analyze" blocked "$tmp/complex.cwc" --format jsonl --top 0 >"$tmp/complex.jsonl" || fail 'blocked failed'
expect 'shares of each record add up' "$(sqlite3 :memory: "
	WITH r AS (SELECT value AS j FROM json_each('[' || replace(rtrim(CAST(readfile('$tmp/complex.jsonl') AS TEXT),
		char(10)), char(10), ',') || ']'))
	SELECT count(*) FROM r WHERE abs((SELECT sum(x.value ->> 'share') FROM json_each(j, '\$.reasons') x) - 1) > 0.0001
		OR (SELECT sum(x.value ->> 'ns') FROM json_each(j, '\$.reasons') x) <> j ->> 'total_ns'")" 0
"$record" -o "$tmp/none.cwc" --exec "$workloads/trace_test" function_to_trace -- --count 2 >/dev/null 2>&1
"$analyze" blocked "$tmp/none.cwc" >"$tmp/none.out" 2>&1
expect 'status without attribution' $? 1
expect 'word without attribution' "$(tail -n 1 "$tmp/none.out")" \
	'callweave-analyze: no call has scheduler facts: record with --attribution'

# Files on mounts below the root, and bound to another place, have their whole paths.
cat >"$tmp/mounts.sh" <<'X'
mount -t tmpfs none "$2/m" && mkdir -p "$2/m/deep/er" && mkfifo "$2/m/top" "$2/m/deep/er/fifo" &&
	mount --bind "$2/m/deep" "$2/bound" || exit 77
(for fifo in m/top bound/er/fifo; do
	until pid=$(cat "$2/pid" 2>/dev/null) && [ "$(readlink "/proc/$pid/fd/0")" = "$2/$fifo" ] && grep -q '^0 ' "/proc/$pid/syscall"; do
		sleep 0.02
	done
	echo >"$2/$fifo"
done) &
"$1" -q -o "$2/mounts.cwc" --exec /bin/sh libc.so.6:read -- \
	-c 'echo $$ >"$0/pid"; read x <>"$0/m/top"; read x <>"$0/bound/er/fifo"' "$2" >"$2/mounts.log" 2>&1
X
mkdir "$tmp/m" "$tmp/bound"
if [ "$(uname -m)" != x86_64 ] || ! unshare -m true 2>/dev/null; then
	loosened "no mounts of one's own here"
elif timeout 60 unshare -m bash "$tmp/mounts.sh" "$record" "$tmp"; then
	expect 'files on other mounts' "$("$analyze" sql "$tmp/mounts.cwc" --format csv "SELECT group_concat(replace(path, '$tmp', ''), ' ') FROM
		(SELECT path FROM file WHERE path LIKE '%top' OR path LIKE '%fifo' ORDER BY path)" 2>/dev/null | tail -n 1 | tr -d '\r')" '/bound/er/fifo /m/top'
else
	fail "mounts: status $?, $(cat "$tmp/mounts.log")"
fi

# Sleeps that signals end, and some that signals keep from beginning: the thread stays runnable then. A sleep whose
# end was not seen is no wait for the CPU.
cat >"$tmp/signals.c" <<'END'
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
static volatile int stop;
static pthread_t sleeper;
static void ignore(int sig) { (void)sig; }
__attribute__((noipa)) int nap(void) { struct timespec t = {0, 300000}; return nanosleep(&t, NULL); }
static void *disturb(void *arg) { while (!stop) { pthread_kill(sleeper, SIGUSR1); usleep(50); } return arg; }
int main(void)
{
	struct sigaction sa = {.sa_handler = ignore};
	pthread_t thread;
	sigaction(SIGUSR1, &sa, NULL);
	sleeper = pthread_self();
	pthread_create(&thread, NULL, disturb, NULL);
	for (int i = 0; i < 3000; i++)
		nap();
	stop = 1;
	return pthread_join(thread, NULL);
}
END
if command -v "${CC:-gcc}" >/dev/null; then
	"${CC:-gcc}" -D_GNU_SOURCE -O1 -o "$tmp/signals" "$tmp/signals.c" -lpthread || fail "cannot compile signals.c"
	"$record" -q -o "$tmp/signals.cwc" --attribution --exec "$tmp/signals" nap >"$tmp/signals.log" 2>&1 || fail "signals: $(cat "$tmp/signals.log")"
	import signals
	expect 'sleeps that the recorder is not sure of' "$("$analyze" sql "$tmp/signals.cwc" --format csv "SELECT sum(NOT flags & 8), count(*) > 3000
		FROM raw_sched_block" 2>/dev/null | tail -n 1 | tr -d '\r')" 0,1
	expect 'sleeps that are called waits for the CPU from their beginning on' "$(sqlite3 "$tmp/signals.db" "SELECT count(*) FROM episode
		WHERE state > 0 AND state & 3 AND NOT preempted AND preempted_ns > 0")" 0
	at_least 'sleeps that ended as they do' "$(sqlite3 "$tmp/signals.db" "SELECT count(*) FROM episode WHERE state > 0 AND state & 3
		AND waker_id IS NOT NULL AND unknown_ns = 0 AND blocked_ns > 0")" 3000
	at_most 'sleeps of which not all is known, and nothing was lost' "$(sqlite3 "$tmp/signals.db" "SELECT count(*) - 2 * (SELECT coalesce(sum(count), 0) FROM loss)
		FROM episode WHERE unknown_ns > 0")" 30
fi

note "$(db "SELECT count(*) FROM blocked_reason") blocked intervals named"
finish
