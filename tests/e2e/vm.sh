#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# One boot of another kernel, Debian 12's, when it was fetched before: the static recorder in an empty
# root, and probes that this machine's kernel may not have. All kernels and tests: make vm.
# PARALLEL: the emulator's time is not the machine's.
. "$(dirname "$0")/../lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root"
for tool in qemu-system-x86_64 cpio; do
	command -v $tool >/dev/null || skip "no $tool here: sudo tests/deps.sh --vm installs it"
done
[ -s "${VM_CACHE:-/var/tmp/callweave-vm}/bookworm/vmlinuz" ] || skip "no kernel was fetched: make vm does"
static_recorder || finish

TMPDIR=$tmp VM_TIMEOUT=540 "$here/vm/run" "$build" bookworm e2e/kernel_probes e2e/static >"$tmp/log" 2>&1 ||
	fail "$(cat "$tmp/log")"
expect 'tests that passed' "$(tail -n 1 "$tmp/log")" '2 passed, 0 failed, 0 skipped'
note "$(sed -n 's/^kernel //p' "$tmp/log"), record to report"
finish
