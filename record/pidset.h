/* SPDX-License-Identifier: GPL-2.0-only */
/* A set of process ids. */
#ifndef CW_PIDSET_H
#define CW_PIDSET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_pidset {
	uint32_t *ids; /* sorted */
	size_t n, size;
};

bool cw_pidset_has(const struct cw_pidset *s, uint32_t id);
/* True when it was not there before. */
bool cw_pidset_add(struct cw_pidset *s, uint32_t id);
void cw_pidset_remove(struct cw_pidset *s, uint32_t id);
void cw_pidset_free(struct cw_pidset *s);

#endif
