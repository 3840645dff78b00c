# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Installs the packages of package.json once into the build folder: $tools is where they are, $missing says why not.
# shellcheck disable=SC2034,SC2154 # for and from the test that sources this
tools=$build/exports missing=''
# shellcheck source=tests/browser/find.sh
. "$here/browser/find.sh"
# shellcheck source=tests/browser/npm.sh
. "$here/browser/npm.sh"
chromium=$(find_chromium)
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	missing="node or npm is not installed"
else
	mkdir -p "$tools"
	exec 7>"$tools/lock"
	flock 7 # two tests may want them at a time
	reason=$(npm_packages "$here/exports" "$tools") || missing="npm cannot install speedscope and others: $reason"
	exec 7>&-
fi
