# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Installs packages of npm for tests. Sourced by them.

# FOLDER has what FROM/package.json names, in these versions; prints why not when that cannot be had.
npm_packages() { # FROM FOLDER
	cmp -s "$1/package.json" "$2/installed.json" && [ -d "$2/node_modules" ] && return
	cp "$1/package.json" "$2/"
	npm_install "$2" && cp "$1/package.json" "$2/installed.json"
}

# Installs what FOLDER/package.json names there; prints why not when it cannot. A registry that does not answer is
# asked once more and no longer: several tests ask it.
npm_install() { # FOLDER
	timeout 120 npm install --prefix "$1" --no-audit --no-fund --loglevel=error --fetch-retries=1 \
		--fetch-retry-mintimeout=1000 --fetch-retry-maxtimeout=1000 --fetch-timeout=20000 >"$1/npm.log" 2>&1 && return
	{ grep -m 1 'reason: ' "$1/npm.log" || grep -m 1 . "$1/npm.log" || echo 'npm said nothing for two minutes'; } |
		sed 's/^npm [a-zA-Z!]* *//'
	return 1
}
