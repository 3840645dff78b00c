/* SPDX-License-Identifier: GPL-2.0-only */
/* Files from debuginfod servers, by build id. Must not know what they are for. */
#ifndef CW_DEBUGINFOD_H
#define CW_DEBUGINFOD_H

#include <signal.h>

enum cw_debuginfod_kind { CW_DEBUGINFOD_DEBUG, CW_DEBUGINFOD_EXECUTABLE };

/*
 * Ask the servers that DEBUGINFOD_URLS names and return the path of the file in the local cache, to
 * be freed; NULL when there is none, and *why, a constant text. Threads take turns. Gives up soon
 * after *cancel, which may be NULL, is set.
 */
char *cw_debuginfod_find(const char *build_id, enum cw_debuginfod_kind kind,
			 const volatile sig_atomic_t *cancel, const char **why);

#endif
