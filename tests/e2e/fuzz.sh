#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# What reads untrusted input, fuzzed for two seconds each: the kept corpus as it is, and changed copies of
# it, the same each time. `make fuzz` does it for as long as you like, guided by coverage.
# PARALLEL: inputs are run, not timed.
. "$(dirname "$0")/../lib.sh"
[ -d "$build/asan/fuzz" ] || skip "no harness was built"
ln -s "$here" "$tmp/tests" # inputs that write files write them here
cd "$tmp" || exit 2
names=()
inputs=0
for harness in "$build"/asan/fuzz/*; do
	name=${harness##*/}
	"$harness" -s "${FUZZ_SECONDS:-2}" -S "${FUZZ_SEED:-1}" -c "$tmp/crash-$name" "tests/fuzz/corpus/$name" >"$tmp/$name.log" 2>&1 || {
		fail "$name: exit status $?: $(tail -n 30 "$tmp/$name.log")"
		[ ! -e "$tmp/crash-$name" ] || echo "the input, for base64 -d: $(base64 -w 0 "$tmp/crash-$name" | head -c 20000)"
	}
	names+=("$name")
	run=$(sed -n "s/ inputs\$//p" "$tmp/$name.log")
	inputs=$((inputs + ${run:-0}))
done
at_least "harnesses" ${#names[@]} 9
note "$inputs inputs of ${names[*]}"
finish
