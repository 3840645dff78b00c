/* SPDX-License-Identifier: GPL-2.0-only */
/* Functions of Go's runtime at which a stack ends, found by their names. */
#ifndef CW_UNWIND_GO_H
#define CW_UNWIND_GO_H

#include <stdint.h>
#include "unwind_stack.h"

struct cw_elf;
struct cw_go;

/* What the symbols of an ELF file say, to be freed. NULL: it is no Go program, or has no such
 * symbols. */
struct cw_go *cw_go_new(struct cw_elf *from);

/* CW_CODE_BEGINS, CW_CODE_SWITCHES, or CW_CODE_NONE for all other code. go may be NULL. */
enum cw_code_info cw_go_find(const struct cw_go *go, uint64_t file_offset);

#endif
