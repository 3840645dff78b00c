/* SPDX-License-Identifier: GPL-2.0-only */
/* Owns the layout of the seek table, which is that of zstd's seekable format. */
#include <errno.h>
#include <stdlib.h>
#include "seektable.h"
#include "wire.h"

int cw_seektable_add(struct cw_seektable *t, size_t compressed, size_t decompressed)
{
	if (t->n == t->room) {
		size_t room = t->room ? 2 * t->room : 256;
		struct cw_seek_entry *bigger = realloc(t->entries, room * sizeof(*bigger));

		if (!bigger)
			return -ENOMEM;
		t->entries = bigger;
		t->room = room;
	}
	t->entries[t->n].compressed = compressed;
	t->entries[t->n++].decompressed = decompressed;
	return 0;
}

int cw_seektable_make(const struct cw_seektable *t, uint8_t **out, size_t *size)
{
	size_t body = t->n * sizeof(struct cw_seek_entry) + CW_SEEK_FOOTER_SIZE;
	uint8_t *p = malloc(8 + body);

	if (!p)
		return -ENOMEM;
	*out = p;
	*size = 8 + body;
	cw_put32(p, CW_SEEK_FRAME_MAGIC);
	cw_put32(p + 4, body);
	p += 8;
	for (size_t i = 0; i < t->n; i++, p += 8) {
		cw_put32(p, t->entries[i].compressed);
		cw_put32(p + 4, t->entries[i].decompressed);
	}
	cw_put32(p, t->n);
	p[4] = 0; /* no checksums in the table: each frame has its own */
	cw_put32(p + 5, CW_SEEK_FOOTER_MAGIC);
	return 0;
}
