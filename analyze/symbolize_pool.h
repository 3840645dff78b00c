/* SPDX-License-Identifier: GPL-2.0-only */
/* Modules side by side, one thread a module at a time. Must not know what symbolizing is. */
#ifndef CW_SYMBOLIZE_POOL_H
#define CW_SYMBOLIZE_POOL_H

#include <signal.h>
#include <stddef.h>
#include "symbolize_module.h"

/* Who is told how far it is. */
struct cw_progress {
	unsigned after_ms, every_ms; /* for the first time (0: at once, always), and from then on */
	void (*show)(void *arg, size_t done, size_t total);
	void *arg;
};

/*
 * Run cw_module_symbolize for every work; those not begun when *cancel is set are left out.
 * Threads are started only for enough addresses to pay for them. progress may be NULL. -ENOMEM when
 * one failed.
 */
int cw_symbolize_all(struct cw_module_work **works, size_t count,
		     const struct cw_source_places *where, const struct cw_progress *progress,
		     const volatile sig_atomic_t *cancel);

#endif
