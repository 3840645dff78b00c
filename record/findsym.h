/* SPDX-License-Identifier: GPL-2.0-only */
/* --find-symbol: where the target has a function of a name. Neither BPF nor privileges. */
#ifndef CW_FINDSYM_H
#define CW_FINDSYM_H

#include "options.h"

/* Print each file and what it has to stdout. Returns the program's exit status: 1 for none. */
int cw_find_symbol(const struct cw_options *o);

#endif
