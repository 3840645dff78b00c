/* SPDX-License-Identifier: GPL-2.0-only */
/* Writes what SQL scripts say: the formats are in *.sql beside this file. */
#ifndef CW_EXPORT_H
#define CW_EXPORT_H

#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>

struct cw_export {
	sqlite3 *db; /* with temp.item; temporary tables are made in it */
	FILE *out;
	const char *weight; /* bound to :weight */
	bool filtered;      /* bound to :filtered */
	bool comma;         /* an item was written since the last text */
};

/*
 * Execute the embedded script called name, statement by statement, and write the rows of those
 * that have any. What becomes of a row, the names of its columns say; NULL is nothing:
 *
 *   text: JSON that is written as it is, as a line, and begins a new list.
 *
 *   item: JSON that is an element of a list: a comma goes before all but the first. A row may have
 *   several.
 *
 *   line: a line of text, in which what a tool or a terminal could take for a command is escaped.
 *
 * Returns 0, or a negative errno of writing, or one having said why.
 */
int cw_export_script(struct cw_export *x, const char *name);

/* The text of an embedded file of this folder; NULL when there is none. */
const char *cw_export_asset(const char *name);

#endif
