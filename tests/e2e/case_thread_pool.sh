#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# examples/case-thread-pool.md: its commands say what the text shows, and the page names the same culprit.
# PARALLEL: a kept capture is asked.
. "$(dirname "$0")/../case_lib.sh"
text=$examples/case-thread-pool.md
mkdir -p "$tmp/examples"
cp "$examples"/thread-pool.cwc "$examples"/*.sql "$tmp/examples"
cd "$tmp" || exit 2

# What the text shows below a command: the output, or lines of it; where it ends with …, their beginnings.
shown() { # NUMBER
	awk -v n="$1" '/^```/ { on = /^```console$/; next } on && /^[$] / { i++; next } on && i == n' "$text"
}

n=0
while read -r command; do
	n=$((n + 1))
	PATH=$build:$PATH bash -euc "$command" >"out.$n" 2>"err.$n" || fail "$command: $(cat "err.$n")"
	shown $n >"shown.$n"
	while IFS= read -r line; do
		if [[ $line == *… ]]; then
			grep -qF -- "${line% …}" "out.$n"
		else
			grep -qxF -- "$line" "out.$n"
		fi || fail "$command does not say: $line"
	done <"shown.$n"
done < <(case_commands "$text")
expect "commands" $n 5
at_least "lines that are shown" "$(cat shown.* | wc -l)" 19
[ -s pool.html ] || fail "no page was written"

# The numbers of the conclusion.
value() { # SQL
	"$analyze" sql --format csv examples/thread-pool.cwc "$1" 2>/dev/null | sed 1d
}
expect "what four threads can do" "$(value "SELECT round(4e9 / work_average_ns, 1) FROM queue_diagnostics
	WHERE interval IS NULL AND plan_hop = 1")" 79.8
expect "what comes in" "$(value "SELECT round(submit_rate, 1) FROM queue_diagnostics
	WHERE interval IS NULL AND plan_hop = 1")" 87.7
for picture in $(sed -n 's/.*](\(report-.*\.png\)).*/\1/p' "$text"); do
	at_least "$picture: bytes" "$(stat -c %s "$examples/$picture" 2>/dev/null)" 1000
	at_most "$picture: bytes" "$(stat -c %s "$examples/$picture" 2>/dev/null)" 200000
done
note "$n commands, $(cat shown.* | wc -l) lines"
finish
