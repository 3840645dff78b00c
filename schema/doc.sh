#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-2.0-only
# Prints the documentation of the schema as Markdown, made from the comments in *.sql; with --write
# into SCHEMA.md, with --check compares it with that. Fails when a table, a view or a column has no
# comment of its own. A comment stands right above what it is about.
set -eu
cd "$(dirname "$0")"
out=$(mktemp)
trap 'rm -f "$out"' EXIT

# What there is, from SQLite itself: object|kind|column|type, columns in their order.
columns() {
	cat ./*.sql | sed '$a SELECT o.name, o.type, c.name, c.type FROM sqlite_schema o, pragma_table_xinfo(o.name) c WHERE o.type IN ('\''table'\'', '\''view'\'') ORDER BY o.rowid, c.cid;' |
		sqlite3 -batch -separator '|' :memory:
}

# What is said of it: lines FILE|title, OBJECT|name|text and COLUMN|object|name|text.
comments() {
	awk '
	function flush_column() {
		if (column != "")
			print "COLUMN|" object "|" column "|" about
		column = ""
	}
	FNR == 1 { object = ""; text = ""; title = 1; list = 0 }
	/^-- SPDX/ { next }
	/^[ \t]*--/ {
		line = $0
		sub(/^[ \t]*--[ ]?/, "", line)
		if (object != "" && list && text == "")
			flush_column()
		text = text (text == "" ? "" : " ") line
		next
	}
	/^$/ {
		if (title) {
			print "FILE|" text
			title = 0
		}
		text = ""
		next
	}
	/^CREATE (TABLE|VIEW) / {
		flush_column()
		object = $3
		sub(/\(.*/, "", object)
		print "OBJECT|" object "|" text
		text = ""
		list = $2 == "VIEW" ? 2 : 1
		next
	}
	list == 1 && /^\t/ && text != "" {
		column = $1
		about = text
		text = ""
		flush_column()
	}
	list == 2 && /^FROM/ { flush_column(); list = 0 }
	list == 2 && match($0, /AS [a-z_0-9]+[,;]?$/) {
		name = substr($0, RSTART + 3)
		sub(/[,;]$/, "", name)
		if (text != "")
			about = text
		column = name
		text = ""
	}
	list == 2 && text != "" && /^\t/ { about = text; text = "" }
	/^\)/ { list = 0 }
	END { flush_column() }' ./*.sql
}

{
	echo "# The database"
	echo
	echo "Made by \`schema/doc.sh --write\` from the comments in \`schema/*.sql\`."
} >"$out"

awk -F'|' -v columns=<(columns) '
	BEGIN {
		while ((getline got < columns) > 0) {
			split(got, f, "|")
			kind[f[1]] = f[2]
			n[f[1]]++
			name[f[1], n[f[1]]] = f[3]
			type[f[1], n[f[1]]] = f[4]
		}
		if (got == "") {
			print "the schema cannot be read by sqlite3" > "/dev/stderr"
			bad = 1
		}
	}
	{ rest = $0 }
	$1 == "FILE" { sub(/^FILE\|/, "", rest); line[++lines] = "F" rest }
	$1 == "OBJECT" { sub(/^OBJECT\|[^|]*\|/, "", rest); line[++lines] = "O" $2; said[$2] = rest }
	$1 == "COLUMN" { sub(/^COLUMN\|[^|]*\|[^|]*\|/, "", rest); about[$2, $3] = rest }
	function missing(what) {
		print what " has no comment right above it" > "/dev/stderr"
		bad = 1
	}
	function cell(s) {
		gsub(/\|/, "\\|", s)
		return s
	}
	END {
		for (i = 1; i <= lines; i++) {
			o = substr(line[i], 2)
			if (line[i] ~ /^F/) {
				title = o
				sub(/[:.].*/, "", title)
				print "\n## " title "\n\n" o
				continue
			}
			print "\n### " o " (" kind[o] ")\n\n" said[o] "\n\n| column | type | meaning |\n|---|---|---|"
			if (said[o] == "")
				missing(kind[o] " " o)
			seen[o] = 1
			for (c = 1; c <= n[o]; c++) {
				if (about[o, name[o, c]] == "")
					missing("column " o "." name[o, c])
				print "| `" name[o, c] "` | " type[o, c] " | " cell(about[o, name[o, c]]) " |"
			}
		}
		for (o in kind)
			if (!seen[o])
				missing(kind[o] " " o)
		exit bad
	}' <(comments) >>"$out"

case ${1-} in
--write) cat "$out" >SCHEMA.md ;;
--check)
	cmp -s "$out" SCHEMA.md || {
		echo "schema/SCHEMA.md is not what schema/doc.sh makes: run schema/doc.sh --write" >&2
		exit 1
	}
	;;
*) cat "$out" ;;
esac
