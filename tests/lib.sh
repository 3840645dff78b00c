# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the end-to-end tests share. Sourced with the test's own arguments: BUILD and an empty folder.
# shellcheck disable=SC2034 # used by the tests
set -u
build=$(realpath "$1")
tmp=$(realpath "$2")
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
record=$build/callweave-record
analyze=$build/callweave-analyze
workloads=$build/workloads
export XDG_CACHE_HOME=$tmp/cache
unset DEBUGINFOD_URLS
# How many times slower than a real machine this one is: an emulator says so. Times may be off by that.
slow=${SLOW_MACHINE:-1}
failures=0
noted='' loose=''
pids=()

# The two hops of most workloads.
pool_hops=(--async-hop submit_compute_task,2,process_request,1
	--async-hop submit_storage_task,2,write_result,1)

# Stops what the test started and left running, by the ids it noted.
cleanup() {
	local pid
	for pid in "${pids[@]}"; do
		kill -KILL "$pid" 2>/dev/null
	done
	wait 2>/dev/null
}
trap cleanup EXIT

skip() {
	echo "$*"
	exit 77
}

# A check that failed; the test goes on and fails at its end.
fail() {
	echo "FAILED: $*"
	failures=$((failures + 1))
}

# A figure worth a place in the suite's line for this test.
note() {
	noted=$*
	echo "# $*"
}

# The limit that holds: STRICT, or LOOSE on a machine that is busy; then the suite's line says so.
limit_of() { # WHAT STRICT LOOSE, into $limit
	limit=$2
	busy || return
	limit=$3
	loosened "$1: $3, not $2"
}

# What was asked for less strictly than on a quiet machine, and could not be.
loosened() {
	[[ "$loose; " == *"; $1; "* ]] || loose="$loose; $1"
}

finish() {
	[ "$slow" -le 1 ] || loosened "an emulator: times $slow-fold"
	[ -z "$loose" ] || note "${noted:+$noted; }LOOSER (load $(cut -d ' ' -f 1 /proc/loadavg)): ${loose#; }"
	[ $failures = 0 ] || echo "$failures checks failed"
	exit $((failures > 0))
}

# The static recorder, built when it is not there or out of date; its path in $static.
static_recorder() {
	local B
	static=$record
	[ -e "$build/format/reader.d" ] || return 0 # a machine that nothing is built on has no other
	# The build folder by the name it was built under: the dependency files know no other.
	B=$(sed -n "1s,/format/reader.o:.*,,p" "$build/format/reader.d")
	[ -n "$B" ] || { fail "no dependency file in $build"; return 1; }
	static=$build/callweave-record-static
	(cd "$here/.." && unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL && # two tests may want it at a time
		flock "$build/format/reader.d" make -s B="$B" static) >"$tmp/make.log" 2>&1 && return
	fail "make static: $(tail -n 5 "$tmp/make.log")"
	return 1
}

need_tracing() {
	[ "$(id -u)" = 0 ] || skip "needs root"
	[ -r /sys/kernel/btf/vmlinux ] || skip "this kernel has no BTF"
	[ -x "$record" ] || skip "no recorder was built"
}

expect() { # WHAT GOT WANTED
	[ "$2" = "$3" ] && return
	fail "$1: got '$2', wanted '$3'"
}

at_most() { # WHAT GOT LIMIT
	awk -v a="$2" -v b="$3" 'BEGIN { exit !(a != "" && a <= b) }' && return
	fail "$1: got '$2', the limit is $3"
}

at_least() { # WHAT GOT LIMIT
	awk -v a="$2" -v b="$3" 'BEGIN { exit !(a != "" && a >= b) }' && return
	fail "$1: got '$2', wanted at least $3"
}

# Waits for a command to succeed: a minute, though it takes a second where nothing is wrong, because others may have
# the machine.
wait_for() {
	local until=$((SECONDS + 60))
	while [ $SECONDS -lt $until ]; do
		"$@" 2>/dev/null && return
		sleep 0.01
	done
	fail "gave up waiting for: $*"
	return 1
}

# A port that nobody listens on: none of those that the kernel gives out, and not another suite's.
free_port() {
	local port=$((20000 + $$ % 10000))
	while (exec 9<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
		port=$((port < 29999 ? port + 1 : 20000))
	done
	echo $port
}

recorder_ready() { # LOG PID: it says so, or it is gone
	grep -qi 'recording' "$1" || ! kill -0 "$2"
}

# Does a recorder say that it lost something? What it says is in $lost. Reports of mappings are those of all
# processes of the machine: on one that is busy they may be more than it can take.
said_lost() { # LOG
	lost=$(grep LOST "$1") || return
	if busy && [[ $lost =~ LOST:\ [0-9]+\ reports\ of\ mappings\; ]]; then
		loosened 'reports of mappings were lost'
		return 1
	fi
}

# Start a recorder and wait until it records: its id in recorder_pid, what it says in LOG.
start_recorder() { # LOG OPTIONS...
	local log=$1
	shift
	: >"$log" # an earlier recorder's words must not be taken for this one's
	"$record" "$@" >"$log" 2>&1 &
	recorder_pid=$!
	pids+=("$recorder_pid")
	wait_for recorder_ready "$log" $recorder_pid
}

# Ticks of CPU time that a hypervisor took from this machine: in no thread's clock and no scheduler event.
stolen() {
	awk '$1 == "cpu" { print $9 }' /proc/stat
}

# True on a machine whose cores are wanted by many others: no exact time can be asked of it. Once it was so while a test
# runs, it is for the rest of it: what was measured then is asked for later.
was_busy=
busy() {
	[ -z "$was_busy" ] || return 0
	[ "$slow" -gt 1 ] || awk -v n="$(nproc)" '{ exit !($1 > 1.5 * n) }' /proc/loadavg || return
	was_busy=yes
}

# Arguments up to -- into words, those behind it into rest: variables of the caller.
split_words() {
	words=()
	while [ "$1" != -- ]; do
		words+=("$1")
		shift
	done
	rest=("${@:2}")
}

# Record a running workload by its PID, from before its start to its end.
# record_pid NAME WORKLOAD [ITS OPTIONS] -- [RECORDER OPTIONS]; leaves NAME.cwc, NAME.truth, NAME.log
# While it is recorded and has not begun, the command in $meanwhile is run.
record_pid() {
	local name=$1 program=$2 words rest pid status
	split_words "${@:3}"
	rm -f "$tmp/$name.go" "$tmp/$name.out"
	stolen >"$tmp/$name.stolen"
	"$workloads/$program" --start-file "$tmp/$name.go" --truth "$tmp/$name.truth" "${words[@]}" \
		>"$tmp/$name.out" 2>&1 &
	target_pid=$!
	pids+=("$target_pid")
	wait_for grep -q PID "$tmp/$name.out"
	start_recorder "$tmp/$name.log" -p $target_pid -o "$tmp/$name.cwc" "${rest[@]}"
	${meanwhile:-:}
	: >"$tmp/$name.go"
	wait $target_pid
	wait $recorder_pid
	status=$?
	stolen >>"$tmp/$name.stolen"
	busy || : # now it counts
	expect "$name: recorder's exit status" $status 0
	[ $status = 0 ] || cat "$tmp/$name.log"
	forget $target_pid $recorder_pid
}

# The same, started by the recorder.
record_exec() {
	local name=$1 program=$2 words rest status
	split_words "${@:3}"
	stolen >"$tmp/$name.stolen"
	"$record" -o "$tmp/$name.cwc" "${rest[@]}" --exec "$workloads/$program" -- --truth "$tmp/$name.truth" \
		"${words[@]}" >"$tmp/$name.out" 2>"$tmp/$name.log"
	status=$?
	stolen >>"$tmp/$name.stolen"
	busy || : # now it counts
	expect "$name: recorder's exit status" $status 0
	[ $status = 0 ] || cat "$tmp/$name.log"
}

forget() { # PIDs that ended
	local pid keep=() gone=" $* "
	for pid in "${pids[@]}"; do
		[[ $gone == *" $pid "* ]] || keep+=("$pid")
	done
	pids=("${keep[@]}")
}

# NAME.cwc to NAME.db, and NAME.truth into NAME.truth.db.
import() { # NAME [IMPORT OPTIONS]
	local name=$1
	shift
	rm -f "$tmp/$name.db"
	"$analyze" import "$tmp/$name.cwc" -o "$tmp/$name.db" "$@" >"$tmp/$name.import" 2>&1 ||
		{
			fail "$name: import failed"
			cat "$tmp/$name.import"
			return 1
		}
	[ -e "$tmp/$name.truth" ] || return 0
	rm -f "$tmp/$name.truth.db"
	sqlite3 "$tmp/$name.truth.db" -cmd "PRAGMA synchronous=off" -cmd ".parameter set :file '$tmp/$name.truth'" \
		<"$here/e2e/truth.sql" || fail "$name: cannot load the truth"
}

# One value or list from NAME's database, with the truth attached as t.
query() { # NAME SQL
	sqlite3 -batch -bail -cmd "ATTACH '$tmp/$1.truth.db' AS t" "$tmp/$1.db" "$2"
}

# Check every chain of NAME against the truth; see chains.sql. The figures go to NAME.figures.
check_chains() { # NAME
	local name=$1 stolen what got relation limit
	stolen=$(($(tail -n 1 "$tmp/$name.stolen") - $(head -n 1 "$tmp/$name.stolen")))
	[ $stolen = 0 ] || loosened 'on-CPU off, unexplained, of 100: 4, not 1 (a hypervisor stole time)'
	cp "$tmp/$name.db" "$tmp/$name.work.db"
	sqlite3 -batch -bail -cmd "ATTACH '$tmp/$name.truth.db' AS t" \
		-cmd "PRAGMA temp_store = memory" \
		-cmd ".parameter set :stolen $stolen" \
		-cmd ".parameter set :slow $slow" \
		"$tmp/$name.work.db" \
		<"$here/e2e/chains.sql" >"$tmp/$name.figures" || fail "$name: the comparison failed"
	[ -s "$tmp/$name.figures" ] || fail "$name: the comparison gave nothing"
	while IFS='|' read -r what got relation limit; do
		case $relation in
		'=') expect "$name: $what" "$got" "$limit" ;;
		'<=') at_most "$name: $what" "$got" "$limit" ;;
		'>=') at_least "$name: $what" "$got" "$limit" ;;
		*) fail "$name: no relation in '$what|$got|$relation|$limit'" ;;
		esac
	done <"$tmp/$name.figures"
	cat "$tmp/$name.figures"
	rm -f "$tmp/$name.work.db"
}
