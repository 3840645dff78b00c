/* SPDX-License-Identifier: GPL-2.0-only */
/* The header frame of a capture, read: its keys, and the types it describes. For the reader only.
 */
#ifndef CW_HEADER_H
#define CW_HEADER_H

#include "capture.h"

struct cw_frames;
struct cw_typeset;

struct cw_header {
	struct cw_meta_kv *kv; /* ends with a NULL key */
	size_t n;
	bool damaged; /* its checksum does not match: the types it describes were not taken over */
	char defect[256]; /* one sentence about what is wrong in it, or "" */
};

/*
 * Read the header at the front of f and move behind it. On failure a negative errno, with a
 * sentence in err: -ENODATA empty, -EINVAL foreign, -EPROTONOSUPPORT newer, -EBADMSG cut or
 * damaged.
 */
int cw_header_read(struct cw_header *h, struct cw_frames *f, struct cw_typeset *types,
		   const char *name, char *err, size_t errsize);
/*
 * Make the header frame of a new capture: *mem, released with free(), holds *size bytes. A kv
 * without capture_id gets a new one. 0 or a negative errno (-E2BIG: more than CW_MAX_HEADER).
 */
int cw_header_make(const struct cw_meta_kv *kv, uint8_t **mem, size_t *size);

void cw_header_free(struct cw_header *h);

#endif
