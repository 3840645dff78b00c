#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A program that looks as if it had frame pointers, and has something else in that register when the
# function is called: a walk gives another stack every time. The recorder notices, and keeps the address
# and the caller from then on, whichever CPUs and processes the calls are spread over. It is not misled
# by stacks that are many and right: of recursion, and of processes that live for a call each.
# PARALLEL: stacks are counted.
. "$(dirname "$0")/../lib.sh"
need_tracing
[ "$(uname -m)" = x86_64 ] || skip "the program is for x86-64"
cc=${CC:-gcc}
command -v "$cc" >/dev/null || skip "needs a C compiler"

cat >"$tmp/garbage.c" <<'END'
#define _GNU_SOURCE
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) void handle(uint64_t n) { __asm__ volatile("" :: "r"(n)); }
__attribute__((noipa)) void sane(uint64_t n) { __asm__ volatile("" :: "r"(n)); }
#define SIZE (1ul << 20)
static char own_data[SIZE], *data = own_data;
/* Calls handle with a frame pointer that leads to a made-up return address: of data. */
void odd_caller(uint64_t n, void *frame);
__asm__(".text\n.globl odd_caller\n.type odd_caller, @function\n"
	"odd_caller:\n\tpush %rbp\n\tmov %rsi, %rbp\n\tcall handle\n\tpop %rbp\n\tret\n"
	".size odd_caller, . - odd_caller\n");
/* Where there are more CPUs than one: to the next one. */
static void move_on(const cpu_set_t *all)
{
	int cpu = sched_getcpu();
	cpu_set_t next;

	do
		cpu = (cpu + 1) % CPU_SETSIZE;
	while (!CPU_ISSET(cpu, all));
	CPU_ZERO(&next);
	CPU_SET(cpu, &next);
	sched_setaffinity(0, sizeof(next), &next);
}
__attribute__((noipa)) static void work(uint64_t first, uint64_t calls)
{
	uint64_t frame[2] = {0, 0};
	cpu_set_t all;

	sched_getaffinity(0, sizeof(all), &all);
	for (uint64_t i = first; i < first + calls; i++) {
		if (!(i % 200))
			move_on(&all);
		frame[1] = (uint64_t)data + i * 16 % SIZE;
		odd_caller(i, frame);
		sane(i);
	}
	sched_setaffinity(0, sizeof(all), &all);
}
/* Each call has another stack, and each innermost one sleeps. */
__attribute__((noipa)) static void branch(unsigned depth)
{
	sane(depth);
	if (!depth) {
		usleep(1);
		return;
	}
	branch(depth - 1);
	branch(depth - 1);
}
int main(int argc, char **argv)
{
	uint64_t calls = argc > 2 ? atoi(argv[2]) : 0;

	printf("PID %d\n", getpid());
	fflush(stdout);
	if (argc == 2)
		branch(atoi(argv[1]));
	if (argc > 3) { /* waits for a word; its data are in other memory */
		data = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		getchar();
		work(0, calls);
		return 0;
	}
	for (uint64_t i = 0; argc > 2 && i < (uint64_t)atoi(argv[1]); i++) {
		pid_t child = fork();

		if (!child) {
			work(i * calls, calls);
			_exit(0);
		}
		waitpid(child, NULL, 0);
	}
	return 0;
}
END
"$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/garbage" "$tmp/garbage.c" || fail "cannot compile"
# run PROCESSES CALLS: so many processes one after the other, with so many calls each; run DEPTH: recursion.
run() {
	local calls=$(($1 * ${2:-0}))

	"$record" -o "$tmp/garbage.cwc" -f --exec "$tmp/garbage" handle sane -- "$@" >"$tmp/out" 2>"$tmp/log" || fail "$(cat "$tmp/log")"
	import garbage || finish
	[ $# = 2 ] || return
	expect "calls of $*" "$(one "SELECT group_concat(function || ' ' || n) FROM (SELECT function, count(*) AS n FROM call GROUP BY 1 ORDER BY 1)")" \
		"handle $calls,sane $calls"
}
one() { sqlite3 -batch "$tmp/garbage.db" "$1"; }
run 1 20000
stacks="SELECT DISTINCT stack_id FROM call WHERE function"
at_least "stacks before it is noticed" "$(one "SELECT count(*) FROM ($stacks = 'handle')")" 100
at_most "stacks in all" "$(one "SELECT count(*) FROM ($stacks = 'handle')")" 600
expect "the stack of the last calls: marked, and who called" "$(one "
	SELECT DISTINCT s.caller_only || ' ' || (SELECT group_concat(function, ' < ') FROM (SELECT function FROM callstack c
		WHERE c.stack_id = s.stack_id ORDER BY depth)) FROM call k JOIN stack s USING(stack_id)
	WHERE k.function = 'handle' AND k.ts > (SELECT max(ts) FROM call) - (SELECT (max(ts) - min(ts)) / 4 FROM call)")" \
	"1 handle < odd_caller"
# What lies on the stack and points into the program counts as a return address: here that changes for a while.
at_most "the other function's stacks" "$(one "SELECT count(*) FROM ($stacks = 'sane')")" 100
expect "those of them that are the caller alone" "$(one "SELECT count(*) FROM stack WHERE caller_only AND stack_id IN ($stacks = 'sane')")" 0
note "$(one "SELECT count(*) FROM ($stacks = 'handle')") stacks in 20,000 calls"

run 200 64
at_most "stacks in 200 processes" "$(one "SELECT count(*) FROM ($stacks = 'handle') JOIN stack USING(stack_id) WHERE NOT caller_only")" 1000
expect "the other function's that are the caller alone" "$(one "SELECT count(*) FROM stack WHERE caller_only AND stack_id IN ($stacks = 'sane')")" 0

run 1500 1
expect "the stacks of the functions of 1500 processes" "$(one "
	SELECT group_concat(DISTINCT (SELECT group_concat(function, ' < ') FROM (SELECT function FROM callstack c
		WHERE c.stack_id = k.stack_id AND depth < 3 ORDER BY depth))) FROM call k WHERE function = 'sane'")" "sane < work < main"
expect "those that are the caller alone" "$(one "SELECT count(*) FROM stack WHERE caller_only AND stack_id IN ($stacks = 'sane')")" 0
expect "the closing hint" "$(grep -c 'no frame pointers' "$tmp/log")" 0

run 11
of_branch="SELECT stack_id FROM callstack GROUP BY 1 HAVING sum(function = 'branch')"
expect "calls and stacks of recursion" "$(one "SELECT count(*) || ' ' || count(DISTINCT stack_id) FROM call WHERE function = 'sane'")" "4095 4095"
expect "the lengths of those" "$(one "SELECT group_concat(n || ' ' || calls) FROM (SELECT n, count(*) AS calls FROM (
	SELECT (SELECT count(*) FROM callstack c WHERE c.stack_id = k.stack_id AND function = 'branch') AS n
	FROM call k WHERE function = 'sane') GROUP BY n ORDER BY n)")" "$(for ((n = 1; n <= 12; n++)); do echo "$n $((1 << (n - 1)))"; done | paste -sd,)"
expect "their outermost function of the program" "$(one "SELECT DISTINCT function FROM callstack c JOIN ($of_branch) USING(stack_id) WHERE depth =
	(SELECT 1 + max(depth) FROM callstack WHERE stack_id = c.stack_id AND function = 'branch')")" main
at_least "stacks of those that slept" "$(one "SELECT count(DISTINCT stack_id) FROM callstack JOIN ($of_branch) USING(stack_id) WHERE function LIKE '%nanosleep%'")" 2000
expect "those of recursion that are the caller alone" "$(one "SELECT count(*) FROM stack JOIN ($of_branch) USING(stack_id) WHERE caller_only")" 0
expect "the closing hint" "$(grep -c 'no frame pointers' "$tmp/log")" 0

# Memory of its own, which only the recorder knows to be no code: it does when it begins with a process that runs.
mkfifo "$tmp/in"
"$tmp/garbage" 1 20000 mapped <"$tmp/in" >"$tmp/out" &
target=$!
pids+=($target)
exec 5>"$tmp/in"
wait_for grep -q PID "$tmp/out"
start_recorder "$tmp/log" -p $target -o "$tmp/garbage.cwc" "$tmp/garbage:handle"
echo go >&5
exec 5>&-
wait $target $recorder_pid
forget $target $recorder_pid
import garbage || finish
expect "calls with frames in other memory" "$(one "SELECT count(*) FROM call WHERE function = 'handle'")" 20000
at_most "stacks of those" "$(one "SELECT count(*) FROM ($stacks = 'handle')")" 600
finish
