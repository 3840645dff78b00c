#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# diff on captures that are made up: pairs of the same load stay quiet, a stage that is a fifth slower is named first,
# in every format. test_diff_stats.c asks the same of many more pairs, soak_diff.sh of real ones.
# shellcheck source=tests/lib.sh
# PARALLEL: captures are made up.
. "$(dirname "$0")/../lib.sh"
root=$here/..
pairs=${DIFF_PAIRS:-25}

make_up() { # NAME SEED SLOW N
	cat "$root"/schema/*.sql "$here/golden/report/people.sql" "$here/e2e/diff.sql" |
		sqlite3 -batch -bail -cmd 'PRAGMA journal_mode=off' -cmd 'PRAGMA synchronous=off' -cmd ".parameter set :seed $2" \
			-cmd ".parameter set :slow $3" -cmd ".parameter set :n $4" "$tmp/$1.db" >/dev/null ||
		fail "cannot make up $1"
}

changed() { # A B: "PLACE COMPONENT" of what changed, the most first
	"$analyze" diff "$tmp/$1.db" "$tmp/$2.db" --format jsonl >"$tmp/jsonl" || fail "diff $1 $2"
	sqlite3 -cmd '.mode list' -cmd '.separator " "' :memory: "CREATE TABLE j(v); INSERT INTO j SELECT value FROM json_each('['
		|| rtrim(replace(CAST(readfile('$tmp/jsonl') AS TEXT), char(10), ','), ',') || ']');
		SELECT coalesce(v ->> 'target', 'chain'), v ->> 'component' FROM j WHERE v ->> 'changed' ORDER BY v ->> 'rank'"
}

alarms=0
for ((i = 0; i < pairs; i++)); do
	rm -f "$tmp"/[ab].db
	make_up a $((2 * i + 1)) 1 $((150 + 10 * i))
	make_up b $((2 * i + 2)) 1 $((400 - 10 * i))
	[ -z "$(changed a b)" ] || alarms=$((alarms + 1))
done
note "$alarms of $pairs pairs of the same load raised anything"
at_most "false alarms" $alarms $(((pairs + 7) / 8)) # more come in 1 of 30 series when 1 pair in 20 raises one

make_up before 101 1 200
make_up slow 102 1.2 200
changed before slow >"$tmp/order"
expect "what is named first" "$(head -n 1 "$tmp/order")" "write_result work"
expect "stages that are named though they did not change" "$(grep -c '^process' "$tmp/order")" 0
changed slow before >"$tmp/order"
expect "what is named first, the other way" "$(head -n 1 "$tmp/order")" "write_result work"

# Numbers are those of SQL, whatever the format.
"$analyze" diff "$tmp/before.db" "$tmp/slow.db" >"$tmp/text" || fail "diff as text"
"$analyze" diff "$tmp/before.db" "$tmp/slow.db" --format jsonl >"$tmp/jsonl" || fail "diff as JSONL"
"$analyze" diff "$tmp/before.db" "$tmp/slow.db" --format html -o "$tmp/diff.html" || fail "diff as HTML"
for side in a:before b:slow; do
	median=$(sqlite3 "$tmp/${side#*:}.db" "SELECT work_ns FROM hop WHERE hop_index = 1 ORDER BY 1 LIMIT 1 OFFSET 99")
	grep '"target":"write_result","component":"work"' "$tmp/jsonl" | grep -q "\"p50_${side%:*}_ns\":$median," || fail "median of ${side#*:} in JSONL"
	ms=$(sqlite3 :memory: "SELECT printf('%.3f', $median / 1e6)")
	grep -E 'write_result +work ' "$tmp/text" | grep -q " $ms " || fail "median of ${side#*:} in text: $ms"
	grep -q "\"p50_${side%:*}_ns\":$median," "$tmp/diff.html" || fail "median of ${side#*:} in HTML"
done
grep -qE '^ *1 +submit_storage -> write_result +work ' "$tmp/text" || fail "text: $(head -n 12 "$tmp/text")"
expect "addresses of the network" "$(grep -ciE '(src|href)="?https?:' "$tmp/diff.html")" 0

# Where both medians are zero, the change is one of the mean, which is what is shown beside it.
for side in before:1 slow:3; do
	cp "$tmp/${side%:*}.db" "$tmp/${side%:*}-seldom.db"
	sqlite3 "$tmp/${side%:*}-seldom.db" "UPDATE path_hop SET blocked_ns = CASE WHEN chain_id % 3 = 0 THEN ${side#*:}000000 ELSE 0 END WHERE hop_index = 1"
done
"$analyze" diff "$tmp/before-seldom.db" "$tmp/slow-seldom.db" >"$tmp/text" || fail "diff of what seldom blocks"
grep -qE '^ *[0-9]+ .*write_result +blocked +mean +0\.33[0-9] +(0\.99|1\.00)[0-9] +\+0\.6[67][0-9] +\+200\.0 % ' "$tmp/text" ||
	fail "a change of the mean: $(head -n 12 "$tmp/text")"
grep -qE '^[^0-9]*write_result +blocked .* 0\.000 +0\.000 .*\+200\.0 % of mean ' "$tmp/text" || fail "of mean: $(cat "$tmp/text")"

# A table of a function, which its heading names, fits 100 columns.
for side in before slow; do
	cp "$tmp/$side.db" "$tmp/$side-calls.db"
	sqlite3 "$tmp/$side-calls.db" "DELETE FROM path; DELETE FROM path_hop; DELETE FROM edge; DELETE FROM hop_count"
done
"$analyze" diff "$tmp/before-calls.db" "$tmp/slow-calls.db" >"$tmp/text" || fail "diff of calls"
grep -A 1 '^write_result (ms)$' "$tmp/text" | grep -q '^part ' || fail "the table of a function: $(cat "$tmp/text")"
at_most "columns of that" "$(wc -L <"$tmp/text")" 100

# Names that would end a script are text.
for db in before slow; do
	sqlite3 "$tmp/$db.db" "UPDATE hop_count SET target = '</script><script>alert(1)</script>' WHERE plan_hop = 0"
done
"$analyze" diff "$tmp/before.db" "$tmp/slow.db" --format html -o "$tmp/evil.html" || fail "diff of hostile names"
expect "scripts in the page" "$(grep -c '<script' "$tmp/evil.html")" "$(grep -c '<script' "$tmp/diff.html")"
grep -q 'u003c/script' "$tmp/evil.html" || fail "the hostile name is not there"

# shellcheck source=tests/exports/install.sh
. "$here/exports/install.sh"
if [ -z "$missing" ] && [ -n "$chromium" ]; then
	CHROMIUM=$chromium node "$here/exports/diff.mjs" "$tools" "$tmp/diff.html" >"$tmp/page" 2>&1 || fail "page: $(cat "$tmp/page")"
	grep -q 'submit_storage → write_result.*work' "$tmp/page" || fail "page: $(cat "$tmp/page")"
	CHROMIUM=$chromium node "$here/exports/diff.mjs" "$tools" "$tmp/evil.html" >"$tmp/page" 2>&1 || fail "evil page: $(cat "$tmp/page")"
fi

# What cannot be compared is said.
make_up short 103 1 20
"$analyze" diff "$tmp/before.db" "$tmp/short.db" | grep -q 'fewer than 40 values' || fail "nothing is said of too few values"
"$analyze" diff "$tmp/before.db" 2>/dev/null
expect "status with one capture" $? 2
"$analyze" diff "$tmp/before.db" "$tmp/none.db" 2>"$tmp/err"
expect "status with a missing one" $? 1
expect "sentences about it" "$(wc -l <"$tmp/err")" 1
[ $failures = 0 ] && [ -n "$missing$([ -n "$chromium" ] || echo x)" ] && skip "the page was not opened: ${missing:-chromium is not installed}"
finish
