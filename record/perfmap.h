/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Perf maps: text files in which programs that make code at run time (JIT) say what is where. Knows
 * nothing of mappings.
 */
#ifndef CW_PERFMAP_H
#define CW_PERFMAP_H

#include <stdbool.h>
#include <stdint.h>
#include "capture.h"
#include "modopen.h"
#include "proctab.h"

/* A stack of the process shows code in a module that may have been made at run time; true when that
 * is news. */
bool cw_perfmap_want(struct cw_proc *p, uint32_t module_id);

/*
 * The process has memory that may hold such code: open its perf map, if there is one by now, before
 * the process and its mounts are gone.
 */
void cw_perfmap_hold(struct cw_modopen *opener, struct cw_proc *p);

/*
 * Write the perf map of a process as payload of the modules that were wanted: when it is not in the
 * capture yet or, the last time, has changed since. It is /tmp/perf-PID.map in the process's own
 * mount namespace, which may be gone but for the root that opener holds, else here. A file of
 * another user than the process's is not taken: anybody can write to /tmp. *size: the bytes that
 * were written; none when they would be more than room. Returns the writer's error.
 */
int cw_perfmap_embed(struct cw_writer *w, struct cw_modopen *opener, struct cw_proc *p,
		     uint64_t room, bool last, uint64_t *size);

/* Nothing of it is in the capture; for cw_proctab_each. */
int cw_perfmap_forget(void *arg, struct cw_proc *p);

#endif
