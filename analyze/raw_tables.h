/* SPDX-License-Identifier: GPL-2.0-only */
/* The records of a capture as virtual tables raw_NAME, one for each type the file describes. */
#ifndef CW_RAW_TABLES_H
#define CW_RAW_TABLES_H

#include <sqlite3.h>
#include <stdio.h>

/*
 * Make the raw_ tables of the capture at path known to db. They read the file when they are
 * queried. Returns how many, or a negative errno with a sentence in err.
 */
struct cw_raw;
int cw_raw_register(struct cw_raw **out, sqlite3 *db, const char *path, char *err, size_t errsize);

/* After db was closed. Accepts NULL. */
void cw_raw_free(struct cw_raw *raw);

/* One line a table: its name and what its records say. */
void cw_raw_list(const struct cw_raw *raw, FILE *out);

#endif
