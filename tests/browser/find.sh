# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Which browser the tests open pages with. Sourced by what opens them and by what installs it.

# Prints the path of one that can read the tests' files: a snap's sees those of its user's home folder only.
find_chromium() {
	local name path
	for name in chromium chromium-browser google-chrome; do
		path=$(type -P "$name") || continue
		[[ $(readlink -f "$path") != */snap ]] || continue
		grep -qs '/snap/bin/' "$path" || { echo "$path"; return; }
	done
	return 1
}
