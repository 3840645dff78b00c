#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Code that no file holds is labelled for what it is: the vdso, anonymous memory, code made at run time
# with and without a perf map, memory files.
# PARALLEL: files and names are compared.
# shellcheck disable=SC2154 # variables of lib.sh
. "$(dirname "$0")/../made_lib.sh"
cc=${CC:-gcc}
command -v "$cc" >/dev/null || skip "needs a C compiler"
cp "$build/workloads/code_maker" "$tmp/maker"

record_maker anon -- anonymous
expect "anonymous memory" "$(stack_of anon)" "leaf file < ? anonymous < main file"
record_maker jit -- anonymous $'%lx %lx made_at_run_time\n'
expect "a perf map" "$(stack_of jit)" "leaf file < made_at_run_time jit < main file"
[[ $(said jit jit) == '[anon] capture capture: perf map of 1 lines names 1 of 1 addresses' ]] || fail "jit: $(said jit jit)"
record_maker memfd -- memfd
expect "a memory file" "$(stack_of memfd)" "leaf file < ? memfd < main file"
[[ $(said memfd memfd) == /memfd:code* ]] || fail "memfd: $(said memfd memfd)"
record_maker memjit -- memfd $'junk\n%lx %lx in_a_memory_file(int, char)\n'
expect "a memory file with a perf map" "$(stack_of memjit)" "leaf file < in_a_memory_file(int, char) jit < main file"
record_maker shared -- shared
expect "memory that is shared" "$(stack_of shared)" "leaf file < ? shared memory < main file"
record_maker sharedjit -- shared $'%lx %lx in_shared_memory\n'
expect "shared memory with a perf map" "$(stack_of sharedjit)" "leaf file < in_shared_memory jit < main file"

# Two programs with code at what may be the same place of their memory: each is named by its own map.
rm -f "$tmp/in" "$tmp/in2"
mkfifo "$tmp/in" "$tmp/in2"
both=()
for i in 1 2; do
	setarch -R "$tmp/maker" anonymous $'%lx %lx made_by_'$i$'\n' <"$tmp/in${i#1}" >"$tmp/both$i.out" &
	both+=($!)
done
pids+=("${both[@]}")
exec 5>"$tmp/in" 6>"$tmp/in2"
for i in 1 2; do wait_for grep -q PID "$tmp/both$i.out"; done
start_recorder "$tmp/both.log" -p "${both[0]}" -p "${both[1]}" -o "$tmp/both.cwc" leaf
echo go >&5
echo go >&6
exec 5>&- 6>&-
wait $recorder_pid "${both[@]}"
forget $recorder_pid "${both[@]}"
rm -f "/tmp/perf-${both[0]}.map" "/tmp/perf-${both[1]}.map"
import both
expect "two programs with perf maps" "$(sqlite3 "$tmp/both.db" "SELECT group_concat(function || ' ' || n, ', ') FROM (
	SELECT p.pid = ${both[0]} AS first, c.function, count(*) AS n FROM slice s JOIN thread USING(utid) JOIN process p USING(upid)
	JOIN callstack c USING(stack_id) WHERE c.depth = 1 GROUP BY 1, 2 ORDER BY 2)")" "made_by_1 20, made_by_2 20"
expect "calls with the other program's name" "$(sqlite3 "$tmp/both.db" "SELECT count(*) FROM slice s JOIN thread USING(utid) JOIN process p USING(upid)
	JOIN callstack c USING(stack_id) WHERE c.depth = 1 AND (p.pid = ${both[0]}) <> (c.function = 'made_by_1')")" 0

# A perf map of garbage names nothing, and that is said.
garbage=$(head -c 3000 /dev/urandom | base64 -w 60 | sed 's/%/x/g')
record_maker garbage -- anonymous "$garbage"
expect "a perf map of garbage" "$(stack_of garbage)" "leaf file < ? jit < main file"
[[ $(said garbage jit) == *"names 0 of 1 addresses"* ]] || fail "garbage: $(said garbage jit)"
"$analyze" modules "$tmp/garbage.cwc" 2>/dev/null | grep -q 'capture: perf map of [0-9]* lines names 0 of 1 addresses' ||
	fail "modules does not say what the perf map gave: $("$analyze" modules "$tmp/garbage.cwc" 2>&1)"

# It may be one that only the program sees: in mount and PID namespaces of its own, by its own PID.
if unshare -pfm --mount-proc true 2>/dev/null; then
	record_maker inside unshare -pfm --mount-proc sh -c 'mount -t tmpfs none /tmp/ 2>/dev/null; mkdir -p "${0%/*}";
		cp /proc/self/fd/7 "$0" && chmod 755 "$0" && "$0" "$@"; exit $?' 7<"$tmp/maker" -- \
		anonymous $'%lx %lx seen_inside_only\n'
	expect "a perf map in a mount namespace" "$(stack_of inside)" "leaf file < seen_inside_only jit < main file"
fi

# A signal that comes while a program asks the vdso for the time: its frame has the vdso's name and symbol.
cat >"$tmp/asker.c" <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <sys/time.h>
#include <time.h>
static volatile int seen;
__attribute__((noipa)) void leaf(void) { seen++; __asm__ volatile(""); }
static void on_alarm(int sig) { (void)sig; leaf(); __asm__ volatile(""); }
__attribute__((noipa)) void ask(void)
{
	struct timespec ts;
	while (seen < 100)
		clock_gettime(CLOCK_MONOTONIC, &ts);
}
int main(void)
{
	const struct itimerval every = {{0, 5000}, {0, 5000}};
	signal(SIGALRM, on_alarm);
	setitimer(ITIMER_REAL, &every, NULL);
	ask();
	return 0;
}
END
"$cc" -O1 -g -o "$tmp/asker" "$tmp/asker.c" || fail "cannot compile the asker"
"$record" -o "$tmp/vdso.cwc" --stack dwarf --exec "$tmp/asker" leaf >/dev/null 2>"$tmp/vdso.log" || fail "vdso: $(cat "$tmp/vdso.log")"
import vdso
in_vdso=$(sqlite3 "$tmp/vdso.db" "SELECT count(*) FROM slice s WHERE EXISTS (
	SELECT 1 FROM callstack v JOIN callstack o USING(stack_id) WHERE v.stack_id = s.stack_id AND v.module = '[vdso]'
	AND v.function GLOB '*clock_gettime*' AND o.depth > v.depth AND o.function = 'ask')")
at_least "calls below the vdso's clock_gettime and ask, of 100" "$in_vdso" 20
# It has symbols of what it exports: one of 5.10 has a function beside that, which those call.
expect "frames of the vdso without a name, which none with a name called" "$(sqlite3 "$tmp/vdso.db" "SELECT count(*) FROM callstack i
	WHERE module = '[vdso]' AND function IS NULL AND NOT EXISTS (SELECT 1 FROM callstack o WHERE o.stack_id = i.stack_id
		AND o.depth = i.depth + 1 AND o.module = '[vdso]' AND o.function IS NOT NULL)")" 0
expect "what the vdso is called" "$(sqlite3 "$tmp/vdso.db" "SELECT DISTINCT kind || ' ' || names_from FROM module_source WHERE name = '[vdso]' AND frames > 0")" "vdso capture"

# Programs with one build id, which somebody copied, two of them of one size: each keeps its own names.
for which in first second third; do
	cat >"$tmp/$which.c" <<END
#include <unistd.h>
$([ $which = second ] && echo 'char much[3] = "x"; __attribute__((noipa)) int padding(int a) { return a * 3 + much[a & 1]; }')
__attribute__((noipa)) void leaf(void) { __asm__ volatile(""); }
__attribute__((noipa)) void of_the_$which(void) { leaf(); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 10; i++) { of_the_$which(); usleep(1000); } return 0; }
END
	"$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 \
		-o "$tmp/$which" "$tmp/$which.c" || fail "cannot compile $which"
done
expect "sizes of two of them" "$(stat -c %s "$tmp/first")" "$(stat -c %s "$tmp/third")"
# And when only the names of functions are others: the same size, the same end of the file.
{
	echo '#include <unistd.h>'
	for i in {1..200}; do echo "int name_that_takes_room_at_the_end_of_the_table_of_names_$i;"; done
	cat <<'END'
__attribute__((noipa)) void leaf(void) { __asm__ volatile(""); }
__attribute__((noipa)) static void called_often(void) { leaf(); __asm__ volatile(""); }
__attribute__((noipa)) static void called_twice(void) { leaf(); __asm__ volatile(""); }
int main(void) { for (int i = 0; i < 10; i++) { called_often(); usleep(1000); } called_twice(); called_twice(); return 0; }
END
} >"$tmp/fourth.c"
"$cc" -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id=0x0123456789abcdef0123456789abcdef01234567 \
	-o "$tmp/fourth" "$tmp/fourth.c" || fail "cannot compile fourth"
LC_ALL=C sed 's/called_often/called_never/; s/called_twice/called_often/; s/called_never/called_twice/' "$tmp/fourth" >"$tmp/fifth"
chmod 755 "$tmp/fifth"
cmp -s "$tmp/fourth" "$tmp/fifth" && fail "fourth and fifth are the same"
cmp -s <(tail -c 8192 "$tmp/fourth") <(tail -c 8192 "$tmp/fifth") || fail "fourth and fifth have different ends"
printf '#!/bin/sh\nfor p in first second third fourth fifth; do "%s/$p"; done\n' "$tmp" >"$tmp/in_turn"
chmod 755 "$tmp/in_turn"
"$record" -o "$tmp/copied.cwc" -f --exec "$tmp/in_turn" "$tmp/first:leaf" "$tmp/second:leaf" "$tmp/third:leaf" "$tmp/fourth:leaf" \
	"$tmp/fifth:leaf" >"$tmp/copied.log" 2>&1 || fail "copied: $(cat "$tmp/copied.log")"
rm -f "$tmp/first" "$tmp/second" "$tmp/third" "$tmp/fourth" "$tmp/fifth"
import copied
expect "callers in programs with one build id" "$(sqlite3 "$tmp/copied.db" "SELECT group_concat(x, ', ') FROM (
	SELECT c.module || ' ' || coalesce(c.function, '?') || ' ' || count(*) AS x FROM slice s JOIN callstack c USING(stack_id)
	WHERE c.depth = 1 GROUP BY c.module, c.function ORDER BY 1)")" \
	"fifth called_often 2, fifth called_twice 10, first of_the_first 10, fourth called_often 10, fourth called_twice 2, second of_the_second 10, third of_the_third 10"

# Another user's file says nothing about a program.
cat >"$tmp/foreign.sh" <<'END'
"$1" anonymous <"$2" &
printf '1 ffffffffffff not_to_be_believed\n' >"/tmp/perf-$!.map"
chown 65534 "/tmp/perf-$!.map"
wait
rm -f "/tmp/perf-$!.map"
END
rm -f "$tmp/in"
mkfifo "$tmp/in"
bash "$tmp/foreign.sh" "$tmp/maker" "$tmp/in" >"$tmp/foreign.out" 2>&1 &
started=$!
pids+=($started)
exec 5>"$tmp/in"
wait_for grep -q PID "$tmp/foreign.out"
maker=$(sed -n 's/PID //p' "$tmp/foreign.out")
start_recorder "$tmp/foreign.log" -p "$maker" -o "$tmp/foreign.cwc" leaf
echo go >&5
exec 5>&-
wait $recorder_pid $started
import foreign
expect "another user's perf map" "$(stack_of foreign)" "leaf file < ? anonymous < main file"

finish
