#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Programs built in many ways, which know their own stacks, recorded together in one recording for each
# way of taking stacks; then deleted, and analyzed in a root that holds the analyzer only. Every frame must
# be the one that the program noted and that libgcc's unwinder found in it: functions, and return
# addresses as offsets in their files, down to where the thread began.
# With MATRIX=all (soak_matrix.sh) every combination, a recording of each way for some dozens of them.
# PARALLEL: stacks are compared.
. "$(dirname "$0")/../lib.sh"
need_tracing
for tool in gcc chroot ldd nm objcopy strip; do
	command -v $tool >/dev/null || skip "needs $tool"
done
src=$here/workloads
bin=$tmp/bin
skipped=()

# Not every combination, but every pair of values; of compiler and link, with compilers of a family taken as one
# and Rust not linked statically. Each with --stack dwarf, by frame pointers, and none.
# name  language  compiler  level  frame pointers  cf-protection  link  symbols
selection() {
	cat <<'END'
a c    gcc     O0 nofp full   no-pie     debuglink
b c    gcc     O3 fp   none   lld        stripped
c c    gcc     O0 nofp full   pie        stripped
d c    gcc     O0 nofp none   lld-no-pie kept
e c    gcc     O2 fp   none   pie        kept
f c    clang   O0 fp   none   static-pie debuglink
g c    clang   O3 nofp none   static-pie kept
h c    clang   O2 fp   none   no-pie     kept
i c    clang   O2 fp   full   static     stripped
j cxx  g++     O2 nofp full   static-pie stripped
k cxx  g++     O3 fp   full   static     debuglink
l cxx  g++     O0 nofp none   static     kept
m cxx  clang++ O0 nofp full   lld        kept
n cxx  clang++ O2 fp   full   lld-no-pie stripped
o cxx  clang++ O3 fp   none   pie        debuglink
p rust rustc   O3 fp   none   lld-no-pie debuglink
q rust rustc   O0 fp   none   pie        kept
r rust rustc   O3 nofp none   no-pie     stripped
s rust rustc   O2 fp   none   lld        debuglink
END
}

# Every combination, in files of those that are recorded together: with one kind of symbols each, since files
# of one build-id serve each other's names. Those of one number are built once.
combinations() { # FOLDER
	local n=0 i=0 group language compiler links link level fp cf symbols
	for group in c:gcc c:clang cxx:g++ cxx:clang++ rust:rustc; do
		language=${group%:*} compiler=${group#*:}
		for links in "pie no-pie static" "static-pie lld lld-no-pie"; do
			n=$((n + 1))
			for symbols in kept stripped debuglink; do
				for link in $links; do
					for level in O0 O2 O3; do
						for fp in fp nofp; do
							for cf in full none; do
								[ "$language:$cf" != rust:full ] || continue
								i=$((i + 1))
								echo "$i $language $compiler $level $fp $cf $link $symbols"
							done
						done
					done
				done >"$1/$(printf %02d $n).$symbols"
			done
		done
	done
}

cells() {
	cat "$tmp/cells"
}

# ---- building ------------------------------------------------------------------------------------

link_flags() { # HOW
	case $1 in
	pie) echo -fPIE -pie ;;
	no-pie) echo -fno-pie -no-pie ;;
	static) echo -fno-pie -no-pie -static ;;
	static-pie) echo -fPIE -static-pie ;;
	lld) echo -fPIE -pie -fuse-ld=lld ;;
	lld-no-pie) echo -fno-pie -no-pie -fuse-ld=lld ;;
	esac
}

build_c() { # OUT LANGUAGE COMPILER LEVEL FP CF LINK
	local n flags=(-g "-$4" "-fcf-protection=$6" -I"$src" -pthread) link objects=()
	read -ra link < <(link_flags "$7")
	[ "$5" = fp ] && flags+=(-fno-omit-frame-pointer) || flags+=(-fomit-frame-pointer)
	flags+=("${link[@]}")
	if [ "$2" = c ]; then
		"$3" -std=gnu11 -D_GNU_SOURCE "${flags[@]}" "$src"/{stack_test,known,truth}.c -o "$1"
		return
	fi
	for n in known truth; do
		gcc -std=gnu11 -D_GNU_SOURCE "${flags[@]}" -c "$src/$n.c" -o "$1.$n.o" || return
		objects+=("$1.$n.o")
	done
	"$3" -std=c++17 "${flags[@]}" "$src/stack_cxx.cc" "${objects[@]}" -o "$1"
	rm -f "${objects[@]}"
}

build_rust() { # OUT LEVEL FP LINK
	local flags=(-g -C "opt-level=${2#O}" -C symbol-mangling-version=v0 --crate-name stack_rust) n
	[ "$3" = fp ] && flags+=(-C force-frame-pointers=yes)
	case $4 in *no-pie | static) flags+=(-C relocation-model=static) ;; esac
	case $4 in static*) flags+=(-C target-feature=+crt-static) ;; esac
	case $4 in lld*) flags+=(-C link-arg=-fuse-ld=lld) ;; esac
	for n in known truth; do
		gcc -std=gnu11 -D_GNU_SOURCE -O2 -fPIC -I"$src" -c "$src/$n.c" -o "$1.$n.o" || return
		flags+=(-C "link-arg=$1.$n.o")
	done
	rustc "${flags[@]}" "$src/stack_rust.rs" -o "$1"
	rm -f "$1".*.o
}

build_cell() { # NAME LANGUAGE COMPILER LEVEL FP CF LINK SYMBOLS
	local out=$bin/stack_$1 whole=$tmp/built/$2.$3.$4.$5.$6.$7
	if [ -e "$whole" ]; then
		:
	elif [ "$2" = rust ]; then
		build_rust "$whole" "$4" "$5" "$7"
	else
		build_c "$whole" "${@:2:6}"
	fi || return
	cp "$whole" "$out"
	cp "$whole" "$tmp/sym/stack_$1"
	case $8 in
	debuglink)
		objcopy --only-keep-debug "$out" "$out.debug"
		strip "$out"
		(cd "$bin" && objcopy --add-gnu-debuglink="stack_$1.debug" "stack_$1")
		;;
	stripped) strip "$out" ;;
	esac
}

# What a cell needs and this machine has not.
lacking() { # COMPILER LINK
	command -v "$1" >/dev/null || echo "$1"
	[[ $2 != lld* ]] || command -v ld.lld >/dev/null || echo lld
}

build_all() {
	local jobs=0 name rest lacks
	while read -r name rest; do
		# shellcheck disable=SC2086
		set -- $rest
		lacks=$(lacking "$2" "$6" | paste -s -d' ')
		if [ -n "$lacks" ]; then
			skipped+=("$name ($lacks)")
			continue
		fi
		build_cell "$name" "$@" >"$tmp/build.$name" 2>&1 &
		((++jobs % $(nproc))) || wait
	done < <(cells)
	wait
}

# ---- recording -----------------------------------------------------------------------------------

# Runs each program; started by the recorder.
cat >"$tmp/run_all" <<'END'
#!/bin/sh
folder=$1
shift
for program; do
	"$program" --recursion 60 --truth "$folder/$(basename "$program").truth" >/dev/null
done
END
chmod +x "$tmp/run_all"

# The function as an argument for the recorder: by name, or by place where there is no name.
target_of() { # PROGRAM
	local name=${1##*/} offset
	if nm "$1" 2>/dev/null | grep -q ' T stack_leaf$'; then
		echo "$1:stack_leaf"
		return
	fi
	offset=$("$record" --binary "$tmp/sym/$name" --find-symbol stack_leaf | sed -n 's/.*offset=//p' | head -n 1)
	echo "$1:+$offset"
}

record_all() { # NAME STACKS
	local name=$1 program programs=() targets=()
	mapfile -t programs < <(find "$bin" -name 'stack_*' ! -name '*.debug' | sort)
	for program in "${programs[@]}"; do
		targets+=("$(target_of "$program")")
	done
	mkdir "$tmp/truth.$name"
	"$record" -o "$tmp/$name.cwc" --attribution --stack "$2" -f --exec "$tmp/run_all" "${targets[@]}" -- \
		"$tmp/truth.$name" "${programs[@]}" >"$tmp/$name.log" 2>&1 || fail "$name: $(cat "$tmp/$name.log")"
	cat "$tmp/truth.$name"/*.truth >"$tmp/$name.truth"
	mv "$tmp/$name.cwc" "$tmp/root/"
	said_lost "$tmp/$name.log" && fail "$name: $lost"
}

# ---- analyzing -----------------------------------------------------------------------------------

# The analyzer with its libraries where no target has any.
make_root() {
	local lib
	mkdir -p "$tmp/root/own" "$tmp/root/tmp"
	cp "$analyze" "$tmp/root/own/callweave-analyze"
	ldd "$analyze" | grep -o '/[^ ]*' | while read -r lib; do
		cp -L "$lib" "$tmp/root/own/"
	done
}

in_root() {
	env -i TMPDIR=/tmp "$(command -v chroot)" "$tmp/root" /own/"$(basename "$(ldd "$analyze" | grep -o '/[^ ]*ld-[^ ]*')")" \
		--library-path /own /own/callweave-analyze "$@"
}

import_all() { # NAME CAPTURE [OPTIONS]
	in_root import "/$2.cwc" -o "/$1.db" "${@:3}" >"$tmp/$1.import" 2>&1 || fail "$1: $(cat "$tmp/$1.import")"
	mv "$tmp/root/$1.db" "$tmp/"
	sqlite3 "$tmp/$1.truth.db" -cmd ".parameter set :file '$tmp/$1.truth'" <"$here/e2e/truth.sql" ||
		fail "$1: cannot load the truth"
	{
		cells | awk 'BEGIN { print "CREATE TABLE t.cell(program, language, level, fp, symbols);" }
			{ printf "INSERT INTO t.cell VALUES(\"stack_%s\", \"%s\", \"%s\", \"%s\", \"%s\");\n", $1, $2, $4, $5, $8 }' |
			tr '"' "'"
		sed "s/CREATE TEMP TABLE compared/CREATE TABLE t.compared/; /^CREATE TEMP VIEW/d" "$here/e2e/stacks.sql"
		# Functions of a program without symbols are known by their addresses only.
		echo "CREATE VIEW t.cells AS SELECT c.*, language, level, fp, symbols,
			placed_right AND (named_right OR symbols = 'stripped') AS right FROM compared c JOIN cell USING(program);"
	} | sqlite3 -batch -bail -cmd "ATTACH '$tmp/$1.truth.db' AS t" "$tmp/$1.db" || fail "$1: cannot compare"
}

truth() { # NAME SQL
	sqlite3 -batch -bail "$tmp/$1.truth.db" "$2"
}

# The paths that are not as they should be. What has no symbols in the capture is known by its addresses.
list="SELECT program, path, right, complete, truncated, broken, problem, functions FROM cells WHERE"
# The C library's code between a handler and what it interrupted has no frame pointers.
plain="path NOT IN ('signal', 'own stack')"

# ---- all of it -----------------------------------------------------------------------------------

# The library of older Rust compilers (Debian 12's and Ubuntu 24.04's) has none either: that must be said.
said=0
minor=$(rustc --version 2>/dev/null | sed -n 's/^rustc 1\.\([0-9]*\)\..*/\1/p')
[ "${minor:-99}" -ge 79 ] || said="program IN (SELECT program FROM cell WHERE language = 'rust') AND NOT complete AND problem LIKE 'a function without frame pointers %'"
all_built=0 all_paths=0 all_by_fp=0

# Build, record, delete and analyze the cells at hand.
try_cells() {
	local name rest how built paths
	rm -rf "$bin" "$tmp/sym" "$tmp"/truth.* "$tmp"/*.truth "$tmp"/*.db "$tmp/root/debug" "$tmp/root"/*.cwc
	mkdir "$bin" "$tmp/sym"
	build_all
	while read -r name rest; do
		[ -x "$bin/stack_$name" ] || [[ " ${skipped[*]} " == *" $name ("* ]] ||
			fail "cell $name ($rest) was not built: $(tail -n 3 "$tmp/build.$name")"
	done < <(cells)
	for how in dwarf fp none; do
		record_all $how $how
	done
	mkdir "$tmp/root/debug"
	find "$bin" -name "*.debug" -exec mv -t "$tmp/root/debug/" {} +
	rm -rf "$bin"
	for how in dwarf fp none; do
		import_all $how $how
	done
	built=$(truth dwarf "SELECT count(DISTINCT program) FROM stack")
	paths=$(truth dwarf "SELECT count(*) FROM stack")
	for how in dwarf fp; do
		expect "$how: paths whose stack is not there" "$(truth $how "$list stack_id IS NULL")" ""
		expect "$how: stacks that are not right and do not say so" "$(truth $how "$list complete AND NOT right")" ""
		expect "$how: programs with names where symbols were stripped and are nowhere else, or without where not" "$(truth $how "
			SELECT DISTINCT program FROM cells WHERE path = 'deep' AND (functions IS NOT NULL) <> (symbols <> 'stripped')")" ""
	done
	expect "dwarf: paths that are not complete or not as the program knows them" \
		"$(truth dwarf "$list path <> 'own stack' AND NOT (right AND complete AND NOT truncated AND NOT broken)")" ""
	expect "dwarf: handlers with a stack of their own, which do not say why they end at what was interrupted" \
		"$(truth dwarf "$list path = 'own stack' AND NOT (begins_right AND truncated AND NOT complete
			AND problem LIKE '%alternate signal stack%')")" ""
	expect "fp: paths of programs with frame pointers that are not complete or not as the program knows them" \
		"$(truth fp "$list fp = 'fp' AND $plain AND NOT (right AND complete) AND NOT ($said)")" ""
	# Of programs without frame pointers the recorder keeps the memory up to the first that looks like one.
	expect "fp: system calls that are not complete or not as the program knows them" \
		"$(truth fp "$list kind <> 'entry' AND NOT (right AND complete) AND NOT (fp = 'nofp' AND broken)")" ""
	expect "fp: the programs whose stacks need --stack dwarf, as the recorder counts them" \
		"$(sed -n 's/.* and \([0-9]*\) more: no frame pointers.*--stack dwarf.*/\1/p' "$tmp/fp.log")" \
		"$(truth fp "SELECT count(DISTINCT program) - 3 FROM cells WHERE fp = 'nofp'")"
	# With the debug files that the programs name, and still without the programs.
	mv "$tmp/dwarf.truth" "$tmp/linked.truth"
	import_all linked dwarf --debug-dir /debug
	expect "dwarf, debug files: paths that are not right, with names" "$(truth linked "$list path <> 'own stack'
		AND symbols <> 'stripped' AND NOT (named_right AND placed_right AND complete)")" ""
	expect "none: calls, their stacks, other user stacks" "$(sqlite3 "$tmp/none.db" "SELECT count(*) > $built, count(stack_id),
		(SELECT count(*) FROM stack WHERE kind = 'user') FROM slice")" "1|0|0"
	all_built=$((all_built + built)) all_paths=$((all_paths + paths))
	all_by_fp=$((all_by_fp + $(truth fp "SELECT count(*) FROM cells WHERE right AND complete")))
}

make_root
mkdir "$tmp/built"
if [ "${MATRIX:-}" = all ]; then
	mkdir "$tmp/batches"
	combinations "$tmp/batches"
	for batch in "$tmp/batches"/*; do
		[[ ${batch%.*} == "${last:-}" ]] || rm -f "$tmp/built"/* # those of other links
		last=${batch%.*}
		cp "$batch" "$tmp/cells"
		before=$failures
		try_cells
		echo "${batch##*/}: $(wc -l <"$batch") cells, $((failures - before)) checks failed"
	done
else
	selection >"$tmp/cells"
	try_cells
fi
# What was inlined into one frame, call by call with the lines of the source: f() in inlined, and the calls of it.
f=$(grep -n '^	f();$' "$src/stack_cxx.cc" | cut -d: -f1) draw=$(grep -n 'inlined(.*inlined(.*leaf(path)' "$src/stack_cxx.cc" | cut -d: -f1)
[ ! -e "$tmp/built/cxx.clang++.O3.fp.none.pie" ] || [ "${MATRIX:-}" = all ] || expect "linked: what clang++ -O3 inlined into draw" "$(sqlite3 "$tmp/linked.db" "
	SELECT DISTINCT (SELECT group_concat(what, ' < ') FROM (SELECT CASE WHEN function LIKE 'void walk::inlined<%' THEN 'inlined'
		WHEN function LIKE 'walk::box<int>::draw%operator()() const' THEN 'lambda'
		WHEN function = 'walk::box<int>::draw(char const*) const' THEN 'draw' ELSE function END || ':' || line AS what
		FROM symbol y WHERE y.frame_id = f.frame_id ORDER BY inline_depth))
	FROM frame f JOIN module m USING(module_id) JOIN symbol o USING(frame_id)
	WHERE m.name = 'stack_o' AND o.function = 'walk::box<int>::draw(char const*) const' AND o.inline_depth > 0")" \
	"lambda:$draw < inlined:$f < lambda:$draw < inlined:$f < draw:$draw"
note "$all_built programs, $all_paths paths, all complete and right by unwind tables, $all_by_fp by frame pointers; skipped: ${skipped[*]:-none}"
finish
