#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Every option that the programs' own tables hold: what it says of a wrong value, that the help names
# it, and that the examples of the help are understood. A new option, or a new command, needs a wrong
# value here (or a word on why there is none).
set -u
build=$(realpath "$1") dir=$(realpath "$2")
cd "$(dirname "$0")/../.." || exit 2
capture=$PWD/tests/captures/v1-async.cwc
export XDG_CACHE_HOME=$dir/xdg
failed=0 checked=0
complain() { echo "$*"; failed=1; }

# A wrong value of each option that takes one.
declare -A wrong=(
	[async-hop]=a,9,b [async-max-age-ms]=many [async-source-arg]=9 [async-target-arg]=nine
	[color]=pink [diagnostic-interval-ms]=x [duration]=soon [embed]=some [flight]=x [flight-when]=f [embed-max]=big
	[format]=xml [from]=noon [key]=x [max-events]=1.5 [max-rate]=fast [max-rate]=often [max-size]=big [min-queue-ms]=x [min-total-ms]=x
	[min-change]=x [min-work-ms]=x [offset]=here [pid]=abc [ring-size]=12345 [rings]=65 [rotate]=0 [section]=nonsense [srcline]=some [stack]=some
	[tid]=x [to]=noon [top]=x [weight]=feathers)
# Names of files: those that cannot be read are failures, not usage.
declare -A unreadable=([config]=1 [check-config]=1)
# Names of anything: whether there is such a thing is found out later (e2e/messages, golden/commands).
free=" async-source async-source-binary binary cgroup debug-dir discover-async exec find-symbol function
	module output sysroot type "

# Every long option with its value, as argp lists its table, without what argp adds itself.
options() { # PROGRAM...
	"$@" --usage | tr -s ' \n' '\n\n' | sed -n 's/^\[\(--[a-z][a-z-]*\(\[\{0,1\}=[^]]*\)\{0,1\}\).*/\1/p' |
		grep -vxE -- '--(help|usage|version)' | sort -u
}
# status WANTED PATTERN COMMAND...: one sentence (behind usage there is a hint) that matches.
status() {
	local wanted=$1 pattern=$2 got
	shift 2
	(cd "$dir" && timeout 20 "$@" >out 2>err </dev/null)
	got=$?
	[ $got = "$wanted" ] && head -n 1 "$dir/err" | grep -qE -- "$pattern" && [ ! -s "$dir/out" ] ||
		complain "${*##*/}: status $got, wanted $wanted and '$pattern': $(head -n 2 "$dir/err")"
	checked=$((checked + 1))
}
check_option() { # OPTION, OPTION=VALUE or OPTION[=VALUE], PROGRAM...
	local option=${1%%[=[]*} name
	local value=${1#"$option"}
	shift
	name=${option#--}
	"$@" --help | grep -qE -- "$option([=, ]|\\[|\$)" || complain "${*##*/} --help does not name $option"
	if [ -z "$value" ]; then
		status 2 "$option' doesn't allow an argument" "$@" "$option=x"
		return
	fi
	[[ $value != '['* ]] || return 0 # it goes without a value, and with any
	status 2 "$option' requires an argument" "$@" "$option"
	if [ -n "${wrong[$name]:-}" ]; then
		status 2 "${wrong[$name]}" "$@" "$option" "${wrong[$name]}" # the sentence says the value
	elif [ -n "${unreadable[$name]:-}" ]; then
		# That one is read last, by the same code for all commands.
		[[ $* == *-analyze* && $* != *report ]] ||
			status 1 'cannot read /no/such/file: No such file' "$@" "$option" /no/such/file ${2:+"$capture"}
	elif [[ " ${free//[$'\n\t']/ } " != *" $name "* ]]; then
		complain "${*##*/} $option: no wrong value of it is known to this test"
	fi
}

commands=$("$build/asan/callweave-analyze" --help | sed -n '/^Commands:/,/^$/s/^  \([a-z]*\) .*/\1/p')
[ "$(wc -w <<<"$commands")" -ge 9 ] || complain "commands: $commands"
for command in $commands; do
	for option in $(options "$build/asan/callweave-analyze" "$command"); do
		check_option "$option" "$build/asan/callweave-analyze" "$command"
	done
	status 2 'unrecognized option' "$build/asan/callweave-analyze" "$command" --no-such-option
	"$build/asan/callweave-analyze" "$command" --help | grep -q '^Examples:' || complain "$command --help: no examples"
done
record=$build/callweave-record
if [ -x "$record" ]; then
	for option in $(options "$record"); do
		check_option "$option" "$record"
	done
	status 2 'unrecognized option' "$record" --no-such-option
fi

# ---- examples ---------------------------------------------------------------------------------------
# Each is understood: what it lacks here (that process, these functions) is said, with status 1.
mkdir "$dir/bin" "$dir/examples"
ln -s "$build/asan/callweave-analyze" "$dir/bin"
[ ! -x "$record" ] || ln -s "$record" "$dir/bin"
"$build/asan/callweave-analyze" import "$capture" -o "$dir/examples/trace.db" 2>"$dir/err" || complain "import: $(cat "$dir/err")"
echo 'SELECT 1 AS one' >"$dir/examples/slow.sql"
try() { # COMMAND LINE
	local tool got
	for tool in $(sed "s/'[^']*'//g; s/|/\n/g" <<<"$1" | awk '{ print $1 }'); do
		PATH=$dir/bin:$PATH command -v "$tool" >/dev/null || return
	done
	cp "$capture" "$dir/examples/trace.cwc"
	(cd "$dir/examples" && PATH=$dir/bin:$PATH timeout 60 bash -o pipefail -c "${1//1234/4194303}" >../out 2>../err </dev/null)
	got=$?
	checked=$((checked + 1))
	case $got in
	0 | 1 | 5) grep -qE 'Usage:|unrecognized|--help' "$dir/err" && complain "example: $1: $(head -n 3 "$dir/err")" ;;
	*) complain "example: $1: status $got: $(head -n 3 "$dir/err")" ;;
	esac
	[[ $1 != *trace.cwc* || $got = 0 ]] || grep -qE 'not recorded|no such process|No such process|only|sums' "$dir/err" ||
		complain "example: $1: $(head -n 3 "$dir/err")"
}
examples=0
for command in '' $commands; do
	while read -r line; do
		try "$line"
		examples=$((examples + 1))
	done < <("$build/asan/callweave-analyze" $command --help | sed -n '/^Examples:/,$s/^  \(\(callweave\|sqlite3\).*\)/\1/p' | sed 's/   *[a-z].*//')
done
if [ -x "$record" ]; then
	while read -r line; do
		try "$line"
		examples=$((examples + 1))
	done < <("$record" --help | sed -n '/^Examples:/,$s/^  \(callweave.*\)/\1/p')
fi
[ $examples -ge 40 ] || complain "only $examples examples"
echo "# $checked checks of options and $examples examples"
exit $failed
