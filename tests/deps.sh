#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Install the packages that building and testing need, and only those that are missing.
# Quick when nothing is missing. --bench adds the tools that the benchmarks compare with, --fuzz what
# libFuzzer needs, --vm what kernels are booted with, --cross what builds and runs for other architectures, --check
# what the tests open pages and exports with: where that cannot be installed, it is named, and they are skipped.
set -euo pipefail

debian=(gcc g++ make libc6-dev binutils clang lld rustc libbpf-dev libelf-dev libdw-dev zlib1g-dev libzstd-dev
	libdeflate-dev libyaml-dev libcapstone-dev libiberty-dev libsqlite3-dev libcmocka-dev sqlite3 zstd procps debuginfod dwz xz-utils
	dpkg-dev libc6-dbg)
fedora=(gcc gcc-c++ make glibc-static binutils binutils-devel clang lld rust bpftool libbpf-devel elfutils-libelf-devel
	elfutils-devel zlib-devel libdeflate-devel libzstd-devel libyaml-devel capstone-devel sqlite-devel sqlite
	libcmocka-devel zstd libasan libubsan procps-ng elfutils-debuginfod dwz xz)

on_ubuntu() {
	grep -qi "^ID=ubuntu" /etc/os-release
}

have_bpftool() {
	local tool
	for tool in bpftool /usr/sbin/bpftool /usr/lib/linux-tools/*/bpftool /usr/lib/linux-tools-*/bpftool; do
		"$tool" version >/dev/null 2>&1 && return
	done
	return 1
}

# Prints those of its arguments that dpkg does not know as installed.
missing_debs() {
	local installed
	installed=$(dpkg-query -W -f '${Package} ${db:Status-Status}\n' "$@" 2>/dev/null |
		awk '$2 == "installed" { print $1 }' || true)
	comm -23 <(printf '%s\n' "$@" | sort -u) <(sort -u <<<"$installed")
}

install_debs() {
	local missing
	[ "${1:-}" = --bench ] && debian+=(bpftrace gdb strace)
	[ "${1:-}" = --fuzz ] && debian+=(libclang-rt-dev)
	[ "${1:-}" = --vm ] && debian+=(qemu-system-x86 cpio)
	[ "${1:-}" = --cross ] && debian+=(gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-aarch64-linux-gnu libc6-dev-arm64-cross qemu-user)
	if ! have_bpftool; then
		if on_ubuntu; then
			debian+=(linux-tools-generic)
		else
			debian+=(bpftool)
		fi
	fi
	if [ "${1:-}" = --bench ] && ! command -v perf >/dev/null; then
		if on_ubuntu; then
			debian+=(linux-tools-generic)
		else
			debian+=(linux-perf)
		fi
	fi
	missing=$(missing_debs "${debian[@]}" | tr '\n' ' ')
	[ -n "$missing" ] || return 0
	need_root "apt-get install $missing"
	echo "installing: $missing"
	# shellcheck disable=SC2086 # a list of names
	apt_install $missing
}

# By the lists of packages that are here, or else by those of now.
apt_install() {
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null 2>&1 && return
	apt-get update -qq
	DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends "$@" >/dev/null
}

install_rpms() {
	local missing
	[ "${1:-}" = --bench ] && fedora+=(bpftrace perf gdb strace)
	[ "${1:-}" = --fuzz ] && fedora+=(compiler-rt)
	missing=$(rpm -q "${fedora[@]}" 2>/dev/null | awk '/is not installed/ { print $2 }' | tr '\n' ' ' || true)
	[ -n "$missing" ] || return 0
	need_root "dnf install $missing"
	echo "installing: $missing"
	# shellcheck disable=SC2086
	dnf install -q -y $missing
}

# What the suite can do without: by commands, for some packages have several of them. Each on its own, so that one that
# cannot be installed keeps none away.
install_for_pages() { # NAME_OF_NPM INSTALL...
	# shellcheck source=tests/browser/find.sh
	. "$(dirname "${BASH_SOURCE[0]}")/browser/find.sh"
	local npm=$1
	shift
	command -v node >/dev/null || optional nodejs "$@"
	command -v npm >/dev/null || optional "$npm" "$@"
	find_chromium >/dev/null && return
	if on_ubuntu; then
		say_skipped chromium "Ubuntu has it as a snap, which reads no files of tests"
	else
		optional chromium "$@"
	fi
}

optional() { # PACKAGE INSTALL...
	local package=$1 said
	shift
	if [ "$(id -u)" != 0 ]; then
		say_skipped "$package" "that takes root"
		return
	fi
	echo "installing: $package"
	said=$("$@" "$package" 2>&1 >/dev/null) || say_skipped "$package" "${said##*$'\n'}"
}

say_skipped() { # PACKAGE WHY
	echo "$1 is not installed ($2): tests that need it are skipped" >&2
}

need_root() {
	[ "$(id -u)" = 0 ] && return
	echo "packages are missing: run this with sudo, or install them yourself: $1" >&2
	exit 1
}

if command -v dpkg-query >/dev/null && command -v apt-get >/dev/null; then
	install_debs "$@"
	[ "${1:-}" != --check ] || install_for_pages npm apt_install
elif command -v dnf >/dev/null; then
	install_rpms "$@"
	[ "${1:-}" != --check ] || install_for_pages nodejs-npm dnf install -q -y
else
	for tool in gcc make clang sqlite3 zstd; do
		command -v "$tool" >/dev/null && continue
		echo "$tool is missing, and neither apt-get nor dnf is here to install it:" \
			"install what tests/deps.sh lists (Debian's names: ${debian[*]} bpftool)" >&2
		exit 1
	done
fi
