#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What a recording can be aimed at: several processes, a process tree, short-lived processes of a
# file, modules, libraries that are still to be loaded, patterns, names of every kind.
# PARALLEL: calls are counted.
. "$(dirname "$0")/../lib.sh"
need_tracing
cc=${CC:-gcc}
command -v "$cc" >/dev/null || skip "needs a C compiler"
calls() { # NAME: pid and number of calls, a line each process
	"$analyze" sql "$tmp/$1.cwc" --format csv "SELECT pid, count(*) FROM call GROUP BY pid ORDER BY pid" 2>/dev/null | tail -n +2 | tr -d '\r'
}
run() { # NAME OPTIONS...: record to NAME.cwc in the foreground
	local name=$1
	shift
	"$record" -o "$tmp/$name.cwc" "$@" >"$tmp/$name.out" 2>"$tmp/$name.log" || fail "$name: $(tail -n 3 "$tmp/$name.log")"
}
begin() { # NAME OPTIONS...: the same in the background, ready when it returns; $recorder is its pid
	local name=$1
	shift
	"$record" -o "$tmp/$name.cwc" "$@" >"$tmp/$name.out" 2>"$tmp/$name.log" &
	recorder=$!
	pids+=($recorder)
	wait_for recorder_ready "$tmp/$name.log" $recorder
}
end() { # NAME
	wait $recorder || fail "$1: $(tail -n 3 "$tmp/$1.log")"
	forget $recorder
}

# ---- several processes -----------------------------------------------------------------------------
all=()
for i in 1 2 3; do
	"$workloads/trace_test" --count 100 --start-file "$tmp/go" >"$tmp/t$i" &
	all+=($!)
done
pids+=("${all[@]}")
for i in 1 2 3; do wait_for grep -q PID "$tmp/t$i"; done
begin several -p "${all[0]}" -p "${all[2]}" --time function_to_trace
: >"$tmp/go"
end several # ends when both have ended
wait "${all[@]}"
forget "${all[@]}"
expect "several: calls by process" "$(calls several | tr '\n' ' ')" "${all[0]},100 ${all[2]},100 "

# ---- a process tree --------------------------------------------------------------------------------
# The tree's root ends at once; two children, one of them a grandchild, end later. A stranger runs the
# same program meanwhile.
cat >"$tmp/tree.sh" <<END
read -r _
( exec "$workloads/trace_test" --count 30 >/dev/null ) &
( "$workloads/trace_test" --count 20 >/dev/null; : ) &
END
mkfifo "$tmp/start"
bash "$tmp/tree.sh" <"$tmp/start" &
root=$!
pids+=($root)
exec 3>"$tmp/start"
begin tree -p $root -f --binary "$workloads/trace_test" --time function_to_trace
"$workloads/trace_test" --count 30 >/dev/null &
stranger=$!
echo go >&3
exec 3>&-
end tree
wait $stranger $root
forget $root
expect "tree: calls of each child" "$(calls tree | cut -d, -f2 | sort -n | tr '\n' ' ')" "20 30 "
calls tree | grep -q "^$stranger," && fail "tree: a stranger was recorded"
said_lost "$tmp/tree.log" && fail "tree: $lost"

# Without --follow-forks it is the process alone.
mkfifo "$tmp/start2"
bash -c 'read -r _; '"'$workloads/trace_test'"' --count 10 >/dev/null & wait' <"$tmp/start2" &
root=$!
pids+=($root)
exec 3>"$tmp/start2"
begin alone -p $root --binary "$workloads/trace_test" function_to_trace
echo go >&3
exec 3>&-
end alone
wait $root
forget $root
expect "alone: calls" "$(calls alone)" ""

# ---- processes that live for 5 ms ------------------------------------------------------------------
cat >"$tmp/blink.c" <<'END'
#include <unistd.h>
__attribute__((noipa)) int work(int n) { return n + 1; }
int main(int argc, char **argv)
{
	int n = 0;

	(void)argv;
	for (int i = 0; i < 3; i++)
		n = work(n + argc);
	usleep(4000);
	return n == 0;
}
END
"$cc" -O1 -g -fno-omit-frame-pointer -o "$tmp/blink" "$tmp/blink.c" || fail "cannot compile"
begin blink --time "$tmp/blink" work
bash -c 'for ((i = 0; i < 200; i++)); do "$1" a b; done' - "$tmp/blink"
kill -INT $recorder
end blink
import blink
one() { sqlite3 -batch "$tmp/blink.db" "$1"; }
expect "blink: processes with three finished calls" \
	"$(one "SELECT count(*) FROM (SELECT 1 FROM slice s JOIN thread t USING(utid) WHERE dur > 0 GROUP BY t.upid HAVING count(*) = 3)")" 200
expect "blink: calls" "$(one "SELECT count(*) FROM slice")" 600
expect "blink: threads by the program's name" \
	"$(one "SELECT count(*) FROM thread t WHERE name = 'blink' AND utid IN (SELECT utid FROM slice)")" 200
expect "blink: processes whose program is known" \
	"$(one "SELECT count(*) FROM process WHERE exe LIKE '%/blink' AND upid IN (SELECT upid FROM slice JOIN thread USING(utid))")" 200
expect "blink: calls from main" \
	"$(one "SELECT count(*) FROM slice s WHERE EXISTS (SELECT 1 FROM callstack c WHERE c.stack_id = s.stack_id AND c.function = 'main')")" 600

# ---- modules ---------------------------------------------------------------------------------------
mkdir -p "$tmp/a" "$tmp/b" "$tmp/lib"
echo '__attribute__((noipa)) int twin(int x) { return x + 1; }' >"$tmp/twin.c"
"$cc" -O1 -shared -fPIC -o "$tmp/a/libtwin.so" "$tmp/twin.c"
"$cc" -O1 -shared -fPIC -DB -o "$tmp/b/libtwin.so" "$tmp/twin.c"
cat >"$tmp/queue.c" <<'END'
__attribute__((noipa)) void hand_over(void *queue, void *task) { *(void **)queue = task; }
__attribute__((noipa)) void other(int n) { __asm__ volatile("" :: "r"(n)); }
END
"$cc" -O1 -g -fno-omit-frame-pointer -shared -fPIC -o "$tmp/lib/libqueue.so" "$tmp/queue.c"
cat >"$tmp/app.c" <<'END'
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
void hand_over(void *queue, void *task);
void other(int n);
static void *slot;
static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noipa)) void handle_task(void *task) { __asm__ volatile("" :: "r"(task)); }
__attribute__((noipa)) int overload_int(int x) __asm__("_ZN3app6Server6handleEi");
int overload_int(int x) { return x + 1; }
__attribute__((noipa)) int overload_str(const char *x) __asm__("_ZN3app6Server6handleEPKc");
int overload_str(const char *x) { return *x; }
static void *worker(void *arg)
{
	for (void *task; (task = __atomic_load_n(&slot, __ATOMIC_ACQUIRE)) != (void *)1; usleep(100))
		if (task && __atomic_compare_exchange_n(&slot, &task, NULL, 0, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
			handle_task(task);
	return arg;
}
int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1 << 30;
	char line[8];
	pthread_t t;

	for (int i = 3; i < argc; i++) {
		int (*twin)(int) = dlsym(dlopen(argv[i], RTLD_NOW), "twin");
		twin(i);
	}
	printf("PID %d\n", getpid());
	fflush(stdout);
	if (argc > 2 && argv[2][0] == 'w' && !fgets(line, sizeof(line), stdin))
		return 1;
	pthread_create(&t, NULL, worker, NULL);
	for (long i = 0; i < n; i++) {
		hand_over(&slot, (void *)(16 + 16 * i));
		other(i);
		overload_int(i);
		overload_str("x");
		while (__atomic_load_n(&slot, __ATOMIC_ACQUIRE))
			usleep(100);
	}
	pthread_mutex_lock(&m);
	__atomic_store_n(&slot, (void *)1, __ATOMIC_RELEASE);
	pthread_join(t, NULL);
	return 0;
}
END
"$cc" -O1 -g -fno-omit-frame-pointer -o "$tmp/app" "$tmp/app.c" -L"$tmp/lib" -lqueue -Wl,-rpath,'$ORIGIN/lib' -lpthread -ldl ||
	fail "cannot compile the program with libraries"
start_app() { # ARGUMENTS: waits for a line from descriptor 4
	rm -f "$tmp/app.in" "$tmp/app.out"
	mkfifo "$tmp/app.in"
	"$tmp/app" 50 w "$@" <"$tmp/app.in" >"$tmp/app.out" &
	app=$!
	exec 4>"$tmp/app.in"
	pids+=($app)
	wait_for grep -q PID "$tmp/app.out"
}
stop_app() {
	echo go >&4
	exec 4>&-
	wait $app
	forget $app
}
functions() { # NAME
	"$analyze" sql "$tmp/$1.cwc" --format csv "SELECT function, count(*) FROM call GROUP BY function ORDER BY function" 2>/dev/null | tail -n +2 | tr -d '\r' | tr '\n' ' '
}
hops() { # NAME
	"$analyze" sql "$tmp/$1.cwc" --format csv "SELECT source, target, count(*) FROM hop GROUP BY 1, 2" 2>/dev/null | tail -n +2 | tr -d '\r'
}
start_app "$tmp/a/libtwin.so" "$tmp/b/libtwin.so"
"$record" -p $app --module libtwin.so -o "$tmp/x.cwc" twin 2>"$tmp/log"
expect "ambiguous module: exit status" $? 1
grep -q "$tmp/a/libtwin.so.*; give the path" "$tmp/log" && grep -q "$tmp/b/libtwin.so" "$tmp/log" || fail "ambiguous module: $(cat "$tmp/log")"
begin module -p $app --module libqueue.so other "$tmp/b/libtwin.so:twin" app:handle_task
stop_app
end module
expect "functions of three modules" "$(functions module)" "handle_task,50 other,50 "

# Hops across modules, of a running program and of one that is still to load its libraries.
start_app
begin hop -p $app --async-hop libqueue.so:hand_over,2,handle_task,1 handle_task
stop_app
end hop
expect "hop across modules" "$(hops hop)" "hand_over,handle_task,50"
start_app
begin source -p $app --async-source hand_over --async-source-binary "$tmp/lib/libqueue.so" \
	--async-source-arg 2 --async-target-arg 1 handle_task
stop_app
end source
expect "--async-source" "$(hops source)" "hand_over,handle_task,50"
run exec --async-hop libqueue.so:hand_over,2,app:handle_task --exec "$tmp/app" -- 50
expect "hop across modules with --exec" "$(hops exec)" "hand_over,handle_task,50"

# ---- names -----------------------------------------------------------------------------------------
start_app
"$record" -p $app -o "$tmp/x.cwc" app::Server::handle 2>"$tmp/log"
expect "overloads: exit status" $? 1
grep -q '_ZN3app6Server6handleEi (app::Server::handle(int)), _ZN3app6Server6handleEPKc (app::Server::handle(char const\*))' "$tmp/log" ||
	fail "overloads: $(cat "$tmp/log")"
offset=$("$record" -p $app --module app --find-symbol hand_task_or_nothing 2>/dev/null)
expect "a symbol that is nowhere" "$offset" ""
"$record" -p $app --find-symbol handle_task >"$tmp/found" || fail "--find-symbol finds nothing"
expect "--find-symbol: file" "$(sed -n 1p "$tmp/found")" "$tmp/app"
grep -Eq '^  symbol=handle_task value=0x[0-9a-f]+ offset=0x[0-9a-f]+$' "$tmp/found" || fail "--find-symbol: $(cat "$tmp/found")"
"$record" -p $app --find-symbol 'handle_tas?' >"$tmp/matching" || fail "--find-symbol of a pattern finds nothing"
expect "--find-symbol of a pattern" "$(cat "$tmp/matching")" "$(cat "$tmp/found")"
"$record" "$tmp/app" --find-symbol '*Server::handle*' >"$tmp/matching" || fail "--find-symbol of a pattern of C++"
expect "--find-symbol: overloads" "$(grep -c '^  symbol=_ZN3app6Server6handle.*offset=0x.*(app::Server::handle(' "$tmp/matching")" 2
offset=$(sed -n 's/.*offset=//p' "$tmp/found")
begin names -p $app 'app::Server::handle(int)' 'app:_ZN3app6Server6handleEPKc' --offset "$offset" "libqueue.so:+$(
	"$record" --binary "$tmp/lib/libqueue.so" --find-symbol other | sed -n 's/.*offset=//p')"
stop_app
end names
expect "calls by readable name, mangled name and offset" "$("$analyze" sql "$tmp/names.cwc" --format csv \
	"SELECT count(*), count(DISTINCT function) FROM call" 2>/dev/null | tail -n 1 | tr -d '\r')" "200,4"
start_app
begin pattern -p $app --function '*hand*' 'libqueue.so:oth??'
stop_app
end pattern
expect "functions by pattern" "$(functions pattern | tr ' ' '\n' | sed -n 's/,50$//p' | wc -l)" 4
grep -q 'match .\*hand\*' "$tmp/pattern.log" || fail "patterns are not listed: $(cat "$tmp/pattern.log")"
grep -q '  _ZN3app6Server6handleEi  app::Server::handle(int)' "$tmp/pattern.log" || fail "patterns: $(cat "$tmp/pattern.log")"

# The C library has versioned names and indirect functions.
libc=$(ldd "$tmp/app" | awk '$1 ~ /^libc\.so/ { print $3 }')
"$record" "$libc" --find-symbol memcpy >"$tmp/found" || fail "no memcpy"
if grep -q ifunc "$tmp/found"; then
	"$record" --exec "$tmp/app" --duration 0.1 -o "$tmp/x.cwc" "$(basename "$libc")":memcpy -- 5 2>"$tmp/log"
	grep -q 'memcpy of .* is an indirect function (IFUNC): its resolver' "$tmp/log" || fail "IFUNC: $(cat "$tmp/log")"
	# In a running process, where the dynamic loader has chosen, the implementation is what is probed.
	cat >"$tmp/copy.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <unistd.h>
static char a[5000], b[5000];
int main(void)
{
	volatile size_t n = 4999;

	memcpy(b, a, n);
	printf("PID %d\n", getpid());
	fflush(stdout);
	for (;;) {
		memcpy(b, a, n);
		usleep(10000);
	}
}
END
	"$cc" -O1 -fno-builtin -o "$tmp/copy" "$tmp/copy.c" || fail "cannot compile"
	"$tmp/copy" >"$tmp/copy.out" &
	copy=$!
	pids+=($copy)
	wait_for grep -q PID "$tmp/copy.out"
	run ifunc -p $copy --max-events 20 "$(basename "$libc"):memcpy"
	grep -q 'IFUNC): what is probed is the implementation in use' "$tmp/ifunc.log" || fail "IFUNC: $(cat "$tmp/ifunc.log")"
	import ifunc
	expect "IFUNC: calls with their size" "$(sqlite3 "$tmp/ifunc.db" "SELECT count(*) FROM slice WHERE arg3 = 4999")" 20
fi
if grep -q 'memcpy@' "$tmp/found"; then
	old=$(sed -n 's/.*symbol=\(memcpy@[^ ]*\).*/\1/p' "$tmp/found")
	run versioned --exec "$tmp/app" "$(basename "$libc"):$old" -- 5
fi

# ---- when to stop ----------------------------------------------------------------------------------
"$workloads/trace_test" --count 0 >"$tmp/t4" &
target=$!
pids+=($target)
wait_for grep -q PID "$tmp/t4"
run events -p $target --max-events 7 --time submit_async_task function_to_trace
expect "--max-events: completed calls of the last function" \
	"$("$analyze" sql "$tmp/events.cwc" --format csv "SELECT count(*) FROM call WHERE function = 'function_to_trace' AND dur > 0" 2>/dev/null | tail -n 1 | tr -d '\r')" 7

# ---- without privileges ----------------------------------------------------------------------------
cp "$record" "$tmp/recorder"
chmod 755 "$tmp/recorder"
as_nobody=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all)
chmod 777 "$tmp"
"${as_nobody[@]}" sh -c "\"\$1\" -p \$\$ --find-symbol malloc" - "$tmp/recorder" >"$tmp/found" 2>"$tmp/log"
expect "--find-symbol of an own process without privileges" "$? $(grep -c 'symbol=malloc ' "$tmp/found")" "0 1"
"${as_nobody[@]}" "$tmp/recorder" --check-config "$here/../examples/thread-pool.yaml" >"$tmp/found" 2>"$tmp/log" ||
	fail "--check-config without privileges: $(cat "$tmp/log")"
note "5 ms processes: 200 of 200 by name"
finish
