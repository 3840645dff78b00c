/* SPDX-License-Identifier: GPL-2.0-only */
/* Which calls of one function took too long, while recording. Knows nothing of what follows. */
#ifndef CW_SLOWCALLS_H
#define CW_SLOWCALLS_H

#include <stdbool.h>
#include <stdint.h>
#include "points.h"
#include "records.h"

struct cw_slowcalls;

/*
 * Calls of the points named function, in files of this module (NULL: any), that take limit_ns or
 * longer. NULL without memory.
 */
struct cw_slowcalls *cw_slowcalls_new(const struct cw_points *points, const char *function,
				      const char *module, uint64_t limit_ns);
void cw_slowcalls_free(struct cw_slowcalls *s);

/* An entry was recorded. */
void cw_slowcalls_entry(struct cw_slowcalls *s, const struct cw_probe_entry *e);
/* A return was recorded: was its call slow? */
bool cw_slowcalls_return(struct cw_slowcalls *s, const struct cw_probe_return *r);

#endif
