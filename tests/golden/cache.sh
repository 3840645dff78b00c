#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Where a capture's database comes from and goes to, with a kept capture: beside it, elsewhere when
# that cannot be written, nowhere for a stream; the answers are the same.
set -u
analyze=$(realpath "$1")/asan/callweave-analyze dir=$2
cd "$(dirname "$0")/../.." || exit 2
export XDG_CACHE_HOME=$dir/xdg
failed=0
complain() { echo "$*"; failed=1; }
c=$dir/a.cwc
cp tests/captures/v1-async.cwc "$c"

"$analyze" "$c" >"$dir/first" 2>"$dir/err" || complain "report: status $?: $(cat "$dir/err")"
[ -s "$c.db" ] || complain "no cached database beside the capture"
grep -q '^async hop 1 enqueue_storage_task -> write_result key=0x' "$dir/first" || complain "no chain"
inode=$(stat -c %i "$c.db")
"$analyze" "$c" >"$dir/second" 2>/dev/null
cmp "$dir/first" "$dir/second" || complain "the cached database answers differently"
[ "$(stat -c %i "$c.db")" = "$inode" ] || complain "the cached database was made again"
[ "$(stat -c %a "$c.db")" = "$(stat -c %a "$c")" ] || complain "mode $(stat -c %a "$c.db")"

# Streams, no cache, imported: the same report.
"$analyze" - <"$c" >"$dir/stream" 2>/dev/null && cmp "$dir/first" "$dir/stream" || complain "from a stream"
cat "$c" | "$analyze" /dev/stdin >"$dir/stream" 2>/dev/null && cmp "$dir/first" "$dir/stream" || complain "from a pipe"
cp "$c" "$dir/b.cwc"
"$analyze" "$dir/b.cwc" --no-cache >"$dir/stream" 2>/dev/null && cmp "$dir/first" "$dir/stream" || complain "--no-cache"
[ ! -e "$dir/b.cwc.db" ] || complain "--no-cache left a database"
"$analyze" import "$c" -o "$dir/kept.db" 2>/dev/null || complain "import"
"$analyze" "$dir/kept.db" >"$dir/stream" 2>/dev/null && cmp "$dir/first" "$dir/stream" || complain "from a database"
[ "$(sqlite3 "$dir/kept.db" 'SELECT count(*) > 100 FROM chain')" = 1 ] || complain "plain sqlite3 sees no chains"
sqlite3 "$dir/kept.db" 'SELECT record_json FROM report_chain_json' | head -n 1 | grep -q '^{"type":"chain"' ||
	complain "plain sqlite3 cannot use the report's views"

# Other hops: stitched again beside the first database, which stays.
"$analyze" "$c" --async-hop enqueue_request,2,process_request,1 --format jsonl >"$dir/other" 2>/dev/null
grep -q '"hop_count":1' "$dir/other" && ! grep -q '"hop_count":2' "$dir/other" || complain "other hops"
[ -s "$c.restitched.db" ] && [ "$(stat -c %i "$c.db")" = "$inode" ] || complain "the first database was pushed out"
"$analyze" "$c" --async-hop nowhere,1,process_request,1 >"$dir/out" 2>"$dir/err" && complain "a hop over nothing"
grep -q 'nowhere.*not recorded' "$dir/err" || complain "a hop over nothing says: $(cat "$dir/err")"

# A database that is no good is made again, not believed.
sqlite3 "$c.db" "UPDATE capture_info SET value = value || ' ' WHERE key = 'cache_key'"
"$analyze" "$c" >"$dir/second" 2>/dev/null && cmp "$dir/first" "$dir/second" || complain "a stale database"
head -c 3000 /dev/urandom >"$c.db"
"$analyze" "$c" >"$dir/second" 2>/dev/null && cmp "$dir/first" "$dir/second" || complain "a foreign database"

# What is wrong with the file is said again by the database that was there already.
head -c 15000 "$c" >"$dir/cut.cwc"
"$analyze" "$dir/cut.cwc" >/dev/null 2>"$dir/err"
grep -q "cut.cwc: at byte [0-9]*: the file ends in the middle of the frame" "$dir/err" || complain "a cut capture says: $(cat "$dir/err")"
"$analyze" "$dir/cut.cwc" >/dev/null 2>"$dir/second"
[ -s "$dir/cut.cwc.db" ] && cmp "$dir/err" "$dir/second" || complain "a cached database says: $(cat "$dir/second")"

# Records themselves: the file's own tables, which an imported database does not have.
raw() { # WANTED QUERY
	local got
	got=$("$analyze" sql "$c" --format csv "$2" 2>&1 | tail -n 1)
	[ "$got" = "$1" ] || complain "$2: '$got', not '$1'"
}
raw 1 "SELECT (SELECT count(*) FROM raw_probe_entry) = (SELECT count(*) FROM slice)"
raw 1 "SELECT count(*) = 0 FROM raw_probe_entry e WHERE NOT EXISTS(SELECT 1 FROM slice s WHERE s.ts = e.ts)"
raw 1 "SELECT count(*) = sum(arg1 = e1) FROM slice JOIN (SELECT ts, arg1 AS e1 FROM raw_probe_entry) USING(ts)"
"$analyze" sql "$c" | grep -q '^raw_sched_block  *a CPU switched away' || complain "raw tables are not listed"

# Ended in the middle of an import, nothing half-made stays behind.
mkfifo "$dir/fifo"
"$analyze" import "$dir/fifo" -o "$dir/ended.db" 2>/dev/null &
pid=$!
exec 9>"$dir/fifo"
head -c 20000 "$c" >&9
for ((i = 0; i < 500; i++)); do
	ls "$dir"/ended.db.* >/dev/null 2>&1 && break
	sleep 0.02
done
ls "$dir"/ended.db.* >/dev/null 2>&1 || complain "no import to end"
kill -TERM $pid
wait $pid 2>/dev/null
[ $? = 143 ] || complain "not ended by the signal"
exec 9>&-
ls "$dir"/ended.db* 2>/dev/null && complain "an ended import leaves files"

# The folder cannot be written: the user's cache directory.
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
	user=(setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all env XDG_CACHE_HOME="$dir/open/xdg")
	mkdir -m 777 "$dir/open"
	mkdir -m 755 "$dir/closed"
	cp "$analyze" "$dir/open/analyze"
	chmod 755 "$dir/open/analyze"
	cp tests/captures/v1-async.cwc "$dir/closed/a.cwc"
	chmod 644 "$dir/closed/a.cwc"
	if "${user[@]}" test -r "$dir/closed/a.cwc"; then
		"${user[@]}" "$dir/open/analyze" "$dir/closed/a.cwc" >"$dir/second" 2>/dev/null &&
			cmp "$dir/first" "$dir/second" || complain "as another user"
		ls "$dir"/open/xdg/callweave/a.cwc-*.db >/dev/null 2>&1 || complain "nothing in XDG_CACHE_HOME"
		[ ! -e "$dir/closed/a.cwc.db" ] || complain "wrote where it should not"
	fi
	# What that user leaves beside a capture is not believed by root.
	mkdir -m 777 "$dir/shared"
	cp tests/captures/v1-async.cwc "$dir/shared/a.cwc"
	chmod 644 "$dir/shared/a.cwc"
	"${user[@]}" "$dir/open/analyze" "$dir/shared/a.cwc" >/dev/null 2>&1
	if [ -e "$dir/shared/a.cwc.db" ]; then
		"$analyze" "$dir/shared/a.cwc" >/dev/null 2>&1
		[ "$(stat -c %u "$dir/shared/a.cwc.db")" = 0 ] || complain "root believed another user's database"
	fi
fi
exit $failed
