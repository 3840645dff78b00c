#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A target with odd names of threads, files, mappings and symbols, and with broken ELF files mapped and in its
# stacks, can do nothing: not to the recorder, not to a terminal, not to who reads JSON, CSV or HTML. All its
# calls are there, under its names. And the recorder destroys no file and waits for no FIFO.
# PARALLEL: words are looked for.
. "$(dirname "$0")/../lib.sh"
need_tracing
command -v objcopy >/dev/null || skip "needs objcopy"

# Control characters but newline and tab, or characters that reorder what is read.
escapes() { # FILE
	tr -d '\n\t' <"$1" | LC_ALL=C grep -aqP '[\x00-\x1f\x7f]|\xc2[\x80-\x9f]|\xe2\x80[\x8e\x8f\xaa-\xae]|\xe2\x81[\xa6-\xa9]'
}
harmless() { # WHAT FILE: text for people
	escapes "$2" && fail "$1: control characters are printed: $(tr -d '\n\t' <"$2" | LC_ALL=C grep -aoP '.{0,20}[\x00-\x1f\x7f].{0,20}' | head -n 2 | cat -A)"
	iconv -f utf-8 -t utf-8 "$2" >"$tmp/same" 2>&1 || fail "$1: prints no UTF-8"
	grep -qE 'Sanitizer|runtime error' "$2" && fail "$1: $(grep -E 'Sanitizer|runtime error' "$2")"
}

# ---- the target -----------------------------------------------------------------------------------
submit=$'\e]0;owned\a\e[2Jsubmit'
take='</script><script>injected=1</script>'
leaf=$'caf\xe9\nleaf "quoted" \'one\' \xe2\x80\xaertl'
worker=_ZN$(printf '26abcdefghijklmnopqrstuvwxyz%.0s' {1..12})5queueIN$(printf '26abcdefghijklmnopqrstuvwxyz%.0s' {1..12})EE3runEPv
folder=$tmp/$'\e]0;owned\a<b>\xff\n"\''
mkdir "$folder"
target=$folder/$'evil\e[31m,=1+1 \xe2\x80\xae'
objcopy -g --redefine-sym evil_submit="$submit" --redefine-sym evil_take="$take" --redefine-sym evil_leaf="$leaf" \
	--redefine-sym evil_worker="$worker" "$workloads/evil_test" "$target" || skip "objcopy cannot rename symbols"

# Broken files, each with code that is called.
files=$tmp/files
mkdir "$files"
cp "$workloads/evil_test" "$files/good"
head -c 4096 "$workloads/evil_test" >"$files/cut"
head -c 8192 /dev/zero | tr '\0' '\377' >"$files/ones"
printf '\177ELF' >"$files/magic"
patched() { # NAME OFFSET BYTES...: a whole file with these bytes changed
	cp "$workloads/evil_test" "$files/$1"
	# shellcheck disable=SC2059 # escapes
	printf "$3" | dd of="$files/$1" bs=1 seek="$2" conv=notrunc status=none
}
patched sections 60 '\xff\xff\xff\xff'              # number of sections, and of their names
patched section-table 40 '\xff\xff\xff\xff\xff\xff\xff\x7f'
patched segments 56 '\xff\xff'
patched segment-table 32 '\xf0\xff\xff\xff\xff\xff\xff\xff'
patched class 4 '\x01'
patched machine 18 '\xf3\x00'
patched $'new\nline\e[31m (deleted)' 64 '\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff'
patched '[vdso]' 1000 '\xff\xff\xff\xff\xff\xff\xff\xff'
cp "$workloads/evil_test" "$files/deleted"
cp "$workloads/evil_test" "$files/replaced"
nfiles=0
build_id=$((0x$(readelf -SW "$workloads/evil_test" | sed -n "s/.*\.note\.gnu\.build-id *NOTE *[0-9a-f]* \([0-9a-f]*\) .*/\\1/p") + 16))
for file in "$files"/*; do
	nfiles=$((nfiles + 1))
	# One build-id is one module, whatever the files are called.
	# shellcheck disable=SC2059 # an escape
	[ "$(stat -c %s "$file")" -lt 1024 ] ||
		printf "\\x$(printf %02x $nfiles)" | dd of="$file" bs=1 seek=$build_id conv=notrunc status=none
done

# ---- recording ------------------------------------------------------------------------------------
export EVIL_FILES=$files
cat >"$tmp/evil.yaml" <<'END'
hops:
  - source: "\e]0;owned\a\e[2Jsubmit"
    source_arg: 1
    target: "</script><script>injected=1</script>"
    target_arg: 1
END
"$record" --check-config "$tmp/evil.yaml" >"$tmp/out" 2>&1 || fail "--check-config: $(cat "$tmp/out")"
harmless "--check-config" "$tmp/out"
"$record" -o "$tmp/evil.cwc" --attribution --ret --config "$tmp/evil.yaml" "$leaf" --exec "$target" -- \
	--truth "$tmp/evil.truth" >"$tmp/evil.out" 2>"$tmp/evil.log"
expect "recorder's exit status" $? 0
harmless "recorder" "$tmp/evil.log"
said_lost "$tmp/evil.log" && fail "the recorder lost something: $lost"
unset EVIL_FILES
"$record" --find-symbol main "$target" >"$tmp/out" 2>&1 || fail "--find-symbol: $(cat "$tmp/out")"
harmless "--find-symbol" "$tmp/out"
"$record" --find-symbol nothing "$target" >"$tmp/out" 2>&1 && fail "--find-symbol found nothing"
harmless "--find-symbol, nearest names" "$tmp/out"
"$record" --duration 0.2 -o "$tmp/pattern.cwc" --function '*leaf*' --exec "$target" >"$tmp/out" 2>&1 ||
	fail "--function: $(cat "$tmp/out")"
harmless "--function" "$tmp/out"

# ---- what is in it --------------------------------------------------------------------------------
import evil || finish
expect "names of functions, byte by byte" "$(query evil "SELECT group_concat(hex(CAST(function AS BLOB)) || ' ' || n, char(10))
	FROM (SELECT function, count(*) AS n FROM call GROUP BY 1 ORDER BY hex(CAST(function AS BLOB)))")" \
	"$(for name in "$submit" "$take" "$leaf"; do echo "$(printf %s "$name" | od -An -v -tx1 | tr -d ' \n' | tr a-f A-F) 60"; done | sort)"
expect "chains, and those that really were" "$(query evil "SELECT count(*) FROM hop h JOIN t.hop x ON h.key_int = x.key
	AND h.source_tid = x.source_tid AND h.target_tid = x.target_tid AND h.submit_ts <= x.submit_ns
	AND x.submit_ns <= h.start_ts AND h.start_ts <= x.start_ns AND x.start_ns <= h.end_ts")" 60
expect "threads with odd names" "$(query evil "SELECT count(DISTINCT name) FROM thread WHERE tid IN (SELECT target_tid FROM t.hop)")" 6
expect "stacks through each broken file, a memfd and nameless memory" "$(query evil "SELECT count(DISTINCT m.path)
	FROM call c JOIN stack_frame sf USING(stack_id) JOIN frame f USING(frame_id) JOIN module m USING(module_id)
	WHERE c.function = (SELECT function FROM call GROUP BY 1 ORDER BY hex(CAST(function AS BLOB)) LIMIT 1 OFFSET 2) AND sf.depth = 1")" \
	$((nfiles + 2))

# ---- what is shown of it --------------------------------------------------------------------------
shown=0
for args in report diagnostics blocked suggest follow dump 'dump --validate' sql 'sql --format csv' 'report --format csv' \
	'report --no-symbols' modules; do
	"$analyze" --help | grep -qw "${args%% *}" || continue
	query=()
	[[ $args != sql* ]] || query=('SELECT * FROM callstack')
	# shellcheck disable=SC2086 # a command and its options
	timeout 60 "$analyze" $args "$tmp/evil.cwc" "${query[@]}" >"$tmp/out" 2>"$tmp/err" </dev/null
	[ $? -le 1 ] || fail "$args: $(tail -n 2 "$tmp/err")"
	harmless "$args" "$tmp/out"
	harmless "$args, messages" "$tmp/err"
	[ -s "$tmp/out" ] && shown=$((shown + 1))
done
at_least "commands that show something" $shown 8
"$analyze" report "$tmp/evil.cwc" >"$tmp/out" 2>&1
for wanted in '\\x1b\]0;owned\\x07\\x1b\[2Jsubmit' '</script><script>injected=1</script>' 'caf\\xe9\\x0aleaf "quoted"'; do
	grep -q "$wanted" "$tmp/out" || fail "the report does not show $wanted"
done
"$analyze" discover "$tmp/evil.cwc" "$leaf" >"$tmp/out" 2>&1
harmless discover "$tmp/out"

for args in 'report --format jsonl' 'blocked --format jsonl' 'diagnostics --format jsonl' 'dump' 'follow --format jsonl' \
	'sql --format jsonl'; do
	query=()
	[[ $args != sql* ]] || query=('SELECT * FROM call NATURAL JOIN callstack')
	# shellcheck disable=SC2086
	"$analyze" $args "$tmp/evil.cwc" "${query[@]}" 2>"$tmp/err" </dev/null >"$tmp/out.jsonl"
	harmless "$args" "$tmp/out.jsonl"
	expect "$args: all lines are JSON" "$(sqlite3 :memory: "SELECT json_valid('[' ||
		replace(rtrim(CAST(readfile('$tmp/out.jsonl') AS TEXT), char(10)), char(10), ',') || ']')")" 1
done
"$analyze" report "$tmp/evil.cwc" --format csv >"$tmp/out.csv" 2>"$tmp/err"
sqlite3 -csv "$tmp/csv.db" ".import '$tmp/out.csv' rows" 2>"$tmp/err" || fail "CSV: $(cat "$tmp/err")"
expect "rows of CSV" "$(sqlite3 "$tmp/csv.db" 'SELECT count(*) FROM rows')" 60
"$analyze" report "$tmp/evil.cwc" --format html -o "$tmp/evil.html" 2>"$tmp/err" || fail "HTML: $(cat "$tmp/err")"
expect "scripts in the page, begun and ended" "$(grep -o '<script' "$tmp/evil.html" | wc -l) $(grep -o '</script' "$tmp/evil.html" | wc -l)" "2 2"
escapes "$tmp/evil.html" && fail "HTML: control characters are written"

# ---- the recorder and files -----------------------------------------------------------------------
# refused PATTERN COMMAND...: exit status 1 and a sentence without escapes
refused() {
	timeout 30 "${@:2}" >"$tmp/out" 2>"$tmp/err" </dev/null
	expect "${*:2}: exit status" $? 1
	grep -qE -- "$1" "$tmp/err" || fail "${*:2}: no '$1' in: $(cat "$tmp/err")"
	harmless "${*:2}" "$tmp/err"
}
lock=$workloads/trace_lock_test
mkfifo "$tmp/fifo"
refused 'no.*regular file' "$record" -o "$tmp/x.cwc" --binary "$tmp/fifo" main
echo precious >"$tmp/precious"
refused 'exists and is no capture' "$record" -o "$tmp/precious" --exec "$lock" function_to_trace
expect "a file that is no capture" "$(cat "$tmp/precious")" precious
cp "$here/captures/v1-tiny.cwc" "$tmp/old.cwc"
unasked=
if unshare -m true 2>/dev/null; then
	refused BTF unshare -m sh -c "mount -t tmpfs none /sys/kernel/btf && exec '$record' -o '$tmp/old.cwc' '$lock' main"
	cmp -s "$here/captures/v1-tiny.cwc" "$tmp/old.cwc" || fail "a recording that did not begin destroyed an older capture"
else
	unasked="; without mount namespaces, no recording that fails for want of BTF"
fi
refused SUDO_UID env SUDO_UID=4294967295 SUDO_GID=4294967295 \
	"$record" -o "$tmp/x.cwc" --exec "$lock" function_to_trace
refused 'has no function nothing' "$record" -o "$tmp/x.cwc" "$target" nothing

# Without standard error nothing is written into the capture instead.
"$record" --duration 0.3 -o "$tmp/x.cwc" --exec "$lock" function_to_trace -- --count 0 >"$tmp/out" 2>&-
"$analyze" dump --validate "$tmp/x.cwc" >"$tmp/out" 2>&1 || fail "recorded with standard error closed: $(cat "$tmp/out")"
note "$shown outputs, $nfiles broken or odd files in stacks$unasked"
finish
