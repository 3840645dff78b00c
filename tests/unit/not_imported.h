/* SPDX-License-Identifier: GPL-2.0-only */
/* LINK: analyze/report_select.o analyze/say.o analyze/print.o analyze/text.o analyze/options.o */
/* LINK: analyze/database.o analyze/cache.o analyze/listing.o analyze/outfile.o */
/* LINK: analyze/sequence.o analyze/unfinished.o */
/* For tests of what opens databases, and never one that is to be made of a capture. */
#ifndef NOT_IMPORTED_H
#define NOT_IMPORTED_H

#include <errno.h>
#include "database.h"

int cw_import(sqlite3 *db, const struct cw_open_opts *o)
{
	(void)db, (void)o;
	return -EIO;
}

int cw_symbolize(sqlite3 *db, const struct cw_open_opts *o)
{
	(void)db, (void)o;
	return -EIO;
}

#endif
