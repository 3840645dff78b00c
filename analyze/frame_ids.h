/* SPDX-License-Identifier: GPL-2.0-only */
/* Distinct code addresses, table frame. */
#ifndef CW_FRAME_IDS_H
#define CW_FRAME_IDS_H

#include <stdbool.h>
#include <stdint.h>
#include "rows.h"

#define CW_NO_MODULE INT64_MIN

struct cw_frame_ids;

struct cw_frame_ids *cw_frame_ids_new(void);
void cw_frame_ids_free(struct cw_frame_ids *f);

/*
 * The id of a place in a module, from 1; rel_pc is a file offset there, an address where module is
 * CW_NO_MODULE. Its row is put the first time, with the address that it was met at then.
 */
uint64_t cw_frame_id(struct cw_frame_ids *f, struct cw_rows *rows, int64_t module, uint64_t rel_pc,
		     uint64_t address, bool is_return);

#endif
