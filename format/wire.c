/* SPDX-License-Identifier: GPL-2.0-only */
/* The header's checksum, made by the library that makes all the others. */
#include <errno.h>
#include <stdlib.h>
#include <zstd.h>
#include "wire.h"

int cw_checksum(const void *data, size_t size, uint32_t *sum)
{
	size_t room = ZSTD_compressBound(size) + 4;
	ZSTD_CCtx *cctx = ZSTD_createCCtx();
	uint8_t *frame = malloc(room);
	size_t n = 0;

	if (cctx && frame) {
		ZSTD_CCtx_setParameter(cctx, ZSTD_c_compressionLevel, 1);
		ZSTD_CCtx_setParameter(cctx, ZSTD_c_checksumFlag, 1);
		n = ZSTD_compress2(cctx, frame, room, data, size);
	}
	if (n && !ZSTD_isError(n))
		*sum = cw_get32(frame + n - 4); /* a frame ends with its checksum */
	free(frame);
	ZSTD_freeCCtx(cctx);
	return n && !ZSTD_isError(n) ? 0 : -ENOMEM;
}
