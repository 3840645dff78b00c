/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Owns copying of captures frame by frame. Records are never looked at but for the chunk record,
 * whose number changes.
 */
#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>
#include "capture.h"
#include "describe.h"
#include "frames.h"
#include "output.h"
#include "seektable.h"
#include "splice.h"
#include "wire.h"

#define PIECE 61440u /* bytes of a payload in one record, as the writer has them */
#define LEVEL 3      /* a copy is made once and kept */

struct splice {
	int in, out;
	struct cw_frames *frames;
	struct cw_item item;
	struct cw_seektable seek;
	ZSTD_CCtx *cctx;
	uint8_t *packed; /* of one frame */
	size_t packed_size;
	uint64_t copied; /* bytes of the file that are dealt with */
	uint64_t added;  /* chunks put before the first one */
	bool begun;      /* the payloads are in */
	char *err;
	size_t errsize;
};

static int failed(struct splice *s, int rc, const char *fmt, ...)
	__attribute__((format(printf, 3, 4)));
static int failed(struct splice *s, int rc, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(s->err, s->errsize, fmt, ap);
	va_end(ap);
	return rc;
}

static int read_at(int fd, void *to, size_t size, uint64_t offset)
{
	size_t n = 0;

	while (n < size) {
		ssize_t got = pread(fd, (char *)to + n, size - n, (off_t)(offset + n));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : -ENODATA;
		n += (size_t)got;
	}
	return 0;
}

static int put(struct splice *s, const void *bytes, size_t size)
{
	int rc = cw_write_quietly(s->out, bytes, size);

	return rc ? failed(s, rc, "cannot write the copy: %s", strerror(-rc)) : 0;
}

/* ---- what is copied as it is --------------------------------------------------------------------
 */

static int copy_bytes(struct splice *s, uint64_t offset, uint64_t size)
{
	uint8_t buf[65536];
	int rc = 0;

	while (!rc && size) {
		size_t n = size < sizeof(buf) ? size : sizeof(buf);

		rc = read_at(s->in, buf, n, offset);
		if (rc)
			return failed(s, rc, "cannot read the capture: %s", strerror(-rc));
		rc = put(s, buf, n);
		offset += n;
		size -= n;
	}
	return rc;
}

/* Everything up to end that is no good frame: skippable frames, and damage. */
static int copy_rest(struct splice *s, uint64_t end)
{
	int rc = 0;

	while (!rc && s->copied < end) {
		uint64_t size = end - s->copied;
		uint8_t head[8];

		if (size >= sizeof(head) && !read_at(s->in, head, sizeof(head), s->copied) &&
		    (cw_get32(head) & ~15u) == CW_HEADER_FRAME_MAGIC &&
		    8 + (uint64_t)cw_get32(head + 4) < size)
			size = 8 + (uint64_t)cw_get32(head + 4);
		rc = copy_bytes(s, s->copied, size);
		s->copied += size;
		if (!rc)
			rc = cw_seektable_add(&s->seek, size, 0);
	}
	return rc;
}

/* ---- frames -------------------------------------------------------------------------------------
 */

static int put_frame(struct splice *s, const uint8_t *mem, size_t size)
{
	size_t bound = ZSTD_compressBound(size), n;
	int rc;

	if (bound > s->packed_size) {
		free(s->packed);
		s->packed = malloc(bound);
		s->packed_size = s->packed ? bound : 0;
	}
	n = s->packed ? ZSTD_compress2(s->cctx, s->packed, bound, mem, size) : 0;
	if (!n || ZSTD_isError(n))
		return failed(s, -ENOMEM, "no memory left to compress the copy");
	rc = put(s, s->packed, n);
	return rc ? rc : cw_seektable_add(&s->seek, n, size);
}

static void set_number(uint8_t *chunk, uint64_t seq)
{
	cw_put32(chunk + offsetof(struct cw_chunk, seq), (uint32_t)seq);
	cw_put32(chunk + offsetof(struct cw_chunk, seq) + 4, (uint32_t)(seq >> 32));
}

static uint64_t get_number(const uint8_t *chunk)
{
	return cw_get32(chunk + offsetof(struct cw_chunk, seq)) |
	       (uint64_t)cw_get32(chunk + offsetof(struct cw_chunk, seq) + 4) << 32;
}

/* A chunk of one payload's pieces from offset on, with the clocks of the first one of the file. */
static size_t make_chunk(struct splice *s, const struct cw_splice_payload *p, uint64_t offset,
			 uint8_t *mem, uint64_t *end, int *rc)
{
	struct cw_chunk chunk;
	size_t used = sizeof(chunk);

	memcpy(&chunk, s->item.mem, sizeof(chunk));
	if (CW_SWAP_FILE)
		cw_rec_swap(cw_type_by_id(CW_CHUNK), &chunk.h, true);
	chunk.h.size = sizeof(chunk);
	chunk.seq += s->added;
	chunk.min_ts = chunk.max_ts = 0;
	chunk.records = 0;
	while (offset < p->size && used + sizeof(struct cw_blob) + PIECE <= CW_FRAME_BYTES) {
		size_t n = p->size - offset < PIECE ? p->size - offset : PIECE;
		struct cw_blob *b = (struct cw_blob *)(mem + used);

		*b = (struct cw_blob){
			.h = {.type = CW_BLOB,
			      .size = (uint16_t)(sizeof(*b) + n),
			      .cpu = CW_CPU_NONE,
			      .ts = chunk.mono_ns},
			.module_id = p->module_id,
			.kind = p->kind,
			.offset = offset,
			.total = p->size,
		};
		*rc = read_at(p->fd, b->data, n, offset);
		if (*rc)
			return 0;
		used += cw_rec_stride(&b->h);
		memset(b->data + n, 0, (-n) & 7);
		offset += n;
		chunk.records++;
		if (CW_SWAP_FILE)
			cw_rec_swap(cw_type_by_id(CW_BLOB), &b->h, false);
	}
	if (CW_SWAP_FILE)
		cw_rec_swap(cw_type_by_id(CW_CHUNK), &chunk.h, false);
	memcpy(mem, &chunk, sizeof(chunk));
	*end = offset;
	return used;
}

static int put_payload(struct splice *s, const struct cw_splice_payload *p)
{
	uint8_t *mem = malloc(CW_FRAME_BYTES + 8);
	uint64_t offset = 0;
	int rc = mem ? 0 : -ENOMEM;

	while (!rc && offset < p->size) {
		size_t size = make_chunk(s, p, offset, mem, &offset, &rc);

		if (rc)
			failed(s, rc, "cannot read %s: %s", p->name,
			       rc == -ENODATA ? "it became shorter" : strerror(-rc));
		else
			rc = put_frame(s, mem, size);
		s->added += !rc;
	}
	free(mem);
	return rc;
}

/* ---- the copy -----------------------------------------------------------------------------------
 */

static int copy_header(struct splice *s)
{
	const uint8_t *p;
	size_t got, size;
	int rc = cw_frames_peek(s->frames, 8, &p, &got);

	if (rc || got < 8 || cw_get32(p) != CW_HEADER_FRAME_MAGIC ||
	    cw_get32(p + 4) > CW_MAX_HEADER)
		return failed(s, -EINVAL, "the header of the capture cannot be read");
	size = 8 + (size_t)cw_get32(p + 4);
	rc = cw_frames_peek(s->frames, size, &p, &got);
	if (rc || got < size)
		return failed(s, -EBADMSG, "the header of the capture is cut");
	rc = put(s, p, size);
	cw_frames_start(s->frames, size, false);
	s->copied = size;
	return rc ? rc : cw_seektable_add(&s->seek, size, 0);
}

static int copy_frame(struct splice *s, const struct cw_splice_payload *payloads, size_t n)
{
	int rc = copy_rest(s, s->item.offset);
	size_t i;

	for (i = 0; !rc && !s->begun && i < n; i++)
		rc = put_payload(s, &payloads[i]);
	s->begun = true;
	if (rc)
		return rc;
	set_number(s->item.mem, get_number(s->item.mem) + s->added);
	s->copied = s->item.end;
	return put_frame(s, s->item.mem, s->item.size);
}

static int put_table(struct splice *s)
{
	uint8_t *table;
	size_t size;
	int rc = cw_seektable_make(&s->seek, &table, &size);

	if (rc)
		return rc;
	rc = put(s, table, size);
	free(table);
	return rc;
}

static int copy_all(struct splice *s, const struct cw_splice_payload *payloads, size_t n)
{
	int rc = copy_header(s);
	bool table = false;

	while (!rc) {
		cw_frames_next(s->frames, &s->item);
		switch (s->item.kind) {
		case CW_ITEM_FRAME:
			rc = copy_frame(s, payloads, n);
			break;
		case CW_ITEM_TABLE:
			rc = copy_rest(s, s->item.offset);
			s->copied = s->item.end;
			table = true;
			break;
		case CW_ITEM_PROBLEM:
			break;
		case CW_ITEM_END:
			if (s->item.error)
				return failed(s, s->item.error, "cannot read the capture: %s",
					      strerror(-s->item.error));
			if (!s->begun)
				return failed(s, -ENODATA, "the capture holds no records");
			if (table)
				return put_table(s);
			return copy_rest(s, (uint64_t)lseek(s->in, 0, SEEK_END));
		}
	}
	return rc;
}

int cw_splice(int in_fd, int out_fd, const struct cw_splice_payload *payloads, size_t n, char *err,
	      size_t errsize)
{
	struct splice s = {.in = in_fd, .out = out_fd, .err = err, .errsize = errsize};
	int rc = -ENOMEM;

	*err = 0;
	if (lseek(in_fd, 0, SEEK_SET) < 0)
		return failed(&s, -errno, "the capture must be a file, not a stream");
	s.frames = cw_frames_new(in_fd, -1);
	s.cctx = ZSTD_createCCtx();
	if (s.frames && s.cctx) {
		ZSTD_CCtx_setParameter(s.cctx, ZSTD_c_compressionLevel, LEVEL);
		ZSTD_CCtx_setParameter(s.cctx, ZSTD_c_checksumFlag, 1);
		ZSTD_CCtx_setParameter(s.cctx, ZSTD_c_contentSizeFlag, 1);
		rc = copy_all(&s, payloads, n);
	}
	if (rc && !*err)
		failed(&s, rc, "cannot copy the capture: %s", strerror(-rc));
	cw_frames_free(s.frames);
	ZSTD_freeCCtx(s.cctx);
	free(s.item.mem);
	free(s.packed);
	free(s.seek.entries);
	return rc;
}
