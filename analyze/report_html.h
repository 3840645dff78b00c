/* SPDX-License-Identifier: GPL-2.0-only */
/* The HTML report: puts the page of report/ and its data into one file. */
#ifndef CW_REPORT_HTML_H
#define CW_REPORT_HTML_H

#include "report.h"

/*
 * Write the page over what cw_report_select chose to r->out. Makes temporary tables and views in
 * r->db. Returns 0 or a negative errno of writing, or having said why.
 */
int cw_report_html(struct cw_report *r);

#endif
