# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Installs the packages of package.json once into the build folder: $tools is where they are, $missing says why not.
# shellcheck disable=SC2034,SC2154 # for and from the test that sources this
tools=$build/exports missing=''
# shellcheck source=tests/browser/find.sh
. "$here/browser/find.sh"
chromium=$(find_chromium)
if ! command -v node >/dev/null || ! command -v npm >/dev/null; then
	missing="node or npm is not installed"
else
	mkdir -p "$tools"
	exec 7>"$tools/lock"
	flock 7 # two tests may want them at a time
	cp "$here/exports/package.json" "$tools/"
	# npm writes that list when all is there.
	for package in .package-lock.json speedscope @hpcc-js/wasm-graphviz @opentelemetry/otlp-transformer ajv playwright-core axe-core; do
		[ -e "$tools/node_modules/$package" ] && continue
		timeout 120 npm install --prefix "$tools" --no-audit --no-fund --silent >"$tmp/npm.log" 2>&1 ||
			missing="npm cannot install speedscope and others: $(tail -n 1 "$tmp/npm.log")"
		break
	done
	exec 7>&-
fi
