/* SPDX-License-Identifier: GPL-2.0-only */
/* Addresses that were in no known mapping yet. Owns the list; it must not know mappings. */
#include "unplaced.h"

#define MAX_TRIES 2

void cw_unplaced_add(struct cw_unplaced *u, uint32_t pid, uint64_t addr)
{
	if (u->n == CW_MAX_UNPLACED)
		return;
	u->at[u->n].addr = addr;
	u->at[u->n].pid = pid;
	u->at[u->n++].tries = 0;
}

void cw_unplaced_retry(struct cw_unplaced *u, bool (*find)(void *arg, uint32_t pid, uint64_t addr),
		       void *arg)
{
	size_t i, n = 0;

	for (i = 0; i < u->n; i++) {
		if (find(arg, u->at[i].pid, u->at[i].addr) || ++u->at[i].tries == MAX_TRIES)
			continue;
		u->at[n++] = u->at[i];
	}
	u->n = n;
}
