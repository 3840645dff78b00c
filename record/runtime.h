/* SPDX-License-Identifier: GPL-2.0-only */
/* Programs whose threads do not keep to one stack, where return probes are deadly. */
#ifndef CW_RUNTIME_H
#define CW_RUNTIME_H

/*
 * Why returns of functions of this ELF file must not be probed: a phrase that says what the program
 * is and what would happen, or NULL when nothing speaks against it.
 */
const char *cw_runtime_forbids_returns(int fd);

#endif
