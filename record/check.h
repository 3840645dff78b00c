/* SPDX-License-Identifier: GPL-2.0-only */
/* --check: what can be recorded on this kernel with these rights. */
#ifndef CW_CHECK_H
#define CW_CHECK_H

/*
 * Print a table to standard output: a row a feature, whether it is available, and else why not and
 * what would change it. Returns 0 when calls and scheduler facts can be recorded, 1 when not.
 */
int cw_check_print(void);

#endif
