/* SPDX-License-Identifier: GPL-2.0-only */
/* Where the database of a capture is kept, what it must match, and whether it can be trusted. */
#ifndef CW_CACHE_H
#define CW_CACHE_H

#include <stdbool.h>
#include <stdint.h>
#include "database.h"

#define CW_APPLICATION_ID 0x63776462 /* "cwdb" in the database's header */
#define CW_SCHEMA_VERSION 1          /* user_version; grows when a public name changes */

/*
 * Everything the content of the database depends on, as text (malloc'ed, NULL without memory):
 * two databases with the same key hold the same. capture_id as the header gives it.
 */
char *cw_cache_key(const struct cw_open_opts *o, const char *capture_id);

/*
 * Paths where the cached database may lie, the preferred one first (malloc'ed; NULL: no place):
 * beside the capture, and in the user's cache directory, which is created.
 */
#define CW_CACHE_PLACES 2
void cw_cache_places(const struct cw_open_opts *o, const char *capture_id,
		     char *places[CW_CACHE_PLACES]);

/* Open path for reading when it is ours, whole, made from this key and not another user's; or NULL.
 */
sqlite3 *cw_cache_try(const char *path, const char *key);

#endif
