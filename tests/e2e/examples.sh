#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The plans and the queries in examples/: each plan is right and gives chains on its workload, each
# query runs on a capture of it, and those on chains have something to say.
# PARALLEL: queries are asked for rows.
. "$(dirname "$0")/../lib.sh"
examples=$(realpath "$here/../examples")

# Plans, without tracing.
for plan in "$examples"/*.yaml; do
	[ "$("$record" --help | grep -c -- --check-config)" = 0 ] || "$record" --check-config "$plan" >"$tmp/check" 2>&1 ||
		fail "${plan##*/}: $(cat "$tmp/check")"
done

expect "keys of a plan that every-key.yaml has not" "$(sed -n 's/^\t{"\([a-z_]*\)", V_.*/\1/p' "$here/../format/plan_yaml.c" | sort -u |
	while read -r key; do grep -q "^[ -]*$key:" "$examples/every-key.yaml" || echo "$key"; done)" ""
at_least "keys of a plan" "$(grep -c '", V_' "$here/../format/plan_yaml.c")" 30

need_tracing
record_exec thread-pool trace_thread_pool_test --count 10 -- --config "$examples/thread-pool.yaml"
record_exec complex-multi-hop trace_complex_async_test --count 10 -- --config "$examples/complex-multi-hop.yaml"

for name in thread-pool complex-multi-hop; do
	import $name || continue
	at_least "$name: complete chains" "$(query $name "SELECT count(*) FROM chain WHERE complete")" 8
	for file in "$examples"/*.sql; do
		"$analyze" sql "$tmp/$name.cwc" --format csv "@$file" >"$tmp/rows" 2>"$tmp/errors" ||
			fail "${file##*/} on $name: $(cat "$tmp/errors")"
		[ "${file##*/}" = ran-instead.sql ] || # nobody, on a calm machine
			at_least "${file##*/} on $name: rows" "$(sed 1d "$tmp/rows" | wc -l)" 1
		# The same query works in plain sqlite3 on an imported database.
		sqlite3 -batch -bail -csv "$tmp/$name.db" <"$file" >"$tmp/plain" 2>"$tmp/errors" ||
			fail "${file##*/} in sqlite3: $(cat "$tmp/errors")"
		expect "${file##*/} in sqlite3: rows" "$(wc -l <"$tmp/plain")" "$(sed 1d "$tmp/rows" | wc -l)"
		queries=$((${queries:-0} + 1))
	done
done

expect "complex-multi-hop: target arguments found" "$(query complex-multi-hop \
	"SELECT group_concat(a) FROM (SELECT DISTINCT plan_hop || ':' || target_arg AS a FROM hop ORDER BY 1)")" "0:2,1:3,2:8"
# Each handoff has one worker.
expect "workers.sql: handoffs" "$("$analyze" sql "$tmp/thread-pool.cwc" --format csv "@$examples/workers.sql" 2>/dev/null |
	awk -F, 'NR > 1 { n += $4 } END { print n }')" "$(query thread-pool "SELECT count(*) FROM hop")"
# The longest calls of the thread pool sleep for most of the time that they do not wait for a CPU, and a timer wakes them,
# where that was seen: some guests hide what happens while their agent runs.
"$analyze" sql "$tmp/thread-pool.cwc" --format csv "@$examples/slow-calls.sql" 2>/dev/null | sed 1d >"$tmp/slow"
expect "slow-calls.sql: the slowest" "$(head -n 1 "$tmp/slow" | cut -d , -f 1-3)" \
	"$(query thread-pool "SELECT function || ',' || tid || ',' || round(dur / 1e6, 3) FROM call ORDER BY dur DESC LIMIT 1")"
of_sleepers() { # CONDITION
	awk -F, '$1 == "write_result" && $11 != "-" && '"$1" "$tmp/slow" | wc -l
}
at_least "slow-calls.sql: calls that slept" "$(of_sleepers 1)" 3
expect "slow-calls.sql: those that did not sleep until a timer" "$(of_sleepers '!($8 ~ /nanosleep/ && $10 > 0.5 * ($3 - $6 - $7) && $11 ~ /interrupt/)')" 0
at_least "starved.sql: threads, each with a share of its time" "$("$analyze" sql "$tmp/thread-pool.cwc" --format csv "@$examples/starved.sql" 2>/dev/null |
	awk -F, 'NR > 1 && $3 >= 0 && $3 <= 100 && $7 <= $5 + $6 + 0.001' | wc -l)" 5
note "${queries:-0} queries run"
finish
