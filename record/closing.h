/* SPDX-License-Identifier: GPL-2.0-only */
/* The closing line: what was recorded and what was lost. */
#ifndef CW_CLOSING_H
#define CW_CLOSING_H

#include "capture.h"
#include "losses.h"

void cw_closing_line(const char *path, const struct cw_losses *l, const struct cw_writer_stats *st);

#endif
