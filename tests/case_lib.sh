# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# What the tests of the case studies share: examples/case-NAME.md shows commands, and the test runs
# those very commands, in order, in one shell, before it looks at what they left behind.
# Sourced with the arguments of a test: BUILD and an empty folder.
# The programs are kept where the next run finds them, not in the test's own cache.
export CALLWEAVE_CASES=${CALLWEAVE_CASES:-${XDG_CACHE_HOME:-/var/tmp}/callweave-cases}
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
examples=$(realpath "$here/../examples")

# Every command of a ```console block: lines after "$ ", continued by lines after "> ".
case_commands() { # FILE
	awk '/^```/ { on = /^```console$/; next }
		on && /^[$] / { more = 1; print substr($0, 3); next }
		on && more && /^> / { print substr($0, 3); next }
		{ more = 0 }' "$1"
}

# Build the program of a case and run the commands of its text in $work, what they print in $log.
run_case() { # NAME
	local status=0
	name=$1
	work=$tmp/work log=$tmp/case.log text=$examples/case-$1.md
	need_tracing
	"$examples/build-case" "$name" >"$tmp/build.log" 2>&1 || status=$?
	[ $status = 77 ] && skip "$(tail -n 1 "$tmp/build.log")"
	[ $status = 0 ] || {
		cat "$tmp/build.log"
		exit 1
	}
	mkdir "$work"
	chmod 777 "$work"
	ln -s "$examples" "$work/examples"
	{
		# What a command left running ends with the last one.
		echo 'trap "kill \$(jobs -p) 2>/dev/null || :" EXIT; sudo() { "$@"; }'
		case_commands "$text"
	} >"$tmp/commands"
	[ "$(wc -l <"$tmp/commands")" -gt 3 ] || fail "no commands found in $text"
	(cd "$work" && PATH=$build:$PATH bash -eu "$tmp/commands") >"$log" 2>&1 || {
		fail "a command of ${text##*/} failed; all their output:"
		cat "$log"
		finish
	}
}

# One value from a capture in $work: ask CAPTURE SQL [OPTIONS]
ask() {
	local capture=$1 sql=$2
	shift 2
	"$analyze" sql --format csv "$work/$capture" "$@" "$sql" 2>"$tmp/ask.err" | sed 1d
}

# Among all functions that match, of a run of its own, suggest finds these handoffs and no other:
# found_among NUMBER "HOPS" PATTERN... -- ARGUMENT...
found_among() {
	local least=$1 wanted=$2 program
	shift 2
	program=$("$examples/build-case" "$name")
	(cd "$work" && "$record" -q -o wide.cwc --attribution --exec "$program" "$@") >"$tmp/wide.log" 2>&1 ||
		fail "cannot record many functions: $(tail -n 1 "$tmp/wide.log")"
	at_least "functions recorded" "$(ask wide.cwc "SELECT count(*) FROM probe")" "$least"
	expect "handoffs among them" "$("$analyze" suggest "$work/wide.cwc" 2>/dev/null | sed -n 's/^  --async-hop //p' | sort)" \
		"$(printf '%s\n' $wanted | sort)"
}

# The text tells this number to its reader.
told() { # WORDS
	grep -qF -- "$1" "$text" || fail "${text##*/} does not say '$1'"
}

# `suggest`, which the text shows, has found this hop.
suggested() { # HOP
	grep -qxF -- "  --async-hop $1" "$log" || fail "suggest does not print --async-hop $1"
}
