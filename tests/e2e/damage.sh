#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A capture cut at every 4 KiB, and one with random bytes changed: a clear report, never a crash.
# The analyzer is the one built with ASan and UBSan.
# PARALLEL: a file is cut and imported.
. "$(dirname "$0")/../lib.sh"
need_tracing
asan=$build/asan/callweave-analyze
[ -x "$asan" ] || skip "no analyzer with ASan was built"

record_exec whole tagged --count 150 -- "${pool_hops[@]}" write_result
size=$(stat -c %s "$tmp/whole.cwc")

# Import of $1, to be told apart: 0 imported, 1 refused with a sentence; anything else is a defect.
cat >"$tmp/try.sh" <<'TRY'
analyze=$1 file=$2 how=$3
for command in "import --no-symbols -o $file.db" "dump --validate"; do
	timeout 60 $analyze $command "$file" >"$file.out" 2>"$file.err"
	status=$?
	if [ $status -gt 1 ] || grep -qE 'Sanitizer|runtime error' "$file.err"; then
		echo "BAD $how: $command: status $status: $(grep -m 3 -E 'Sanitizer|runtime error|#[0-3] ' "$file.err" | tr '\n' ' ')"
	elif [ $status = 1 ] && [ ! -s "$file.err" ] && [ ! -s "$file.out" ]; then
		echo "BAD $how: $command: failed without a word"
	else
		echo "ok $status ${command%% *}"
	fi
done
rm -f "$file" "$file".*
TRY

cuts() {
	local at
	for ((at = 4096; at < size; at += 4096)); do
		head -c $at "$tmp/whole.cwc" >"$tmp/cut.$at"
		printf '%s\0%s\0' "$tmp/cut.$at" "cut at $at"
	done
}

flips() { # 150 files with up to 8 bytes changed each; a third of them in the first 4 KiB
	local i n at
	RANDOM=7
	for ((i = 0; i < 150; i++)); do
		cp "$tmp/whole.cwc" "$tmp/flip.$i"
		for ((n = 0; n <= RANDOM % 8; n++)); do
			at=$(((RANDOM * 32768 + RANDOM) % (i % 3 ? size : 4096)))
			printf "\\x$(printf %02x $((RANDOM % 256)))" |
				dd of="$tmp/flip.$i" bs=1 seek=$at conv=notrunc status=none
		done
		printf '%s\0%s\0' "$tmp/flip.$i" "flip $i"
	done
}

{ cuts; flips; } | xargs -0 -n 2 -P "$(nproc)" bash "$tmp/try.sh" "$asan" >"$tmp/results"
grep BAD "$tmp/results" | head -n 20
expect "defects" "$(grep -c BAD "$tmp/results")" 0
expect "files tried, twice" "$(wc -l <"$tmp/results")" $((2 * (150 + (size - 1) / 4096)))
at_least "imports of damaged files that gave what is left" "$(grep -c '^ok 0 import' "$tmp/results")" 20
note "$(($(wc -l <"$tmp/results") / 2)) files"
finish
