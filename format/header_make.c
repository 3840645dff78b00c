/* SPDX-License-Identifier: GPL-2.0-only */
/* Making the header frame of a capture: its keys, and a description of every record type. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include "describe.h"
#include "header.h"
#include "wire.h"

#define HEAD (8 + CW_HEADER_FIXED)

struct header {
	uint8_t *mem;
	size_t used, room;
	int error;
};

static void header_put(struct header *h, const void *fixed, size_t fixed_size, const char *tail)
{
	const struct cw_rec *rec = fixed;
	size_t len = strlen(tail);
	size_t stride = (fixed_size + len + 7) & ~(size_t)7;
	struct cw_rec *to;

	if (fixed_size + len > CW_MAX_RECORD || h->used + stride > CW_MAX_HEADER)
		h->error = -E2BIG;
	if (!h->error && h->used + stride > h->room) {
		size_t room = 2 * (h->room + stride);
		uint8_t *bigger = realloc(h->mem, room);

		if (bigger) {
			h->mem = bigger;
			h->room = room;
		} else {
			h->error = -ENOMEM;
		}
	}
	if (h->error)
		return;
	to = (struct cw_rec *)(h->mem + h->used);
	memset(to, 0, stride);
	memcpy(to, fixed, fixed_size);
	memcpy((uint8_t *)to + fixed_size, tail, len);
	to->size = fixed_size + len;
	if (CW_SWAP_FILE)
		cw_rec_swap(cw_type_by_id(rec->type), to, false);
	h->used += stride;
}

static void header_meta(struct header *h, const char *key, const char *value)
{
	struct cw_meta m = {.h = {.type = CW_META, .cpu = CW_CPU_NONE}};
	char *text;

	if (asprintf(&text, "%s=%s", key, value) < 0) {
		h->error = -ENOMEM;
		return;
	}
	header_put(h, &m, sizeof(m), text);
	free(text);
}

static void header_type(struct header *h, const struct cw_type *t)
{
	struct cw_type_info info = {
		.h = {.type = CW_TYPE_INFO, .cpu = CW_CPU_NONE},
		.id = t->id,
		.fixed_size = t->fixed_size,
	};
	char text[4096];

	cw_type_describe(t, text, sizeof(text));
	header_put(h, &info, sizeof(info), text);
}

static void header_capture_id(struct header *h)
{
	unsigned char id[16];
	char hex[2 * sizeof(id) + 1];

	if (getrandom(id, sizeof(id), 0) != sizeof(id)) {
		h->error = -EIO;
		return;
	}
	for (size_t i = 0; i < sizeof(id); i++)
		snprintf(hex + 2 * i, 3, "%02x", id[i]);
	header_meta(h, "capture_id", hex);
}

int cw_header_make(const struct cw_meta_kv *kv, uint8_t **mem, size_t *size)
{
	struct header h = {.used = HEAD, .room = 8192};
	bool has_id = false;
	char version[16];
	uint32_t sum = 0;

	h.mem = calloc(1, h.room);
	if (!h.mem)
		return -ENOMEM;
	snprintf(version, sizeof(version), "%d", CW_FORMAT_VERSION);
	header_meta(&h, "format_version", version);
	for (; kv && kv->key; kv++) {
		has_id |= !strcmp(kv->key, "capture_id");
		if (strcmp(kv->key, "format_version") != 0)
			header_meta(&h, kv->key, kv->value);
	}
	if (!has_id)
		header_capture_id(&h);
	for (size_t i = 0; i < cw_ntypes; i++)
		header_type(&h, &cw_types[i]);
	if (!h.error)
		h.error = cw_checksum(h.mem + HEAD, h.used - HEAD, &sum);
	if (h.error) {
		free(h.mem);
		return h.error;
	}
	cw_put32(h.mem, CW_HEADER_FRAME_MAGIC);
	cw_put32(h.mem + 4, h.used - 8);
	memcpy(h.mem + 8, CW_FILE_MAGIC, 8);
	cw_put32(h.mem + 16, CW_FORMAT_VERSION);
	cw_put32(h.mem + 20, sum);
	*mem = h.mem;
	*size = h.used;
	return 0;
}
