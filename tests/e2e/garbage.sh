#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A program that looks as if it had frame pointers, and has something else in that register when the
# function is called: a walk gives another stack every time. The recorder notices, and keeps the address
# and the caller from then on.
# PARALLEL: stacks are counted.
. "$(dirname "$0")/../lib.sh"
need_tracing
[ "$(uname -m)" = x86_64 ] || skip "the program is for x86-64"
cc=${CC:-gcc}
command -v "$cc" >/dev/null || skip "needs a C compiler"

cat >"$tmp/garbage.c" <<'END'
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) void handle(uint64_t n) { __asm__ volatile("" :: "r"(n)); }
__attribute__((noipa)) void sane(uint64_t n) { __asm__ volatile("" :: "r"(n)); }
/* Calls handle with a frame pointer that leads to a made-up return address. */
void odd_caller(uint64_t n, void *frame);
__asm__(".text\n.globl odd_caller\n.type odd_caller, @function\n"
	"odd_caller:\n\tpush %rbp\n\tmov %rsi, %rbp\n\tcall handle\n\tpop %rbp\n\tret\n"
	".size odd_caller, . - odd_caller\n");
int main(void)
{
	uint64_t frame[2] = {0, 0};

	printf("PID %d\n", getpid());
	for (uint64_t i = 0; i < 20000; i++) {
		frame[1] = (uint64_t)main + i * 16;
		odd_caller(i, frame);
		sane(i);
	}
	return 0;
}
END
"$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/garbage" "$tmp/garbage.c" || fail "cannot compile"
"$record" -o "$tmp/garbage.cwc" --exec "$tmp/garbage" handle sane >"$tmp/out" 2>"$tmp/log" || fail "$(cat "$tmp/log")"
import garbage || finish
one() { sqlite3 -batch "$tmp/garbage.db" "$1"; }
expect "calls" "$(one "SELECT group_concat(function || ' ' || n) FROM (SELECT function, count(*) AS n FROM call GROUP BY 1 ORDER BY 1)")" \
	"handle 20000,sane 20000"
stacks="SELECT DISTINCT stack_id FROM call WHERE function"
at_least "stacks before it is noticed" "$(one "SELECT count(*) FROM ($stacks = 'handle')")" 100
at_most "stacks in all" "$(one "SELECT count(*) FROM ($stacks = 'handle')")" 1000
expect "the stack of the last calls: marked, and who called" "$(one "
	SELECT DISTINCT s.caller_only || ' ' || (SELECT group_concat(function, ' < ') FROM (SELECT function FROM callstack c
		WHERE c.stack_id = s.stack_id ORDER BY depth)) FROM call k JOIN stack s USING(stack_id)
	WHERE k.function = 'handle' AND k.ts > (SELECT max(ts) FROM call) - (SELECT (max(ts) - min(ts)) / 4 FROM call)")" \
	"1 handle < odd_caller"
# What lies on the stack and points into the program counts as a return address: here that changes for a while.
at_most "the other function's stacks" "$(one "SELECT count(*) FROM ($stacks = 'sane')")" 100
expect "those of them that are the caller alone" "$(one "SELECT count(*) FROM stack WHERE caller_only AND stack_id IN ($stacks = 'sane')")" 0
note "$(one "SELECT count(*) FROM ($stacks = 'handle')") stacks in 20,000 calls"
finish
