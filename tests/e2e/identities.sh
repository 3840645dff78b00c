#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Which program it was: targets that are gone before the recorder is, deleted, replaced by another build
# under the same path, hidden by a mount that others do not see, that become another program of the same
# name or get the process id of one, and libraries that come late. Programs are built at fixed addresses,
# and each has names of its own: whoever mixes two up has wrong names.
# PARALLEL: processes and calls are counted.
. "$(dirname "$0")/../lib.sh"
need_tracing
cc=${CC:-gcc}
command -v "$cc" >/dev/null || skip "needs a C compiler"

cat >"$tmp/who.c" <<'END'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#define JOIN(a, b) a##b
#define NAME(a, b) JOIN(a, b)
#define NOIPA __attribute__((noipa))
NOIPA void NAME(nap_, WHO)(void)
{
	struct timespec t = {.tv_nsec = 1000000};
	clock_nanosleep(CLOCK_MONOTONIC, 0, &t, NULL);
	__asm__ volatile("");
}
#ifndef LIBRARY
NOIPA void NAME(step_, WHO)(void) { NAME(nap_, WHO)(); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	char line[8];
	printf("PID %d\n", getpid());
	fflush(stdout);
	if (!strcmp(argv[1], "wait") && !fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 0; i < 5; i++)
		NAME(step_, WHO)();
	if (argc > 2 && !strcmp(argv[2], "fork") && !fork())
		for (int i = 0; i < 7; i++)
			NAME(step_, WHO)();
	if (argc > 3 && !strcmp(argv[2], "load"))
		((void (*)(void))dlsym(dlopen(argv[3], RTLD_NOW), "nap_library"))();
	if (argc > 3 && !strcmp(argv[2], "become"))
		execl(argv[3], argv[3], "go", NULL);
	return 0;
}
#endif
END
build() { # PATH NAME FLAGS...
	local path=$1 name=$2
	shift 2
	mkdir -p "${path%/*}"
	"$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -Wl,--build-id -DWHO="$name" "$@" -o "$path" "$tmp/who.c" -ldl ||
		fail "cannot compile $name"
}
build "$tmp/one/who" alpha -no-pie
build "$tmp/two/who" beta -no-pie -DPADDING
build "$tmp/lib/liblate.so" library -shared -fPIC -DLIBRARY
libc=(--stack dwarf libc.so.6:clock_nanosleep)

start() { # PROGRAM ARGUMENTS...: it waits for a line; its pid in $target
	rm -f "$tmp/in" "$tmp/target"
	mkfifo "$tmp/in"
	"$@" <"$tmp/in" >"$tmp/target" 2>&1 &
	started=$!
	pids+=($started)
	exec 5>"$tmp/in"
	wait_for grep -q PID "$tmp/target"
}
go() {
	echo go >&5
	exec 5>&-
}
stop() { # NAME
	wait $recorder_pid
	expect "$1: recorder's exit status" $? 0
	wait $started 2>/dev/null
	forget $recorder_pid $started
	said_lost "$tmp/$1.log" && fail "$1: $lost"
	import "$1"
}
# Distinct stacks of the probed function from its caller on, with how often each, and whose they are.
stacks() { # NAME [WHERE]
	sqlite3 -batch "$tmp/$1.db" "SELECT group_concat(line, '; ') FROM (SELECT count(*) || ' ' || s.stack AS line FROM (
		SELECT s.ts, (SELECT group_concat(function, ' < ') FROM (SELECT function FROM callstack c WHERE c.stack_id = s.stack_id
			AND (function GLOB 'nap_*' OR function GLOB 'step_*' OR function = 'main') ORDER BY depth, inline_depth)) AS stack
		FROM slice s JOIN thread t USING(utid) JOIN process p USING(upid) ${2:+WHERE $2}) s GROUP BY s.stack ORDER BY min(s.ts))"
}
from() { # NAME PATH: what served the names of the module with this path
	sqlite3 -batch "$tmp/$1.db" "SELECT group_concat(coalesce(names_from, 'nothing')) FROM module_source WHERE path = '$2' AND frames > 0"
}
alpha='5 nap_alpha < step_alpha < main'
beta='5 nap_beta < step_beta < main'
# When a function of the program is probed, too, which is found through what runs and not by its path.
alpha_twice=10${alpha#5}

# ---- gone, deleted, replaced -----------------------------------------------------------------------
start_recorder "$tmp/gone.log" -o "$tmp/gone.cwc" "$tmp/one/who" nap_alpha
if grep -q recording "$tmp/gone.log"; then
	"$tmp/one/who" go >"$tmp/out"
	sleep 0.3
	kill -INT $recorder_pid
	started=$recorder_pid
	stop gone
	expect "a target that is gone" "$(stacks gone)" "$alpha"
else
	fail "gone: $(cat "$tmp/gone.log")"
fi

cp "$tmp/one/who" "$tmp/one/doomed"
start "$tmp/one/doomed" wait
rm "$tmp/one/doomed"
start_recorder "$tmp/deleted.log" -p $started -o "$tmp/deleted.cwc" "${libc[@]}" nap_alpha
go
stop deleted
expect "a deleted program" "$(stacks deleted)" "$alpha_twice"
expect "names of a deleted program" "$(from deleted "$tmp/one/doomed")" capture
expect "the deleted program's path" "$(sqlite3 "$tmp/deleted.db" "SELECT exe FROM process WHERE pid = $started")" "$tmp/one/doomed"

cp "$tmp/one/who" "$tmp/one/swapped"
start "$tmp/one/swapped" wait
cp "$tmp/two/who" "$tmp/one/new" && mv "$tmp/one/new" "$tmp/one/swapped"
"$record" -p $started -o "$tmp/none.cwc" nap_beta >"$tmp/out" 2>&1 && fail "replaced: a function of the other build was found"
grep -q "swapped has no function nap_beta.*; that is the file that runs, which was deleted or replaced since" "$tmp/out" || fail "replaced: $(cat "$tmp/out")"
start_recorder "$tmp/replaced.log" -p $started -o "$tmp/replaced.cwc" "${libc[@]}" nap_alpha
go
stop replaced
expect "a program replaced by another build" "$(stacks replaced)" "$alpha_twice"
expect "names of a replaced program" "$(from replaced "$tmp/one/swapped")" capture
[[ $(sqlite3 "$tmp/replaced.db" "SELECT tried FROM module WHERE path = '$tmp/one/swapped'") == *"swapped: another build id"*"not used"* ]] ||
	fail "replaced: the other build is not named"
# Replaced while it is recorded.
cp "$tmp/one/who" "$tmp/one/later"
start "$tmp/one/later" wait
start_recorder "$tmp/later.log" -p $started -o "$tmp/later.cwc" "${libc[@]}"
cp "$tmp/two/who" "$tmp/one/new" && mv "$tmp/one/new" "$tmp/one/later"
go
stop later
expect "a program replaced while it is recorded" "$(stacks later)" "$alpha"

# A child that is the same program, and no other one.
start "$tmp/one/who" wait fork
start_recorder "$tmp/forked.log" -p $started -f -o "$tmp/forked.cwc" --stack dwarf nap_alpha
go
stop forked
expect "a program and its child" "$(stacks forked)" "12${alpha#5}"
expect "calls of each of them" "$(sqlite3 "$tmp/forked.db" "SELECT group_concat(n || ' ' || exe, ' ') FROM (SELECT count(*) AS n, exe
	FROM slice JOIN thread USING(utid) JOIN process USING(upid) GROUP BY upid ORDER BY n)")" "5 $tmp/one/who 7 $tmp/one/who"

# ---- another program, another library --------------------------------------------------------------
start "$tmp/one/who" wait become "$tmp/two/who"
start_recorder "$tmp/become.log" -p $started -o "$tmp/become.cwc" "${libc[@]}"
go
stop become
expect "a program that becomes another of the same name" "$(stacks become)" "$alpha; $beta"
expect "modules of the same name" "$(sqlite3 "$tmp/become.db" "SELECT group_concat(path, ' ') FROM (SELECT path FROM module_source
	WHERE name = 'who' AND frames > 0 ORDER BY path)")" "$tmp/one/who $tmp/two/who"

start "$tmp/one/who" wait load "$tmp/lib/liblate.so"
start_recorder "$tmp/load.log" -p $started -o "$tmp/load.cwc" "${libc[@]}"
go
stop load
expect "a library that comes late" "$(stacks load)" "$alpha; 1 nap_library < main"
expect "its names" "$(sqlite3 "$tmp/load.db" "SELECT count(*) FROM module_source WHERE name = 'liblate.so' AND frames = named AND frames > 0")" 1

# ---- mounts that others do not see -----------------------------------------------------------------
if unshare -m true 2>/dev/null; then
	start unshare -m sh -c 'mount --bind "$1" "$2" && exec "$2" wait' - "$tmp/two/who" "$tmp/one/who"
	start_recorder "$tmp/bind.log" -p $started -o "$tmp/bind.cwc" "${libc[@]}" nap_beta
	# Seen from a chroot, paths of other mount namespaces begin where those do.
	seen=$tmp/one/who
	[ / -ef /proc/1/root/ ] || seen=$(readlink "/proc/$started/exe")
	go
	stop bind
	expect "a program under a private bind mount" "$(stacks bind)" "10${beta#5}"
	expect "its path, which is another file here" "$(sqlite3 "$tmp/bind.db" "SELECT exe FROM process WHERE pid = $started")" "$seen"
	expect "its build" "$(sqlite3 "$tmp/bind.db" "SELECT DISTINCT build_id FROM module WHERE path = '$seen'")" \
		"$(readelf -n "$tmp/two/who" | sed -n 's/.*Build ID: //p')"
fi

# ---- the same process id twice ---------------------------------------------------------------------
cat >"$tmp/twice.c" <<'END'
#define _GNU_SOURCE
#include <linux/sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
/* Run each program under one process id; exit with 77 when the kernel does not let us. */
int main(int argc, char **argv)
{
	pid_t id = 0;
	char line[8];
	printf("PID %d\n", getpid());
	fflush(stdout);
	if (!fgets(line, sizeof(line), stdin))
		return 1;
	for (int i = 1; i < argc; i++) {
		struct clone_args a = {.exit_signal = SIGCHLD, .set_tid = id ? (uintptr_t)&id : 0, .set_tid_size = id ? 1 : 0};
		pid_t child = syscall(SYS_clone3, &a, sizeof(a));
		int status;
		if (child < 0)
			return 77;
		if (!child) {
			execl(argv[i], argv[i], "go", NULL);
			_exit(1);
		}
		id = child;
		waitpid(child, &status, 0);
		usleep(argc > 3 ? 0 : 100000);
	}
	printf("CHILD %d\n", id);
	return 0;
}
END
"$cc" -O1 -o "$tmp/twice" "$tmp/twice.c" || fail "cannot compile"
twice() { # NAME PROGRAMS...: $child is the id they all had
	local name=$1
	shift
	start "$tmp/twice" "$@"
	start_recorder "$tmp/$name.log" -p $started -f -o "$tmp/$name.cwc" "${libc[@]}"
	go
	wait $started
	[ $? = 77 ] && return 77
	stop "$name"
	child=$(sed -n 's/CHILD //p' "$tmp/target")
}
twice twice "$tmp/one/who" "$tmp/two/who"
if [ $? != 77 ]; then
	expect "two programs under one process id" "$(stacks twice "p.pid = $child")" "$alpha; $beta"
	expect "processes of that id" "$(sqlite3 "$tmp/twice.db" "SELECT count(*) || ' ' || count(DISTINCT start_boottime) || ' ' ||
		group_concat(exe, ' ') FROM (SELECT * FROM process WHERE pid = $child ORDER BY start_boottime)")" "2 2 $tmp/one/who $tmp/two/who"
	expect "calls of each" "$(sqlite3 "$tmp/twice.db" "SELECT group_concat(n, ' ') FROM (SELECT count(*) AS n FROM slice JOIN thread USING(utid)
		JOIN process p USING(upid) WHERE p.pid = $child GROUP BY upid)")" "5 5"
	# At once after one another, and over and over.
	twice again "$tmp"/{one,two,one,two,one,two,one,two}/who
	expect "eight programs under one process id" "$(stacks again "p.pid = $child")" "20${alpha#5}; 20${beta#5}"
	expect "processes of that id, eight times" "$(sqlite3 "$tmp/again.db" "SELECT count(*) FROM process WHERE pid = $child")" 8
	expect "programs whose calls have another program's names" "$(sqlite3 "$tmp/again.db" "SELECT count(*) FROM slice s JOIN thread USING(utid)
		JOIN process p USING(upid) JOIN callstack c USING(stack_id) WHERE c.depth = 2 AND (p.exe LIKE '%/one/who') <> (c.function = 'step_alpha')")" 0
fi
note "10 targets and 10 processes of two ids are what they were"
# Libraries that are loaded where another was before: the same addresses are other functions.
cat >"$tmp/plug.c" <<'END'
#ifdef PLUG
void PLUG(void (*leaf)(void)) { leaf(); __asm__ volatile(""); }
#else
#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>
__attribute__((noipa)) void leaf(void) { usleep(1000); __asm__ volatile(""); }
int main(int argc, char **argv)
{
	(void)argc;
	usleep(500000); /* the recorder is busy with what the program begins with */
	for (int i = 0; i < 20; i++) {
		void *library = dlopen(argv[1 + (i & 1)], RTLD_NOW);
		void *plug = library ? dlsym(library, i & 1 ? "plug_two" : "plug_one") : NULL;

		if (!plug)
			return 1;
		printf("%p\n", plug);
		((void (*)(void (*)(void)))plug)(leaf);
		dlclose(library);
	}
	return 0;
}
#endif
END
for plug in one two; do
	"$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -shared -fPIC -DPLUG=plug_$plug -o "$tmp/lib$plug.so" "$tmp/plug.c"
done
"$cc" -O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls -o "$tmp/host" "$tmp/plug.c" -ldl || fail "cannot compile the host"
for stack in fp dwarf; do
	"$record" -o "$tmp/plug.cwc" --stack $stack --exec "$tmp/host" leaf -- "$tmp/libone.so" "$tmp/libtwo.so" >"$tmp/plug.out" 2>"$tmp/plug.log" ||
		fail "plug: $(cat "$tmp/plug.log")"
	expect "$stack: places that plugins were loaded at" "$(grep -c . <(grep '^0x' "$tmp/plug.out" | sort -u))" 1
	rm -f "$tmp/plug.db"
	import plug
	expect "$stack: callers, in turn" "$(sqlite3 "$tmp/plug.db" "SELECT group_concat(caller, ' ') FROM (
		SELECT replace(c.function, 'plug_', '') || CASE k.complete WHEN 1 THEN '' ELSE '?' END AS caller FROM slice s
		JOIN callstack c USING(stack_id) JOIN stack k USING(stack_id) WHERE c.depth = 1 ORDER BY s.ts)")" \
		"$(for _ in {1..10}; do printf 'one two '; done | sed 's/ $//')"
done

finish
