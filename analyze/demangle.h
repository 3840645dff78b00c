/* SPDX-License-Identifier: GPL-2.0-only */
/* C++ and Rust names as people write them. */
#ifndef CW_DEMANGLE_H
#define CW_DEMANGLE_H

#include <obstack.h>

/*
 * Name to show for a linkage name: demangled when it is a C++ or Rust name, without the suffixes
 * that compilers append to copies of a function (.constprop.0, .isra.1, .part.2, .cold, .llvm.N),
 * without a symbol version (@GLIBC_2.2.5). A plain name that has none of these is returned as it
 * is; what is new lives in mem. Output of more than 64 KiB is given up: the linkage name is
 * returned then. An "@plt" at the end is kept.
 */
const char *cw_demangle(const char *name, struct obstack *mem);

#endif
