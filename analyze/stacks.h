/* SPDX-License-Identifier: GPL-2.0-only */
/* Stacks that are not written yet because the mappings of their addresses may still come. */
#ifndef CW_STACKS_H
#define CW_STACKS_H

#include "passes.h"

/* Time of the oldest of them; UINT64_MAX when there is none. */
uint64_t cw_stacks_waiting(const struct cw_trace *t);

#endif
