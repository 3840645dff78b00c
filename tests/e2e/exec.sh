#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# When a recording ends, and what becomes of the program that --exec started: whose it is, when it
# starts, how it is stopped. What is counted stops at the number asked for.
. "$(dirname "$0")/../lib.sh"
need_tracing

run() { # NAME OPTIONS...
	local name=$1
	shift
	timeout 60 "$record" -o "$tmp/$name.cwc" "$@" >"$tmp/$name.out" 2>"$tmp/$name.log" ||
		fail "$name: status $?: $(tail -n 3 "$tmp/$name.log")"
}
ask() { # NAME SQL
	"$analyze" sql "$tmp/$1.cwc" --format csv "$2" 2>"$tmp/ask.err" | tail -n 1
}
ended() { # NAME WORDS
	expect "$1: the end's reason" "$(ask "$1" "SELECT value FROM capture_info WHERE key = 'end_text'")" "$2"
}

# The user behind sudo, and nothing of the recorder's: no capability, no descriptor, its own group.
cat >"$tmp/who" <<'END'
#!/bin/bash
id -u; id -g; id -G
awk '$1 == "CapEff:" || $1 == "CapPrm:" { printf "%s", $2 }' /proc/self/status; echo
awk '$1 == "SigBlk:" || $1 == "SigIgn:" { printf "%s", $2 }' /proc/self/status; echo
[ "$(awk '{ print $5 }' /proc/$$/stat)" = $$ ] && echo group
ls -l /proc/$$/fd | grep -E ' ([3-9]|[0-9]{2,}) ->' | grep -cE 'bpf|perf_event|eventpoll|eventfd|memfd|\.cwc'
END
chmod 755 "$tmp/who"
chmod 711 "$tmp"
user=$(awk -F: '$3 >= 1 && $3 < 60000 && $3 != 65534 { print $1 ":" $3 ":" $4 }' /etc/passwd | while IFS=: read -r name uid gid; do
	# One who is in further groups, when there is one.
	n=$(awk -F: -v u="$name" '{ k = split($4, m, ","); for (i = 1; i <= k; i++) n += m[i] == u } END { print n + 0 }' /etc/group)
	echo "$n $name $uid $gid"
done | sort -rn | head -n 1)
read -r _ name uid gid <<<"$user"
SUDO_UID=$uid SUDO_GID=$gid SUDO_USER=$name run who --exec "$tmp/who" libc.so.6:malloc
expect "the program's user, group and groups" "$(head -n 3 "$tmp/who.out" | tr '\n' ' ')" \
	"$(id -u "$name") $(id -g "$name") $(id -G "$name") "
expect "its capabilities" "$(sed -n 4p "$tmp/who.out" | tr -d 0)" ""
# Those that whoever runs this test ignores are not the recorder's.
expect "its blocked and ignored signals" "$(sed -n 5p "$tmp/who.out")" "$("$tmp/who" | sed -n 5p)"
expect "its process group" "$(sed -n 6p "$tmp/who.out")" group
expect "the recorder's descriptors that it has" "$(sed -n 7p "$tmp/who.out")" 0
expect "the owner of the capture" "$(stat -c '%u %a' "$tmp/who.cwc")" "$uid 600"
ended who 'the target exited'

# From the program's first instruction to its end: calls of its beginning are there.
run all --time --exec "$workloads/trace_test" function_to_trace -- --count 7
expect "calls of a whole run" "$(ask all "SELECT count(*), count(dur) FROM call")" 7,7
ended all 'the target exited'

# Stopped at the end, if need be with force, and its children with it.
begin=$(date +%s%N)
run stubborn --duration 1 --exec /bin/sh libc.so.6:malloc -- -c 'trap "" TERM; sleep 1000 & echo $! $$; while :; do sleep 0.1; done'
took=$((($(date +%s%N) - begin) / 1000000))
at_least "ms of a second and the two that a program gets to end" "$took" 2900
ended stubborn 'the duration is over'
over() { # PID: it was killed, which takes a CPU; whoever inherited it may take a while to collect it
	! grep -qs '^State:.[^ZX]' "/proc/$1/status"
}
for pid in $(cat "$tmp/stubborn.out"); do
	wait_for over $pid || fail "process $pid goes on after the recording"
done
run kind --duration 1 --exec /bin/sh libc.so.6:malloc -- -c 'trap "echo asked; exit 3" TERM; while :; do sleep 0.1; done'
expect "a program that is asked to end" "$(cat "$tmp/kind.out")" asked

# A number of calls, which all have their returns, and not one more; the program goes on.
"$workloads/trace_test" >"$tmp/target" &
target=$!
pids+=($target)
wait_for grep -q PID "$tmp/target"
run calls -p $target --max-events 5 --time function_to_trace
expect "calls of --max-events 5" "$(ask calls "SELECT count(*), count(dur) FROM call")" 5,5
ended calls 'enough events'
run chains -p $target --max-events 5 --async-hop submit_async_task,1,function_to_trace
expect "chains of --max-events 5" "$(ask chains "SELECT count(*) FROM chain WHERE complete")" 5
kill -0 $target || fail "the program did not survive being recorded"

# The recorder ends when the program does, by itself or by force.
start_recorder "$tmp/killed.log" -p $target --time -o "$tmp/killed.cwc" function_to_trace
sleep 0.5
kill -KILL $target
begin=$(date +%s%N)
wait $recorder_pid
expect "status when the program was killed" $? 0
took=$((($(date +%s%N) - begin) / 1000000))
limit_of "ms until the recorder noticed" 1000 5000
at_most "ms until the recorder noticed" $took $limit
forget $recorder_pid
ended killed 'the target exited'

# What a shell's child is to run is recorded, though the recorder meets the child before its exec; and one that
# executes nothing is recorded as it is.
cc=${CC:-gcc}
if command -v "$cc" >/dev/null; then
	cat >"$tmp/late.c" <<'END'
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) void stay(void) { __asm__ volatile(""); }
/* MS PROGRAM RECORDER ARGUMENTS...: a child executes PROGRAM so many ms after fork, and RECORDER is for it. */
int main(int argc, char **argv)
{
	pid_t child = fork(), recorder;
	char text[16], *command[32] = {argv[3], "-p", text};
	int status = 0;
	if (!child) {
		usleep(atoi(argv[1]) * 1000);
		if (strcmp(argv[2], "none"))
			execl(argv[2], argv[2], NULL);
		for (;; usleep(1000))
			stay();
	}
	sprintf(text, "%d", child);
	for (int i = 4; i < argc && i < 32; i++)
		command[i - 1] = argv[i];
	recorder = fork();
	if (!recorder) {
		execv(argv[3], command);
		_exit(1);
	}
	waitpid(recorder, &status, 0);
	kill(child, SIGKILL);
	waitpid(child, NULL, 0);
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
END
	"$cc" -O1 -o "$tmp/late" "$tmp/late.c" || fail "cannot compile"
	met=0
	for i in {1..15}; do
		if "$tmp/late" 25 "$workloads/trace_test" "$record" --max-events 1 -o "$tmp/late.cwc" function_to_trace >/dev/null 2>"$tmp/late.log"; then
			met=$((met + 1))
		else
			grep -q 'late has no function function_to_trace' "$tmp/late.log" || fail "late, start $i: $(tail -n 3 "$tmp/late.log")"
		fi
	done
	# A child that waits for a CPU, too, may need longer than the recorder waits for it.
	limit_of "programs executed 25 ms after fork that were recorded, of 15" 10 5
	at_least "programs executed 25 ms after fork that were recorded, of 15" $met $limit
	"$tmp/late" 0 none "$record" --max-events 5 -o "$tmp/stays.cwc" stay >/dev/null 2>"$tmp/stays.log" ||
		fail "a child that executes nothing: $(tail -n 3 "$tmp/stays.log")"
	expect "calls of a child that executes nothing" "$(ask stays "SELECT count(*) FROM call")" 5
fi
finish
