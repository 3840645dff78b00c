/* SPDX-License-Identifier: GPL-2.0-only */
/* The header's keys: where and how a capture was made. */
#ifndef CW_HEADER_KEYS_H
#define CW_HEADER_KEYS_H

#include <stdbool.h>
#include <stdint.h>
#include "capture.h"

struct cw_header_keys;

/*
 * Collect the keys; segment 0: the capture is in one file; flight: files before this one may have
 * been forgotten on purpose. NULL without memory.
 */
struct cw_header_keys *cw_header_keys_new(int argc, char **argv, const char *capture_id,
					  uint32_t segment, bool flight);
/* For cw_writer_new; owned by m. */
const struct cw_meta_kv *cw_header_keys_kv(const struct cw_header_keys *m);
void cw_header_keys_free(struct cw_header_keys *m);

#endif
