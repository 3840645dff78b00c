#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Ten million events of growth.sh; run by `make soak`, which sets SOAK.
here=$(dirname "$0")
if [ -z "${SOAK:-}" ]; then
	echo "only in make soak"
	exit 77
fi
GROWTH_SECONDS=${GROWTH_SECONDS:-80} exec bash "$here/growth.sh" "$@"
