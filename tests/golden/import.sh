#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# A kept capture imported: the rows it is known to give, the same ones every time, in plain sqlite3;
# other hops over the same capture; hops over what was not recorded refused. --write keeps new rows.
set -u
here=$(cd "$(dirname "$0")" && pwd)
analyze=$(realpath "$1")/callweave-analyze
tmp=$2
capture=$here/../captures/v1-async.cwc
status=0

bad() {
	echo "$*"
	status=1
}

import() { # DATABASE OPTION...
	local db=$1
	shift
	rm -f "$db"
	"$analyze" import "$capture" -o "$db" "$@" >"$tmp/log" 2>&1
}

rows() { # DATABASE: all of it but what names this import
	sqlite3 "$1" .dump | grep -v "cache_key\|INTO module VALUES\|INTO symbol VALUES"
}

import "$tmp/one.db" || bad "import failed: $(cat "$tmp/log")"
sqlite3 -batch -bail "$tmp/one.db" <"$here/import/queries.sql" >"$tmp/rows.txt" || bad "the queries failed"
[ "${3-}" = --write ] && cp "$tmp/rows.txt" "$here/import/rows.txt"
diff -u "$here/import/rows.txt" "$tmp/rows.txt" || bad "the rows are not those that are known"

import "$tmp/two.db" || bad "import failed: $(cat "$tmp/log")"
cmp -s <(rows "$tmp/one.db") <(rows "$tmp/two.db") || bad "two imports of one capture differ"
[ "$(rows "$tmp/one.db" | wc -l)" -gt 1000 ] || bad "the comparison of two imports compares nothing"

# One hop of the two, its argument left to be found.
import "$tmp/auto.db" --async-hop enqueue_request,2,process_request || bad "stitching again failed: $(cat "$tmp/log")"
got=$(sqlite3 "$tmp/auto.db" "SELECT count(*) || ' ' || min(hop_count) || ' ' || max(hop_count) || ' ' || (SELECT group_concat(DISTINCT target_arg) FROM hop)
	FROM chain")
[ "$got" = "134 1 1 1" ] || bad "one hop, argument found: $got"

import "$tmp/no.db" --async-hop enqueue_request,2,no_such_function,1 && bad "hops over an unrecorded function were accepted"
grep -q "no_such_function were not recorded; recorded were: .*process_request" "$tmp/log" ||
	bad "the refusal does not say what was recorded: $(cat "$tmp/log")"
[ -e "$tmp/no.db" ] && bad "a refused import left a database"
exit $status
