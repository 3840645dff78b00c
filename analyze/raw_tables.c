/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Eponymous virtual tables over the records of a capture, made from the file's own description of
 * its types, so that records of newer recorders and user-defined probes are there too. Rows stream
 * from the file. Knows the reader and the types, nothing of the imported tables.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "capture.h"
#include "raw_tables.h"
#include "sequence.h"

#define MAX_SPREAD 16 /* elements of an integer array that become columns of their own */

/* A column: an element of a field, or the whole field. */
struct column {
	char *name;
	const struct cw_field *field; /* NULL: one of the record's header */
	uint32_t element;
	bool whole; /* an array or a tail in one value */
};

struct raw_type {
	const struct cw_raw *raw;
	const struct cw_type *type;
	char *table;
	struct column *columns;
	int ncolumns;
};

struct cw_raw {
	struct cw_sequence files;
	struct cw_reader *reader; /* of the first one: owns the types; never read from */
	struct raw_type *types;
	int ntypes;
};

enum { COL_TS, COL_CPU, COL_FLAGS, COL_SIZE, COL_FRAME, COL_INDEX, HEADER_COLUMNS };
static const char *const header_columns[HEADER_COLUMNS] = {
	"ts", "cpu", "rec_flags", "rec_size", "frame_number", "record_index"};

/* ---- columns ------------------------------------------------------------------------------------
 */

static bool has_column(const struct raw_type *t, const char *name)
{
	for (int i = 0; i < t->ncolumns; i++)
		if (!strcasecmp(t->columns[i].name, name))
			return true;
	return false;
}

static int add_column(struct raw_type *t, char *name, const struct cw_field *field,
		      uint32_t element, bool whole)
{
	struct column *more;

	if (!name)
		return -ENOMEM;
	if (has_column(t, name)) {
		char *other = NULL;

		if (asprintf(&other, "%s_%d", name, t->ncolumns) < 0)
			other = NULL;
		free(name);
		if (!other)
			return -ENOMEM;
		name = other;
	}
	more = reallocarray(t->columns, (size_t)t->ncolumns + 1, sizeof(*more));
	if (!more) {
		free(name);
		return -ENOMEM;
	}
	t->columns = more;
	t->columns[t->ncolumns++] = (struct column){name, field, element, whole};
	return 0;
}

/* args[8] becomes arg1 to arg8; other small integer arrays NAME1, NAME2 and so on. */
static int add_field(struct raw_type *t, const struct cw_field *f)
{
	size_t len = strlen(f->name);
	bool spread = f->count > 1 && f->count <= MAX_SPREAD && f->type != CW_T_U8 &&
		      f->type != CW_T_BYTES && f->type != CW_T_STR;

	if (!spread)
		return add_column(t, strdup(f->name), f, 0, f->count != 1);
	if (len > 1 && f->name[len - 1] == 's')
		len--;
	for (uint32_t i = 0; i < f->count; i++) {
		char *name = NULL;
		int err;

		if (asprintf(&name, "%.*s%u", (int)len, f->name, i + 1) < 0)
			name = NULL;
		err = add_column(t, name, f, i, false);
		if (err)
			return err;
	}
	return 0;
}

static int describe(struct raw_type *t, const struct cw_raw *raw, const struct cw_type *type)
{
	int err = 0;

	t->raw = raw;
	t->type = type;
	if (asprintf(&t->table, "raw_%s", type->name) < 0) {
		t->table = NULL;
		return -ENOMEM;
	}
	for (int i = 0; i < HEADER_COLUMNS && !err; i++)
		err = add_column(t, strdup(header_columns[i]), NULL, (uint32_t)i, false);
	for (uint32_t i = 0; i < type->nfields && !err; i++)
		err = add_field(t, &type->fields[i]);
	return err;
}

/* ---- values -------------------------------------------------------------------------------------
 */

static uint32_t element_size(enum cw_ftype type)
{
	switch (type) {
	case CW_T_U32:
	case CW_T_I32:
		return 4;
	case CW_T_U64:
	case CW_T_I64:
	case CW_T_X64:
		return 8;
	default:
		return 1;
	}
}

/* False when the record ends before the element. */
static bool load(const struct cw_rec *rec, const struct cw_field *f, uint32_t i, int64_t *out)
{
	uint32_t size = element_size(f->type);
	uint64_t at = f->offset + (uint64_t)i * size;
	uint64_t value = 0;

	if (at + size > rec->size)
		return false;
	for (uint32_t b = 0; b < size; b++)
		value |= (uint64_t)((const unsigned char *)rec)[at + b] << (8 * b);
	*out = f->type == CW_T_I32 ? (int32_t)value : (int64_t)value;
	return true;
}

static void result_bytes(sqlite3_context *ctx, const struct cw_rec *rec, const struct cw_field *f)
{
	const char *data = (const char *)rec + f->offset;
	uint32_t size = f->offset < rec->size ? rec->size - f->offset : 0;

	if (f->type == CW_T_STR) {
		sqlite3_result_text(ctx, size ? data : "", (int)strnlen(size ? data : "", size),
				    SQLITE_TRANSIENT);
		return;
	}
	if (f->count && f->count < size)
		size = f->count;
	sqlite3_result_blob(ctx, size ? data : "", (int)size, SQLITE_TRANSIENT);
}

/* An array as JSON text. */
static void result_array(sqlite3_context *ctx, const struct cw_rec *rec, const struct cw_field *f)
{
	sqlite3_str *text = sqlite3_str_new(NULL);
	int64_t value;

	sqlite3_str_appendall(text, "[");
	for (uint32_t i = 0; (!f->count || i < f->count) && load(rec, f, i, &value); i++)
		sqlite3_str_appendf(text, "%s%lld", i ? "," : "", (long long)value);
	sqlite3_str_appendall(text, "]");
	sqlite3_result_text(ctx, sqlite3_str_finish(text), -1, sqlite3_free);
}

static void result_field(sqlite3_context *ctx, const struct cw_rec *rec, const struct column *c)
{
	const struct cw_field *f = c->field;
	int64_t value;

	if (f->type == CW_T_STR || f->type == CW_T_BYTES || (c->whole && f->type == CW_T_U8))
		result_bytes(ctx, rec, f);
	else if (c->whole)
		result_array(ctx, rec, f);
	else if (load(rec, f, c->element, &value))
		sqlite3_result_int64(ctx, value);
}

/* ---- the virtual table --------------------------------------------------------------------------
 */

struct table {
	sqlite3_vtab base;
	const struct raw_type *type;
};

struct cursor {
	sqlite3_vtab_cursor base;
	size_t at; /* number of the file */
	struct cw_reader *reader;
	const struct cw_rec *rec; /* as written; NULL at the end */
	struct cw_pos pos;
};

static int table_connect(sqlite3 *db, void *aux, int argc, const char *const *argv,
			 sqlite3_vtab **out, char **err)
{
	const struct raw_type *type = aux;
	sqlite3_str *sql = sqlite3_str_new(db);
	struct table *t;
	char *text;
	int rc;

	(void)argc, (void)argv, (void)err;
	sqlite3_str_appendall(sql, "CREATE TABLE x(");
	for (int i = 0; i < type->ncolumns; i++)
		sqlite3_str_appendf(sql, "%s\"%w\"", i ? "," : "", type->columns[i].name);
	sqlite3_str_appendall(sql, ")");
	text = sqlite3_str_finish(sql);
	if (!text)
		return SQLITE_NOMEM;
	rc = sqlite3_declare_vtab(db, text);
	sqlite3_free(text);
	if (rc != SQLITE_OK)
		return rc;
	t = sqlite3_malloc(sizeof(*t));
	if (!t)
		return SQLITE_NOMEM;
	memset(t, 0, sizeof(*t));
	t->type = type;
	*out = &t->base;
	return SQLITE_OK;
}

static int table_disconnect(sqlite3_vtab *base)
{
	sqlite3_free(base);
	return SQLITE_OK;
}

/* Every query reads the file from the start to the end. */
static int table_best_index(sqlite3_vtab *base, sqlite3_index_info *info)
{
	(void)base;
	info->estimatedCost = 1e6;
	info->estimatedRows = 1000000;
	return SQLITE_OK;
}

static int cursor_open(sqlite3_vtab *base, sqlite3_vtab_cursor **out)
{
	struct cursor *c = sqlite3_malloc(sizeof(*c));

	(void)base;
	if (!c)
		return SQLITE_NOMEM;
	memset(c, 0, sizeof(*c));
	*out = &c->base;
	return SQLITE_OK;
}

static int cursor_close(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;

	cw_reader_free(c->reader);
	sqlite3_free(c);
	return SQLITE_OK;
}

/* Begin with file number c->at. */
static int open_file(struct cursor *c)
{
	const struct table *t = (const struct table *)c->base.pVtab;
	char err[512] = "";

	cw_reader_free(c->reader);
	c->reader = NULL;
	if (!cw_reader_open(&c->reader, t->type->raw->files.files[c->at].path, err, sizeof(err)))
		return SQLITE_OK;
	c->base.pVtab->zErrMsg = sqlite3_mprintf("%s", err);
	return SQLITE_ERROR;
}

static int cursor_next(sqlite3_vtab_cursor *base)
{
	struct cursor *c = (struct cursor *)base;
	const struct table *t = (const struct table *)base->pVtab;
	const struct cw_sequence *files = &t->type->raw->files;
	const struct cw_rec *rec;
	int rc, opened = SQLITE_OK;

	do {
		while ((rc = cw_reader_next(c->reader, &rec, &c->pos)) == 1)
			if (rec->type == t->type->type->id) {
				c->rec = cw_reader_as_written(c->reader);
				return SQLITE_OK;
			}
		c->rec = NULL;
		if (rc) {
			base->pVtab->zErrMsg = sqlite3_mprintf(
				"cannot read %s: %s", files->files[c->at].path, strerror(-rc));
			return SQLITE_ERROR;
		}
		if (++c->at < files->n)
			opened = open_file(c);
	} while (opened == SQLITE_OK && c->at < files->n);
	return opened;
}

static int cursor_filter(sqlite3_vtab_cursor *base, int idx, const char *name, int argc,
			 sqlite3_value **argv)
{
	struct cursor *c = (struct cursor *)base;
	int rc;

	(void)idx, (void)name, (void)argc, (void)argv;
	c->at = 0;
	rc = open_file(c);
	return rc == SQLITE_OK ? cursor_next(base) : rc;
}

static int cursor_eof(sqlite3_vtab_cursor *base)
{
	return !((struct cursor *)base)->rec;
}

static void result_header(sqlite3_context *ctx, const struct cursor *c, uint32_t col)
{
	switch (col) {
	case COL_TS:
		sqlite3_result_int64(ctx, (int64_t)c->rec->ts);
		break;
	case COL_CPU:
		if (c->rec->cpu != CW_CPU_NONE)
			sqlite3_result_int(ctx, c->rec->cpu);
		break;
	case COL_FLAGS:
		sqlite3_result_int(ctx, c->rec->flags);
		break;
	case COL_SIZE:
		sqlite3_result_int(ctx, c->rec->size);
		break;
	case COL_FRAME:
		sqlite3_result_int64(ctx, (int64_t)c->pos.frame);
		break;
	case COL_INDEX:
		sqlite3_result_int64(ctx, (int64_t)c->pos.index);
		break;
	}
}

static int cursor_column(sqlite3_vtab_cursor *base, sqlite3_context *ctx, int col)
{
	const struct cursor *c = (const struct cursor *)base;
	const struct column *column = &((const struct table *)base->pVtab)->type->columns[col];

	if (column->field)
		result_field(ctx, c->rec, column);
	else
		result_header(ctx, c, column->element);
	return SQLITE_OK;
}

static int cursor_rowid(sqlite3_vtab_cursor *base, sqlite3_int64 *out)
{
	const struct cursor *c = (const struct cursor *)base;

	*out = (sqlite3_int64)((uint64_t)c->at << 44 | c->pos.index);
	return SQLITE_OK;
}

/* No xCreate: the tables exist without being created, and on a read-only connection. */
static const sqlite3_module module = {
	.xConnect = table_connect,
	.xBestIndex = table_best_index,
	.xDisconnect = table_disconnect,
	.xOpen = cursor_open,
	.xClose = cursor_close,
	.xFilter = cursor_filter,
	.xNext = cursor_next,
	.xEof = cursor_eof,
	.xColumn = cursor_column,
	.xRowid = cursor_rowid,
};

/* ---- registering --------------------------------------------------------------------------------
 */

static int register_types(struct cw_raw *raw, sqlite3 *db)
{
	const struct cw_type *type;
	size_t n = 0;

	while (cw_reader_type_at(raw->reader, n))
		n++;
	raw->types = calloc(n + 1, sizeof(*raw->types));
	if (!raw->types)
		return -ENOMEM;
	for (size_t i = 0; (type = cw_reader_type_at(raw->reader, i)); i++) {
		struct raw_type *t = &raw->types[raw->ntypes++];
		int err = describe(t, raw, type);

		if (err)
			return err;
		if (sqlite3_create_module(db, t->table, &module, t) != SQLITE_OK)
			return -ENOMEM;
	}
	return raw->ntypes;
}

int cw_raw_register(struct cw_raw **out, sqlite3 *db, const char *path, char *err, size_t errsize)
{
	struct cw_raw *raw = calloc(1, sizeof(*raw));
	int rc = -ENOMEM;

	*out = raw;
	if (!raw || cw_sequence_find(&raw->files, path)) {
		snprintf(err, errsize, "out of memory");
		return rc;
	}
	rc = cw_reader_open(&raw->reader, raw->files.files[0].path, err, errsize);
	if (rc)
		return rc;
	rc = register_types(raw, db);
	if (rc < 0)
		snprintf(err, errsize, "out of memory");
	return rc;
}

void cw_raw_free(struct cw_raw *raw)
{
	if (!raw)
		return;
	for (int i = 0; i < raw->ntypes; i++) {
		for (int c = 0; c < raw->types[i].ncolumns; c++)
			free(raw->types[i].columns[c].name);
		free(raw->types[i].columns);
		free(raw->types[i].table);
	}
	free(raw->types);
	cw_reader_free(raw->reader);
	cw_sequence_free(&raw->files);
	free(raw);
}

void cw_raw_list(const struct cw_raw *raw, FILE *out)
{
	for (int i = 0; i < raw->ntypes; i++) {
		const struct cw_type *ours = cw_type_by_id(raw->types[i].type->id);

		fprintf(out, "%-26s  %s\n", raw->types[i].table,
			ours && ours->doc ? ours->doc : "");
	}
}
