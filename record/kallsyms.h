/* SPDX-License-Identifier: GPL-2.0-only */
/* Kernel addresses that were seen, and their symbols. Knows nothing of stacks. */
#ifndef CW_KALLSYMS_H
#define CW_KALLSYMS_H

#include <stdint.h>
#include "capture.h"

struct cw_kallsyms;

/* path is /proc/kallsyms, or a file of that form for tests. */
struct cw_kallsyms *cw_kallsyms_new(const char *path);
void cw_kallsyms_free(struct cw_kallsyms *k);

/* Read the names of the kernel's own code now: it takes 35 ms, which a recording had better not. */
void cw_kallsyms_load(struct cw_kallsyms *k);

/* An address was seen. Cheap. */
void cw_kallsyms_note(struct cw_kallsyms *k, uint64_t addr);

/* Write ksym records for the addresses noted since. Returns the writer's error. */
int cw_kallsyms_flush(struct cw_kallsyms *k, struct cw_writer *w, uint64_t ts);

/* Write all ksym records again. */
int cw_kallsyms_repeat(struct cw_kallsyms *k, struct cw_writer *w);

#endif
