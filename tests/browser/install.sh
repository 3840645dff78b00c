# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Installs the packages that drive a browser once into the build folder: $modules is where they are, empty where they
# are not; $missing says why not.
# shellcheck disable=SC2034,SC2154 # for and from the test that sources this
modules='' missing=''
# shellcheck source=tests/browser/find.sh
. "$here/browser/find.sh"
# shellcheck source=tests/browser/npm.sh
. "$here/browser/npm.sh"
chromium=$(find_chromium)
if [ -z "$chromium" ]; then
	missing="chromium is not installed"
elif ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	missing="node or npm is not installed"
else
	modules=$build/browser
	mkdir -p "$modules"
	exec 7>"$modules/lock"
	flock 7 # two tests may want them at a time
	reason=$(npm_packages "$here/browser" "$modules") || modules='' missing="npm cannot install playwright-core: $reason"
	exec 7>&-
fi
