#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# examples/case-memcached.md: the connections that the client made and the server counted are the
# chains, though they share eight socket numbers.
# PARALLEL: chains and counts are those of the program's own numbers, at any speed.
. "$(dirname "$0")/../case_lib.sh"
PORT=$(free_port)
export PORT
run_case memcached
hops=(--async-hop dispatch_conn_new,1,conn_new,1 --async-hop event_set,2,event_handler,1)

of_hops() { # SQL
	ask memcached.cwc "$1" "${hops[@]}"
}

answered=$(sed -n 's/ of 200 connections answered$//p' "$log")
counted=$(sed -n 's/^total_connections //p' "$log")
expect "connections answered" "$answered" 200
# The server's count has the listening socket and the connection that asked for it.
expect "connections counted by the server" "$counted" $((answered + 2))
connections=$((answered + 1))

suggested "dispatch_conn_new,1,conn_new,1"
expect "handoffs among all the functions" "$(grep -c "^handoff " "$log")" 1
at_least "functions recorded" "$(ask memcached.cwc "SELECT count(*) FROM probe")" 100
expect "chains" "$(of_hops "SELECT count(*) FROM chain WHERE complete AND hop_count = 2")" $connections
expect "chains of any kind" "$(of_hops "SELECT count(*) FROM chain")" $connections
told "$connections chains for $connections connections"
expect "ambiguous" "$(of_hops "SELECT count(*) FROM hop WHERE evidence LIKE '%ambiguous%'")" 0
expect "chains of one socket" \
	"$(of_hops "SELECT count(*) FROM (SELECT 1 FROM hop GROUP BY chain_id HAVING count(DISTINCT key) = 1)")" \
	$connections
at_most "sockets" "$(of_hops "SELECT count(DISTINCT key) FROM hop")" 9

# Who did what: the main thread hands over, a worker takes it and keeps it.
expect "handed over by the main thread" \
	"$(of_hops "SELECT count(*) FROM hop WHERE hop_index = 0 AND source_tid = pid AND target_tid <> pid")" \
	$connections
expect "kept by the same worker" "$(of_hops "SELECT count(*) FROM hop a JOIN hop b USING(chain_id)
	WHERE a.hop_index = 0 AND b.hop_index = 1 AND a.target_tid = b.source_tid AND b.source_tid = b.target_tid")" \
	$connections
# Connections go round robin: the n-th goes to the worker of the (n + 4)-th.
expect "workers" "$(of_hops "SELECT count(DISTINCT target_tid) FROM hop")" 4
expect "connections that jumped the turn" "$(of_hops "SELECT count(*) FROM (SELECT target_tid,
	lag(target_tid, 4) OVER (ORDER BY submit_ts) AS before FROM hop WHERE hop_index = 0) WHERE before <> target_tid")" 0
# Eight are open at a time, so that no more can be pending.
peak=$("$analyze" diagnostics "$work/memcached.cwc" "${hops[@]}" 2>/dev/null |
	sed -n '/^queue 0/{n;s@.* pending=[0-9]*/\([0-9]*\) .*@\1@p}')
at_most "peak of pending connections" "$peak" 8
at_least "peak of pending connections" "$peak" 1
note "$connections connections over $(of_hops "SELECT count(DISTINCT key) FROM hop") socket numbers"
finish
