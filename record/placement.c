/* SPDX-License-Identifier: GPL-2.0-only */
/* Where to put a breakpoint. The function's entry is always right. */
#include <string.h>
#include "placement.h"

void cw_place_code(const uint8_t *code, uint64_t size, uint64_t addr, bool want_return,
		   struct cw_placement *out)
{
	(void)code;
	(void)size;
	(void)addr;
	(void)want_return;
	memset(out, 0, sizeof(*out));
}

void cw_place_probe(int fd, const struct cw_func *fn, bool want_return, struct cw_placement *out)
{
	(void)fd;
	(void)want_return;
	memset(out, 0, sizeof(*out));
	out->placed = fn->offset;
}
