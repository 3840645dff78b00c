#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Ten minutes of memory.sh; run by `make soak`, which sets SOAK.
here=$(dirname "$0")
if [ -z "${SOAK:-}" ]; then
	echo "only in make soak"
	exit 77
fi
MEMORY_SECONDS=${MEMORY_SECONDS:-600} exec bash "$here/memory.sh" "$@"
