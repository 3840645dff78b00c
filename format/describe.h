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

#endif
