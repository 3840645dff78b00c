/* SPDX-License-Identifier: GPL-2.0-only */
/* The three standard descriptors of a program. */
#ifndef CW_STDFDS_H
#define CW_STDFDS_H

/*
 * Call first in main. A program that was started with one of descriptors 0, 1 and 2 closed would
 * get it for the next file it opens, and print into that: keep it occupied. Reading it gives
 * nothing, writing to it fails with EBADF.
 */
void cw_keep_std_fds(void);

#endif
