#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# The files that a recording goes on in are one capture: cut from a kept capture, they give the rows
# that it gives. What is not there is said, and no chain that it may have touched looks whole.
set -u
build=$(realpath "$1") dir=$2
analyze=$build/asan/callweave-analyze
cd "$(dirname "$0")/../.." || exit 2
export XDG_CACHE_HOME=$dir/xdg
failed=0
complain() { echo "$*"; failed=1; }
mkdir "$dir/s" "$dir/some"
"$build/tests/capture_edit" --segments 5 tests/captures/v1-async.cwc "$dir/s/a.cwc" || complain "cannot cut the capture"
[ "$(ls "$dir/s" | tr '\n' ' ')" = "a.0001.cwc a.0002.cwc a.0003.cwc a.0004.cwc a.0005.cwc " ] || complain "segments: $(ls "$dir/s")"
"$analyze" import tests/captures/v1-async.cwc -o "$dir/whole.db" 2>"$dir/err" || complain "import: $(cat "$dir/err")"

# The copy has other pairs of clocks: wall times are some nanoseconds off.
no_us() {
	sed -E 's/^(\[[^]]*\.[0-9]{3})[0-9]*\]/\1]/'
}

rows() { # DATABASE: all but what names this import
	sqlite3 "$1" .dump | grep -vE "VALUES\('(cache_key|capture_id|segments?|wall_offset_ns)'"
}

# Whichever file is named, from wherever.
rows "$dir/whole.db" >"$dir/whole.rows"
for n in 1 2 5; do
	(cd "$dir/s" && "$analyze" import a.000$n.cwc -o ../$n.db) >"$dir/err" 2>&1 || complain "file $n: $(cat "$dir/err")"
	[ -s "$dir/err" ] && complain "file $n says: $(cat "$dir/err")"
	rows "$dir/$n.db" | cmp -s "$dir/whole.rows" - || complain "the segments, from file $n, and the capture give different rows"
done
[ "$(wc -l <"$dir/whole.rows")" -gt 1000 ] || complain "the comparison compares nothing"
"$analyze" "$dir/s/a.0003.cwc" 2>/dev/null | no_us >"$dir/segments.txt"
"$analyze" tests/captures/v1-async.cwc --no-cache 2>/dev/null | no_us >"$dir/whole.txt"
cmp "$dir/segments.txt" "$dir/whole.txt" || complain "the reports differ"
"$analyze" "$dir"/s/a.000?.cwc 2>"$dir/err" | no_us | cmp - "$dir/whole.txt" || complain "all of them named: $(cat "$dir/err")"
"$analyze" suggest "$dir"/s/a.0002.cwc "$dir"/s/a.0001.cwc >"$dir/out" 2>"$dir/err" || complain "suggest with two named: $(cat "$dir/err")"
"$analyze" "$dir/s/a.0001.cwc" tests/captures/v1-async.cwc >"$dir/out" 2>"$dir/err" && complain "two recordings were taken"
grep -q "one capture at a time: .*a.0001.cwc, then tests/captures/v1-async.cwc" "$dir/err" || complain "two recordings: $(cat "$dir/err")"
[ "$(ls "$dir"/s/*.db)" = "$dir/s/a.0001.cwc.db" ] || complain "cached: $(ls "$dir"/s/*.db)"
for table in raw_probe_entry raw_sched_block; do
	query="SELECT count(*), count(DISTINCT ts), sum(arg1), min(ts), max(ts) FROM $table"
	[ "$("$analyze" sql "$dir/s/a.0001.cwc" --format csv "${query/sum(arg1)/sum(cpu)}")" = \
		"$("$analyze" sql tests/captures/v1-async.cwc --no-cache --format csv "${query/sum(arg1)/sum(cpu)}")" ] || complain "$table differs"
done

# some FILE...: those of the segments alone, in a folder of their own.
some() {
	rm -rf "$dir/some" "$dir/some.db"
	mkdir "$dir/some"
	for n in "$@"; do cp "$dir/s/a.000$n.cwc" "$dir/some"; done
	"$analyze" import "$dir/some/a.000$1.cwc" -o "$dir/some.db" >/dev/null 2>"$dir/err" || complain "$*: $(cat "$dir/err")"
}

said() { # WORDS
	grep -qF -- "$1" "$dir/err" || complain "not said: '$1' but: $(cat "$dir/err")"
}

# Commands that read one file say that there are others.
"$analyze" dump "$dir/s/a.0002.cwc" --type end >"$dir/out" 2>"$dir/err" || complain "dump of a segment: $(cat "$dir/err")"
said "a.0002.cwc: this is one of 5 files of a recording: dump shows no other"
"$analyze" dump --validate "$dir/s/a.0002.cwc" >"$dir/out" 2>"$dir/err" || complain "dump --validate of a segment: $(cat "$dir/err" "$dir/out")"
said "a.0002.cwc: this is one of 5 files"
"$analyze" dump tests/captures/v1-async.cwc --type end 2>&1 >/dev/null | grep -q 'one of' && complain "dump of one file speaks of several"
# Following goes on in the next file, also while that is written, and says where there is none.
ended() { grep '"type":"c' | LC_ALL=C sort; }
"$analyze" follow tests/captures/v1-async.cwc --format jsonl 2>/dev/null | ended >"$dir/whole.ended"
[ "$(wc -l <"$dir/whole.ended")" -gt 100 ] || complain "nothing is followed"
"$analyze" follow "$dir/s/a.0001.cwc" --format jsonl 2>"$dir/err" | ended | cmp - "$dir/whole.ended" || complain "follow of segments: $(cat "$dir/err")"
[ -s "$dir/err" ] && complain "follow of segments says: $(cat "$dir/err")"
mkdir "$dir/grows"
cp "$dir"/s/a.000[145].cwc "$dir/grows"
exec 8>"$dir/grows/a.0002.cwc" # it is there, and open for writing, before anybody follows
head -c 6000 "$dir/s/a.0002.cwc" >&8
{ sleep 1; cp "$dir/s/a.0003.cwc" "$dir/grows"; tail -c +6001 "$dir/s/a.0002.cwc" >&8; } &
exec 8>&-
"$analyze" follow "$dir/grows/a.0001.cwc" --format jsonl 2>"$dir/err" | ended | cmp - "$dir/whole.ended" || complain "follow of a segment that grows: $(cat "$dir/err")"
wait
rm "$dir/grows/a.0003.cwc"
"$analyze" follow "$dir/grows/a.0001.cwc" >"$dir/out" 2>"$dir/err" || complain "follow of some segments: $(cat "$dir/err")"
said "a.0002.cwc: the recording goes on in another file, which is not beside this one"
"$analyze" follow "$dir/s/a.0005.cwc" 2>&1 >/dev/null | grep -q 'goes on in another file' && complain "the last segment goes on"
"$analyze" archive "$dir/s/a.0001.cwc" -o "$dir/copy.cwc" >"$dir/out" 2>"$dir/err" && complain "a segment was archived"
said "a.0001.cwc is one of 5 files of a recording, and archive copies one file"
[ -e "$dir/copy.cwc" ] && complain "archive left a file"

# check WHAT: chains that are not as in the whole capture are flagged, and some are as they were.
check() {
	local wrong kept
	wrong=$(sqlite3 "$dir/some.db" "ATTACH '$dir/whole.db' AS w; SELECT count(*) FROM main.chain c WHERE complete AND flags = ''
		AND NOT EXISTS (SELECT 1 FROM w.chain o WHERE o.start_ts = c.start_ts AND o.end_ts IS c.end_ts AND o.total_ns IS c.total_ns
		AND o.queue_ns = c.queue_ns AND o.hop_count = c.hop_count)")
	[ "$wrong" = 0 ] || complain "$1: $wrong chains are others than in the whole capture, and say nothing of it"
	kept=$(sqlite3 "$dir/some.db" "SELECT count(*) FROM chain WHERE complete AND flags = ''")
	[ "$kept" -gt 20 ] || complain "$1: only $kept whole chains"
}

some 1 2 4 5
said "a.0001.cwc: segment 3 of this recording is missing"
said "an unknown number of further records were lost between"
check "without the third"
[ "$(sqlite3 "$dir/some.db" "SELECT count(*) FROM slice WHERE touched_by_loss")" -gt 0 ] || complain "nothing is touched by the loss"
"$analyze" "$dir/some/a.0002.cwc" >/dev/null 2>"$dir/first"
"$analyze" "$dir/some/a.0002.cwc" >/dev/null 2>"$dir/second"
cmp "$dir/first" "$dir/second" || complain "a cached database forgets what is missing"
grep -q "segment 3 of this recording is missing" "$dir/second" || complain "a cached database says: $(cat "$dir/second")"
# It comes after all: the cached database is not believed.
cp "$dir/s/a.0003.cwc" "$dir/some"
"$analyze" "$dir/some/a.0002.cwc" 2>"$dir/err" | no_us | cmp - "$dir/whole.txt" || complain "with the third again: $(cat "$dir/err")"
some 1 5
said "segments 2 to 4 of this recording are missing"
some 2 3 4 5
said "a.0002.cwc: segment 1 of this recording is missing"
check "without the first"
some 1 2 3
said "a.0001.cwc: segment 4 of this recording and what may follow it are missing"
check "without the last ones"

# A damaged one, another recording's, and a copy under a name of its own.
some 1 2 3 4 5
head -c 6000 "$dir/s/a.0003.cwc" >"$dir/some/a.0003.cwc"
"$analyze" import "$dir/some/a.0001.cwc" -o "$dir/some.db" 2>"$dir/err"
said "a.0003.cwc: at byte"
check "with the third cut"
[ "$(sqlite3 "$dir/some.db" "SELECT count(*) FROM loss WHERE end_ts > (SELECT max(ts) FROM slice)")" = 0 ] ||
	complain "the loss of the third goes on behind the fourth"
sqlite3 "$dir/some.db" "SELECT value FROM capture_info WHERE key = 'file_problem.1'" | grep -q '^a.0003.cwc, at byte' ||
	complain "the database does not say which file is damaged"
some 1 2 3 4
cp tests/captures/v1-async.cwc "$dir/some/a.0005.cwc"
cp "$dir/s/a.0002.cwc" "$dir/some/a.2.cwc"
cp "$dir/s/a.0002.cwc" "$dir/some/other.cwc"
"$analyze" import "$dir/some/a.0001.cwc" -o "$dir/some.db" 2>"$dir/err"
said "segment 5 of this recording and what may follow it are missing"
[ "$(sqlite3 "$dir/some.db" "SELECT value FROM capture_info WHERE key = 'segments'")" = 4 ] || complain "files of others were taken"
"$analyze" import "$dir/some/other.cwc" -o "$dir/other.db" 2>"$dir/err" || complain "a copy: $(cat "$dir/err")"
[ "$(sqlite3 "$dir/other.db" "SELECT count(*) FROM slice")" -lt "$(sqlite3 "$dir/some.db" "SELECT count(*) / 3 FROM slice")" ] ||
	complain "a copy under another name is not opened alone"
exit $failed
