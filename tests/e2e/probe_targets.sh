#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every kind of ELF file that a function may be found in: how it was linked, where its symbols are,
# how its names are written, and programs whose returns must not be probed. Each is a program recorded
# live; counts, arguments and callers are compared with what it does.
# PARALLEL: calls and arguments are counted.
. "$(dirname "$0")/../lib.sh"
need_tracing
cc=${CC:-gcc}
command -v "$cc" >/dev/null || skip "needs a C compiler"
cd "$tmp" || exit 1

cat >aim.c <<'END_C'
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
__attribute__((noipa)) long aim(long a, long b, long c, long d, long e, long f, long g, long h)
{
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h;
}
__attribute__((noipa)) long shoot(long i)
{
	return aim(i, i + 1, i + 2, i + 3, i + 4, i + 5, i + 6, i + 7) + 1;
}
static long first(long x) { return x + 1; }
static void *choose(void) { return (void *)first; }
long chosen(long x) __attribute__((ifunc("choose")));
int main(int argc, char **argv)
{
	char line[8];
	long sum = 0;

	printf("PID %d\n", getpid());
	fflush(stdout);
	if (argc > 2 && !fgets(line, sizeof(line), stdin))
		return 1;
	for (long i = 0; i < atoi(argv[1]); i++)
		sum += shoot(i) + chosen(i + 100) + (malloc(7777) != NULL);
	printf("sum %ld\n", sum);
	return 0;
}
END_C
ask() { # NAME SQL: one row, its values joined by |
	"$analyze" sql "$tmp/$1.cwc" --format csv "$2" 2>/dev/null | tail -n 1 | tr -d '\r' | tr , '|'
}
# Record calls of FUNCTION of a program that calls it 40 times by way of shoot.
hits() { # NAME PROGRAM FUNCTION [OPTIONS]
	local name=$1 program=$2 function=$3
	shift 3
	"$record" -o "$tmp/$name.cwc" "$@" --time --exec "$program" "$function" -- 40 >"$tmp/$name.out" 2>"$tmp/$name.log" || {
		fail "$name: $(tail -n 1 "$tmp/$name.log")"
		return 1
	}
	expect "$name: calls, finished ones, arguments 1 to 8" \
		"$(ask "$name" "SELECT count(*), sum(dur > 0), sum(arg1), sum(arg2), sum(arg3), sum(arg4), sum(arg5), sum(arg6),
			sum(arg7), sum(arg8) FROM call")" "40|40|780|820|860|900|940|980|1020|1060"
	[ "${caller-shoot}" = '' ] || expect "$name: calls from shoot" "$(ask "$name" "SELECT count(*) FROM call c WHERE EXISTS
		(SELECT 1 FROM callstack s WHERE s.stack_id = c.stack_id AND s.function = 'shoot' AND s.depth = 1)")" 40
}

# ---- how it was linked -------------------------------------------------------------------------------
flags="-O1 -g -fno-omit-frame-pointer -fno-optimize-sibling-calls"
kinds=0
build_kind() { # NAME COMPILER AND OPTIONS
	local name=$1
	shift
	# shellcheck disable=SC2086
	"$@" $flags -o "$name" aim.c >"$name.cc" 2>&1
}
build_kind pie "$cc" -fPIE -pie || fail "pie: $(tail -n 1 pie.cc)"
build_kind nopie "$cc" -fno-pie -no-pie || fail "nopie: $(tail -n 1 nopie.cc)"
build_kind cet "$cc" -fcf-protection=full -O2 || fail "cet: $(tail -n 1 cet.cc)"
build_kind static "$cc" -static || fail "static: $(tail -n 1 static.cc)"
build_kind staticpie "$cc" -static-pie || fail "staticpie: $(tail -n 1 staticpie.cc)"
for name in pie nopie cet static staticpie; do
	hits $name ./$name aim && kinds=$((kinds + 1))
done
readelf -hW nopie static | grep -c 'Type: *EXEC' | grep -qx 2 || fail "no fixed programs were built"
readelf -lW staticpie | grep -q INTERP && fail "the static-PIE program has an interpreter"
if command -v ld.lld >/dev/null; then
	build_kind lld "$cc" -fuse-ld=lld || fail "lld: $(tail -n 1 lld.cc)"
	read -r offset address < <(readelf -lW lld | awk '$1 == "LOAD" && /R E/ { print $2, $3 }')
	[ "$((offset))" != "$((address))" ] || fail "lld: the code's address is its offset ($address): nothing is tested"
	hits lld ./lld aim && kinds=$((kinds + 1))
	value=$("$record" ./lld --find-symbol aim | sed -n 's/.*value=\(0x[0-9a-f]*\) offset=\(0x[0-9a-f]*\).*/\1 \2/p')
	expect "lld: address less offset" $((${value% *} - ${value#* })) $((address - offset))
else
	note "no lld here"
fi

# ---- where the symbols are ----------------------------------------------------------------------------
# A stripped program keeps the names of what it exports.
"$cc" $flags -rdynamic -o exported aim.c && strip -s exported
hits exported ./exported aim
"$cc" $flags -o stripped aim.c
cp stripped whole
objcopy --only-keep-debug stripped stripped.debug && strip -s stripped
"$record" --exec ./stripped -o x.cwc aim -- 1 >x.out 2>x.log
expect "stripped: exit status" $? 1
grep -q 'stripped has no function aim: it is stripped, so only exported functions have names, and its separate debug file was not found' x.log ||
	fail "stripped: $(tail -n 1 x.log)"
"$record" ./stripped --find-symbol 'ai?' >x.out 2>x.log && fail "stripped: a pattern finds $(cat x.out)"
grep -q "stripped has no function that matches 'ai?': it is stripped" x.log || fail "stripped, by pattern: $(cat x.log)"
# A debug file beside it, by .gnu_debuglink; in .debug; and one of another build, which is not it.
objcopy --add-gnu-debuglink=stripped.debug stripped
hits debuglink ./stripped aim
mkdir .debug && mv stripped.debug .debug/
hits debugdir ./stripped aim
"$record" ./stripped --find-symbol aim >x.out 2>x.log || fail "--find-symbol with a debug file: $(cat x.log)"
cp x.out named && "$record" ./stripped --find-symbol 'ai[lm]' >x.out || fail "--find-symbol of a pattern with a debug file"
expect "pattern in the debug file" "$(cat x.out)" "$(cat named)"
expect "symbol of the debug file" "$(sed -n 's/.*value=//p' x.out | cut -d ' ' -f 1)" "$("$record" ./whole --find-symbol aim | sed -n 's/.*value=//p' | cut -d ' ' -f 1)"
"$cc" $flags -DOTHER -O2 -o other aim.c && objcopy --only-keep-debug other .debug/stripped.debug
"$record" --exec ./stripped -o x.cwc aim -- 1 >x.out 2>x.log && fail "the debug file of another build was used"
# Without build-ids the checksum decides.
"$cc" $flags -Wl,--build-id=none -o noid aim.c
objcopy --only-keep-debug noid noid.debug && strip -s noid && objcopy --add-gnu-debuglink=noid.debug noid
hits checksum ./noid aim
echo >>noid.debug
"$record" --exec ./noid -o x.cwc aim -- 1 >x.out 2>x.log && fail "a debug file with another checksum was used"
# By build-id where the system keeps them, in a mount namespace of the test's own.
objcopy --only-keep-debug whole whole.debug
strip -s -o bare whole
id=$(readelf -nW bare | sed -n 's/.*Build ID: //p')
if unshare -m true 2>/dev/null; then
	unshare -m bash -c '
		mkdir -p /usr/lib/debug && mount -t tmpfs none /usr/lib/debug && mkdir -p "/usr/lib/debug/.build-id/${1:0:2}" &&
		cp "$2" "/usr/lib/debug/.build-id/${1:0:2}/${1:2}.debug" &&
		"$3" -o buildid.cwc --time --exec ./bare aim -- 40 >x.out 2>x.log' - "$id" whole.debug "$record" || fail ".build-id: $(tail -n 1 x.log)"
	expect ".build-id: calls" "$(ask buildid "SELECT count(*), sum(arg8) FROM call")" "40|1060"
	# In a container: a debug file that only the process can see, by link and by build-id. What lies there under
	# its name for the recorder, or in the container, is of another build.
	mkdir box
	cp bare linked && objcopy --add-gnu-debuglink=whole.debug linked
	objcopy --only-keep-debug other box/whole.debug && cp linked bare box/
	in_box() { # NAME HOW: the process in $target, whose program is box/NAME
		rm -f in target.out && mkfifo in # an earlier program's word must not be taken for this one's
		# shellcheck disable=SC2016
		unshare -m bash -c '
			id=$3
			mount -t tmpfs none box && cp "$1" box/ && mkdir -p /usr/lib/debug && mount -t tmpfs none /usr/lib/debug || exit 1
			case $2 in
			link) cp whole.debug box/ ;;
			none) objcopy --only-keep-debug other box/whole.debug ;;
			id) mkdir -p "/usr/lib/debug/.build-id/${id:0:2}" && cp whole.debug "/usr/lib/debug/.build-id/${id:0:2}/${id:2}.debug" ;;
			esac
			exec "./box/$1" 40 wait' - "$1" "$2" "$id" <in >target.out 2>&1 &
		target=$!
		pids+=($target)
		exec 3>in
		wait_for grep -q PID target.out
	}
	for how in link id none; do
		# Seen from a chroot, paths of other mount namespaces begin where those do, and lead nowhere.
		[ $how != link ] || [ / -ef /proc/1/root/ ] || continue
		name=bare
		[ $how = id ] || name=linked
		in_box $name $how
		if [ $how = none ]; then
			timeout 10 "$record" -p $target -o x.cwc aim >x.log 2>&1 && fail "in a container: the debug file of another build was used"
			"$record" -p $target --find-symbol aim >x.log 2>&1 && fail "in a container: --find-symbol used the debug file of another build"
		else
			"$record" -p $target --find-symbol aim >x.out 2>x.log || fail "in a container, $how: --find-symbol: $(cat x.log)"
			start_recorder x.log -p $target -o "box$how.cwc" --time aim
		fi
		echo go >&3
		exec 3>&-
		wait $target
		expect "in a container, $how: the program's exit status" $? 0
		[ $how = none ] || wait $recorder_pid || fail "in a container, $how: $(tail -n 1 x.log)"
		forget $target $recorder_pid
		[ $how = none ] || expect "in a container, $how: calls, from shoot" "$(ask "box$how" "SELECT count(*), sum(arg8), (SELECT count(*)
			FROM call c JOIN callstack s USING(stack_id) WHERE s.depth = 1 AND s.function = 'shoot') FROM call")" "40|1060|40"
	done
fi
# Versioned symbols and indirect functions.
libc=$(ldd ./pie | awk '$1 ~ /^libc\.so/ { print $3 }')
for name in malloc malloc@@GLIBC_2.2.5; do
	[ $name = malloc ] || nm -D "$libc" | grep -q " $name\$" || continue # other machines have later versions
	"$record" -o x.cwc --exec ./pie "$(basename "$libc"):$name" -- 40 >x.out 2>x.log || fail "$name: $(tail -n 1 x.log)"
	expect "$name: calls" "$(ask x "SELECT count(*) FROM call WHERE arg1 = 7777")" 40
done
"$record" -o x.cwc --exec ./pie "$(basename "$libc")":malloc@@GLIBC_1.0 -- 1 >x.out 2>x.log && fail "a version that is not there was found"
for program in pie nopie static; do
	rm -f in target.out && mkfifo in # an earlier program's word must not be taken for this one's
	./$program 40 wait <in >target.out &
	target=$!
	pids+=($target)
	exec 3>in
	wait_for grep -q PID target.out
	start_recorder x.log -p $target -o x.cwc chosen
	echo go >&3
	exec 3>&-
	wait $target $recorder_pid
	forget $target $recorder_pid
	if grep -q 'the implementation in use' x.log; then
		expect "IFUNC of $program: calls" "$(ask x "SELECT count(*), min(arg1), max(arg1) FROM call")" "40|100|139"
	else
		grep -q 'IFUNC): its resolver is probed' x.log || fail "IFUNC of $program: $(cat x.log)"
		note "IFUNC of $program: its resolver"
	fi
done

# ---- how names are written ----------------------------------------------------------------------------
if command -v g++ >/dev/null; then
	cat >names.cc <<'END_CC'
#include <string>
namespace ns {
template <typename T> struct Box { T value; __attribute__((noipa)) T get(T more) const { return value + more; } };
struct Class {
	long sum = 0;
	__attribute__((noipa)) void method(long x) { sum += x; }
	__attribute__((noipa)) void method(const std::string &s) { sum += s.size(); }
	__attribute__((noipa)) bool operator<(long x) const { return sum < x; }
};
}
int main()
{
	ns::Class c;
	ns::Box<long> b{1};
	long n = 0;
	for (long i = 0; i < 30; i++) {
		c.method(i);
		c.method(std::string("four"));
		n += (c < i) + b.get(i);
	}
	return n == 0;
}
END_CC
	g++ $flags -o names names.cc || fail "cannot compile C++"
	"$record" ./names --find-symbol ns::Class::method >x.out || fail "--find-symbol of a method"
	expect "overloads listed" "$(grep -c 'offset=0x[0-9a-f]* (ns::Class::method(' x.out)" 2
	"$record" --exec ./names -o x.cwc ns::Class::method >x.log 2>&1 && fail "one of two overloads was chosen"
	grep -q '2 functions called ns::Class::method: _ZN2ns5Class6methodE.* ask for one of these' x.log || fail "overloads: $(cat x.log)"
	"$record" --exec ./names -o names.cwc 'ns::Class::method(long)' 'ns::Box<long>::get(long) const' 'ns::Class::operator<(long) const' \
		_ZN2ns5Class6methodERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE >x.out 2>x.log || fail "C++ names: $(tail -n 1 x.log)"
	expect "calls by demangled and mangled names" \
		"$("$analyze" sql names.cwc --format csv "SELECT count(*), min(arg2), max(arg2) FROM call WHERE arg2 < 100 GROUP BY function ORDER BY function" 2>/dev/null |
			tail -n +2 | tr -d '\r' | tr '\n' ' ')" "30,0,29 30,0,29 30,0,29 "
	expect "calls of all four" "$(ask names "SELECT count(*), count(DISTINCT function) FROM call")" "120|4"
	named() { # OPTIONS...: a function, as the linker and as the source have it
		"$analyze" sql names.cwc "$@" --format csv "SELECT sum(function = '_ZN2ns5Class6methodEl'), sum(function = 'ns::Class::method(long)')
			FROM frame JOIN symbol USING(frame_id)" 2>/dev/null | tail -n 1 | tr -d '\r'
	}
	expect "names, without and with --no-demangle" "$(named) $(named --no-demangle)" "0,1 1,0"
fi

# ---- programs whose returns must not be probed --------------------------------------------------------
refuses() { # NAME PROGRAM FUNCTION REASON
	"$record" -o x.cwc --time --exec "$2" "$3" -- 40 >x.out 2>x.log
	expect "$1: exit status" $? 1
	grep -q "$4.*--force-return-probes" x.log || fail "$1: $(tail -n 1 x.log)"
	"$record" -o "$1.cwc" --exec "$2" "$3" -- 40 >x.out 2>x.log || fail "$1: entries only: $(tail -n 1 x.log)"
	at_least "$1: calls without return probes" "$(ask "$1" "SELECT count(*) FROM call")" 1
}
# What the Go linker leaves in every program; in position-independent ones behind a prefix.
echo table >table
for section in .gopclntab .data.rel.ro.gopclntab .go.buildinfo; do
	objcopy --add-section $section=table pie go$section
	refuses "marked$section" ./go$section aim 'is a Go program'
done
hits forced ./go.gopclntab aim --force-return-probes
if command -v go >/dev/null; then
	cat >real.go <<'END_GO'
package main
import ("fmt"; "sync")
//go:noinline
func leaf(n int) int { return n + 1 }
//go:noinline
func middle(n int) int { return leaf(n) + 1 }
//go:noinline
func work(n int) int { if n == 0 { return 0 }; var pad [64]byte; pad[n%64] = 1; return work(n-1) + int(pad[n%64]) }
func main() {
	var wg sync.WaitGroup
	for i := 0; i < 40; i++ { wg.Add(1); go func() { defer wg.Done(); work(500); middle(1) }() }
	wg.Wait()
	fmt.Println("done")
}
END_GO
	for strip in "" "-s -w"; do
		HOME=$tmp GOFLAGS=-mod=mod go build -ldflags "$strip" -o real real.go >x.log 2>&1 || { note "go cannot build here"; break; }
		# Stripped there are no names: its code is the same.
		[ -n "$strip" ] || leaf=$("$record" ./real --find-symbol main.leaf | sed -n "s/.*=main.leaf .*offset=/+/p")
		for how in fp dwarf; do
			"$record" -o go.cwc --stack $how --exec ./real "$PWD/real:$leaf" >x.log 2>&1 || fail "Go: $(tail -n 1 x.log)"
			expect "Go${strip:+, stripped}, $how: whole stacks of one depth" "$("$analyze" sql go.cwc --no-cache --format csv \
				"SELECT count(*), sum(complete), max(frame_count), min(frame_count) FROM slice JOIN stack USING(stack_id)" |
				tail -n 1 | tr -d '\r')" 40,40,4,4
		done
		[ -z "$strip" ] || continue
		# What the runtime does on a thread's own stack does not go on in words that are left over there.
		expect "Go: threads that wait, and what they are said to be called by" "$("$analyze" sql go.cwc --no-cache --format csv \
			"SELECT count(*) > 0, coalesce(sum(function = 'runtime.mcall' AND depth < frame_count - 1
				OR function LIKE 'runtime.systemstack%' AND complete), 0) FROM callstack JOIN stack USING(stack_id)
			WHERE kind = 'user' AND function LIKE 'runtime.%'" | tail -n 1 | tr -d '\r')" 1,0
		refuses real ./real main.work 'is a Go program'
	done
fi
cat >coroutine.c <<'END_C'
#include <stdio.h>
#include <ucontext.h>
static ucontext_t main_context, other;
static char stack[65536];
__attribute__((noipa)) void yield_back(void) { swapcontext(&other, &main_context); }
static void body(void) { for (;;) yield_back(); }
int main(void)
{
	getcontext(&other);
	other.uc_stack.ss_sp = stack;
	other.uc_stack.ss_size = sizeof(stack);
	makecontext(&other, body, 0);
	for (int i = 0; i < 5; i++)
		swapcontext(&main_context, &other);
	puts("done");
	return 0;
}
END_C
"$cc" $flags -o coroutine coroutine.c || fail "cannot compile"
refuses coroutine ./coroutine yield_back 'several stacks in a thread (coroutines)'
note "$kinds kinds of linking, each with 40 of 40 calls, arguments 1-8 and callers"
finish
