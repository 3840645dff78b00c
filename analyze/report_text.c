/* SPDX-License-Identifier: GPL-2.0-only */
/* The text report as a whole: its sections, in their order. */
#include <errno.h>
#include "blocked.h"
#include "diagnostics.h"
#include "report.h"
#include "report_sections.h"

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

/* One section; figures are there when a section that draws is shown. */
static int print_section(struct cw_report *r, struct cw_text *t, enum cw_section section,
			 const struct cw_figures *figures)
{
	switch (section) {
	case CW_SECTION_ANSWER:
		return cw_report_answer(r, t);
	case CW_SECTION_CAPTURE:
		cw_report_head(r, t);
		return 0;
	case CW_SECTION_RECORDS:
		return print_blocks(r, t);
	case CW_SECTION_SUMMARY:
		return cw_report_counts(r, t, figures);
	case CW_SECTION_HISTOGRAMS:
		return cw_figures_histograms(figures);
	case CW_SECTION_QUEUES:
		return cw_diagnostics_print(r->db, CW_FORMAT_TEXT, 0, r->out);
	case CW_SECTION_BLOCKED:
		return cw_blocked_print(r->db, CW_FORMAT_TEXT, CW_TOP_REASONS, r->out);
	case CW_SECTION_DOUBTS:
		return cw_report_doubts(r, t);
	default:
		return 0;
	}
}

int cw_report_text(struct cw_report *r)
{
	unsigned int sections = r->sections ? r->sections : cw_sections_default();
	struct cw_figures *figures = NULL;
	struct cw_text t;
	int err = 0;

	cw_text_init(&t, r->out, r->color);
	cw_report_clock(r->db, &t);
	errno = 0;
	if (sections & (1u << CW_SECTION_SUMMARY | 1u << CW_SECTION_HISTOGRAMS))
		err = cw_figures_new(&figures, r, &t);
	for (unsigned int i = 0; !err && i < CW_NSECTIONS; i++) {
		if (sections & 1u << i)
			err = print_section(r, &t, i, figures);
		if (!err)
			err = cw_write_error(r->out);
	}
	cw_figures_free(figures);
	return err;
}
