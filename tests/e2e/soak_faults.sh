#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# faults.sh with a recorder that stands still for ten seconds; run by `make soak`, which sets SOAK.
here=$(dirname "$0")
if [ -z "${SOAK:-}" ]; then
	echo "only in make soak"
	exit 77
fi
exec bash "$here/faults.sh" "$@"
