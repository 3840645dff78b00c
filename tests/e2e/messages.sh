#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What goes wrong is said in one clear sentence on stderr, with exit status 1, or 2 for usage.
# PARALLEL: words are looked for.
. "$(dirname "$0")/../lib.sh"
need_tracing

# says STATUS PATTERN COMMAND...: the command ends with STATUS, prints nothing on stdout, and its
# message is one line (for usage, with argp's hint to --help behind it) that matches PATTERN.
says() {
	local status=$1 pattern=$2 got lines
	shift 2
	timeout 30 "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
	got=$?
	# Which events contradict each other depends on the machine: it is not what is asked here.
	sed -i "/records were lost .*(contradiction)\$/d" "$tmp/err"
	lines=$(wc -l <"$tmp/err")
	[ $got = "$status" ] || fail "$*: exit status $got, wanted $status: $(cat "$tmp/err")"
	grep -qiE -- "$pattern" "$tmp/err" || fail "$*: no '$pattern' in: $(cat "$tmp/err")"
	[ "$lines" -ge 1 ] && [ "$lines" -le $((status == 2 ? 3 : 1)) ] ||
		fail "$*: $lines lines instead of one sentence: $(cat "$tmp/err")"
	[ -s "$tmp/out" ] && fail "$*: wrote to stdout: $(head -n 3 "$tmp/out")"
	checked=$((checked + 1))
}
checked=0 unasked=

"$workloads/trace_lock_test" --count 0 >"$tmp/target" &
target=$!
pids+=($target)
wait_for grep -q PID "$tmp/target"
cwc=$tmp/x.cwc

# The recorder.
says 1 'no.*process.*4194303|4194303.*no such|4194303.*not' "$record" -p 4194303 -o "$cwc" f
says 1 'function_to_trac[^e].*function_to_trace|function_to_trac.*function_to_trace' \
	"$record" -p $target -o "$cwc" function_to_trac
says 1 'no_such_function_at_all' "$record" -p $target -o "$cwc" no_such_function_at_all
says 1 'not an? ELF' "$record" -o "$cwc" /etc/passwd main
says 1 '/no/such/file.*no such file' "$record" -o "$cwc" /no/such/file main
says 1 'no/such/program.*no such (file|program)' "$record" -o "$cwc" --exec /no/such/program main
says 1 'no/such/folder' "$record" -p $target -o /no/such/folder/x.cwc function_to_trace
says 1 'no space|full' "$record" -p $target --duration 1 -o /dev/full function_to_trace
says 1 'libnosuch' "$record" -p $target --module libnosuch.so -o "$cwc" function_to_trace
says 2 'nothing to trace|-p PID' "$record" function_to_trace
says 2 'which function|function' "$record" -p $target
says 2 'abc' "$record" -p abc function_to_trace
says 2 'async-hop|SOURCE|a,b' "$record" -p $target --async-hop a,b
says 2 '9' "$record" -p $target --async-hop function_to_trace,9,function_to_trace
says 2 'ring-size' "$record" -p $target --ring-size 12345 function_to_trace
says 2 'rings takes a whole number from 1 to 64, not .65' "$record" -p $target --rings 65 function_to_trace
says 2 'exclude' "$record" -p $target --exec /bin/true function_to_trace
says 2 'unrecognized|no-such-option' "$record" --no-such-option

says 1 'no such process: 4194303' "$record" -p $target -p 4194303 -o "$cwc" function_to_trace
thread=$(find "/proc/$target/task" -mindepth 1 -maxdepth 1 ! -name $target -printf "%f\n" | head -n 1)
[ -z "$thread" ] || says 1 "$thread is a thread" "$record" -p "$thread" -o "$cwc" function_to_trace
says 1 'no function that matches .nothing_' "$record" -p $target -o "$cwc" --function 'nothing_*'
says 1 'at most 200' "$record" -p $target -o "$cwc" --function 'libc.so.6:*'
says 1 'not code' "$record" -p $target -o "$cwc" --offset 1
says 2 'begins with its header' "$record" -p $target -o "$cwc" --offset 0
says 2 'module takes.*not' "$record" -p $target -o "$cwc" --module '' f
says 1 'no cgroup of version 2|not mounted' "$record" --cgroup "$tmp" -o "$cwc" f
says 1 'cannot open the cgroup /no/such/cgroup' "$record" --cgroup /no/such/cgroup -o "$cwc" f
says 2 'exclude' "$record" -p $target --cgroup /sys/fs/cgroup f
says 2 'exclude' "$record" --exec /bin/true --cgroup /sys/fs/cgroup f
says 2 'only one BINARY.*/bin/true.*/bin/false' "$record" /bin/true /bin/false f
says 2 'follow-forks needs' "$record" -f /bin/true f
says 2 'follow-forks needs' "$record" -f --cgroup /sys/fs/cgroup f
says 2 'need --exec' "$record" -p $target f -- argument
says 2 '-p takes.*-5' "$record" -p -5 f
says 2 'offset.*here' "$record" -p $target --offset here
says 2 'which function' "$record" --cgroup /sys/fs/cgroup
says 2 'async-source needs a FUNCTION' "$record" -p $target --async-source f
says 2 'async-source needs a FUNCTION' "$record" -p $target --async-source f --offset 0x1000
says 2 'exclude' "$record" -p $target --async-source f --async-hop f,1,g g
says 2 'given twice' "$record" -p $target --async-source f --async-source g h
says 2 'async-source-arg needs' "$record" -p $target --async-source-arg 2 f
says 2 'async-source-binary needs' "$record" -p $target --async-source-binary /bin/true f
says 2 'async-target-arg needs' "$record" -p $target --async-target-arg 2 f
says 2 'async-source-arg takes.*1-8.*auto' "$record" -p $target --async-source f --async-source-arg auto g
says 2 'async-target-arg takes.*auto.*nine' "$record" -p $target --async-source f --async-target-arg nine g
says 2 'given twice' "$record" -p $target --async-hop f,1,g --async-hop f,1,g g
says 2 'duration takes.*soon' "$record" -p $target --duration soon f
says 2 'duration takes.*0' "$record" -p $target --duration 0 f
for option in min-total-ms min-queue-ms min-work-ms async-max-age-ms; do
	says 2 "$option takes.*many" "$record" -p $target --$option many f
done
says 2 'max-events takes.*1\.5' "$record" -p $target --max-events 1.5 f
says 2 'max-rate takes.*-3' "$record" -p $target --max-rate -3 f
says 2 'max-size takes.*big' "$record" -p $target --max-size big f
says 2 'max-size takes.*64K' "$record" -p $target --max-size 1K f
says 2 'rotate needs --max-size' "$record" -p $target --rotate 3 f
says 2 'rotate takes.*0' "$record" -p $target --max-size 1M --rotate 0 f
says 2 'rotate makes several files' "$record" -p $target --max-size 1M --rotate 3 -o - f
says 2 'flight takes.*0' "$record" -p $target --flight 0 f
says 2 'flight writes files' "$record" -p $target --flight 3 -o - f
says 2 'flight and --rotate do not go together' "$record" -p $target --flight 3 --max-size 1M --rotate 3 f
says 2 'flight-when needs --flight' "$record" -p $target --flight-when f,3 f
says 2 'flight-when takes FUNCTION,MS' "$record" -p $target --flight 3 --flight-when f f
says 2 "'g' is none of the functions" "$record" -p $target --flight 3 --flight-when g,3 f
says 2 "'libm.so.6:f' is none of the functions" "$record" -p $target --flight 3 --flight-when libm.so.6:f,3 libc.so.6:f
says 2 'stack takes' "$record" -p $target --stack some f
says 2 'embed takes' "$record" -p $target --embed some f
says 2 'embed-max takes' "$record" -p $target --embed-max 3 f
says 2 'only one --config' "$record" -p $target --config "$tmp/a.yaml" --config "$tmp/b.yaml"
says 2 'find-symbol needs' "$record" --find-symbol malloc
says 2 'find-symbol goes with' "$record" -p $target --find-symbol malloc f
says 2 'check-config stands alone' "$record" -p $target --check-config "$tmp/a.yaml"
says 2 'check stands alone' "$record" -p $target --check
says 1 'no function mallocx' "$record" -p $target --module libc.so.6 --find-symbol mallocx
says 1 "no function that matches 'mallocx\*'" "$record" -p $target --module libc.so.6 --find-symbol 'mallocx*'
says 1 "has a function no_such_name; a pattern, as '\*no_such_name\*'" "$record" -p $target --find-symbol no_such_name
says 1 "a function that matches 'no_such_n\*'" "$record" -p $target --find-symbol 'no_such_n*'
says 1 'has mapped no file called libnosuch.so' "$record" -p $target --module libnosuch.so --find-symbol malloc
says 1 'has mapped no file called libc.so, but libc.so.6' "$record" -p $target --module libc.so --find-symbol malloc
says 1 'has mapped no file called libc.so.7, but libc.so.6; give that name' "$record" -p $target -o "$tmp/x.cwc" libc.so.7:malloc
says 1 'has mapped no file called libnosuch.so; give its path' "$record" -p $target -o "$tmp/x.cwc" libnosuch.so:malloc
says 1 'has no function malloc, but libc.so.6 has: give libc.so.6:malloc$' "$record" -p $target -o "$tmp/x.cwc" malloc
says 1 'no such process: 4194303' "$record" -p 4194303 --find-symbol malloc

# Plans in files: which file, line and column, the value, and what was expected.
printf 'target:\n  function: f\nhops:\n  - source: g\n    source_arg: 9\n    target: f\n' >"$tmp/argument.yaml"
printf 'target:\n  function: f\n  colour: red\n' >"$tmp/key.yaml"
printf 'target: [f\n' >"$tmp/syntax.yaml"
printf 'filters:\n  duration: 3\n' >"$tmp/nothing.yaml"
for how in "--check-config" "-p $target -o $cwc --config"; do
	# shellcheck disable=SC2086 # options
	says 1 "argument.yaml:5:17: source_arg is '9': expected" "$record" $how "$tmp/argument.yaml"
	# shellcheck disable=SC2086
	says 1 "key.yaml:3:3: unknown key 'colour': expected" "$record" $how "$tmp/key.yaml"
	# shellcheck disable=SC2086
	says 1 'syntax.yaml:[0-9]*:[0-9]*: not valid YAML' "$record" $how "$tmp/syntax.yaml"
	# shellcheck disable=SC2086
	says 1 'no/such.yaml: No such file' "$record" $how /no/such.yaml
done
says 1 'nothing.yaml.*nothing to trace' "$record" --check-config "$tmp/nothing.yaml"

# The help names no option that does not exist, of either program, nor commands that do not.
"$record" --help >"$tmp/help" || fail "--help fails"
for option in $(sed 's, -- .*,,' "$tmp/help" | grep -o -- '--[a-z][a-z-]*' | sort -u); do
	"$record" "$option=x" 2>&1 </dev/null | grep -qE "unrecognized|unknown" && fail "--help names $option, which does not exist"
done
for command in $(sed -n 's/.*callweave-analyze \([a-z]*\).*/\1/p' "$tmp/help" | sort -u); do
	"$analyze" --help | grep -qw -- "$command" || fail "--help names callweave-analyze $command, which does not exist"
done
[ "$(grep -c '^  callweave-record' "$tmp/help")" -ge 8 ] || fail "--help teaches too little by example"

# Without privileges: which one is missing.
cp "$record" "$tmp/recorder"
chmod 755 "$tmp" "$tmp/recorder"
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all "$workloads/trace_lock_test" --count 0 \
	>"$tmp/target2" 2>/dev/null &
other=$!
pids+=($other)
wait_for grep -q PID "$tmp/target2"
chmod 777 "$tmp"
says 1 'CAP_(BPF|PERFMON|SYS_ADMIN)' setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all \
	--bounding-set=-all "$tmp/recorder" -p $other -o "$tmp/user.cwc" function_to_trace

# Without BTF: a mount namespace in which the kernel shows none.
if unshare -m true 2>/dev/null; then
	says 1 'BTF' unshare -m sh -c "mount -t tmpfs none /sys/kernel/btf && exec '$record' -p $target -o '$cwc' function_to_trace"
else
	unasked="no BTF, a full disk while importing"
fi

# The analyzer.
"$record" -p $target --duration 1 --attribution -o "$tmp/good.cwc" function_to_trace 2>"$tmp/log" ||
	fail "cannot record: $(cat "$tmp/log")"
: >"$tmp/empty.cwc"
head -c 5000 "$here/../README.md" >"$tmp/foreign.cwc"
head -c 40 "$tmp/good.cwc" >"$tmp/stub.cwc"
for command in report import 'dump --validate' sql; do
	args=()
	[ "$command" = import ] && args=(-o "$tmp/x.db")
	last=()
	[ "$command" = sql ] && last=('SELECT 1')
	# shellcheck disable=SC2086 # a command and its option
	says 1 'empty' "$analyze" $command "$tmp/empty.cwc" "${args[@]}" "${last[@]}"
	# shellcheck disable=SC2086
	says 1 'not a (callweave )?capture|no capture' "$analyze" $command "$tmp/foreign.cwc" "${args[@]}" "${last[@]}"
	# shellcheck disable=SC2086
	says 1 'no such file' "$analyze" $command "$tmp/nothing.cwc" "${args[@]}" "${last[@]}"
	# shellcheck disable=SC2086
	says 1 'is a directory' "$analyze" $command "$tmp" "${args[@]}" "${last[@]}"
done
says 1 'stub.cwc' "$analyze" import "$tmp/stub.cwc" -o "$tmp/x.db"
cp "$tmp/good.cwc" "$tmp/secret.cwc"
chmod 000 "$tmp/secret.cwc"
cp "$analyze" "$tmp/analyzer"
chmod 755 "$tmp/analyzer"
says 1 'permission denied' setpriv --reuid=65534 --regid=65534 --clear-groups --bounding-set=-all --inh-caps=-all \
	"$tmp/analyzer" import "$tmp/secret.cwc" -o "$tmp/x.db"
says 1 'no such table.*nowhere' "$analyze" sql "$tmp/good.cwc" 'SELECT * FROM nowhere'
says 1 'syntax' "$analyze" sql "$tmp/good.cwc" 'SELEC 1'
says 1 'only reading|read-?only' "$analyze" sql "$tmp/good.cwc" 'DELETE FROM slice'
says 1 'no_such_source' "$analyze" "$tmp/good.cwc" --async-hop no_such_source,1,function_to_trace,1
mknod "$tmp/device" c 1 7
says 1 'device' "$analyze" import "$tmp/good.cwc" -o "$tmp/device"
[ -c "$tmp/device" ] || fail "import replaced a device by a database"
says 2 'abc' "$analyze" "$tmp/good.cwc" --min-total-ms abc
says 2 'xml' "$analyze" "$tmp/good.cwc" --format xml
says 2 'unrecognized|no-such-option' "$analyze" "$tmp/good.cwc" --no-such-option

# A capture of a newer format: the version in the plain header is one more.
if [ -x "$build/tests/capture_edit" ]; then
	"$build/tests/capture_edit" "$tmp/good.cwc" "$tmp/newer.cwc" --format-version 99 2>"$tmp/log" &&
		says 1 'newer|version 99' "$analyze" import "$tmp/newer.cwc" -o "$tmp/x.db"
fi

# A reader that goes away is no error worth a word.
"$analyze" sql "$tmp/good.cwc" 'WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) SELECT i FROM n' \
	2>"$tmp/err" | head -n 1 >/dev/null
sed -i "/records were lost .*(contradiction)\$/d" "$tmp/err"
[ -s "$tmp/err" ] && fail "a closed pipe is complained about: $(cat "$tmp/err")"

# A disk that fills up while importing.
if [ -z "$unasked" ]; then
	mkdir "$tmp/small"
	says 1 'no space|full' unshare -m sh -c "mount -t tmpfs -o size=64k none '$tmp/small' && exec '$analyze' import '$tmp/good.cwc' -o '$tmp/small/x.db'"
fi
note "$checked messages${unasked:+; not asked, for want of mount namespaces: $unasked}"
finish
