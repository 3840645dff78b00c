# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
# What the sections of the benchmark share: samples and rows, targets and tracers run in step.
# Sourced by run, which sets build, tmp and rounds.

# ---- samples and rows ----------------------------------------------------------------------------
# A sample is one measured value of one round; a row is one line of the result.

sample() { # NAME ROUND VALUE
	echo "$1 $2 $3" >>"$tmp/samples"
}

# Median over the rounds; nothing when there is no sample.
median() { # NAME
	awk -v name="$1" '$1 == name { print $3 }' "$tmp/samples" | middle
}

# Median of A/B, each pair from one round, so that a slow spell of the machine hits both.
median_ratio() { # A B
	awk -v a="$1" -v b="$2" '$1 == a { x[$2] = $3 } $1 == b { y[$2] = $3 }
		END { for (i in x) if (i in y && y[i] > 0) print x[i] / y[i] }' "$tmp/samples" | middle
}

middle() {
	sort -g | awk '{ v[NR] = $1 } END {
		if (NR) printf "%.6g\n", NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'
}

# row NAME WHAT VALUE UNIT [BESIDE BESIDE_VALUE RATIO [GOAL]]. A goal such as ">= 0.90" is for the
# ratio when there is one, else for the value. An empty value means that it could not be measured.
row() {
	printf '%s|%s|%s|%s|%s|%s|%s|%s||\n' "$1" "$2" "$3" "$4" "${5:-}" "${6:-}" "${7:-}" "${8:-}" \
		>>"$tmp/rows"
}

# row_beside NAME WHAT SAMPLES UNIT BESIDE BESIDE_SAMPLES [GOAL]: medians of two samples.
row_beside() {
	row "$1" "$2" "$(median "$3")" "$4" "$5" "$(median "$6")" "$(median_ratio "$3" "$6")" "${7:-}"
}

skipped() { # NAME WHAT WHY
	printf '%s|%s|||||||skipped|%s\n' "$1" "$2" "$3" >>"$tmp/rows"
}

failed() { # NAME WHAT WHY
	printf '%s|%s|||||||failed|%s\n' "$1" "$2" "$3" >>"$tmp/rows"
}

# The last line of a program's messages, fit for a row.
last_words() { # FILE
	tail -n 1 "$1" 2>/dev/null | tr -d '|\\"\000-\037' | cut -c 1-160
}

progress() {
	[ -t 2 ] && printf '\r\033[K%s' "$*" >&2
	return 0
}

# ---- targets and tracers -------------------------------------------------------------------------

# Waits up to 30 s for a command to succeed; false at once when PID is gone before.
wait_until() { # PID COMMAND...
	local pid=$1 i
	shift
	for ((i = 0; i < 6000; i++)); do
		"$@" 2>/dev/null && return
		kill -0 "$pid" 2>/dev/null || return 1
		sleep 0.005
	done
	return 1
}

# Start a target that waits for the file $tmp/go. Its words go to $tmp/target.out.
start_target() { # PROGRAM [ARGUMENT...]
	rm -f "$tmp/go"
	: >"$tmp/target.out" # or the words of the run before would be read
	"$@" >"$tmp/target.out" 2>&1 &
	target_pid=$!
	running+=("$target_pid")
	wait_until "$target_pid" grep -q PID "$tmp/target.out"
}

# Start a tracer; its words go to $tmp/tracer.log, what it used to $tmp/tracer.use.
start_tracer() { # COMMAND...
	: >"$tmp/tracer.use"
	"$bench/measure" "$tmp/tracer.use" "$@" >"$tmp/tracer.log" 2>&1 &
	measure_pid=$!
	wait_until "$measure_pid" grep -q '^pid' "$tmp/tracer.use" || return
	tracer_pid=$(awk '$1 == "pid" { print $2 }' "$tmp/tracer.use")
	running+=("$tracer_pid")
}

# CPU seconds of all threads of a process so far.
cpu_seconds() { # PID
	cat /proc/"$1"/task/*/schedstat 2>/dev/null | awk '{ ns += $1 } END { printf "%.6f\n", ns / 1e9 }'
}

# Let the target run to its end and the tracer end after it. False when the tracer failed.
# Leaves tracer_cpu: CPU seconds it used from the target's start on; tracer_rss: its peak, MiB.
run_target() {
	local before=0 i status
	[ -z "$tracer_pid" ] || before=$(cpu_seconds "$tracer_pid")
	: >"$tmp/go"
	wait "$target_pid"
	running=()
	[ -n "$tracer_pid" ] || return 0
	for ((i = 0; i < 3000; i++)); do
		kill -0 "$measure_pid" 2>/dev/null || break
		sleep 0.01
	done
	kill -KILL "$tracer_pid" 2>/dev/null && echo "did not end within 30 s of its target" >>"$tmp/tracer.log"
	wait "$measure_pid"
	status=$?
	tracer_cpu=$(awk -v b="$before" '$1 == "wall" { printf "%.6f", $4 - b }' "$tmp/tracer.use")
	tracer_rss=$(awk '$1 == "wall" { printf "%.1f", $6 / 1024 }' "$tmp/tracer.use")
	return $status
}

# One run of a target under a tracer: traced TRACER TARGET [ARGUMENT...]. TRACER is a function that
# starts the tracer on target_pid and returns when it is in place; "none" for no tracer.
traced() {
	local tracer=$1 ok=0
	shift
	tracer_pid='' measure_pid=''
	: >"$tmp/tracer.log"
	start_target "$@" || return
	if [ "$tracer" != none ] && ! "$tracer"; then
		ok=1
	fi
	run_target || ok=1
	return $ok
}

# What a target printed behind a word.
target_says() { # WORD
	awk -v w="$1" '{ for (i = 1; i < NF; i++) if ($i == w) v = $(i + 1) } END { print v }' "$tmp/target.out"
}

# End what is still running, by the ids noted at its start.
cleanup() {
	local pid
	for pid in "${running[@]}"; do
		kill -KILL "$pid" 2>/dev/null
	done
	type remove_perf_probes >/dev/null 2>&1 && remove_perf_probes
	rm -rf "$tmp"
}

# ---- tracers -------------------------------------------------------------------------------------

# Records into $tmp/trace.cwc.
start_callweave() { # OPTIONS...
	rm -f "$tmp/trace.cwc"
	start_tracer "$build/callweave-record" -p "$target_pid" -o "$tmp/trace.cwc" "$@"
	wait_until "$measure_pid" grep -qi recording "$tmp/tracer.log"
}

# bpftrace prints what BEGIN says only once all its probes are in place.
start_bpftrace() { # PROBES
	start_tracer bpftrace -p "$target_pid" -e "BEGIN { printf(\"ready\\n\"); } $1"
	wait_until "$measure_pid" grep -q ready "$tmp/tracer.log"
}

perf_event=''
mounted_tracefs=$tmp/mounted-tracefs
remove_perf_probes() {
	[ -z "$perf_event" ] || perf probe -q -d "$perf_event:*" >/dev/null 2>&1
	perf_event=''
	[ ! -e "$mounted_tracefs" ] || { umount /sys/kernel/tracing && rm -f "$mounted_tracefs"; }
}

# Uprobes of perf need tracefs. They are called cwbenchPID:NAME. Says why not on failure.
perf_probes() { # FILE NAME=FUNCTION...
	local file=$1 probe add=()
	shift
	have perf || {
		echo "perf is not installed"
		return 1
	}
	[ -e /sys/kernel/tracing/uprobe_events ] || [ -e /sys/kernel/debug/tracing/uprobe_events ] ||
		{ mount -t tracefs tracefs /sys/kernel/tracing 2>/dev/null && : >"$mounted_tracefs"; } || {
		echo "tracefs cannot be mounted"
		return 1
	}
	for probe; do
		add+=(--add "cwbench$$:$probe")
	done
	perf probe -q -x "$file" "${add[@]}" >"$tmp/perf.log" 2>&1 && return
	echo "perf probe: $(last_words "$tmp/perf.log")"
	return 1
}

# perf starts disabled and says when it was enabled.
start_perf_events() { # OPTIONS...
	rm -f "$tmp/ctl" "$tmp/ack"
	mkfifo "$tmp/ctl" "$tmp/ack"
	start_tracer perf record -q -D -1 --control "fifo:$tmp/ctl,$tmp/ack" "$@" -p "$target_pid" -o "$tmp/perf.data"
	exec 5<>"$tmp/ctl" 6<>"$tmp/ack"
	echo enable >&5
	read -r -t 20 <&6
	local status=$?
	exec 5>&- 6>&-
	return $status
}

# Breakpoints that do nothing but go on.
start_gdb() { # FUNCTION...
	local function
	{
		echo "set pagination off"
		echo "set confirm off"
		for function; do
			printf 'break %s\ncommands\nsilent\ncontinue\nend\n' "$function"
		done
		printf 'echo going on\\n\ncontinue\n'
	} >"$tmp/gdb.script"
	start_tracer gdb -q -nx -batch -p "$target_pid" -x "$tmp/gdb.script"
	wait_until "$measure_pid" grep -q 'going on' "$tmp/tracer.log"
}

start_strace() {
	start_tracer strace -f -e trace=futex -o "$tmp/strace.out" -p "$target_pid"
	wait_until "$measure_pid" grep -q attached "$tmp/tracer.log"
}

have() { # PROGRAM
	command -v "$1" >/dev/null 2>&1
}

# How busy the machine is with other work: share of its CPUs during half a second.
busy_share() {
	{
		grep '^cpu ' /proc/stat
		sleep 0.5
		grep '^cpu ' /proc/stat
	} | awk '{ idle = $5 + $6 - idle; all = -all; for (i = 2; i <= 9; i++) all += $i }
		END { printf "%.3f\n", (all > 0 ? 1 - idle / all : 0) }'
}

# Run a command; leaves its wall clock seconds in wall, its words in $tmp/timed.{out,err}.
timed() { # COMMAND...
	"$bench/measure" "$tmp/timed.use" "$@" >"$tmp/timed.out" 2>"$tmp/timed.err" || return
	wall=$(awk '$1 == "wall" { print $2 }' "$tmp/timed.use")
}
