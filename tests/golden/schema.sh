#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# SCHEMA.md says what the schema says, and a table, view or column without a comment is noticed.
set -u
cd "$(dirname "$0")/../.." || exit 2
tmp=$2
status=0

schema/doc.sh --check || status=1

# The check itself can fail: without one comment, and with a column that SCHEMA.md does not know.
refused() { # WHAT SED-COMMAND FILE
	rm -rf "$tmp/schema"
	cp -r schema "$tmp/schema"
	sed -i "$2" "$tmp/schema/$3"
	cmp -s "schema/$3" "$tmp/schema/$3" && echo "nothing was changed for: $1" && status=1
	"$tmp/schema/doc.sh" --check 2>/dev/null && echo "accepted: $1" && status=1
}
refused "a table without a comment" '/^-- Off-CPU episodes of traced threads/d' 50-sched.sql
refused "a column without a comment" '/-- Switch-out\.$/d' 50-sched.sql
refused "a view's column without a comment" '/-- Handoff\.$/d; /-- Chain\.$/d' 60-chain.sql
refused "a comment that SCHEMA.md has otherwise" 's/-- Number of hops\./-- Hops, counted./' 60-chain.sql
exit $status
