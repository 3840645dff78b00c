# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2034 # variables of run and of the other sections
# Real programs: a redis-server under load with one function recorded, and a shell that does little
# else than starting processes.

# ---- redis ---------------------------------------------------------------------------------------
redis_port=$((20000 + $$ % 20000))
redis_up() { redis-cli -p "$redis_port" ping 2>/dev/null | grep -q PONG; }

start_redis() {
	redis-server --port "$redis_port" --save '' --appendonly no --daemonize no >"$tmp/redis.log" 2>&1 &
	redis_pid=$!
	running+=("$redis_pid")
	wait_until "$redis_pid" redis_up
}

# Requests a second of redis-benchmark; leaves them in requests.
redis_load() { # REQUESTS PIPELINE
	requests=$(redis-benchmark -p "$redis_port" -t set -n "$1" -P "$2" -c 10 -d 16 --csv 2>"$tmp/timed.err" |
		awk -F'"' '/"SET"/ { print $4 }')
	[ -n "$requests" ]
}

redis_none() { :; }
redis_callweave() { target_pid=$redis_pid start_callweave --time "$1"; }
redis_bpftrace() {
	target_pid=$redis_pid start_bpftrace "uprobe:$redis_binary:$1 { @a[ustack] = count(); } uretprobe:$redis_binary:$1 { @b = count(); }"
}

# A tracer ends when the server still runs: it is told to.
stop_tracer() {
	[ -n "$tracer_pid" ] || return 0
	local i
	kill -TERM "$tracer_pid" 2>/dev/null
	for ((i = 0; i < 1500; i++)); do
		kill -0 "$measure_pid" 2>/dev/null || break
		sleep 0.01
	done
	kill -KILL "$tracer_pid" 2>/dev/null
	wait "$measure_pid"
	running=("$redis_pid")
}

redis_round() { # TOOL CASE ROUND REQUESTS PIPELINE FUNCTION
	[ -e "$tmp/failed.redis.$1.$2" ] && return
	progress "redis: round $3 of $rounds, $1, $2"
	tracer_pid='' measure_pid='' tracer_rss=''
	: >"$tmp/tracer.log"
	if "redis_$1" "$6" && redis_load "$4" "$5"; then
		sample "redis.$1.$2" "$3" "$requests"
		stop_tracer
		[ "$1" != callweave ] || sample "redis.calls.$2" "$3" "$(awk -v r="$requests" -v n="$4" '
			match($0, /[0-9]+ entries/) { e = substr($0, RSTART, RLENGTH) + 0 } END { print e * r / n }' "$tmp/tracer.log")"
	else
		last_words "$tmp/tracer.log" >"$tmp/failed.redis.$1.$2"
		stop_tracer
	fi
}

redis_rows() { # CASE WHAT GOAL
	local tool
	for tool in callweave bpftrace; do
		if [ "$tool" = bpftrace ] && ! have bpftrace; then
			skipped "redis.$1.bpftrace" "$2: bpftrace" "bpftrace is not installed"
		elif [ -e "$tmp/failed.redis.$tool.$1" ]; then
			failed "redis.$1.$tool" "$2: $tool" "$(cat "$tmp/failed.redis.$tool.$1")"
		elif [ $tool = callweave ]; then
			row_beside "redis.$1.$tool" "$2: $tool" "redis.$tool.$1" requests/s untraced "redis.none.$1" "$3"
		else
			row_beside "redis.$1.$tool" "$2: $tool" "redis.$tool.$1" requests/s untraced "redis.none.$1"
		fi
	done
	row "redis.$1.calls" "$2: calls recorded" "$(median "redis.calls.$1")" calls/s
}

section_redis() {
	local round tool tools=(none callweave)
	if ! have redis-server || ! have redis-benchmark; then
		skipped redis "redis-server under redis-benchmark, one function recorded" "redis is not installed"
		return
	fi
	have bpftrace && tools+=(bpftrace)
	redis_binary=$(realpath "$(command -v redis-server)")
	start_redis || {
		failed redis "redis-server under redis-benchmark" "$(last_words "$tmp/redis.log")"
		return
	}
	redis_load 50000 16
	for ((round = 1; round <= rounds; round++)); do
		for tool in "${tools[@]}"; do
			redis_round "$tool" batch "$round" 2500000 400 readQueryFromClient
			redis_round "$tool" hot "$round" 60000 1 processCommand
		done
	done
	kill "$redis_pid"
	wait "$redis_pid"
	running=()
	redis_rows batch "redis, each read of some 300 requests recorded" ">= 0.90"
	redis_rows hot "redis, every request's call recorded" ""
}

# ---- fork and exec -------------------------------------------------------------------------------
fork_count=400
# Says its PID, waits for the file, then starts processes.
fork_loop() {
	cat >"$tmp/forks" <<-'END'
		echo "PID $$"
		while [ ! -e "$1" ]; do sleep 0.01; done
		begin=${EPOCHREALTIME/./}
		for ((i = 0; i < $2; i++)); do /bin/true; done
		end=${EPOCHREALTIME/./}
		echo "processes $2 rate $((1000000 * $2 / (end - begin)))"
	END
}

fork_callweave() {
	start_callweave -f --attribution --binary "$(realpath "$(command -v bash)")" make_child
}
fork_strace() {
	start_tracer strace -f -e trace=process -o "$tmp/strace.out" -p "$target_pid"
	wait_until "$measure_pid" grep -q attached "$tmp/tracer.log"
}

section_forks() {
	local round tool tools=(none callweave)
	have strace && tools+=(strace)
	fork_loop
	for ((round = 1; round <= rounds; round++)); do
		for tool in "${tools[@]}"; do
			[ -e "$tmp/failed.forks.$tool" ] && continue
			progress "forks: round $round of $rounds, $tool"
			if traced "$([ $tool = none ] && echo none || echo fork_$tool)" bash "$tmp/forks" "$tmp/go" $fork_count; then
				sample "forks.$tool" "$round" "$(target_says rate)"
			else
				last_words "$tmp/tracer.log" >"$tmp/failed.forks.$tool"
			fi
		done
	done
	for tool in "${tools[@]:1}"; do
		local what="a shell that starts processes: $tool of the whole tree" goal=''
		[ $tool = callweave ] && goal=">= 0.90"
		if [ -e "$tmp/failed.forks.$tool" ]; then
			failed "forks.$tool" "$what" "$(cat "$tmp/failed.forks.$tool")"
		else
			row_beside "forks.$tool" "$what" "forks.$tool" processes/s untraced forks.none "$goal"
		fi
	done
}
