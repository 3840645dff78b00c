/* SPDX-License-Identifier: GPL-2.0-only */
/* Files and sockets that threads blocked on. */
#ifndef CW_FILES_H
#define CW_FILES_H

#include "passes.h"

/* Is the file one that records may still refer to? */
bool cw_file_known(const struct cw_trace *t, uint64_t id);

#endif
