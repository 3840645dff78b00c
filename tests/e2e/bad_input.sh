#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Each option of the recorder with values that make no sense, and each command of the analyzer with files that
# are no captures: one sentence on stderr that is safe to show, nothing on stdout, status 1 or 2. New options
# and commands are tried without a word here.
# PARALLEL: what is refused does not depend on time.
. "$(dirname "$0")/../lib.sh"
need_tracing
tried=0

# refused STATUSES COMMAND...: one sentence (with argp's hint behind it when it is about usage)
refused() {
	local statuses=$1 got lines
	shift
	timeout 20 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	lines=$(wc -l <"$tmp/err")
	[[ " $statuses " == *" $got "* ]] || fail "${*@Q}: exit status $got, not $statuses: $(head -n 3 "$tmp/err")"
	((lines >= 1 && lines <= (got == 2 ? 3 : 1))) || fail "${*@Q}: $lines lines: $(head -n 5 "$tmp/err")"
	[ -s "$tmp/out" ] && fail "${*@Q}: wrote to stdout: $(head -n 2 "$tmp/out")"
	grep -qE 'Sanitizer|runtime error|\(null\)' "$tmp/err" && fail "${*@Q}: $(head -n 3 "$tmp/err")"
	grep -qE "[a-z] :|[a-z]  [a-z]" "$tmp/err" && fail "${*@Q}: a hole in the sentence: $(head -n 3 "$tmp/err")"
	tried=$((tried + 1))
}

# ---- the recorder ---------------------------------------------------------------------------------
"$workloads/trace_lock_test" --count 0 >"$tmp/target" &
target=$!
pids+=("$target")
wait_for grep -q PID "$tmp/target"
cd "$tmp" || exit 2
valued=$("$record" --help | grep -oE -- '--[a-z-]+[=[]' | tr -d '=[' | sort -u)
at_least "options with values" "$(wc -w <<<"$valued")" 20
for option in $valued; do
	for value in '' nonsense% -1 1e309 99999999999999999999; do
		case $option in
		--output | --exec | --debug-dir) [ -z "$value" ] || continue ;; # any other is a name
		esac
		refused '1 2' "$record" -p $target --duration 0.1 -o "$tmp/x.cwc" function_to_trace "$option=$value"
	done
done

# ---- the analyzer ---------------------------------------------------------------------------------
good=$here/captures/v1-async.cwc
size=$(stat -c %s "$good")
mkdir bad
: >bad/empty
for n in 1 8 24 100; do
	head -c $n "$good" >bad/head.$n
done
tail -c +9 "$good" >bad/headless
cp /bin/true bad/program
gzip -c "$good" >bad/zipped
zstd -q -c "$here/lib.sh" >bad/zstd
cp "$here/lib.sh" bad/text
head -c 100000 /dev/zero >bad/zeros
sqlite3 bad/foreign.db 'CREATE TABLE t(a)'
mkdir bad/folder
ln -s loop bad/loop
"$build/tests/capture_edit" "$good" bad/newer --format-version 99
"$build/tests/capture_edit" "$good" bad/older --format-version 0
commands=$("$analyze" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
at_least "commands" "$(wc -w <<<"$commands")" 9
# What a command wants beside a capture.
more_of() { # COMMAND
	case $1 in
	import | archive) more=(-o "$tmp/x.out") ;;
	discover) more=(enqueue_request) ;;
	export) more=(--format csv) ;;
	diff) more=("$good") ;;
	*) more=() ;;
	esac
}
for file in '' bad/missing bad/*; do
	for command in $commands; do
		more_of "$command"
		refused 1 "$analyze" "$command" "$file" "${more[@]}"
	done
	[ ! -e "$tmp/x.out" ] || fail "$file: a result is left: x.out"
done

# Readable to where the damage is: what is there, and what is missing in a sentence of its own.
head -c $((size / 2)) "$good" >half
head -c $((size - 3)) "$good" >short
cat "$good" "$good" >twice
cat "$good" bad/program >longer
"$build/tests/capture_edit" "$good" flipped --flip 20 --seed 4
for file in half short twice longer flipped; do
	for command in $commands; do
		more_of "$command"
		rm -f "$tmp/x.out"
		timeout 20 "$analyze" "$command" "$file" "${more[@]}" >"$tmp/out" 2>"$tmp/err" </dev/null
		[ $? -le 1 ] || fail "$command $file: $(tail -n 2 "$tmp/err")"
		case $command in
		dump | sql) ;; # dump --validate is for that, and sql shows its list
		*) grep -q "$file" "$tmp/err" || fail "$command $file: nothing is said about the damage" ;;
		esac
		tried=$((tried + 1))
	done
	"$analyze" dump --validate "$file" >"$tmp/out" 2>&1
	expect "dump --validate $file: status" $? 1
	[ -s "$tmp/out" ] || fail "dump --validate $file says nothing"
done
note "$tried commands"
finish
