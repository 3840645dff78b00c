#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The build itself: what is installed, what a changed header rebuilds, and whose the files are when
# make runs under sudo.
# PARALLEL: nothing is traced.
. "$(dirname "$0")/../lib.sh"
cd "$here/.." || exit 1
# Variables given to the make that runs the tests must not reach those in here.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL
# The build folder by the name it was built under: the dependency files know no other.
B=$(sed -n "1s,/format/reader.o:.*,,p" "$build/format/reader.d")
[ -n "$B" ] || { fail "no dependency file in $build"; finish; }

make -s B="$B" install PREFIX=/usr DESTDIR="$tmp/root" >"$tmp/log" 2>&1 || fail "install: $(tail -n 3 "$tmp/log")"
for file in bin/callweave-record bin/callweave-analyze share/doc/callweave/{README,FORMAT,SCHEMA}.md share/doc/callweave/LICENSE; do
	[ -e "$tmp/root/usr/$file" ] || fail "not installed: $file"
done
"$tmp/root/usr/bin/callweave-analyze" --version >"$tmp/version" || fail "the installed analyzer does not run"

# What is built is up to date, and a header makes its users out of date.
make -s -n B="$B" all >"$tmp/plan" 2>&1
expect "lines of a build with nothing to do" "$(grep -c . "$tmp/plan")" 0
make -n -W format/records.h B="$B" all >"$tmp/plan" 2>&1
for user in format/reader.o format/writer.o bpf/func.bpf.o; do
	grep -q -- "-o $B/$user" "$tmp/plan" || fail "a change of records.h does not rebuild $user"
done

# What can be set is used, and the kernel's types may come from a file.
make -s -n -W bpf/func.bpf.c -W format/reader.c B="$B" CC=other-cc CLANG=other-clang BPFTOOL=other-bpftool all >"$tmp/plan" 2>&1
for tool in other-cc other-clang other-bpftool; do
	grep -q "^$tool \|[ {]$tool gen" "$tmp/plan" || fail "$tool is not what is run"
done
if [ -r /sys/kernel/btf/vmlinux ]; then
	cp /sys/kernel/btf/vmlinux "$tmp/btf"
	make -s B="$tmp/types" VMLINUX_BTF="$tmp/btf" "$tmp/types/vmlinux.h" >"$tmp/log" 2>&1 || fail "VMLINUX_BTF: $(tail -n 3 "$tmp/log")"
	cmp -s "$tmp/types/vmlinux.h" "$B/vmlinux.h" || fail "the types from a file are not those of the kernel"
fi
make -s B="$tmp/none" VMLINUX_BTF=/no/such/btf "$tmp/none/vmlinux.h" >"$tmp/log" 2>&1 && fail "built without BTF"
grep -q '^cannot read /no/such/btf: give the kernel.s BTF with VMLINUX_BTF=FILE$' "$tmp/log" || fail "no BTF: $(cat "$tmp/log")"
[ -e "$tmp/none/vmlinux.h" ] && fail "a failed build left its file"

# Packages: those that are missing, by the machine's own tool; elsewhere a sentence. The tools are
# stand-ins that write down how they are called.
mkdir "$tmp/dnf" "$tmp/bare"
for tool in bash awk tr id; do
	ln -s "$(command -v $tool)" "$tmp/dnf/$tool"
	ln -s "$(command -v $tool)" "$tmp/bare/$tool"
done
printf '#!%s\nshift\nfor p; do [ $p = gcc ] && echo gcc-13 || echo "package $p is not installed"; done\n' "$(command -v bash)" >"$tmp/dnf/rpm"
printf '#!%s\necho "$@" >>"%s"\n' "$(command -v bash)" "$tmp/installed" >"$tmp/dnf/dnf"
chmod 755 "$tmp/dnf/rpm" "$tmp/dnf/dnf"
PATH=$tmp/dnf "$tmp/dnf/bash" tests/deps.sh --bench >"$tmp/log" 2>&1
if [ "$(id -u)" = 0 ]; then
	grep -q '^install -q -y .*make .*clang .*libbpf-devel .*elfutils-devel .*perf' "$tmp/installed" ||
		fail "dnf was called with: $(cat "$tmp/installed" "$tmp/log")"
	grep -q " gcc " "$tmp/installed" && fail "dnf was asked for what is installed"
else
	grep -q 'packages are missing: run this with sudo.*dnf install make' "$tmp/log" || fail "dnf, not root: $(cat "$tmp/log")"
fi
PATH=$tmp/bare "$tmp/bare/bash" tests/deps.sh >"$tmp/log" 2>&1 && fail "nothing is missing where there is nothing"
grep -q '^gcc is missing, and neither apt-get nor dnf is here to install it' "$tmp/log" && [ "$(wc -l <"$tmp/log")" = 1 ] ||
	fail "neither apt nor dnf: $(cat "$tmp/log")"

# What only some tests need: each package on its own; one that cannot be installed is named and fails nothing. Ubuntu's
# chromium is a snap, which is neither installed nor used.
rm "$tmp"/dnf/{dnf,rpm}
for tool in dirname readlink grep comm sort; do
	ln -s "$(command -v $tool)" "$tmp/dnf/$tool"
done
stand_in() { # NAME, and what it does on stdin
	{ echo "#!$(command -v bash)" && cat; } >"$tmp/dnf/$1"
	chmod 755 "$tmp/dnf/$1"
}
stand_in dnf <<END
[ "\${*: -1}" != chromium ] || { echo 'a warning' >&2; echo 'no chromium here' >&2; exit 1; }
[ "\$1" = update ] || echo "\${*: -1}" >>"$tmp/asked"
END
stand_in rpm </dev/null
no_chromium='chromium is not installed (no chromium here): tests that need it are skipped'
for_pages() { # WHAT SENTENCES PACKAGES
	: >"$tmp/asked"
	PATH=$tmp/dnf "$tmp/dnf/bash" tests/deps.sh --check >"$tmp/log" 2>&1 || fail "$1: status $?"
	if [ "$(id -u)" = 0 ]; then
		expect "$1: what is said" "$(grep -v '^installing: ' "$tmp/log")" "$2"
		expect "$1: what was installed" "$(paste -s -d ' ' "$tmp/asked")" "$3"
	else
		expect "$1: what is said of chromium" "$(grep ^chromium "$tmp/log")" "${2/(*)/(${4:-that takes root})}"
	fi
}
for_pages 'dnf' "$no_chromium" 'nodejs nodejs-npm'
mv "$tmp/dnf/dnf" "$tmp/dnf/apt-get"
stand_in dpkg-query <<'END'
shift 3
printf '%s installed\n' "$@"
END
for_pages 'apt' "$no_chromium" 'nodejs npm'
rm "$tmp/dnf/grep"
stand_in grep <<END
[[ \$* == *ID=ubuntu* ]] || exec $(command -v grep) "\$@"
END
snap='Ubuntu has it as a snap, which reads no files of tests'
for_pages 'apt on Ubuntu' "${no_chromium/no chromium here/$snap}" 'nodejs npm' "$snap"
stand_in snap </dev/null
ln -s snap "$tmp/dnf/chromium"
stand_in chromium-browser <<<'exec /snap/bin/chromium "$@"'
for_pages 'apt with a snap' "${no_chromium/no chromium here/$snap}" 'nodejs npm' "$snap"
for tool in node npm google-chrome; do
	stand_in $tool </dev/null
done
: >"$tmp/asked"
PATH=$tmp/dnf "$tmp/dnf/bash" tests/deps.sh --check >"$tmp/log" 2>&1 || fail "nothing is missing: status $?"
expect "nothing is missing: what is said and installed" "$(cat "$tmp/log" "$tmp/asked")" ""

# A registry that cannot be used is a reason to skip, in its own words.
stand_in npm <<'END'
echo 'npm WARN old'$'\nnpm ERR! code SELF_SIGNED\nnpm ERR! request to https://registry/axe-core failed, reason: self-signed\n\nnpm ERR! A complete log' >&2
exit 1
END
expect "why npm cannot install" "$(. "$here/browser/npm.sh" && PATH=$tmp/dnf:$PATH npm_install "$tmp/dnf")" \
	'request to https://registry/axe-core failed, reason: self-signed'

# Continuous integration runs what the README says.
mkdir "$tmp/ci"
for tool in make sudo; do
	printf '#!/bin/sh\necho %s "$@"\n' $tool >"$tmp/ci/$tool"
	chmod 755 "$tmp/ci/$tool"
done
grep -q '^    sudo make check ' README.md || fail "the README has another test command"
expect ".ci/run" "$(PATH=$tmp/ci:$PATH .ci/run)" "$([ "$(id -u)" = 0 ] || printf 'sudo ')make check"

# The demo where nothing can be traced: why, and the kept capture.
cp "$build/callweave-analyze" "$build/callweave-record" "$tmp"
chmod 755 "$tmp" "$tmp"/callweave-*
if [ "$(id -u)" = 0 ]; then
	mkdir "$tmp/demo"
	cp -r tests/demo "$tmp/demo/demo"
	mkdir "$tmp/demo/tests" "$tmp/demo/examples"
	mv "$tmp/demo/demo" "$tmp/demo/tests/demo"
	cp examples/thread-pool.cwc "$tmp/demo/examples"
	chmod -R a+rX "$tmp/demo"
	(cd "$tmp/demo" && TMPDIR=/tmp setpriv --reuid=65534 --regid=65534 --clear-groups tests/demo "$tmp") >"$tmp/log" 2>&1 ||
		fail "the demo without root: $(tail -n 3 "$tmp/log")"
	for words in 'cannot trace: recording needs root' 'async hop 1 submit_storage_task -> write_result' \
		'^submit_compute_task  process_request'; do
		grep -q "$words" "$tmp/log" || fail "the demo without root does not say '$words'"
	done
fi

if [ "$(id -u)" = 0 ]; then
	copy=$tmp/copy
	mkdir "$copy"
	cp -r Makefile tests format record analyze bpf schema "$copy"
	chmod -R a+rX "$copy"
	(cd "$copy" && SUDO_UID=65534 SUDO_GID=65534 make -s workloads) >"$tmp/log" 2>&1 ||
		fail "make under sudo: $(tail -n 3 "$tmp/log")"
	[ -x "$copy/build/workloads/tagged" ] || fail "make under sudo built nothing"
	expect "files of root in build/ after sudo make" "$(find "$copy/build" -user root | wc -l)" 0
fi
finish
