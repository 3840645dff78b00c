/* SPDX-License-Identifier: GPL-2.0-only */
/* What is mapped into processes, and which module an address lies in. */
#ifndef CW_IMAGES_H
#define CW_IMAGES_H

#include "passes.h"

struct cw_maps;

#define CW_MODULE_KERNEL (-1)

/* The module and file offset that address means in a process; false when no mapping covers it. */
bool cw_maps_find(const struct cw_maps *m, uint64_t address, uint32_t *module_id, uint64_t *offset);

/* What a forked child has of its parent; NULL when that is nothing. */
struct cw_maps *cw_maps_inherit(struct cw_maps *m);
void cw_maps_free(struct cw_maps *m);

/* Path of a module; NULL when no record described it. */
const char *cw_module_path(const struct cw_trace *t, uint32_t id);

#endif
