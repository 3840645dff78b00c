#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The README's commands, in order, in one shell, as a reader would type them; and what it says they
# print: each line of it, whatever the numbers.
# PARALLEL: lines are looked for.
. "$(dirname "$0")/../lib.sh"
need_tracing
readme=$here/../README.md

# Lines after "    $ ", continued by lines that are indented further than output is.
awk '/^    [$] / { more = 1; print substr($0, 7); next }
	more && /^          / { print; next }
	{ more = 0 }' "$readme" >"$tmp/commands"
expect "commands in the README" "$(grep -cE '^(sudo )?build/' "$tmp/commands")" 7
mkdir "$tmp/reader"
ln -s "$build" "$tmp/reader/build"
ln -s "$here/../examples" "$tmp/reader/examples"
{
	echo 'trap "kill \$(jobs -p) 2>/dev/null" EXIT; sudo() { "$@"; }'
	# Its process is whichever was started last, and needs a moment to begin.
	sed -E 's/-p (PID|[0-9]+)/-p $!/; s/&$/\& until [ ! \/proc\/$!\/exe -ef \/proc\/$$\/exe ]; do sleep 0.05; done; sleep 1/' "$tmp/commands"
	echo 'build/callweave-analyze sql trace.cwc @examples/hop-latency.sql'
} >"$tmp/script"
# The one chain of 200 ms or more that is shown may have begun before the recording: then once more.
for _ in 1 2 3; do
	(cd "$tmp/reader" && bash -eu "$tmp/script") >"$tmp/log" 2>&1 || {
		fail "a command of the README failed; all their output:"
		cat "$tmp/log"
	}
	grep -q '^chain .* incomplete' "$tmp/log" || break
done
said_lost "$tmp/log" || sed -i 's/LOST: [0-9]* reports of mappings;/none lost;/' "$tmp/log"

# What differs from run to run made alike.
alike() {
	sed -E 's/0x[0-9a-f]+/X/g; s/[0-9][0-9.,:-]*/N/g; s/ (ns|us|ms|s)\b/ U/g; s/-{3,}/-/g; s/ +/ /g; s/^ //; s/ $//'
}
alike <"$tmp/log" >"$tmp/alike"
# C libraries differ, and so does what of them has line numbers.
awk '/^    [$] / { on = 1; next }
	on && /^          / { next }
	on && /^    / { print; next }
	{ on = 0 }' "$readme" | grep -v '^    \.\.\.$\|libc\.so' | alike >"$tmp/said"
at_least "lines of output in the README" "$(wc -l <"$tmp/said")" 15
while read -r line; do
	if [[ $line == *... ]]; then
		grep -qF -- "${line%...}" "$tmp/alike"
	else
		grep -qxF -- "$line" "$tmp/alike"
	fi || fail "the README shows what is not printed: $line"
done <"$tmp/said"
[ $failures = 0 ] || cat "$tmp/log"
grep -q '^ *waker #.*lock_holder_main' "$tmp/log" || fail "the lock's holder is not named"
note "$(wc -l <"$tmp/said") lines of output as the README shows them"
finish
