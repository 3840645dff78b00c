/* SPDX-License-Identifier: GPL-2.0-only */
/* Bytes outside of records that writer and reader must agree on; FORMAT.md explains them. */
#ifndef CW_WIRE_H
#define CW_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CW_ZSTD_MAGIC         0xFD2FB528u
#define CW_HEADER_FRAME_MAGIC 0x184D2A50u
#define CW_SEEK_FRAME_MAGIC   0x184D2A5Eu
#define CW_SEEK_FOOTER_MAGIC  0x8F92EAB1u
#define CW_SEEK_FOOTER_SIZE   9u
#define CW_FILE_MAGIC         "CWCAPTUR"
#define CW_HEADER_FIXED       16u /* payload bytes before the first header record */
#define CW_MAX_HEADER         (1u << 20)
#define CW_FRAME_BYTES        (1u << 20) /* records that close a frame */
#define CW_MAX_FRAME          (8u << 20) /* decompressed bytes a reader accepts */
#define CW_CHUNK_FIXED        64u        /* bytes of a chunk record of format version 1 */

/*
 * The checksum that zstd puts behind a frame of these bytes: the low half of XXH64. 0 or a negative
 * errno.
 */
int cw_checksum(const void *data, size_t size, uint32_t *sum);

#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
#define CW_SWAP_FILE 1
#else
#define CW_SWAP_FILE 0
#endif

/* Little-endian stores and loads for the few numbers outside records. */
static inline void cw_put32(uint8_t *p, uint32_t v)
{
	p[0] = v;
	p[1] = v >> 8;
	p[2] = v >> 16;
	p[3] = v >> 24;
}

static inline uint32_t cw_get32(const uint8_t *p)
{
	return p[0] | p[1] << 8 | p[2] << 16 | (uint32_t)p[3] << 24;
}

static inline uint64_t cw_get64(const uint8_t *p)
{
	return cw_get32(p) | (uint64_t)cw_get32(p + 4) << 32;
}

#endif
