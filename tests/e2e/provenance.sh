#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Code that no file holds is labelled for what it is: the vdso, anonymous memory, code made at run time
# with and without a perf map, memory files, text that was moved to other pages.
# PARALLEL: files and names are compared.
. "$(dirname "$0")/../lib.sh"
need_tracing
cc=${CC:-gcc}
command -v "$cc" >/dev/null || skip "needs a C compiler"
[ "$(uname -m)" = x86_64 ] || skip "has machine code of x86-64"

# leaf is called by eight bytes of code that were made at run time: in anonymous memory or in a memory
# file. How long they are to stay, and what is said of them in a perf map, the arguments say.
cat >"$tmp/maker.c" <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
__attribute__((noipa)) void leaf(void) { __asm__ volatile(""); }
int main(int argc, char **argv)
{
	int memory_file = !strcmp(argv[1], "memfd");
	int fd = memory_file ? memfd_create("code", 0) : -1;
	unsigned char *page;
	char path[64], line[8];
	FILE *map;

	if (fd >= 0 && ftruncate(fd, 4096))
		return 1;
	page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, fd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS, fd, 0);
	memcpy(page + 64, code, sizeof(code));
	mprotect(page, 4096, PROT_READ | PROT_EXEC);
	if (argc > 2) {
		snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
		map = fopen(path, "w");
		fprintf(map, argv[2], (unsigned long)page + 64, (unsigned long)sizeof(code));
		fclose(map);
	}
	printf("PID %d\n", getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 20; i++) {
		((void (*)(void (*)(void)))(page + 64))(leaf);
		usleep(1000);
	}
	return 0;
}
END
"$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/maker" "$tmp/maker.c" || fail "cannot compile"

# Record NAME: a maker with these arguments, started by a command in front of it, if any.
record_maker() { # NAME [COMMAND...] -- ARGUMENTS
	local name=$1 before=()
	shift
	while [ "$1" != -- ]; do
		before+=("$1")
		shift
	done
	shift
	rm -f "$tmp/in" "$tmp/$name.out" # the word of the one before is not this one's
	mkfifo "$tmp/in"
	"${before[@]}" "$tmp/maker" "$@" <"$tmp/in" >"$tmp/$name.out" 2>&1 &
	started=$!
	pids+=($started)
	exec 5>"$tmp/in"
	wait_for grep -q PID "$tmp/$name.out"
	maker=$(for pid in $(pgrep -x maker); do # others may test the same
		[[ $(readlink "/proc/$pid/exe") != *"$tmp/maker" ]] || echo "$pid"
	done | tail -n 1)
	pids+=("$maker")
	start_recorder "$tmp/$name.log" -p "$maker" -o "$tmp/$name.cwc" "${target:-leaf}"
	echo go >&5
	exec 5>&-
	wait $recorder_pid
	expect "$name: recorder's exit status" $? 0
	wait $started
	rm -f "/tmp/perf-$maker.map"
	forget $recorder_pid $started "$maker"
	import "$name"
}
stack_of() { # NAME: functions from leaf on, with their modules' kinds
	sqlite3 -batch "$tmp/$1.db" "SELECT group_concat(coalesce(function, '?') || ' ' || kind, ' < ') FROM
		(SELECT c.function, s.kind FROM callstack c JOIN stack_frame f USING(stack_id, depth) JOIN frame g USING(frame_id)
			JOIN module_source s USING(module_id)
		 WHERE c.stack_id = (SELECT stack_id FROM slice LIMIT 1) AND c.depth < 3 ORDER BY c.depth)"
}
said() { # NAME KIND: what is said of the module of this kind
	"$analyze" sql "$tmp/$1.cwc" --format csv "SELECT path || ' ' || coalesce(names_from, 'none') || ' ' || coalesce(tried, '')
		FROM module_source WHERE kind = '$2' AND frames > 0" | tail -n +2 | tr -d '\r"'
}

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

# Text that was moved to huge pages, before the recording and while it runs, has the names of its file. Programs
# either put other memory in its place and copy it back, or copy it elsewhere and move that over it.
cat >"$tmp/mover.c" <<'END'
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#define SIZE  (2ul << 20)
#define MOVED __attribute__((noipa, section(".moved")))
void leaf(void);
static char room[SIZE];
/* Some of the text stays where it was: before what is moved, and behind it. */
__asm__(".section .moved,\"ax\"\nnop\n.p2align 21\n.text");
MOVED void moved_inner(void) { leaf(); __asm__ volatile(""); }
MOVED void moved_outer(void) { moved_inner(); __asm__ volatile(""); }
__asm__(".section .moved,\"ax\"\n.p2align 21\nnop\n.text");
__attribute__((noipa)) void leaf(void) { __asm__ volatile(""); }
static void copy_back(char *from)
{
	memcpy(room, from, SIZE);
	mmap(from, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	madvise(from, SIZE, MADV_HUGEPAGE);
	memcpy(from, room, SIZE);
	mprotect(from, SIZE, PROT_READ | PROT_EXEC);
}
static void move_over(char *from)
{
	char *to = mmap(NULL, 2 * SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	to = (char *)(((unsigned long)to + SIZE - 1) & -SIZE);
	madvise(to, SIZE, MADV_HUGEPAGE);
	memcpy(to, from, SIZE);
	mprotect(to, SIZE, PROT_READ | PROT_EXEC);
	if (mremap(to, SIZE, SIZE, MREMAP_MAYMOVE | MREMAP_FIXED, from) != from)
		perror("mremap");
}
static void move_text(const char *how)
{
	char *from = (char *)((unsigned long)moved_inner & -SIZE);
	strcmp(how, "over") ? copy_back(from) : move_over(from);
}
int main(int argc, char **argv)
{
	char line[8];
	(void)argc;
	if (!strcmp(argv[1], "before"))
		move_text(argv[2]);
	printf("PID %d\n", getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	if (!strcmp(argv[1], "during"))
		move_text(argv[2]);
	/* Memory that is moved over text is looked for in growing distances. */
	usleep(!strcmp(argv[1], "during") && !strcmp(argv[2], "over") ? 1000000 : 300000);
	for (int i = 0; i < 20; i++) {
		moved_outer();
		usleep(1000);
	}
	if (!strcmp(argv[1], "last")) {
		move_text(argv[2]);
		puts("MOVED");
		fflush(stdout);
		sleep(60);
	}
	return 0;
}
END
"$cc" -O1 -g -fno-toplevel-reorder -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/maker" "$tmp/mover.c" || fail "cannot compile the mover"
for how in "before back" "during back" "before over" "during over"; do
	# shellcheck disable=SC2086
	record_maker moved -- $how
	expect "text moved $how" "$(stack_of moved)" "leaf file < moved_inner file < moved_outer file"
	expect "processes that moved text, $how" "$(sqlite3 "$tmp/moved.db" "SELECT moved FROM module_source WHERE name = 'maker'")" 1
	"$analyze" modules "$tmp/moved.cwc" 2>/dev/null | grep -q "/maker \[moved to other pages\]" || fail "modules does not say that text was moved"
done
# At the end everything is looked at once more. Seven tenths of a second after the beginning nothing is due for 0.8 s.
rm -f "$tmp/in"
mkfifo "$tmp/in"
"$tmp/maker" last over <"$tmp/in" >"$tmp/last.out" 2>&1 &
maker=$!
pids+=($maker)
exec 5>"$tmp/in"
wait_for grep -q PID "$tmp/last.out"
start_recorder "$tmp/last.log" -p "$maker" -o "$tmp/last.cwc" leaf
sleep 0.5
echo go >&5
exec 5>&-
wait_for grep -q MOVED "$tmp/last.out"
kill -INT $recorder_pid
wait $recorder_pid
expect "last: recorder's exit status" $? 0
kill $maker
wait $maker 2>/dev/null
forget $recorder_pid $maker
import last
expect "text moved right before the end" "$(stack_of last)" "leaf file < moved_inner file < moved_outer file"
expect "processes that moved text right before the end" "$(sqlite3 "$tmp/last.db" "SELECT moved FROM module_source WHERE name = 'maker'")" 1
# The same when all of a program's text, or its first pages, were moved before the recording: nothing of it is mapped
# from the file beside it, but other parts of the file are. Whoever moves it is a library, which calls it, too.
cat >"$tmp/holder.c" <<'END'
#include <stdio.h>
#include <unistd.h>
void leaf(void);
void move_text(const char *how, void *inner);
/* The text goes on for more pages. */
__asm__(".section .text.zz,\"ax\"\n.fill 20000, 1, 0x90\n.text");
__attribute__((noipa)) void moved_inner(void) { leaf(); __asm__ volatile(""); }
__attribute__((noipa)) void moved_outer(void) { moved_inner(); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	char line[8];
	(void)argc;
	printf("PID %d\n", getpid());
	move_text(argv[1], (void *)moved_inner);
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 20; i++) {
		moved_outer();
		usleep(1000);
	}
	return 0;
}
END
cat >"$tmp/libmove.c" <<'END'
#define _GNU_SOURCE
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
/* push %rbp; mov %rsp,%rbp; call *%rdi; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
static char *start, *end;
__attribute__((noipa)) void leaf(void) { __asm__ volatile(""); }
/* The program is the first. */
static int first(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	(void)arg;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		if (ph->p_type != PT_LOAD || !(ph->p_flags & PF_X))
			continue;
		start = (char *)((info->dlpi_addr + ph->p_vaddr) & -4096ul);
		end = (char *)((info->dlpi_addr + ph->p_vaddr + ph->p_memsz + 4095) & -4096ul);
	}
	return 1;
}
static __attribute__((noipa)) void run_other(char *inner)
{
	char line[8];
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		exit(1);
	for (int i = 0; i < 20; i++) {
		((void (*)(void (*)(void)))inner)(leaf);
		usleep(1000);
	}
	_exit(0);
}
/* Where there is other code then, that is no text that was moved. */
void move_text(const char *how, void *inner)
{
	dl_iterate_phdr(first, NULL);
	if (!strcmp(how, "head"))
		end = (char *)(((unsigned long)inner + 0x1000) & -4096ul) + 4096;
	size_t size = (size_t)(end - start);
	char *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(to, start, size);
	if (!strcmp(how, "other")) {
		memset(to, 0xcc, size);
		memcpy(to + ((char *)inner - start), code, sizeof(code));
	}
	mprotect(to, size, PROT_READ | PROT_EXEC);
	if (mremap(to, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, start) != start)
		perror("mremap");
	if (!strcmp(how, "other"))
		run_other(inner);
}
END
"$cc" -O1 -g -shared -fPIC -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/libmove.so" "$tmp/libmove.c" || fail "cannot compile libmove.so"
for how in "whole separate-code" "whole noseparate-code" "whole lld" "head separate-code" "head lld" "other separate-code"; do
	link=-Wl,-z,${how#* }
	[ "$link" != -Wl,-z,lld ] || link=-fuse-ld=lld
	[ "$link" != -fuse-ld=lld ] || command -v ld.lld >/dev/null || continue
	"$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls "$link" -Wl,-rpath,"$tmp" -o "$tmp/maker" "$tmp/holder.c" "$tmp/libmove.so" ||
		fail "cannot compile the holder"
	target=libmove.so:leaf record_maker moved -- "${how% *}"
	if [ "${how% *}" = other ]; then
		expect "other code where text was" "$(stack_of moved)" "leaf file < ? anonymous < run_other file"
		continue
	fi
	expect "text moved, $how" "$(stack_of moved)" "leaf file < moved_inner file < moved_outer file"
	expect "processes that moved text, $how" "$(sqlite3 "$tmp/moved.db" "SELECT moved FROM module_source WHERE name = 'maker'")" 1
done
"$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/maker" "$tmp/maker.c"

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
