#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The build itself: what is installed, what a changed header rebuilds, and whose the files are when
# make runs under sudo.
. "$(dirname "$0")/../lib.sh"
cd "$here/.." || exit 1
# Variables given to the make that runs the tests must not reach those in here.
unset MAKEFLAGS MFLAGS MAKEOVERRIDES MAKELEVEL
# The build folder by the name it was built under: the dependency files know no other.
B=$(sed -n "1s,/format/reader.o:.*,,p" "$build/format/reader.d")
[ -n "$B" ] || { fail "no dependency file in $build"; finish; }

make -s B="$B" install PREFIX=/usr DESTDIR="$tmp/root" >"$tmp/log" 2>&1 || fail "install: $(tail -n 3 "$tmp/log")"
for file in bin/callweave-record bin/callweave-analyze share/doc/callweave/README.md share/doc/callweave/LICENSE; do
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
