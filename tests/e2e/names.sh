#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Names and lines of a stripped program, where they come from and why not: debug files in folders, an
# archive that is read where nothing else is, and what the recorder embeds.
# PARALLEL: names are compared.
. "$(dirname "$0")/../lib.sh"
need_tracing
for tool in objcopy strip readelf ldd chroot setpriv; do
	command -v $tool >/dev/null || skip "needs $tool"
done
whole=$workloads/trace_async_test
id=$(readelf -n "$whole" | sed -n 's/.*Build ID: //p')
mkdir -p "$tmp/bin" "$tmp/debug/.build-id/${id:0:2}" "$tmp/wrong/.build-id/${id:0:2}" "$tmp/root/tmp"
objcopy --only-keep-debug "$whole" "$tmp/debug/.build-id/${id:0:2}/${id:2}.debug"
objcopy --only-keep-debug "$workloads/trace_lock_test" "$tmp/wrong/.build-id/${id:0:2}/${id:2}.debug"
strip -o "$tmp/bin/trace_async_test" "$whole"

capture() { # NAME RECORDER-OPTIONS...
	local name=$1
	shift
	# Functions of a stripped program are given by their place.
	"$record" -o "$tmp/$name.cwc" --stack fp "$@" --exec "$tmp/bin/trace_async_test" "libc.so.6:clock_nanosleep" -- \
		--count 5 >"$tmp/$name.out" 2>"$tmp/$name.log" || fail "$name: $(tail -n 2 "$tmp/$name.log")"
}
# All frames of the program: its functions, inlined ones too, with their lines.
frames() { # CAPTURE ANALYZER-OPTIONS...
	"$analyze" sql "$@" --no-cache --format csv "$frames_sql" 2>"$tmp/frames.err" | tail -n +2 | tr -d '\r'
}
frames_sql="SELECT f.rel_pc, y.inline_depth, y.function, y.file, y.line FROM frame f JOIN module m USING(module_id)
	LEFT JOIN symbol y USING(frame_id) WHERE m.name = 'trace_async_test' ORDER BY 1, 2"
module() { # COLUMN CAPTURE ANALYZER-OPTIONS...
	local column=$1
	shift
	"$analyze" sql "$@" --no-cache --format csv \
		"SELECT $column FROM module_source WHERE name = 'trace_async_test'" 2>/dev/null | tail -n 1 | tr -d '\r"'
}

capture a
frames "$tmp/a.cwc" --debug-dir "$workloads" >"$tmp/wanted"
at_least "frames of the program" "$(wc -l <"$tmp/wanted")" 5
at_least "inlined frames of the program" "$(cut -d, -f2 "$tmp/wanted" | grep -cv '^0$')" 1
grep -q 'main,tests/workloads/trace_async_test.c,[0-9]' "$tmp/wanted" || fail "no lines: $(head -n 3 "$tmp/wanted")"

# ---- folders ---------------------------------------------------------------------------------------
expect "names of a stripped program" "$(frames "$tmp/a.cwc" | cut -d, -f3 | grep -c .)" 0
expect "where they are from" "$(module "coalesce(names_from, 'nowhere')" "$tmp/a.cwc")" nowhere
[[ $(module tried "$tmp/a.cwc") == *"capture: names only, no lines; $tmp/bin/trace_async_test: no debug information; "*"not there: "*"$id"*  ||
	$(module tried "$tmp/a.cwc") == *"no debug information"*"not there: "*"${id:2}.debug"* ]] || fail "tried: $(module tried "$tmp/a.cwc")"
expect "unwind information" "$(module unwind_from "$tmp/a.cwc")" capture
expect "names by --debug-dir" "$(frames "$tmp/a.cwc" --debug-dir "$tmp/debug" | diff - "$tmp/wanted")" ""
expect "lines from" "$(module lines_from "$tmp/a.cwc" --debug-dir "$tmp/debug")" "$tmp/debug/.build-id/${id:0:2}/${id:2}.debug"
# What comes later is taken, although there is a database of before; and that one is kept then.
kept() {
	"$analyze" sql "$tmp/a.cwc" --sysroot "$tmp/image" --format csv "$frames_sql" 2>"$tmp/err" | tail -n +2 | tr -d '\r'
}
expect "names below a --sysroot that is not there" "$(kept | cut -d, -f3 | grep -c .)" 0
mkdir -p "$tmp/image$tmp/bin"
cp "$whole" "$tmp/image$tmp/bin/"
expect "names below --sysroot" "$(kept | diff - "$tmp/wanted")" ""
database=$(stat -c %i "$tmp/a.cwc.db")
expect "names below --sysroot, once more" "$(kept | diff - "$tmp/wanted")" ""
expect "the database once more" "$(stat -c %i "$tmp/a.cwc.db")" "$database"
expect "names of another build" "$(frames "$tmp/a.cwc" --debug-dir "$tmp/wrong" | cut -d, -f3 | grep -c .)" 0
[[ $(module tried "$tmp/a.cwc" --debug-dir "$tmp/wrong") == *"another build id, "*": not used"* ]] ||
	fail "another build: $(module tried "$tmp/a.cwc" --debug-dir "$tmp/wrong")"
frames "$tmp/a.cwc" --debug-dir "$tmp/debug" --srcline none >"$tmp/bare"
expect "frames that have a name and no line" "$(grep -c "^[0-9]*,0,[a-z_0-9]*,,\$" "$tmp/bare") $(wc -l <"$tmp/bare")" \
	"$(cut -d, -f1 "$tmp/wanted" | sort -u | wc -l) $(cut -d, -f1 "$tmp/wanted" | sort -u | wc -l)"
expect "lines from, without" "$(module "coalesce(lines_from, 'nowhere')" "$tmp/a.cwc" --debug-dir "$tmp/debug" --srcline none)" nowhere

# Folders that cannot be read are named; the rest goes on.
chmod 711 "$tmp" && chmod 755 "$tmp/bin" && chmod 644 "$tmp/a.cwc"
cp "$analyze" "$tmp/bin/analyze" && chmod 755 "$tmp/bin/analyze"
mkdir -p "$tmp/closed" && chmod 700 "$tmp/closed"
(cd / && setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/bin/analyze" modules "$tmp/a.cwc" --no-cache --debug-dir "$tmp/closed" \
	--debug-dir /dev/null --debug-dir "$tmp/nowhere") >"$tmp/closed.txt" 2>&1 || fail "closed: $(cat "$tmp/closed.txt")"
for words in "$tmp/closed/.build-id/.*: Permission denied" "/dev/null/.build-id/.*: Not a directory" "not there: .*$tmp/nowhere/"; do
	grep -q "$words" "$tmp/closed.txt" || fail "modules does not say '$words': $(cat "$tmp/closed.txt")"
done

# Damaged debug files are named, with what they do not give, and are not said to serve what they do not.
damaged() { # SECTION: a folder with the debug file, this section filled with ones
	local file=$tmp/damaged$1/.build-id/${id:0:2}/${id:2}.debug at size
	mkdir -p "${file%/*}"
	cp "$tmp/debug/.build-id/${id:0:2}/${id:2}.debug" "$file"
	read -r at size < <(readelf -SW "$file" 2>/dev/null | sed 's/^ *\[ *[0-9]*\]//' |
		while read -r name _ _ offset size _; do [ "$name" = "$1" ] && echo $((0x$offset)) $((0x$size)); done)
	[ "${size:-0}" -gt 0 ] || fail "no section $1"
	head -c "$size" /dev/zero | tr '\0' '\377' | dd of="$file" bs=1 seek="$at" conv=notrunc status=none
	"$analyze" modules "$tmp/a.cwc" --no-cache --debug-dir "$tmp/damaged$1" 2>&1 |
		sed -n '/trace_async_test [0-9]/,/^$/p' >"$tmp/damaged.txt" || fail "modules fails on a damaged $1"
	grep -q "^  \(lines\|tried\|     \).*$file" "$tmp/damaged.txt" || fail "a damaged $1 is not named: $(cat "$tmp/damaged.txt")"
}
for section in .debug_info .debug_abbrev; do
	damaged $section
	grep -q "$section/.*: debug information without lines of these addresses\|its debug information cannot be read" "$tmp/damaged.txt" ||
		fail "modules does not say what is wrong with $section: $(cat "$tmp/damaged.txt")"
	grep -q "^  names  *$tmp/damaged$section/" "$tmp/damaged.txt" || fail "names of a stripped program are from: $(cat "$tmp/damaged.txt")"
	grep -q '^  lines  *none' "$tmp/damaged.txt" || fail "lines of a damaged $section: $(cat "$tmp/damaged.txt")"
done
damaged .debug_line
damaged .symtab
damaged .strtab
# A file of a module: another one under its path, and one that is no ELF file any more.
cp "$tmp/bin/trace_async_test" "$tmp/kept"
printf '\377\377\377\377' | dd of="$tmp/bin/trace_async_test" bs=1 conv=notrunc status=none
"$analyze" modules "$tmp/a.cwc" --no-cache >"$tmp/damaged.txt" 2>&1 || fail "modules fails on a damaged module"
grep -q "$tmp/bin/trace_async_test: .*not" "$tmp/damaged.txt" || fail "a damaged module is not named: $(cat "$tmp/damaged.txt")"
cp "$workloads/trace_test" "$tmp/bin/trace_async_test"
"$analyze" modules "$tmp/a.cwc" --no-cache >"$tmp/damaged.txt" 2>&1 || fail "modules fails on another module"
grep -q "$tmp/bin/trace_async_test: another build id, .*: not used" "$tmp/damaged.txt" || fail "another build is not named: $(cat "$tmp/damaged.txt")"
cp "$tmp/kept" "$tmp/bin/trace_async_test"

# ---- three formats ---------------------------------------------------------------------------------
"$analyze" modules "$tmp/a.cwc" --debug-dir "$tmp/debug" --format jsonl >"$tmp/m.jsonl" 2>/dev/null
"$analyze" modules "$tmp/a.cwc" --debug-dir "$tmp/debug" --format csv >"$tmp/m.csv" 2>/dev/null
"$analyze" modules "$tmp/a.cwc" --debug-dir "$tmp/debug" >"$tmp/m.txt" 2>/dev/null
n=$("$analyze" sql "$tmp/a.cwc" --debug-dir "$tmp/debug" --format csv "SELECT count(*) FROM module_source WHERE frames > 0" 2>/dev/null | tail -n 1 | tr -d '\r')
at_least "modules" "$n" 2
expect "rows of three formats" "$(wc -l <"$tmp/m.jsonl") $(($(wc -l <"$tmp/m.csv") - 1)) $(grep -c '^  build id' "$tmp/m.txt")" "$n $n $n"
expect "a module in JSON" "$(sqlite3 :memory: "SELECT json_extract(value, '\$.lines_from') FROM json_each('[' ||
	replace(rtrim(readfile('$tmp/m.jsonl'), char(10)), char(10), ',') || ']') WHERE json_extract(value, '\$.name') = 'trace_async_test'
	AND json_extract(value, '\$.type') = 'module' AND json_extract(value, '\$.build_id') = '$id'" 2>/dev/null)" \
	"$tmp/debug/.build-id/${id:0:2}/${id:2}.debug"
grep -q "^  lines  *$tmp/debug/.build-id/" "$tmp/m.txt" || fail "modules: $(cat "$tmp/m.txt")"

# ---- an archive, read where nothing of the target is -----------------------------------------------
cp "$analyze" "$tmp/root/callweave-analyze"
ldd "$analyze" | grep -o '/[^ ]*' | while read -r lib; do
	mkdir -p "$tmp/root$(dirname "$lib")"
	cp -L "$lib" "$tmp/root$lib"
done
in_root() {
	env -i TMPDIR=/tmp "$(command -v chroot)" "$tmp/root" /callweave-analyze "$@"
}
"$analyze" archive "$tmp/a.cwc" -o "$tmp/whole.cwc" --debug-dir "$tmp/debug" >"$tmp/archive.txt" 2>&1 || fail "archive: $(cat "$tmp/archive.txt")"
grep -A1 "^$tmp/bin/trace_async_test$" "$tmp/archive.txt" | grep -q 'adds elf .* KiB, debug .* KiB' || fail "archive: $(cat "$tmp/archive.txt")"
"$analyze" dump --validate "$tmp/whole.cwc" >"$tmp/valid" 2>&1 || fail "the archive is no valid capture: $(cat "$tmp/valid")"
"$analyze" archive "$tmp/whole.cwc" -o "$tmp/again.cwc" >/dev/null 2>&1
cmp "$tmp/whole.cwc" "$tmp/again.cwc" || fail "an archive of an archive is another one"
cp "$tmp/whole.cwc" "$tmp/root/whole.cwc"
in_root sql /whole.cwc --no-cache --format csv "$frames_sql" 2>"$tmp/err" | tail -n +2 | tr -d '\r' >"$tmp/got"
expect "names from an archive, elsewhere" "$(diff "$tmp/got" "$tmp/wanted")" ""
expect "modules with lines that are not from the archive" "$(in_root sql /whole.cwc --format csv \
	"SELECT count(*) FROM module_source WHERE lined > 0 AND lines_from <> 'capture'" 2>/dev/null | tail -n 1 | tr -d '\r')" 0
in_root report /whole.cwc >"$tmp/report" 2>&1 || fail "report of the archive: $(tail -n 2 "$tmp/report")"
# A debug file of another build is not taken.
"$analyze" archive "$tmp/a.cwc" -o "$tmp/less.cwc" --debug-dir "$tmp/wrong" >"$tmp/archive.txt" 2>&1 || fail "archive: $(cat "$tmp/archive.txt")"
grep -A2 "^$tmp/bin/trace_async_test$" "$tmp/archive.txt" | grep -q 'no lines: .*another build id, .*: not used' || fail "archive: $(cat "$tmp/archive.txt")"
expect "payloads of an archive without the right debug file" "$(module embedded "$tmp/less.cwc")" "elf, symbols"
# What would be lost by it is not overwritten.
echo text >"$tmp/text"
"$analyze" archive "$tmp/a.cwc" -o "$tmp/text" >/dev/null 2>"$tmp/err" && fail "a text file was overwritten"
grep -q 'exists and is no capture' "$tmp/err" || fail "$(cat "$tmp/err")"
"$analyze" archive - -o "$tmp/x.cwc" <"$tmp/a.cwc" 2>"$tmp/err" && fail "a stream was archived"
"$analyze" archive "$tmp/a.cwc" -o /dev/full 2>"$tmp/err" >/dev/null && fail "written to /dev/full"
grep -q 'cannot write /dev/full' "$tmp/err" || fail "$(cat "$tmp/err")"

# ---- what is embedded ------------------------------------------------------------------------------
cp "$whole" "$tmp/bin/trace_async_test"
capture none --embed none
capture symbols
capture all --embed all
capture small --embed-max 20K
held() { # NAME: kinds of payloads
	"$analyze" sql "$tmp/$1.cwc" --format csv "SELECT coalesce(group_concat(DISTINCT kind), 'nothing') FROM module_blob" 2>/dev/null | tail -n 1 | tr -d '\r"'
}
expect "embedded with none" "$(held none)" nothing
expect "embedded with all, but for the vdso and debug files that libraries have here" "$(held all | sed 's,vdso,,; s,debug\( symbols\)*,,g' | tr -d ,)" elf
[[ ,$(held symbols), == *,symbols,* ]] || fail "embedded by default: $(held symbols)"
grep -q 'of them symbols' "$tmp/none.log" && fail "none: $(cat "$tmp/none.log")"
grep -q ' of them symbols' "$tmp/symbols.log" || fail "symbols: $(cat "$tmp/symbols.log")"
grep -q 'libc.so.6.*: left out, as .* KiB more than the 20.0 KiB of --embed-max would be needed' "$tmp/small.log" ||
	fail "small: $(cat "$tmp/small.log")"
size() {
	stat -c %s "$tmp/$1.cwc"
}
at_most "bytes with none, of those with symbols" "$(size none)" "$(size symbols)"
at_most "bytes with 20K, of those with symbols" "$(size small)" "$(size symbols)"
at_most "bytes with symbols, of those with all" "$(size symbols)" "$(size all)"
cp "$tmp/all.cwc" "$tmp/none.cwc" "$tmp/root"
in_root sql /all.cwc --no-cache --format csv "$frames_sql" 2>"$tmp/err" | tail -n +2 | tr -d '\r' >"$tmp/got"
grep -q 'main,tests/workloads/trace_async_test.c,[0-9]' "$tmp/got" || fail "no lines elsewhere of a program that is embedded whole: $(head -n 3 "$tmp/got")"
in_root /none.cwc >"$tmp/report" 2>&1 || fail "report without anything: $(tail -n 2 "$tmp/report")"
# Without anything embedded, the files that are here serve.
grep -q ',main,tests/workloads/trace_async_test.c,[0-9]' <(frames "$tmp/none.cwc") || fail "none: $(frames "$tmp/none.cwc" | head -n 3)"
expect "unwind information without an embedded one" "$(module unwind_from "$tmp/none.cwc")" "$tmp/bin/trace_async_test"
# ---- symbols of a separate debug file --------------------------------------------------------------
# They are embedded, too: where neither the program nor that file is, there are names. With whole files, lines.
linked() { # NAME STRIP-OPTION RECORDER-OPTIONS...: of a stripped program whose debug file is beside it
	local name=$1
	objcopy --only-keep-debug "$whole" "$tmp/bin/own.debug"
	strip ${2:+"$2"} -o "$tmp/bin/trace_async_test" "$whole"
	(cd "$tmp/bin" && objcopy --add-gnu-debuglink=own.debug trace_async_test)
	capture "$name" "${@:3}"
	rm "$tmp/bin/own.debug" "$tmp/bin/trace_async_test"
	mv "$tmp/$name.cwc" "$tmp/root"
	in_root sql "/$name.cwc" --no-cache --format csv "$frames_sql" 2>"$tmp/err" | tail -n +2 | tr -d '\r' >"$tmp/got"
}
of_program() { # NAME
	in_root sql "/$1.cwc" --no-cache --format csv "SELECT embedded, names_from, lines_from FROM module_source
		WHERE name = 'trace_async_test'" 2>/dev/null | tail -n 1 | tr -d '\r"'
}
same() { # HOW: frames of another recording are not all the same ones, but named alike
	join -t, <($1 "$tmp/got" | sort -t, -k1,1) <($1 "$tmp/wanted" | sort -t, -k1,1) >"$tmp/joined"
	at_least "frames of both recordings ($1)" "$(wc -l <"$tmp/joined")" 5
	awk -F, '$2 != $3' "$tmp/joined"
}
own_names() { # FILE: the functions that addresses lie in, without what was inlined there
	sort -t, -k1,1n -k2,2nr "$1" | awk -F, '!seen[$1]++ { print $1 "," $3 }'
}
own_lines() { # FILE: all functions, with their lines
	sort -t, -k1,1n -k2,2n "$1" | awk -F, '{ at[$1] = at[$1] $3 ":" $5 " " } END { for (i in at) print i "," at[i] }'
}
linked linked ''
expect "names by the symbols of a debug file" "$(same own_names)" ""
expect "what is embedded of it" "$(of_program linked)" "debug symbols, symbols,capture,"
in_root modules /linked.cwc 2>/dev/null | grep -A9 '/trace_async_test ' | grep -q '^  names  *capture$' || fail "modules does not say that names are from the capture"
linked unnumbered --remove-section=.note.gnu.build-id
expect "names by a debug file with the right checksum" "$(same own_names)" ""
linked lined '' --embed all
expect "lines of a whole debug file" "$(same own_lines)" ""
expect "what is embedded of that" "$(of_program lined)" "debug, elf,capture,capture"
linked little '' --embed-max 8K
expect "names without room for them" "$(cut -d, -f3 "$tmp/got" | grep -c .)" 0
grep -q 'trace_async_test.*: left out, as' "$tmp/little.log" || fail "little: $(cat "$tmp/little.log")"

# A debug file that only the program can see, in a mount namespace of its own.
if unshare -m true 2>/dev/null; then
	strip -o "$tmp/bin/trace_async_test" "$whole"
	objcopy --only-keep-debug "$whole" "$tmp/bin/own.debug"
	(cd "$tmp/bin" && objcopy --add-gnu-debuglink=own.debug trace_async_test)
	mkdir "$tmp/bin/inside" && mkfifo "$tmp/bin/seen"
	# shellcheck disable=SC2016
	"$record" -o "$tmp/root/inside.cwc" -f --exec unshare libc.so.6:clock_nanosleep -- -m sh -c 'mount -t tmpfs none "$0/inside" &&
		cp "$0/trace_async_test" "$0/own.debug" "$0/inside" && "$0/inside/trace_async_test" --count 5; read -r line <"$0/seen"' "$tmp/bin" \
		>"$tmp/inside.out" 2>"$tmp/inside.log" &
	recorder_pid=$!
	pids+=($recorder_pid)
	embedded() { # the namespace is there until that is seen
		"$analyze" sql "$tmp/root/inside.cwc" --no-cache --no-symbols --format csv "SELECT name FROM module JOIN module_blob
			USING(module_id) WHERE kind = 'debug symbols'" 2>/dev/null | grep -q trace_async_test
	}
	wait_for embedded
	echo >"$tmp/bin/seen"
	wait $recorder_pid || fail "inside: $(tail -n 2 "$tmp/inside.log")"
	forget $recorder_pid
	in_root sql /inside.cwc --no-cache --format csv "$frames_sql" 2>"$tmp/err" | tail -n +2 | tr -d '\r' >"$tmp/got"
	expect "names by a debug file of the program's own namespace" "$(same own_names)" ""
	expect "what is embedded of that one" "$(of_program inside)" "debug symbols, symbols,capture,"
	rm "$tmp/bin/own.debug"
fi

note "$(wc -l <"$tmp/wanted") frames; $(($(size none) / 1024)) KiB bare, $(($(size symbols) / 1024)) with symbols, $(($(size all) / 1024)) with all"

# ---- unwind information ----------------------------------------------------------------------------
objcopy -R .eh_frame -R .eh_frame_hdr "$whole" "$tmp/bin/trace_async_test"
capture bare --stack dwarf
useless="no unwind information that can be used"
expect "a program without: what was tried" "$(module "coalesce(unwind_from, '-') || ': ' || unwind_tried" "$tmp/bare.cwc")" \
	"-: capture: $useless; $tmp/bin/trace_async_test: $useless"
finish
