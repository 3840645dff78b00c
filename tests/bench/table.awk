# SPDX-License-Identifier: GPL-2.0-only
# Rows of the benchmark to a table and to JSON. Input, separated by "|":
# name, what, value, unit, beside, its value, ratio, goal, outcome so far, why.
# Variables: busy, cpus, cpu, memory, kernel, date, seconds, rounds and json, the file to write. Its keys
# stay as they are, and rows keep their names: others read it.

function quote(s) {
	gsub(/\\/, "\\\\", s)
	gsub(/"/, "\\\"", s)
	return "\"" s "\""
}

function number(s) {
	return s == "" ? "null" : s + 0
}

function short(v) {
	if (v == "")
		return ""
	if (v >= 1000 || v == int(v))
		return sprintf("%.0f", v)
	return v >= 100 ? sprintf("%.0f", v) : v >= 10 ? sprintf("%.1f", v) : sprintf("%.3f", v)
}

# Whether the goal ("<= 8") holds for v.
function holds(goal, v,    part) {
	split(goal, part, " ")
	if (part[1] == "<=")
		return v <= part[2] + 0
	if (part[1] == "<")
		return v < part[2] + 0
	if (part[1] == ">=")
		return v >= part[2] + 0
	return v == part[2] + 0
}

BEGIN {
	printf "{\"version\":2,\"date\":%s,\"machine\":{\"kernel\":%s,\"cpu\":%s,\"cpus\":%d,\"memory_mib\":%d,\"busy_before\":%s}," \
		"\"rounds\":%d,\"seconds_each\":%s,\"rows\":[", quote(date), quote(kernel), quote(cpu), cpus, memory,
		number(busy), rounds, number(seconds) >json
	line = "%-18s %-54s %12s %-10s %-20s %7s %-8s %s\n"
	printf line, "name", "what", "value", "unit", "beside", "ratio", "goal", "result"
}

{
	name = $1; what = $2; value = $3; unit = $4; beside = $5; base = $6; ratio = $7; goal = $8
	outcome = $9; why = $10
	if (outcome == "" && value == "") {
		outcome = "failed"
		why = "nothing was measured"
	}
	if (outcome == "")
		outcome = goal == "" ? "measured" : holds(goal, ratio == "" ? value : ratio) ? "met" : "missed"
	if (outcome == "failed")
		bad++
	if (outcome == "missed")
		missed++
	printf line, name, what, short(value), unit, beside (base == "" ? "" : " " short(base)), short(ratio), goal,
		(outcome == "measured" ? "" : outcome) (why == "" ? "" : ": " why)
	printf "%s\n {\"row\":%s,\"what\":%s,\"unit\":%s,\"ours\":%s,\"beside\":%s,\"other\":%s,\"ratio\":%s," \
		"\"goal\":%s,\"outcome\":%s,\"why\":%s}", (NR > 1 ? "," : ""), quote(name), quote(what), quote(unit),
		number(value), quote(beside), number(base), number(ratio), quote(goal), quote(outcome), quote(why) >json
}

END {
	print "\n]}" >json
	if (busy > 0.1)
		printf "\nThe machine was %d %% busy with other work before the first run: figures are rough.\n", busy * 100
	printf "\n%d rows, %d goals missed, %d failed. Written to %s\n", NR, missed, bad, json
	exit bad > 0
}
