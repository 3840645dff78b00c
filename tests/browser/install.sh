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
	flock 7 # two tests may want them at a time; npm writes its list when all is there
	if ! cmp -s "$here/browser/package.json" "$modules/package.json" || [ ! -d "$modules/node_modules/playwright-core" ] ||
		[ ! -d "$modules/node_modules/axe-core" ] || [ ! -e "$modules/node_modules/.package-lock.json" ]; then
		cp "$here/browser/package.json" "$modules/"
		reason=$(npm_install "$modules") || modules='' missing="npm cannot install playwright-core: $reason"
	fi
	exec 7>&-
fi
