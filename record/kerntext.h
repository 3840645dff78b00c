/* SPDX-License-Identifier: GPL-2.0-only */
/* The names of the kernel's own code, as long as it runs. Knows nothing of modules. */
#ifndef CW_KERNTEXT_H
#define CW_KERNTEXT_H

#include <stdbool.h>
#include <stdint.h>

struct cw_kerntext;

/*
 * Read a file of the form of /proc/kallsyms. Never NULL but without memory; one that does not say
 * where the kernel's code begins and ends (kptr_restrict) gives nothing.
 */
struct cw_kerntext *cw_kerntext_new(const char *path);
void cw_kerntext_free(struct cw_kerntext *t);

/*
 * The symbol that covers [*start, *end) with addr in it; NULL when addr is not in the kernel's own
 * code. Of aliases the first name. The text is t's.
 */
const char *cw_kerntext_find(const struct cw_kerntext *t, uint64_t addr, uint64_t *start,
			     uint64_t *end);

#endif
