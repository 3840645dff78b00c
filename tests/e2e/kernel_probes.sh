#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Probes of other kernels: a plain tracepoint by its name and a kernel function, by a breakpoint and by a
# call in it (fentry), one of each, hit as often as what they are on happened. What this kernel has not is skipped by name.
# PARALLEL: arguments are compared.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root"

"$build/tests/kernel_probes" 1000 >"$tmp/hits" 2>&1 || fail "kernel_probes: $(cat "$tmp/hits")"
expect 'kinds' "$(cut -d ' ' -f 1 "$tmp/hits" | tr '\n' ' ')" 'kprobe fentry tracepoint '
missing=$(awk '$3 == "-" { $3 = ":"; print }' "$tmp/hits" | sed 's/ : /: /' | paste -sd ';')
while read -r kind name got _; do
	[ "$got" = - ] || expect "hits of $kind $name" "$got" 1000
done <"$tmp/hits"
# In Debian's kernels all are there.
[ -z "$missing" ] || [ "$slow" -le 1 ] || fail "$missing"
[ -z "$missing" ] || [ $failures -gt 0 ] || skip "$missing"
note "1000 of 1000 hits each"
finish
