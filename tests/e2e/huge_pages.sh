#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Code in memory that is huge pages, which only the administrator gives out: text that was moved there has the
# names of its file, and what was made at run time those of its perf map.
# shellcheck disable=SC2154 # variables of lib.sh
. "$(dirname "$0")/../made_lib.sh"
pages=/sys/kernel/mm/hugepages/hugepages-2048kB
[ -w "$pages/nr_hugepages" ] || skip "needs huge pages of 2 MiB"
had=$(<"$pages/nr_hugepages")
trap 'echo "$had" >"$pages/nr_hugepages"; cleanup' EXIT
[ "$(<"$pages/free_hugepages")" -ge 4 ] || echo $((had + 4)) >"$pages/nr_hugepages"
[ "$(<"$pages/free_hugepages")" -ge 4 ] || skip "needs 4 huge pages, and memory is too scattered to get them"

cp "$build/workloads/text_mover" "$tmp/maker"
moved_text_is_named "before back huge" "during back huge"
if "$tmp/maker" can over huge; then
	moved_text_is_named "before over huge" "during over huge"
else
	note "the kernel moves no huge pages"
fi

cp "$build/workloads/code_maker" "$tmp/maker"
record_maker huge -- huge
expect "huge pages" "$(stack_of huge)" "leaf file < ? huge pages < main file"
record_maker hugejit -- huge $'%lx %lx on_huge_pages\n'
expect "huge pages with a perf map" "$(stack_of hugejit)" "leaf file < on_huge_pages jit < main file"

finish
