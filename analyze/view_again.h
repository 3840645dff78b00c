/* SPDX-License-Identifier: GPL-2.0-only */
/* Views over temporary tables that hide those of the database. */
#ifndef CW_VIEW_AGAIN_H
#define CW_VIEW_AGAIN_H

#include <sqlite3.h>

/*
 * Make a view of the database again as a temporary one of the same text and name. SQLite looks up a
 * name among the temporary tables and views first, so it reads those where there are some. Returns
 * 0 or a negative errno, having said why; a database that has no such view is none of import.
 */
int cw_view_again(sqlite3 *db, const char *view);

#endif
