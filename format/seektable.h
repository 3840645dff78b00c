/* SPDX-License-Identifier: GPL-2.0-only */
/* The seek table at the end of a capture: collected frame by frame, then written. */
#ifndef CW_SEEKTABLE_H
#define CW_SEEKTABLE_H

#include <stddef.h>
#include <stdint.h>

struct cw_seek_entry {
	uint32_t compressed, decompressed;
};

/* Zero it to begin; free entries at the end. */
struct cw_seektable {
	struct cw_seek_entry *entries;
	size_t n, room;
};

/* The next frame of the file; decompressed is 0 for a skippable one. -ENOMEM. */
int cw_seektable_add(struct cw_seektable *t, size_t compressed, size_t decompressed);

/* Make its frame, which the caller must free. -ENOMEM. */
int cw_seektable_make(const struct cw_seektable *t, uint8_t **out, size_t *size);

#endif
