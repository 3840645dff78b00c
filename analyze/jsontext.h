/* SPDX-License-Identifier: GPL-2.0-only */
/* Records as JSON, by the description of their type. For dump, which reads no database. */
#ifndef CW_JSONTEXT_H
#define CW_JSONTEXT_H

#include <stdio.h>
#include "capture.h"

/*
 * Write n bytes as a JSON string: control characters and bytes that are not UTF-8 become \u00XX.
 */
void cw_json_string(FILE *out, const char *s, size_t n);

/*
 * Write rec as one JSON object on a line, laid out as t says; t NULL: its bytes in hexadecimal.
 * Bytes are hexadecimal text, of which at most max_bytes are shown.
 */
void cw_json_record(FILE *out, const struct cw_type *t, const struct cw_rec *rec, size_t max_bytes);

#endif
