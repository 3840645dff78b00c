/* SPDX-License-Identifier: GPL-2.0-only */
/* Which processes are traced, as the records that go by say, and that each gets described. */
#ifndef CW_TRACKED_H
#define CW_TRACKED_H

#include <stdbool.h>
#include <stdint.h>
#include "modules.h"
#include "probes.h"
#include "target.h"

struct cw_tracked;

struct cw_tracked *cw_tracked_new(struct cw_modules *m, struct cw_probes *pr,
				  const struct cw_target *t);
/* A record went by: thread, fork, exec and exit records matter, others do not. */
void cw_tracked_record(struct cw_tracked *t, const struct cw_rec *rec);
/* Describe the processes first seen since the last call. */
void cw_tracked_settle(struct cw_tracked *t);
/* Is this process (id in the recorder's PID namespace) traced? For cw_modules_watch. */
bool cw_tracked_keep(void *tracked, uint32_t pid);
void cw_tracked_free(struct cw_tracked *t);

#endif
