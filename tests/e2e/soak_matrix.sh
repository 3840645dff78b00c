#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every combination of compiler, level, frame pointers, protection, link and symbols; run by `make soak`, which sets
# SOAK.
if [ -z "${SOAK:-}" ]; then
	echo "only in make soak"
	exit 77
fi
MATRIX=all exec bash "$(dirname "$0")/matrix.sh" "$@"
