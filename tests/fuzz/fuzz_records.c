/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The input as header records and as the content of chunks, wrapped so that every checksum matches.
 * The first two bytes say how long the header part is; each chunk begins with a length of two
 * bytes.
 */
#include <zstd.h>
#include "fuzz.h"
#include "wire.h"

struct out {
	uint8_t mem[1 << 20];
	size_t n;
};

static void put(struct out *o, const void *data, size_t n)
{
	if (n > sizeof(o->mem) - o->n)
		n = sizeof(o->mem) - o->n;
	memcpy(o->mem + o->n, data, n);
	o->n += n;
}

static void put_header(struct out *o, const uint8_t *data, size_t n)
{
	uint8_t head[24];
	uint32_t sum = 0;

	cw_checksum(data, n, &sum);
	cw_put32(head, CW_HEADER_FRAME_MAGIC);
	cw_put32(head + 4, 16 + n);
	memcpy(head + 8, CW_FILE_MAGIC, 8);
	cw_put32(head + 16, 1);
	cw_put32(head + 20, sum);
	put(o, head, sizeof(head));
	put(o, data, n);
}

/* A frame whose first record is a chunk, as it must be to be looked at, and then the input. */
static void put_chunk(struct out *o, const uint8_t *data, size_t n, uint64_t seq)
{
	static uint8_t content[1 << 17], frame[1 << 18];
	struct cw_chunk c = {
		.h = {.type = CW_CHUNK, .size = sizeof(c)}, .seq = seq, .records = n / 24};
	ZSTD_CCtx *cctx = ZSTD_createCCtx();
	size_t size;

	memcpy(content, &c, sizeof(c));
	memcpy(content + sizeof(c), data, n);
	ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, 1);
	size = ZSTD_compress2(cctx, frame, sizeof(frame), content, sizeof(c) + n);
	ZSTD_freeCCtx(cctx);
	put(o, frame, size);
}

static size_t take_length(const uint8_t **data, size_t *size)
{
	size_t n = *size >= 2 ? (*data)[0] | (*data)[1] << 8 : 0;

	*data += *size >= 2 ? 2 : *size;
	*size -= *size >= 2 ? 2 : *size;
	return n < *size ? n : *size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct out o;
	uint64_t seq = 0;
	size_t n = take_length(&data, &size);

	o.n = 0;
	put_header(&o, data, n);
	data += n;
	size -= n;
	while (size && seq < 16) {
		n = take_length(&data, &size);
		put_chunk(&o, data, n, seq++);
		data += n;
		size -= n;
	}
	fuzz_read(o.mem, o.n);
	return 0;
}
