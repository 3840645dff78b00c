#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Libraries of a program that does not run yet are found where the dynamic loader will: by the run
# paths of the program, and of the libraries that need others.
# PARALLEL: calls are counted.
. "$(dirname "$0")/../lib.sh"
need_tracing
cc=$(command -v cc || command -v gcc || command -v clang) || skip "there is no C compiler"
cd "$tmp" || exit 2
mkdir one two decoy
echo 'int deep(int n) { return n * 2; }' >deep.c
echo 'int deep(int n); int near(int n) { return deep(n) + 1; }' >near.c
echo 'int near(int n); int main(void) { int sum = 0; for (int i = 0; i < 25; i++) sum += near(i); return sum < 0; }' >app.c
"$cc" -O1 -g -shared -fPIC -o two/libdeep.so deep.c &&
	"$cc" -O1 -g -shared -fPIC -o decoy/libother.so deep.c &&
	"$cc" -O1 -g -shared -fPIC -o one/libnear.so near.c -Ltwo -ldeep -Wl,--enable-new-dtags,-rpath,'$ORIGIN/../two' &&
	"$cc" -O1 -g -o app app.c -Lone -lnear -Wl,-rpath-link,two -Wl,--enable-new-dtags,-rpath,"$tmp/decoy:$tmp/one" || fail "cannot build"
./app || fail "the program does not run"

called() { # FUNCTION
	"$record" -o runpath.cwc --exec "$tmp/app" "$1" >log 2>&1 || fail "$1: $(cat log)"
	"$analyze" sql runpath.cwc --no-cache --format csv "SELECT count(*) FROM slice" 2>/dev/null | tail -n 1 | tr -d '\r'
}
expect "calls in a library by the program's run path" "$(called libnear.so:near)" 25
expect "calls in a library by a library's run path" "$(called libdeep.so:deep)" 25
finish
