/* SPDX-License-Identifier: GPL-2.0-only */
/* The schema as it was embedded at build, with its comments. */
#ifndef CW_SCHEMA_DOC_H
#define CW_SCHEMA_DOC_H

/* All of schema/ as one text. */
const char *cw_schema_text(void);

/* The comment above table or view name as one line, malloc'ed; NULL when there is none. */
char *cw_schema_doc(const char *name);

/* The same of one column of it. */
char *cw_schema_column_doc(const char *object, const char *column);

#endif
