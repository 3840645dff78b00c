#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A program that looks as if it had frame pointers, and has something else in that register when the
# function is called: a walk gives another stack every time. The recorder notices, and keeps the address
# and the caller from then on, whichever CPUs and processes the calls are spread over. The first stack of
# a process is new as well: that many processes have one each says nothing about frame pointers.
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
#include <sys/wait.h>
#include <unistd.h>
__attribute__((noipa)) void handle(uint64_t n) { __asm__ volatile("" :: "r"(n)); }
__attribute__((noipa)) void sane(uint64_t n) { __asm__ volatile("" :: "r"(n)); }
/* Calls handle with a frame pointer that leads to a made-up return address. */
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
		frame[1] = (uint64_t)work + i * 16;
		odd_caller(i, frame);
		sane(i);
	}
	sched_setaffinity(0, sizeof(all), &all);
}
int main(int argc, char **argv)
{
	uint64_t calls = argc > 2 ? atoi(argv[2]) : 0;

	printf("PID %d\n", getpid());
	fflush(stdout);
	for (uint64_t i = 0; i < (uint64_t)atoi(argv[1]); i++) {
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
# run PROCESSES CALLS: so many processes one after the other, with so many calls each.
run() {
	"$record" -o "$tmp/garbage.cwc" -f --exec "$tmp/garbage" handle sane -- "$@" >"$tmp/out" 2>"$tmp/log" || fail "$(cat "$tmp/log")"
	import garbage || finish
	expect "calls of $*" "$(one "SELECT group_concat(function || ' ' || n) FROM (SELECT function, count(*) AS n FROM call GROUP BY 1 ORDER BY 1)")" \
		"handle $(($1 * $2)),sane $(($1 * $2))"
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
finish
