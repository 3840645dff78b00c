#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Probes that were moved behind their entry, under the kernel's own breakpoints: every function is
# called 20 times with eight known arguments from one place. Counts, arguments, callers and returns
# must be right wherever the probe is, and a probe stays where a loop or a jump leads into what would
# be skipped.
# PARALLEL: calls and arguments are counted.
. "$(dirname "$0")/../lib.sh"
need_tracing
[ "$(uname -m)" = x86_64 ] || skip "probes are moved on x86-64 only"
cd "$tmp" || exit 1

cat >many.c <<'END_C'
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#define F __attribute__((noipa)) long
static volatile long sink;
/* Not probed. */
F inner(long a, long b, long c) { return a * b + c; }
F inner_length(const char *s) { long n = 0; while (*s++) n++; return n; }
F inner6(long a, long b, long c, long d, long e, long f) { return a + b * c + d * e + f; }
F inner_pair(long *p) { return p[0] + p[1]; }
F tailed(long a, long b) { return inner(a, b, 5); }
F filled(long a, long b, long c) { return inner6(a, b, c, 7, 8, 9); }
F early(const char *p, long n) { if (!p) return n; return inner_length(p) * n; }
F compared(long a, long b, long c, long d, long e, long f, long g, long h) { return h > 100 ? inner6(a, b, c, d, e, f) : g; }
F local(long a, long b) { long p[6] = {a, b}; return inner_pair(p); }
F absent(void) { long p[4] = {sink, 2}; return inner_pair(p) + inner6(1, 2, 3, 4, 5, 6); }

F plain(long a, long b, long c) { return a * b + c; }
F length(const char *s) { long n = 0; while (*s++) n++; return n; }
F loop(long a, long n) { n &= 15; do a = a * 3 + n; while (--n > 0); return a; }
F spin(const char *s, long n, long c) { long r = 0; for (;;) { if (*s == c) r++; if (!*s++) return r + n; } }
F branch(const char *p, long b, long x) {
	switch (x & 7) { case 0: return b; case 1: return 7; case 2: return *p; case 3: return b * 3; case 4: return b ^ x;
	case 5: return b - x; case 6: return b << 2; default: return x; } }
F callee(volatile long *p) { return *p + 1; }
F frame(long a, long b) { volatile long v[40]; v[3] = b; return callee(&v[3]) + b + a; }
F many(long a, long b, long c, long d, long e, long f, long g, long h) { return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + (g ^ h); }
F pass(long a, long b) { return many(a, b, 7, 8, 9, 10, 11, 12); }
F turn(long a, long b, long c, long d) { return many(d, c, b, a, 1, 2, 3, 4); }
F ignore(long a, long b, long c) { (void)b; return inner(c, a, 5); }
F second(long a, long b) { (void)a; return inner(b, 3, 5); }
F eighth(long a, long b, long c, long d, long e, long f, long g, long h) { sink = g; return h > 4 ? a + b : c + d + e + f; }
F varied(const char *p, long n, ...) { va_list v; long r = *p; va_start(v, n); r += va_arg(v, long); va_end(v); return r; }
F guard(const char *p, long n) { char s[40]; memcpy(s, p, 8); s[n & 7] = 0; return inner_length(s); }
F store(const char *p, long n) { sink = n; return sink + *p; }
/* Nothing but the entry and the head of a loop: `xor; head: add; sub; jg head; push; pop; ret`. */
__asm__(".text; .globl head; .type head, @function; head: xor %eax, %eax; mov $3, %r11d; 1: add %rsi, %rax; sub $1, %r11d; jg 1b;"
	"push %rbx; pop %rbx; ret; .size head, . - head");
/* Another way in behind the entry, taken by a caller that this function does not know. */
__asm__(".globl second_way; second_way: xor %eax, %eax; jmp .Lbehind; .size second_way, . - second_way;"
	".globl two_ways; .type two_ways, @function; two_ways: xor %eax, %eax; .Lbehind: add %rsi, %rax; push %rbx; pop %rbx;"
	"test %eax, %eax; js .Lbehind; ret; .size two_ways, . - two_ways");
long head(void), two_ways(void);
typedef long (*any)(const char *, long, long, long, long, long, long, long);
#define N(f) {#f, (any)(void *)f}
static const struct { const char *name; any f; } all[] = {
	N(plain), N(length), N(loop), N(spin), N(branch), N(frame), N(pass), N(turn), N(ignore), N(second), N(eighth), N(varied),
	N(guard), N(tailed), N(filled), N(early), N(compared), N(local), N(absent), N(store), N(head), N(two_ways) };
static const char text[] = "some text to look at";
__attribute__((noipa)) long drive(any f, long i) { long r = f(text, 3 * i, 5 * i, 7 * i, 11 * i, 13 * i, 17 * i, 19 * i); sink = r; return r; }
int main(void)
{
	printf("text %ld\n", (long)text);
	for (unsigned k = 0; k < sizeof(all) / sizeof(all[0]); k++)
		for (long i = 1; i <= 20; i++)
			drive(all[k].f, i);
	return 0;
}
END_C
# Arguments of each function that are passed in registers.
cat >arity.sql <<'END_SQL'
CREATE TEMP TABLE arity(function, n);
INSERT INTO arity VALUES ('plain', 3), ('length', 1), ('loop', 2), ('spin', 3), ('branch', 3), ('frame', 2), ('pass', 2),
	('turn', 4), ('ignore', 3), ('second', 2), ('eighth', 6), ('varied', 2), ('guard', 2), ('tailed', 2), ('filled', 3), ('early', 2),
	('compared', 6), ('local', 2), ('absent', 0), ('store', 2), ('head', 2), ('two_ways', 2);
END_SQL
functions=(tailed filled early compared local absent plain length loop spin branch frame pass turn ignore second eighth varied guard store head two_ways)
moved=0
# Arguments: the first is the text's address; the n-th is a prime times the number of the call. One
# that is not there must be one that the function does not have.
check() { # NAME
	local name=$1 text
	text=$(sed -n 's/^text //p' "$name.out")
	import "$name" || return
	expect "$name: what is wrong" "$({
		cat arity.sql
		cat <<END_SQL
WITH c AS (SELECT row_number() OVER (PARTITION BY function ORDER BY ts) AS i, * FROM call)
SELECT function || ': ' || count(*) || ' calls' FROM arity LEFT JOIN c USING(function) GROUP BY function HAVING count(c.i) <> 20
UNION ALL
SELECT function || ' call ' || i || ': ' || concat FROM (SELECT c.function, i, n,
	coalesce(arg1, '-') || ' ' || coalesce(arg2, '-') || ' ' || coalesce(arg3, '-') || ' ' || coalesce(arg4, '-') || ' ' ||
	coalesce(arg5, '-') || ' ' || coalesce(arg6, '-') || ' ' || arg7 || ' ' || arg8 AS concat
	FROM c JOIN arity USING(function)
	WHERE coalesce(arg1, iif(n >= 1, -1, $text)) <> $text OR coalesce(arg2, iif(n >= 2, -1, 3 * i)) <> 3 * i
		OR coalesce(arg3, iif(n >= 3, -1, 5 * i)) <> 5 * i OR coalesce(arg4, iif(n >= 4, -1, 7 * i)) <> 7 * i
		OR coalesce(arg5, iif(n >= 5, -1, 11 * i)) <> 11 * i OR coalesce(arg6, iif(n >= 6, -1, 13 * i)) <> 13 * i
		OR arg7 IS NOT 17 * i OR arg8 IS NOT 19 * i LIMIT 3)
UNION ALL
SELECT function || ': ' || count(*) || ' not from drive' FROM c WHERE NOT EXISTS (
	SELECT 1 FROM callstack s WHERE s.stack_id = c.stack_id AND s.depth = 1 AND s.function = 'drive') GROUP BY function
UNION ALL
SELECT function || ' was moved' FROM probe WHERE function IN ('head', 'two_ways') AND placed <> offset;
END_SQL
	} | sqlite3 -batch "$name.db")" ""
	moved=$((moved + $(sqlite3 "$name.db" "SELECT count(*) FROM probe WHERE placed <> offset")))
}
n=0
compilers=("gcc -O1" "gcc -Os" "gcc -O2 -fcf-protection=full" "gcc -O2 -fno-omit-frame-pointer" "clang -Os" "clang -O1")
for compiler in "${compilers[@]}"; do
	command -v "${compiler%% *}" >/dev/null || { note "no ${compiler%% *} here"; continue; }
	n=$((n + 1))
	$compiler -g -w -o many$n many.c || { fail "$compiler: cannot compile"; continue; }
	for kind in entries returns; do
		options=()
		[ $kind = entries ] || options=(--ret --time)
		"$record" -o "$n-$kind.cwc" "${options[@]}" --exec ./many$n "${functions[@]}" >"$n-$kind.out" 2>"$n-$kind.log" ||
			{ fail "$compiler, $kind: $(tail -n 1 "$n-$kind.log")"; continue; }
		check "$n-$kind"
	done
	expect "$compiler: finished calls" "$(sqlite3 "$n-returns.db" "SELECT sum(dur > 0) FROM slice")" \
		"$(sqlite3 "$n-returns.db" "SELECT count(*) FROM slice")"
	# An argument that is not there is null, not 0.
	expect "$compiler: calls without an argument in JSONL" "$("$analyze" "$n-entries.cwc" --format jsonl 2>/dev/null | grep -c '"args":\[[^]]*null')" \
		"$(sqlite3 "$n-entries.db" "SELECT count(*) FROM slice WHERE arg1 IS NULL
			OR arg2 IS NULL OR arg3 IS NULL OR arg4 IS NULL OR arg5 IS NULL OR arg6 IS NULL")"
	# What stays single-stepped is named in the report.
	"$analyze" "$n-entries.db" >report.txt 2>/dev/null
	for function in $(sqlite3 "$n-entries.db" "SELECT function FROM probe WHERE single_stepped"); do
		sed -n '/^slow /,/single-stepped/p' report.txt | grep -qw "$function" || fail "$compiler: the report does not say that $function is slow"
	done
	sqlite3 "$n-entries.db" "SELECT count(*) FROM probe WHERE single_stepped AND function = 'head'" | grep -qx 1 ||
		fail "$compiler: head is not named as single-stepped"
done
at_least "probes that were moved" $moved $((n * 8))
note "$n compilers: $moved probes moved, each with 20 of 20 calls"
finish
