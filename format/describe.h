/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Descriptions of record types as they stand in a file: parsed, compared, and used to bring a
 * record into this build's layout. For the reader and the writer only; hostile input ends here.
 */
#ifndef CW_DESCRIBE_H
#define CW_DESCRIBE_H

#include "capture.h"

#define CW_MAX_FIELDS 256 /* fields of one described type */

/* Bytes of one element. */
uint32_t cw_ftype_size(enum cw_ftype type);

/*
 * Parse the text of a type record. The result is one allocation, released with free(). NULL when
 * the text is malformed, disagrees with fixed_size, or memory is short; *why then names the defect.
 */
struct cw_type *cw_type_parse(uint16_t id, uint32_t fixed_size, const char *text, size_t len,
			      const char **why);

/* True when a record of either type can be read as the other: same fields at the same places. */
bool cw_type_same(const struct cw_type *a, const struct cw_type *b);

/*
 * Write rec, laid out as from says, to out (CW_MAX_RECORD bytes) as to says: fields are matched by
 * name, missing ones are 0, a tail that does not fit is cut.
 */
void cw_type_translate(const struct cw_type *from, const struct cw_rec *rec,
		       const struct cw_type *to, struct cw_rec *out);

/*
 * Swap the bytes of every number, header included. to_native says whether rec is foreign now.
 * Only hosts that are not little-endian need it. t may be NULL: then only the header is swapped.
 */
void cw_rec_swap(const struct cw_type *t, struct cw_rec *rec, bool to_native);

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

/* Bytes of the file that both sides must agree on; FORMAT.md explains them. */
#define CW_HEADER_FRAME_MAGIC 0x184D2A50u
#define CW_SEEK_FRAME_MAGIC   0x184D2A5Eu
#define CW_SEEK_FOOTER_MAGIC  0x8F92EAB1u
#define CW_SEEK_FOOTER_SIZE   9u
#define CW_FILE_MAGIC         "CWCAPTUR"
#define CW_HEADER_FIXED       16u /* payload bytes before the first header record */
#define CW_MAX_HEADER         (1u << 20)
#define CW_FRAME_BYTES        (1u << 20) /* records that close a frame */
#define CW_MAX_FRAME          (8u << 20) /* decompressed bytes a reader accepts */

#endif
