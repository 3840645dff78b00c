/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Assembles the HTML report: the template with the style sheets, the scripts, and the data, which
 * is one JSON text, deflated and in base64, so that nothing in it can be taken for HTML. Which data
 * there is, SQL says: the files report/N-*.sql, and every table or view named page_NAME. Knows no
 * column.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>
#include "queue_sums.h"
#include "ranks.h"
#include "report_html.h"
#include "say.h"
#include "view_again.h"
#include "wait_sums.h"

#define QUEUE_SLOTS 240 /* the figures of a queue are drawn from so many parts of the capture */

struct asset {
	const char *name, *text;
};

/* The files of report/, in the order of their names. */
static const struct asset assets[] = {
#include "report.inc"
};

/* ---- data: JSON to deflate to base64 -----------------------------------------------------------
 */
struct packer {
	FILE *out;
	z_stream z;
	unsigned char pending[3]; /* bytes that make no whole base64 group yet */
	unsigned int npending;
	unsigned int column;
};

static void put_group(struct packer *p, unsigned int n)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	uint32_t bits = (uint32_t)p->pending[0] << 16;

	if (n > 1)
		bits |= (uint32_t)p->pending[1] << 8;
	if (n > 2)
		bits |= p->pending[2];
	for (unsigned int i = 0; i < 4; i++)
		putc(i <= n ? digits[(bits >> (18 - 6 * i)) & 63] : '=', p->out);
	p->npending = 0;
	p->column += 4;
	if (p->column >= 120) {
		putc('\n', p->out);
		p->column = 0;
	}
}

static int pack(struct packer *p, const char *data, size_t size, int flush)
{
	unsigned char buf[16384];

	p->z.next_in = (unsigned char *)(uintptr_t)data;
	p->z.avail_in = (unsigned int)size;
	do {
		p->z.next_out = buf;
		p->z.avail_out = sizeof(buf);
		if (deflate(&p->z, flush) == Z_STREAM_ERROR)
			return cw_fail(-EINVAL, "cannot compress the report's data");
		for (size_t i = 0; i < sizeof(buf) - p->z.avail_out; i++) {
			p->pending[p->npending++] = buf[i];
			if (p->npending == 3)
				put_group(p, 3);
		}
	} while (!p->z.avail_out);
	if (flush == Z_FINISH && p->npending)
		put_group(p, p->npending);
	return 0;
}

static int pack_text(struct packer *p, const char *text)
{
	return pack(p, text, strlen(text), Z_NO_FLUSH);
}

/* ---- what SQL says -----------------------------------------------------------------------------
 */

/* Make the named views again as temporary ones, over the temporary tables that hide those of all.
 */
static int remake_views(sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	int err = cw_prepare(db, &s, "SELECT name FROM temp.remade");

	while (!err && sqlite3_step(s) == SQLITE_ROW)
		err = cw_view_again(db, (const char *)sqlite3_column_text(s, 0));
	sqlite3_finalize(s);
	return err ? err : cw_exec(db, "DELETE FROM temp.remade");
}

static bool has_suffix(const char *name, const char *suffix)
{
	size_t n = strlen(name), m = strlen(suffix);

	return n >= m && !strcmp(name + n - m, suffix);
}

/*
 * After each file, in the order of their names, the views that it wants made again.
 * After the first, the sums that C makes.
 */
static int run_scripts(sqlite3 *db)
{
	int err = 0;

	for (size_t i = 0; !err && i < sizeof(assets) / sizeof(assets[0]); i++) {
		if (!has_suffix(assets[i].name, ".sql"))
			continue;
		err = cw_exec(db, assets[i].text);
		if (!err)
			err = remake_views(db);
		if (!err && !strcmp(assets[i].name, "1-shared.sql"))
			err = cw_wait_sums(db) ?: cw_queue_sums(db, QUEUE_SLOTS);
	}
	return err;
}

/* A statement that gives all of a page_NAME as one object: an array a column. */
static char *columns_sql(sqlite3 *db, const char *relation)
{
	sqlite3_str *sql = sqlite3_str_new(db);
	sqlite3_stmt *s = NULL;
	const char *comma = "";

	sqlite3_str_appendall(sql, "SELECT json_object(");
	if (!cw_prepare(db, &s, "SELECT name FROM pragma_table_info(?1) ORDER BY cid")) {
		sqlite3_bind_text(s, 1, relation, -1, SQLITE_STATIC);
		while (sqlite3_step(s) == SQLITE_ROW) {
			const char *column = (const char *)sqlite3_column_text(s, 0);

			sqlite3_str_appendf(sql,
					    has_suffix(column, "_json")
						    ? "%s%Q, json_group_array(json(\"%w\"))"
						    : "%s%Q, json_group_array(\"%w\")",
					    comma, column, column);
			comma = ", ";
		}
	}
	sqlite3_finalize(s);
	sqlite3_str_appendf(sql, ") FROM \"%w\"", relation);
	return sqlite3_str_finish(sql);
}

static int pack_relation(struct packer *p, sqlite3 *db, const char *relation)
{
	char *sql = columns_sql(db, relation);
	sqlite3_stmt *s = NULL;
	int err = sql ? cw_prepare(db, &s, sql) : -ENOMEM;

	if (!err && sqlite3_step(s) != SQLITE_ROW)
		err = cw_fail(-EBADMSG, "cannot query %s: %s", relation, sqlite3_errmsg(db));
	if (!err)
		err = pack(p, (const char *)sqlite3_column_text(s, 0),
			   (size_t)sqlite3_column_bytes(s, 0), Z_NO_FLUSH);
	sqlite3_finalize(s);
	sqlite3_free(sql);
	return err;
}

static int pack_all(struct packer *p, sqlite3 *db)
{
	sqlite3_stmt *s = NULL;
	const char *before = "{\"";
	int err = cw_prepare(db, &s,
			     "SELECT name, substr(name, 6) FROM temp.sqlite_schema"
			     " WHERE type IN ('table', 'view') AND name GLOB 'page_*' UNION "
			     "SELECT name, substr(name, 6) FROM main.sqlite_schema"
			     " WHERE type IN ('table', 'view') AND name GLOB 'page_*'");

	while (!err && sqlite3_step(s) == SQLITE_ROW) {
		err = pack_text(p, before);
		if (!err)
			err = pack_text(p, (const char *)sqlite3_column_text(s, 1));
		if (!err)
			err = pack_text(p, "\":");
		if (!err)
			err = pack_relation(p, db, (const char *)sqlite3_column_text(s, 0));
		before = ",\"";
	}
	sqlite3_finalize(s);
	return err ? err : pack(p, "}", 1, Z_FINISH);
}

static int write_data(struct cw_report *r)
{
	struct packer p = {.out = r->out};
	int err;

	if (deflateInit2(&p.z, 7, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		return -ENOMEM;
	err = pack_all(&p, r->db);
	deflateEnd(&p.z);
	return err;
}

/* ---- the page ----------------------------------------------------------------------------------
 */
static const char *find_asset(const char *name)
{
	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++)
		if (!strcmp(assets[i].name, name))
			return assets[i].text;
	return NULL;
}

static void write_assets(FILE *out, const char *suffix)
{
	for (size_t i = 0; i < sizeof(assets) / sizeof(assets[0]); i++)
		if (has_suffix(assets[i].name, suffix))
			fputs(assets[i].text, out);
}

/* A filter of the command line that the page names; value is NULL where it is not set. */
static int add_filter(sqlite3 *db, const char *name, const char *value)
{
	sqlite3_stmt *s = NULL;
	int err;

	if (!value)
		return 0;
	err = cw_prepare(db, &s, "INSERT INTO temp.page_filter VALUES(?1, ?2)");
	if (!err) {
		sqlite3_bind_text(s, 1, name, -1, SQLITE_STATIC);
		sqlite3_bind_text(s, 2, value, -1, SQLITE_STATIC);
		sqlite3_step(s);
	}
	sqlite3_finalize(s);
	return err;
}

static int add_number(sqlite3 *db, const char *name, double value, const char *format)
{
	char text[64];

	if (value == 0)
		return 0;
	snprintf(text, sizeof(text), format, value);
	return add_filter(db, name, text);
}

static int add_filters(sqlite3 *db, const struct cw_filters *f)
{
	char key[32];
	int err = cw_exec(db, "CREATE TEMP TABLE page_filter(name TEXT, value TEXT)");

	snprintf(key, sizeof(key), "0x%llx", (unsigned long long)f->key);
	if (!err)
		err = add_number(db, "total at least", (double)f->min_total_ns / 1e6, "%g ms");
	if (!err)
		err = add_number(db, "a queue of at least", (double)f->min_queue_ns / 1e6, "%g ms");
	if (!err)
		err = add_number(db, "a work of at least", (double)f->min_work_ns / 1e6, "%g ms");
	if (!err)
		err = add_number(db, "the first", (double)f->max_events, "%.0f");
	if (!err)
		err = add_number(db, "process", (double)f->pid, "%.0f");
	if (!err)
		err = add_number(db, "thread", (double)f->tid, "%.0f");
	if (!err)
		err = add_filter(db, "function", f->function);
	if (!err)
		err = add_filter(db, "key", f->has_key ? key : NULL);
	if (!err)
		err = add_filter(db, "time",
				 f->from.set || f->to.set ? "part of the capture" : NULL);
	return err;
}

/* temp.latency and temp.rank are there already: cw_report_totals made them. */
static int prepare_data(struct cw_report *r)
{
	int err = add_filters(r->db, &r->filters);

	if (!err)
		err = cw_ranks(r->db, "chains",
			       "SELECT NULL, 'total', p.queue_ns + p.work_ns FROM temp.item i"
			       " JOIN path p USING(chain_id) WHERE p.work_ns IS NOT NULL");
	if (!err)
		err = cw_ranks(r->db, "calls",
			       "SELECT probe_id, 'call', dur, oncpu_ns, blocked_ns, runq_ns,"
			       " preempted_ns, unknown_ns FROM slice");
	return err ? err : run_scripts(r->db);
}

/* The template with each {{NAME}} replaced. */
int cw_report_html(struct cw_report *r)
{
	const char *at = find_asset("page.html"), *mark;
	int err = prepare_data(r);

	for (; !err && (mark = strstr(at, "{{")); at = strstr(mark, "}}") + 2) {
		fwrite(at, 1, (size_t)(mark - at), r->out);
		if (!strncmp(mark, "{{style}}", 9))
			write_assets(r->out, ".css");
		else if (!strncmp(mark, "{{script}}", 10))
			write_assets(r->out, ".js");
		else
			err = write_data(r);
	}
	if (!err)
		fputs(at, r->out);
	return err ? err : cw_write_error(r->out);
}
