/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns making views again. Must not know what they say. */
#include <errno.h>
#include "report.h"
#include "say.h"
#include "view_again.h"

int cw_view_again(sqlite3 *db, const char *view)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s,
			     "SELECT 'CREATE TEMP VIEW' || substr(sql, length('CREATE VIEW') + 1)"
			     " FROM main.sqlite_schema WHERE type = 'view' AND name = ?1");

	if (err)
		return err;
	sqlite3_bind_text(s, 1, view, -1, SQLITE_STATIC);
	if (sqlite3_step(s) == SQLITE_ROW)
		err = cw_exec(db, (const char *)sqlite3_column_text(s, 0));
	else
		err = cw_fail(-EBADMSG, "the database has no view %s: import the capture again",
			      view);
	sqlite3_finalize(s);
	return err;
}
