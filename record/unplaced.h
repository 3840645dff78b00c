/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Addresses of stacks that were in no known mapping when the stack came by: its mapping may be
 * reported a moment later. Each stack comes once, so these are tried again. Bounded.
 */
#ifndef CW_UNPLACED_H
#define CW_UNPLACED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CW_MAX_UNPLACED 4096

/* Zeroed is empty. */
struct cw_unplaced {
	size_t n;
	struct {
		uint64_t addr;
		uint32_t pid; /* kernel-global */
		uint32_t tries;
	} at[CW_MAX_UNPLACED];
};

/* Remember an address; when there are too many (a program without frame pointers) it is dropped. */
void cw_unplaced_add(struct cw_unplaced *u, uint32_t pid, uint64_t addr);

/* Call find for each; those found are dropped, and those tried twice. */
void cw_unplaced_retry(struct cw_unplaced *u, bool (*find)(void *arg, uint32_t pid, uint64_t addr),
		       void *arg);

#endif
