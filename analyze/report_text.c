/* SPDX-License-Identifier: GPL-2.0-only */
/* The text report as a whole: head, blocks, summary. */
#include <errno.h>
#include "report.h"

int cw_write_error(FILE *out)
{
	if (!ferror(out))
		return 0;
	return errno ? -errno : -EIO;
}

void cw_report_clock(sqlite3 *db, struct cw_text *t)
{
	t->wall_offset_ns = cw_query_int(db, "SELECT wall_offset_ns FROM report_clock", 0);
	t->utc_offset_s = cw_query_int(db, "SELECT utc_offset_s FROM report_clock", 0);
}

static int print_blocks(struct cw_report *r, struct cw_text *t)
{
	struct cw_blocks *blocks = NULL;
	sqlite3_stmt *items = NULL;
	int err = cw_blocks_new(&blocks, r->db, t);

	if (!err)
		err = cw_prepare(
			r->db, &items,
			"SELECT slice_id, coalesce(chain_id, -1) FROM temp.item ORDER BY seq");
	while (!err && sqlite3_step(items) == SQLITE_ROW) {
		err = cw_block_print(blocks, sqlite3_column_int64(items, 0),
				     sqlite3_column_int64(items, 1));
		if (!err)
			err = cw_write_error(r->out);
	}
	sqlite3_finalize(items);
	cw_blocks_free(blocks);
	return err;
}

int cw_report_text(struct cw_report *r)
{
	struct cw_text t;
	int err;

	cw_text_init(&t, r->out, r->color);
	cw_report_clock(r->db, &t);
	errno = 0;
	cw_report_head(r, &t);
	err = print_blocks(r, &t);
	if (!err)
		err = cw_report_summary(r, &t);
	return err ? err : cw_write_error(r->out);
}
