/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Function symbols by address. Aliases of one address are reduced to the name that people use: a
 * global one, with the fewest leading underscores.
 */
#ifndef CW_SYMBOLIZE_TABLE_H
#define CW_SYMBOLIZE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct cw_symtab;

struct cw_symtab *cw_symtab_new(void);
void cw_symtab_free(struct cw_symtab *t);

/*
 * Add a symbol: size 0 reaches to the next one but not beyond limit. The name is not copied.
 * -ENOMEM when there is no room.
 */
int cw_symtab_add(struct cw_symtab *t, uint64_t start, uint64_t size, uint64_t limit,
		  const char *name, bool global);

/*
 * The innermost symbol that holds address: its name, and its start in *start. NULL when there is
 * none. Cheap when addresses are asked for in rising order.
 */
const char *cw_symtab_find(struct cw_symtab *t, uint64_t address, uint64_t *start);

#endif
