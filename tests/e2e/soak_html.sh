#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The HTML report of a million chains: less than 10 MB, with figures over all. Run by `make soak`, which sets SOAK.
if [ -z "${SOAK:-}" ]; then
	echo "only in make soak"
	exit 77
fi
export HTML_CHAINS=${HTML_CHAINS:-1000000} HTML_BYTES=10000000
exec bash "$(dirname "$0")/html_scale.sh" "$@"
