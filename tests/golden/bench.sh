#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What the benchmark makes of its rows: the file for machines, the exit status, the README's table.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$2
status=0
complain() {
	echo "$*"
	status=1
}

cat >"$tmp/rows" <<'END'
a.met|what is measured|1234.6|ns|another|2000|0.6173|<= 1.0||
a.missed|bytes of "it"|9|bytes||||<= 8||
a.plain|so many|0.25|cores||||||
a.skipped|beside a tool|||||||skipped|tool is not installed
END
table() { # ROWS
	awk -F'|' -v busy=0.02 -v cpus=2 -v cpu='A CPU' -v memory=2048 -v date=2026-01-02 -v kernel=6.1.0 -v seconds=2 \
		-v rounds=5 -v json="$tmp/bench.json" -f tests/bench/table.awk "$1"
}
table "$tmp/rows" >"$tmp/table" || complain "rows without a failure: status $?"
grep -q '^a.met .* 0.617 <= 1.0   met$' "$tmp/table" || complain "the table: $(cat "$tmp/table")"
got=$(sqlite3 -batch :memory: "SELECT group_concat(value ->> 'row' || ' ' || (value ->> 'outcome') || ' ' ||
		coalesce(value ->> 'ours', '-') || ' ' || coalesce(value ->> 'other', '-') || ' ' || coalesce(value ->> 'ratio', '-'), '; ')
	FROM json_each(readfile('$tmp/bench.json'), '\$.rows')")
[ "$got" = 'a.met met 1234.6 2000 0.6173; a.missed missed 9 - -; a.plain measured 0.25 - -; a.skipped skipped - - -' ] ||
	complain "rows for machines: $got"
got=$(sqlite3 -batch :memory: "SELECT group_concat(key, ' ') FROM json_each(readfile('$tmp/bench.json'), '\$.rows[1]')")
[ "$got" = 'row what unit ours beside other ratio goal outcome why' ] || complain "keys of a row: $got"
got=$(sqlite3 -batch :memory: "SELECT group_concat(key, ' ') FROM json_each(readfile('$tmp/bench.json'))")
[ "$got" = 'version date machine rounds seconds_each rows' ] || complain "keys: $got"

printf '%s\n' above '<!-- make bench && tests/bench/readme: begin -->' old '<!-- make bench && tests/bench/readme: end -->' \
	below >"$tmp/README.md"
for time in first second; do
	tests/bench/readme "$tmp/bench.json" "$tmp/README.md" || complain "readme: status $?"
	diff - "$tmp/README.md" <<'END' || complain "the README differs, the $time time"
above
<!-- make bench && tests/bench/readme: begin -->
Measured on 2026-01-02: A CPU, 2 CPUs, 2 GiB, Linux 6.1.0; medians of 5 rounds.

| | value | beside | ratio |
|---|---:|---:|---:|
| what is measured | 1,235 ns | 2,000 (another) | 0.62 |
| bytes of "it" | 9 bytes |  |  |
| so many | 0.25 cores |  |  |
<!-- make bench && tests/bench/readme: end -->
below
END
done
# The README has a place for it.
cp README.md "$tmp/own.md"
tests/bench/readme "$tmp/bench.json" "$tmp/own.md" || complain "the project's own README has no place for the table"

echo 'b|what failed|||||||failed|because' >>"$tmp/rows"
table "$tmp/rows" >/dev/null && complain "a failed row is no failure"
echo '# no place' >"$tmp/README.md"
tests/bench/readme "$tmp/bench.json" "$tmp/README.md" 2>"$tmp/err" && complain "a README without marks was taken"
grep -q 'has no place for the table' "$tmp/err" || complain "no marks: $(cat "$tmp/err")"
tests/bench/readme "$tmp/nothing" "$tmp/README.md" 2>"$tmp/err" && complain "no result was taken for one"
exit $status
